"""Which members of a front only save electricity, by taking longer on machines that are paid anyway.

Of money that holds what a cluster draws (`HOLDS_ELECTRICITY`) a slower use of the same cluster takes a little less: the
front of such money and of time has a tail of designs that take many times as long for less than a percent. They are on
the front, but none is a compromise, and the knee's distances are not measured by how far a search went that way.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dse.evaluate.pareto import knee
from dse.space.objective import Objective

HOLDS_ELECTRICITY = frozenset({"cost.tco", "cost.yearly", "cost.electricity"})
"""Money of which electricity, and so the time, decides a little."""
LITTLE, MUCH = 0.01, 0.05
"""A member idles where another one has the rest for so little more money, and much of something."""


def idling_mask(objectives: Sequence[Objective], front: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which members of a front `[F, M]`, to be minimised, only save electricity, `[F]`; none without such money."""
    money = [o.name in HOLDS_ELECTRICITY for o in objectives]
    idle = np.zeros(len(front), bool)
    if not any(money) or all(money):
        return idle
    paid, rest = front[:, money], front[:, ~np.array(money)]
    for number in range(len(front)):
        more = (paid[number] - paid) / np.abs(paid)
        worse = (rest[number] - rest) / np.where(rest == 0, 1.0, np.abs(rest))
        idle |= (more <= LITTLE).all(axis=1) & (worse <= 0).all(axis=1) & (worse <= -MUCH).any(axis=1)
    return idle


def busy_knee(objectives: Sequence[Objective], front: NDArray[np.float64]) -> int | None:
    """The place of the knee of a front `[F, M]`, to be minimised, without what only saves electricity; None without."""
    kept = np.flatnonzero(~idling_mask(objectives, front))
    index = knee(front[kept])
    return None if index is None else int(kept[index])
