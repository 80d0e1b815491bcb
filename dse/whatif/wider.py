"""What 16 bits would be, where the design to build trains in fewer and what that loses is not counted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dse.evaluate.record import StudyRecord, TrialRecord
from dse.space.space import Space
from dse.whatif.answers import Wider
from dse.whatif.batches import rivals
from dse.whatif.climb import Climb, Named, Ranked, Simulate, by_kind, loss_against, most_behind
from dse.whatif.machines import machine_of
from simcore.check.load import parse_design
from simcore.document.field import NARROW
from simcore.document.problem import Refusal
from simcore.workload.base import kind_of

WIDE = "bf16"
SIMULATIONS = 160
"""Most simulations of the search for the best design in 16 bits, where the space has such designs."""
_OWN = 500
"""Trials of the study that are looked at, the nearest to its front."""
_PATH = "workload.precision"


def find_wider(
    record: StudyRecord, space: Space, trial: TrialRecord, simulate: Simulate, starts: Sequence[TrialRecord], most: int
) -> Wider | None:
    """The design in 16 bits that is the least behind a trial, of those found in `most` simulations.

    The trial's own in 16 bits, where the space has no others. On the trial's own machine if there is one: who has
    bought that asks. It is searched for from `starts` (`find_starts`) and from the best of the study. None of a trial
    that has 16 bits, or serves, or where its NPU has no such peak. `simulate` evaluates a document; where it says that
    one is of unsound form (`UnsoundError`), no such design exists.
    """
    design = None if trial.design is None else parse_design(trial.design)[0]
    if trial.design is None or design is None or design.jobs is not None or not kind_of(design.workload).trained:
        return None
    if design.workload.precision not in NARROW:
        return None
    wide = {**trial.design, "workload": {**trial.design["workload"], "precision": WIDE}}
    try:
        outcome = simulate(wide)
    except Refusal:
        return None
    for named in (_on_machine, precision_of) if _PATH in trial.params and most > 0 else ():
        start, kind = TrialRecord(-1, "cut", {}, {**trial.params, _PATH: WIDE}, {}, wide), named(wide)
        climb = Climb(record, space, simulate, named, kind, most, beside=trial)
        found = climb.run([start, *by_kind(starts, named).get(kind, ())], _best_of_study(record, trial, named, kind))
        if found is not None and found[0][0] == 0:
            return Wider(trial.number, WIDE, loss_against(record, trial, found[1].values), found[1].design)
        most -= climb.simulated
    if outcome.state != "feasible":
        return Wider(trial.number, WIDE, None) if outcome.violations.get("fits", 0.0) > 0 else None
    return Wider(trial.number, WIDE, loss_against(record, trial, outcome.values), outcome.design)


def precision_of(document: Mapping[str, Any] | None) -> str:
    """What a design document computes in; empty where it does not say that."""
    workload = (document or {}).get("workload")
    found = workload.get("precision") if isinstance(workload, Mapping) else None
    return found if isinstance(found, str) else ""


def _on_machine(document: Mapping[str, Any] | None) -> str:
    """What a design document computes in, and on what."""
    return f"{precision_of(document)} on {machine_of(document)}"


def _best_of_study(record: StudyRecord, trial: TrialRecord, named: Named, kind: str) -> Ranked | None:
    """The study's own best design of a kind, as it is `named`."""
    near = (*record.front, *rivals(record, _OWN))
    ranked = [((0, most_behind(record, trial, t.values)), t) for t in near if named(t.design) == kind]
    return min(ranked, key=lambda one: one[0], default=None)
