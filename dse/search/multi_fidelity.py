"""Multi-fidelity: a slow engine is searched through the fast one, and what it adds is learned.

Candidates of `guided` are looked at by the fast engine in place of an estimate; trials are of the engine of the study,
and teach the ratio of the two (`dse.search.guided.correction`). So the slow engine is spent only on designs that are
good by the fast one, as corrected so far, or may be by what is not known of the correction.
"""

from __future__ import annotations

from dse.evaluate.fast_view import look_by_simulation
from dse.search.guided.correction import fit_correction
from dse.search.guided.sampler import Guided
from dse.search.guided.view import View
from dse.space.space import Space

CANDIDATES = 12.0
"""Looked at for a trial."""
ENOUGH = 4
"""Trials before the correction is used: those with which the search opens."""
SMALLEST, OF_THOSE_BEFORE = 2, 2
"""Least designs of a batch, and the part of the trials before it that it has: a half. So each design is chosen by what
at least two thirds of those before it came to."""


def _batch(asked: int, batch: int) -> int:
    return min(batch, max(SMALLEST, asked // OF_THOSE_BEFORE))


SIMULATED = View(look_by_simulation, fit_correction, ENOUGH, CANDIDATES, 0, _batch)


def multi_fidelity(space: Space, seed: int) -> Guided:
    """The sampler `multi-fidelity`. Raises `InputError` where `guided` does."""
    return Guided(space, seed, SIMULATED)
