"""Where a sampler was when a part of a journal was sealed: a study goes on from there, without proposing all again.

Only what JSON can say is kept, in the part itself (`Part.told`), and only of samplers that learn nothing from outcomes
(`Sampler.state`): random and exhaustive ones. All others are replayed from their seed, with the journal's outcomes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dse.evaluate.pareto import front_mask
from dse.space.objective import Objective
from dse.study.kept import KeptTrials
from dse.study.optuna_file import value_places

KEY = "checkpoint"


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """What a sampler was before it proposed trial `trials`."""

    trials: int
    sampler: Mapping[str, Any]

    def document(self) -> dict[str, Any]:
        """What a part keeps."""
        return {KEY: {"trials": self.trials, "sampler": dict(self.sampler)}}


def latest_checkpoint(kept: KeptTrials) -> Checkpoint | None:
    """The latest checkpoint of a journal that has every trial before it; None where there is none."""
    gaps = np.flatnonzero(kept.numbers != np.arange(len(kept)))
    whole = int(gaps[0]) if len(gaps) else len(kept)
    found = [checkpoint for part in kept.parts if (checkpoint := _read(part.told.get(KEY))) is not None]
    return max(
        (checkpoint for checkpoint in found if checkpoint.trials <= whole), key=lambda one: one.trials, default=None
    )


def _read(said: Any) -> Checkpoint | None:
    """A checkpoint as a part says it; None for anything else."""
    if not isinstance(said, dict):
        return None
    trials, sampler = said.get("trials"), said.get("sampler")
    if type(trials) is not int or trials <= 0 or not isinstance(sampler, dict):
        return None
    return Checkpoint(trials, sampler)


def front_before(kept: KeptTrials, objectives: tuple[Objective, ...]) -> Any:
    """Losses of the feasible trials of the parts that no other of them dominates, `[members, objectives]`."""
    front = np.empty((0, len(objectives)))
    for part in kept.parts:
        codes, states = part.words("/user_attrs/state")
        places = value_places(len(objectives))
        rows = [o.sign * part.figures(place) for o, place in zip(objectives, places, strict=True)]
        points = np.stack(rows, axis=1)[np.isin(codes, [at for at, state in enumerate(states) if state == "feasible"])]
        points = np.concatenate([front, points[np.isfinite(points).all(axis=1)]])
        front = points[front_mask(points)] if len(points) else points
    return front
