"""CMA-ES for several objectives and mixed variables: COMO-CatCMA with margin (arXiv 2504.07884) of package `cmaes`.

Ten CMA-ES share the front: each is told how much hypervolume its designs would add to that of the others' means. The
package has it for two objectives. A design that breaks a constraint is told as twice the worst of those seen, by how
much it breaks it; numbers are coordinates, ordered alternatives integers, others categories.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from cmaes import COMOCatCMAwM

from dse.search.base import Proposal, Sampler
from dse.space.space import Space
from rivals.base import Cube, UnsuitedError

NAME, BATCH = "COMO-CatCMA", 1
BEYOND = 2.0
"""A design that breaks a constraint counts as so many times the worst, and as more the more it breaks it."""


def make(space: Space, seed: int) -> Sampler:
    """The sampler; raises `UnsuitedError` for other than two objectives."""
    if len(space.objectives) != 2:
        raise UnsuitedError("two objectives only")
    return _CmaEs(space, seed)


class _CmaEs(Sampler):
    def __init__(self, space: Space, seed: int) -> None:
        self._cube = Cube.of(space)
        axes = list(enumerate(self._cube.axes))
        self._reals = [i for i, axis in axes if axis.count == 0]
        self._steps = [i for i, axis in axes if axis.count and not axis.is_category]
        self._names = [i for i, axis in axes if axis.is_category]
        self._optimizer = COMOCatCMAwM(
            x_space=[[0.0, 1.0] for _ in self._reals] or None,
            z_space=[list(range(self._cube.axes[i].count)) for i in self._steps] or None,
            c_space=[self._cube.axes[i].count for i in self._names] or None,
            seed=seed,
        )
        self._worst = np.full(2, 1e-300)

    def ask(self) -> Proposal:
        """See `Sampler.ask`."""
        solution = self._optimizer.ask()
        point = np.zeros(len(self._cube.axes))
        if self._reals:
            point[self._reals] = np.clip(solution.x, 0.0, 1.0)
        for i, value in zip(self._steps, () if solution.z is None else solution.z, strict=True):
            point[i] = (value + 0.5) / self._cube.axes[i].count
        for i, one_hot in zip(self._names, () if solution.c is None else solution.c, strict=True):
            point[i] = (int(np.argmax(one_hot)) + 0.5) / self._cube.axes[i].count
        return Proposal(self._cube.fill(point), solution)

    def tell(self, proposal: Proposal, losses: tuple[float, ...], violations: Mapping[str, float]) -> None:
        """See `Sampler.tell`."""
        broken = sum(max(violation, 0.0) for violation in violations.values())
        values = np.array(losses)
        if broken > 0:
            values = self._worst * (BEYOND + broken / (1.0 + broken))
        else:
            self._worst = np.maximum(self._worst, values)
        self._tell(proposal.handle, values)

    def reject(self, proposal: Proposal) -> None:
        """A repeat: the optimizer waits for an answer of each design, so it gets the worst."""
        self._tell(proposal.handle, self._worst * BEYOND)

    def _tell(self, solution: Any, values: Any) -> None:
        self._optimizer.tell((solution, values.tolist()))
