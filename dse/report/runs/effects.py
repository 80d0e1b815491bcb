"""What each key does: over the designs of several runs, how good a front each of its values has.

For each thing in which feasible designs differ (`dse.report.aspects`; degrees of parallelism each for itself) and each
value: its designs, those on the front of all, the best of each objective, and the *reach*: the hypervolume of the front
of the designs with that value, as a share of that of all. A key matters where reach differs between its values. A
design is counted once, however many runs have tried it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dse.evaluate.pareto import front_mask, hypervolume
from dse.evaluate.record import TrialRecord
from dse.report.aspects import ASPECTS, DEGREES
from dse.report.describe import describe
from dse.space.objective import Objective, losses

MOST_VALUES = 40
"""Values of a key that are looked at: those of most designs."""
FEW, RARE = 3, 0.02
"""Designs, and share of them, up to which a value is rare."""
_IMPLIED = {aspect.name for aspect in ASPECTS if aspect.follows is not None}
"""What follows from another key."""


@dataclass(frozen=True, slots=True)
class ValueEffect:
    """The designs with one value of a key."""

    value: str
    designs: int
    on_front: int
    """How many of the designs are on the front of all runs together."""
    best: Mapping[str, float]
    reach: float


@dataclass(frozen=True, slots=True)
class Effect:
    """What a key does to the front."""

    key: str
    values: tuple[ValueEffect, ...]
    """The value with the largest reach first."""

    @property
    def common(self) -> tuple[ValueEffect, ...]:
        """The values of more than a few designs: what a rare one cannot reach says little."""
        least = max(FEW, RARE * sum(entry.designs for entry in self.values))
        return tuple(entry for entry in self.values if entry.designs >= least)

    @property
    def size(self) -> float:
        """How much reach the worst of its common values loses against the best."""
        return self.common[0].reach - self.common[-1].reach if self.common else 0.0


def effects_of(
    objectives: Sequence[Objective],
    trials: Mapping[str, Sequence[TrialRecord]],
    front: Collection[str],
    reference: NDArray[np.float64],
    volume: float,
) -> tuple[Effect, ...]:
    """The effect of each key of which feasible designs have several values, the largest first.

    `trials` are by the identity of their designs, `front` the identities of those on the front of all.
    """
    told = [_told(trial) for tried in trials.values() for trial in tried]
    matrix = losses(tuple(objectives), [trial.values for tried in trials.values() for trial in tried])
    first = np.array([not index for tried in trials.values() for index in range(len(tried))], bool)
    kept = np.array([not index and key in front for key, tried in trials.items() for index in range(len(tried))], bool)
    keys = dict.fromkeys(key for texts in told for key in texts if key not in _IMPLIED)
    found = []
    for key in keys:
        column = [texts.get(key, "") for texts in told]
        counts = Counter(column)
        if len(counts) < 2:
            continue
        rows = {value: np.array([text == value for text in column]) for value, _ in counts.most_common(MOST_VALUES)}
        values = [
            ValueEffect(
                value,
                designs=int((mask & first).sum()),
                on_front=int((mask & kept).sum()),
                best={o.name: o.sign * float(x) for o, x in zip(objectives, matrix[mask].min(axis=0), strict=True)},
                reach=_reach(matrix[mask], reference, volume),
            )
            for value, mask in rows.items()
        ]
        found.append(Effect(key, tuple(sorted(values, key=lambda entry: (-entry.reach, entry.value)))))
    return tuple(sorted(found, key=lambda effect: -effect.size))


def _told(trial: TrialRecord) -> dict[str, str]:
    """What a design is, aspect by aspect."""
    document = trial.decided_document
    if document is None:
        return {}
    told = describe(document)
    if told.pop("degrees", None) is not None:
        parallelism = document["parallelism"]
        told |= {name: str(parallelism[name]) for name in DEGREES if name in parallelism}
    return told


def _reach(matrix: NDArray[np.float64], reference: NDArray[np.float64], volume: float) -> float:
    return hypervolume(matrix[front_mask(matrix)], reference) / volume if volume > 0 else 0.0
