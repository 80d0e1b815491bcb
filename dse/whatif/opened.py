"""What a transformer would be with settings that the space leaves out and that decide which degrees are best.

Experts that stay whole beside tensor parallelism, stages with as many layers as suit them, as few recomputed layers
as fit, and activations shared out by sequence parallelism: with one of them alone and its own degrees the design to
build is often no better. So designs with all of them are searched for, a few simulations from the trials of the study.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from dse.evaluate.evaluate import Outcome
from dse.evaluate.fullness import fullness
from dse.evaluate.record import StudyRecord, TrialRecord
from dse.space.space import Space
from dse.whatif.answers import Opened
from dse.whatif.batches import rivals
from dse.whatif.climb import Climb, Named, Simulate, loss_against, most_behind, parallelism_of
from dse.whatif.machines import machine_of
from dse.whatif.recomputed import is_worth_telling
from dse.whatif.usual import alternatives, divides_unevenly
from simcore.check.load import parse_design
from simcore.layout.solve import NEARLY_FULL
from simcore.workload.base import kind_of
from simcore.workload.transformer.model import Transformer

SIMULATIONS = 150
"""Most simulations of the search."""
_STARTS = 8
"""Trials of the study from which it starts, each with degrees of its own."""
_DEGREES = ("tensor", "context", "pipeline", "expert")
_OWN = 500
"""Trials of the study that are looked at, the nearest to its front."""
_WHOLE = {"expert_tensor": 1}
_EVEN = {"stages": {"solve": True}}
_SHARED = {"sequence_parallel": True}
_FEWEST = {"recompute": "solve"}
_ROOM = "room in memory"
"""What cuts a design that fits and fills too much of the memory."""
_INTERLEAVED = (2, 3, 4)
"""Virtual stages of a stage that are looked at beside solved stages, where the space leaves them out."""


def find_opened(
    record: StudyRecord, space: Space, trial: TrialRecord, simulate: Simulate, most: int = SIMULATIONS
) -> Opened | None:
    """The design with settings that the space leaves out which is better than a trial (`is_worth_telling`).

    The best found in `most` simulations on the machines of the trial, in its schedule. `simulate` evaluates a document;
    where it says that one is of unsound form (`UnsoundError`), none exists.
    """
    settings = _left_out(space, trial)
    if not settings or most <= 0:
        return None
    asked = parallelism_of(space.template)

    def named(document: Mapping[str, Any] | None) -> str:
        schedule = parallelism_of(document).get("schedule") if "schedule" in asked else ""  # left out: all have one
        return f"{machine_of(document)} {schedule}"

    variants = list(_variants(settings, asked))
    most_full = max(NEARLY_FULL, fullness(trial))

    def try_settings(document: Mapping[str, Any], given: Mapping[str, Any]) -> Outcome:
        return _with_room(simulate(_with_settings(document, given)), trial, most_full)

    def try_variants(document: Mapping[str, Any]) -> tuple[Outcome, dict[str, Any]]:
        tried = [(try_settings(document, given), given) for given in variants]
        filled = [given for outcome, given in tried if "recompute" in given and outcome.cut_by == _ROOM]
        tried += [(try_settings(document, given), given) for given in map(_without_recompute, filled)]
        return min(tried, key=lambda one: _behind(record, trial, one[0]))

    def simulate_with(document: Mapping[str, Any]) -> Outcome:
        return replace(try_variants(document)[0], design=dict(document))  # whose neighbours the space knows

    climb = Climb(record, space, simulate_with, named, named(trial.design), most, beside=trial)
    found = climb.run(_starts(record, trial, named))
    if found is None or found[0][0] != 0:
        return None
    design, loss = found[1].design or {}, loss_against(record, trial, found[1].values)
    outcome, given = try_variants(design)
    counting, solved = _counting(given, design), outcome.design
    if "recompute" in counting and parallelism_of(solved).get("recompute") == parallelism_of(design).get("recompute"):
        del counting["recompute"]  # what is solved is what the space has
    counting = {key: value for key, value in counting.items() if key not in asked or key == "recompute"}
    if not counting or not is_worth_telling(loss):
        return None
    return Opened(trial.number, counting, loss, fullness(found[1]), solved)


def _variants(settings: Mapping[str, Any], asked: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The settings, and these with what only stages of unlike length may let a design have.

    That is virtual stages, where the layers do not divide, and what needs these: exchanges of experts beside
    computation.
    """
    yield dict(settings)
    if "stages" not in settings:
        return
    counts = alternatives(asked["interleave"]) if "interleave" in asked else _INTERLEAVED
    for count in (each for each in counts if isinstance(each, int) and each > 1):
        yield {**settings, "interleave": count}
        if True in alternatives(asked.get("expert_overlap")):  # which goes with no layer that recomputes as a whole
            yield {**_without_recompute(settings), "interleave": count, "expert_overlap": True}


