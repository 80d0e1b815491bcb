"""Whether a study has evaluated every design of its space: then the best that it found is the proven bound."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from dse.evaluate.record import StudyRecord
from dse.space.fill import has_solved_split
from dse.space.space import Space
from dse.study.keys import key_digest

MOST_ENUMERATED = 20_000
"""Combinations that are gone through to know how many designs they are."""
Keys = NDArray[np.bytes_]
"""Digests of the keys of designs (`dse.study.keys`), one for each trial."""


def best_of_all(space: Space, record: StudyRecord, keys: Callable[[], Keys]) -> dict[str, float] | None:
    """The best value of each objective, where every design of the space was evaluated and none failed; else None.

    `keys` gives those of the trials. Not of clusters that are bought for several workloads: what is best for a cluster
    hangs on how well it was tuned. Nor where shares are solved: others could be better yet.
    """
    trials = record.trials
    failed = bool(trials.is_state("failed").any())
    if space.jobs or has_solved_split(space.template) or failed or not record.feasible_trials:
        return None
    designs = keys() if len(trials) >= space.count() or record.sampler == "exhaustive" else None
    if designs is None or not _covered(space, designs, record.sampler):
        return None
    losses = record.losses(record.feasible_trials).min(axis=0)
    return {o.name: o.sign * float(loss) for o, loss in zip(record.objectives, losses, strict=True)}


def _covered(space: Space, keys: Keys, sampler: str) -> bool:
    """Whether the designs of these keys are all of the space: each counts once, however many trials have it."""
    combinations = space.count()
    if len(np.unique(keys)) >= combinations:
        return True
    # Several combinations can be one design. Whoever did not mean to try them all has hardly done so.
    if sampler != "exhaustive" or combinations > MOST_ENUMERATED:
        return False
    wanted = np.array([key_digest(space.key(filled)) for filled in space.enumerate()], dtype=keys.dtype)
    return bool(np.isin(wanted, keys).all())
