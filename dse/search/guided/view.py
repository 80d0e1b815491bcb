"""How the guided sampler looks at a candidate before any trial, and what learns the difference to the trials.

The usual view is the estimate (`simcore.bounds.estimate`): it costs half a simulation, and trials are simulations.
Where a trial costs much more than that, as with an engine that plays every message, candidates are seen through the
fast engine itself (`dse.search.multi_fidelity`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dse.search.guided.surrogate import Surrogate, fit
from simcore.bounds.design import Bounds
from simcore.bounds.estimate import estimate
from simcore.design.design import Design

Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class Seen:
    """What is known of N designs before their trials."""

    features: Matrix
    """`[N, columns]`; columns may be added later, at the end."""
    trend: Matrix
    """Logarithms of the view's metrics, and the violation at them `[N, trends]`."""
    shares: Matrix
    """Shares of time by the view `[N, shares]`."""
    viewed: Matrix
    """The view's own values of the outputs, as levels `[N, outputs]`."""


class Model(Protocol):
    """A fitted model of what trials come to."""

    def predict(self, seen: Seen) -> tuple[Matrix, Matrix]:
        """Mean and standard deviation of each output `[N, outputs]`."""
        ...


@dataclass(frozen=True)
class _Trended:
    """The surrogate of `dse.search.guided.surrogate`, which has no use for shares."""

    surrogate: Surrogate

    def predict(self, seen: Seen) -> tuple[Matrix, Matrix]:
        """See `Model.predict`."""
        return self.surrogate.predict(seen.features[:, : self.surrogate.points.shape[1]], seen.trend)


@dataclass(frozen=True)
class View:
    """What is known of a candidate before a trial, and how trials correct it."""

    look: Callable[[Design, Collection[str]], tuple[Bounds, Mapping[str, float]]]
    """At least the named metrics of a valid design, and shares of its time by name.

    The shares say what a correction may depend on.
    """
    fit: Callable[[Seen, Matrix], Model]
    """Fits a model to designs and what their trials came to `[n, outputs]`; n is at least `enough`."""
    enough: int
    """Trials before the model is used instead of the view's own values."""
    candidates: float | None
    """Looked at per trial; None: as many as are worth it where trials are simulations, and late in a study none."""
    hopeful: int
    """One of so many trials is for what the view promises, whatever the model says; 0: none."""
    batch: Callable[[int, int], int]
    """The size of a batch: of how many trials were proposed, and the batch of the study."""


ESTIMATE = View(
    look=lambda design, named: (estimate(design, named), {}),
    fit=lambda seen, targets: _Trended(fit(seen.features, seen.trend, targets)),
    enough=24,
    candidates=None,
    hopeful=4,
    batch=lambda asked, batch: batch,
)
"""Candidates are estimated; trials are simulations of the fast engine, or as quick as these."""
