"""Multi-fidelity: a slow engine is searched through the fast one, and what it adds is learned.

Candidates of `guided` are looked at by the fast engine in place of an estimate; trials are of the engine of the study,
and teach the ratio of the two (`dse.search.guided.correction`). So the slow engine is spent only on designs that are
good by the fast one, as corrected so far, or may be by what is not known of the correction.
"""

from __future__ import annotations

from collections.abc import Mapping

from dse.search.guided.correction import fit_correction
from dse.search.guided.sampler import Guided
from dse.search.guided.view import View
from dse.space.space import Space
from simcore.bounds.design import Bounds
from simcore.bounds.estimate import estimate
from simcore.design.design import Design
from simcore.document.problem import InputError
from simcore.metrics import metrics
from simcore.result import Result
from simcore.simulate import simulate

CANDIDATES = 12.0
"""Looked at for a trial."""
ENOUGH = 4
"""Trials before the correction is used: those with which the search opens."""
SMALLEST = 4
"""Designs of a batch; it grows with the trials, so that each batch knows of half of those before it."""


def look_by_simulation(design: Design) -> tuple[Bounds, Mapping[str, float]]:
    """The metrics of a valid design by engine `auto`, and shares of its time; estimates of a design that it refuses."""
    try:
        result = simulate(design, "auto")
    except InputError:
        return estimate(design), {}
    return metrics(result), time_shares(design, result)


def time_shares(design: Design, result: Result) -> dict[str, float]:
    """What a correction may be in proportion to, as shares of the iteration time: services of links, waits, compute."""
    total = result.iteration_time_s
    shares = {"compute": result.compute_s / total, "bubble": result.bubble_s / total}
    for dimension, use in zip(design.cluster.dimensions, result.network, strict=True):
        name = f"{dimension.tier} {dimension.topology}"
        shares[name] = shares.get(name, 0.0) + use.busy_s / total
    exposed = result.exposed_communication_s
    for kind in ("tensor", "data", "pipeline", "expert", "context"):
        shares[f"exposed {kind}"] = getattr(exposed, kind) / total
    return shares


def _batch(asked: int, batch: int) -> int:
    return min(batch, max(SMALLEST, asked))


SIMULATED = View(look_by_simulation, fit_correction, ENOUGH, CANDIDATES, 0, _batch)


def multi_fidelity(space: Space, seed: int) -> Guided:
    """The sampler `multi-fidelity`. Raises `InputError` where `guided` does."""
    return Guided(space, seed, SIMULATED)
