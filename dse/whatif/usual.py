"""What nearly every training has, the space leaves out, and would make the design to build better.

Whoever leaves out sequence parallelism beside tensor parallelism, the sharded optimizer beside data parallelism,
interleaved stages, experts that are not cut, even stages for layers that do not divide, or designs that recompute
nothing seldom means to; but a front is proven for the space as it is written.
"""

from __future__ import annotations

from typing import Any

from dse.evaluate.record import StudyRecord, TrialRecord
from dse.space.hole import Choice
from dse.space.space import Space
from dse.whatif.answers import Usual
from dse.whatif.climb import Simulate, loss_against, parallelism_of, try_settings
from dse.whatif.recomputed import is_worth_telling
from simcore.check.load import parse_design
from simcore.workload.transformer.model import Transformer

_USUAL: tuple[tuple[str, str, Any], ...] = (
    ("tensor", "sequence_parallel", True),
    ("data", "zero", 1),
    ("pipeline", "interleave", 2),
)
"""A degree of parallelism, and what is usual beside it: a key and its value."""


def find_usual(record: StudyRecord, space: Space, trial: TrialRecord, simulate: Simulate) -> tuple[Usual, ...]:
    """The usual settings that no design of the space has, and with which `trial` is better (`is_worth_telling`).

    `simulate` evaluates a document; where it says that one is of unsound form (`UnsoundError`), none exists.
    """
    asked, own = parallelism_of(space.template), parallelism_of(trial.design)
    usual = [(key, value) for degree, key, value in _USUAL if key not in asked and own.get(degree, 1) > 1]
    if own.get("recompute", "none") != "none" and "none" not in alternatives(asked.get("recompute")):
        usual.append(("recompute", "none"))  # recomputing a fused attention alone, say, saves no memory
    if own.get("expert", 1) > 1 and own.get("tensor", 1) > 1 and "expert_tensor" not in asked:
        usual.append(("expert_tensor", 1))
    if "stages" not in asked and divides_unevenly(trial):
        usual.append(("stages", {"solve": True}))
    found = []
    for key, value in usual:
        outcome = try_settings(simulate, trial, **{key: value})
        if outcome is None or outcome.metrics is None:
            continue
        loss = loss_against(record, trial, outcome.values)
        if is_worth_telling(loss):
            found.append(Usual(trial.number, key, value, loss))
    return tuple(found)


def divides_unevenly(trial: TrialRecord) -> bool:
    """Whether the virtual stages of a transformer cannot have the same number of layers."""
    design = parse_design(trial.design or {})[0]
    model = None if design is None else getattr(design.workload, "model", None)
    if design is None or not isinstance(model, Transformer):
        return False
    return bool(model.layers % (design.parallelism.pipeline * design.parallelism.interleave))


def alternatives(asked: Any) -> tuple[Any, ...]:
    """What a space asks of a key, one by one; a hole that lists nothing is its own."""
    return asked.alternatives if isinstance(asked, Choice) else (asked,)