def _without_recompute(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in settings.items() if key != "recompute"}


def _with_room(outcome: Outcome, trial: TrialRecord, most_full: float) -> Outcome:
    """An outcome, infeasible where it fills more than `most_full` of the memory; `trial` is any trial."""
    if outcome.state != "feasible":
        return outcome
    over = fullness(replace(trial, metrics=outcome.metrics)) - most_full
    return outcome if over <= 0 else replace(outcome, state="infeasible", cut_by=_ROOM, violations={"fits": over})


def _behind(record: StudyRecord, trial: TrialRecord, outcome: Outcome) -> tuple[int, float]:
    """How a design ranks among variants: what is feasible first, by the objective in which it loses most."""
    if outcome.state != "feasible":
        return 1, sum(max(0.0, missed) for missed in outcome.violations.values())
    return 0, most_behind(record, trial, outcome.values)


def _with_settings(document: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    return {**document, "parallelism": {**parallelism_of(document), **_counting(given, document)}}


def _left_out(space: Space, trial: TrialRecord) -> dict[str, Any]:
    """The settings that no design of the space has and that may matter to the trial's model; none for others."""
    asked, found = parallelism_of(space.template), dict[str, Any]()
    design = parse_design(trial.design or {})[0]
    if not asked or design is None or design.jobs is not None or not kind_of(design.workload).trained:
        return found
    if parallelism_of(trial.design).get("expert", 1) > 1 and "expert_tensor" not in asked:
        found |= _WHOLE
    if "stages" not in asked and divides_unevenly(trial):
        found |= _EVEN
    if found and "solve" not in str(asked.get("recompute")) and "recompute_layers" not in asked:
        found |= _FEWEST
    if isinstance(getattr(design.workload, "model", None), Transformer) and design.parallelism.tensor > 1:
        found |= {} if "sequence_parallel" in asked else _SHARED
    return found


def _counting(settings: Mapping[str, Any], document: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that a design with these degrees can have."""
    its = parallelism_of(document)
    degrees = {
        "sequence_parallel": ("tensor",),
        "expert_tensor": ("tensor", "expert"),
        "expert_overlap": ("pipeline", "expert"),
        "stages": ("pipeline",),
        "interleave": ("pipeline",),
    }
    return {key: value for key, value in settings.items() if all(its.get(d, 1) > 1 for d in degrees.get(key, ()))}


def _starts(record: StudyRecord, trial: TrialRecord, named: Named) -> list[TrialRecord]:
    """The trial, and those nearest to it of its kind, each with degrees of its own."""
    near = sorted((*record.front, *rivals(record, _OWN)), key=lambda one: most_behind(record, trial, one.values))
    found: dict[tuple[Any, ...], TrialRecord] = {}
    for one in (trial, *near):
        if named(one.design) == named(trial.design):
            found.setdefault(tuple(parallelism_of(one.design).get(degree, 1) for degree in _DEGREES), one)
    return [*found.values()][:_STARTS]
