"""qLogNEHVI of BoTorch (arXiv 2006.05078, 2310.20708): a Gaussian process an objective, and their expected improvement.

The space is the unit cube of `rivals.base`. The acquisition is maximised over 400 designs: half of them random,
half one or two coordinates away from designs of the front; only those that pass the filter of the benchmark. Objectives
are modelled by the logarithm of their value, constraints on results by their violation. Needs torch and botorch.
"""

from __future__ import annotations

import warnings
from collections import deque
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from botorch.acquisition.multi_objective.logei import qLogNoisyExpectedHypervolumeImprovement
from botorch.acquisition.multi_objective.objective import IdentityMCMultiOutputObjective
from botorch.fit import fit_gpytorch_mll
from botorch.models import ModelListGP, SingleTaskGP
from botorch.models.transforms import Standardize
from botorch.optim import optimize_acqf_discrete
from botorch.sampling import SobolQMCNormalSampler
from gpytorch.mlls import SumMarginalLogLikelihood

from dse.evaluate.pareto import front_mask
from dse.search.base import Proposal, Sampler
from dse.space.screen import ScreenedDesign
from dse.space.space import Space
from rivals.base import Cube, Vector
from simcore.check.load import parse_design

NAME, BATCH = "qLogNEHVI", 4
FIRST = 16
"""Random designs before the first model."""
LOOKED, TRIES = 400, 2000
"""Designs over which the acquisition is maximised, and draws that may be spent on them."""
SAMPLES = 64
"""Quasi-random samples of the posterior."""


def make(space: Space, seed: int) -> Sampler:
    """The sampler, asked for four designs at a time, on one thread."""
    torch.set_num_threads(1)
    return _Botorch(space, seed)


class _Botorch(Sampler):
    def __init__(self, space: Space, seed: int) -> None:
        self._space, self._cube = space, Cube.of(space)
        self._generator = np.random.default_rng(seed)
        torch.manual_seed(seed)
        self._late = [constraint.name for constraint in space.constraints if not constraint.is_early]
        self._points: list[Vector] = []
        self._targets: list[list[float]] = []
        self._queue: deque[Vector] = deque()

    def ask(self) -> Proposal:
        """See `Sampler.ask`."""
        if not self._queue:
            self._queue.extend(self._random() if len(self._points) < FIRST else self._chosen())
        point = self._queue.popleft()
        return Proposal(self._cube.fill(point), point)

    def tell(self, proposal: Proposal, losses: tuple[float, ...], violations: Mapping[str, float]) -> None:
        """See `Sampler.tell`."""
        if any(v > 0 for name, v in violations.items() if name not in self._late):
            return  # cut before it was simulated: there is nothing to model
        levels = [
            objective.sign * float(np.log(abs(x))) for objective, x in zip(self._space.objectives, losses, strict=True)
        ]
        worst = [max((violations[name] for name in self._late), default=0.0)] if self._late else []
        self._points.append(proposal.handle)
        self._targets.append([-level for level in levels] + worst)

    def reject(self, proposal: Proposal) -> None:
        """A repeat teaches nothing."""

    def _random(self) -> list[Vector]:
        return list(self._cube.snap(self._generator.random((BATCH, len(self._cube.axes)))))

    def _chosen(self) -> list[Vector]:
        """The batch of most expected improvement."""
        x = torch.tensor(np.array(self._points), dtype=torch.double)
        y = torch.tensor(np.array(self._targets), dtype=torch.double)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = ModelListGP(
                *(SingleTaskGP(x, y[:, i : i + 1], outcome_transform=Standardize(1)) for i in range(y.shape[1]))
            )
            fit_gpytorch_mll(SumMarginalLogLikelihood(model.likelihood, model))
            count = len(self._space.objectives)
            allowed: Any = [lambda samples: samples[..., -1]] if self._late else None
            acquisition = qLogNoisyExpectedHypervolumeImprovement(
                model,
                ref_point=(y[:, :count].min(0).values - 0.1).tolist(),
                X_baseline=x,
                sampler=SobolQMCNormalSampler(torch.Size([SAMPLES])),
                objective=IdentityMCMultiOutputObjective(outcomes=list(range(count))),
                constraints=allowed,
                prune_baseline=True,
            )
            choices = torch.tensor(self._candidates(), dtype=torch.double)
            best, _ = optimize_acqf_discrete(acquisition, q=BATCH, choices=choices, max_batch_size=256)
        return list(best.numpy())

    def _candidates(self) -> Vector:
        """Random designs, and such near those of the front, that pass the filter."""
        front = np.array(self._points)[front_mask(-np.array(self._targets)[:, : len(self._space.objectives)])]
        found: list[Vector] = []
        for number in range(TRIES):
            point = self._generator.random(len(self._cube.axes))
            if number % 2:
                moved = self._generator.random(len(point)) < 2 / len(point)
                point = np.where(moved, point, front[int(self._generator.integers(len(front)))])
            point = self._cube.snap(point[None, :])[0]
            if self._passes(point):
                found.append(point)
            if len(found) == LOOKED:
                break
        return np.array(found)

    def _passes(self, point: Vector) -> bool:
        design, _ = parse_design(self._cube.fill(point).document)
        return design is not None and ScreenedDesign(design, self._space.constraints).violation <= 0
