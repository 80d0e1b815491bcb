"""Shares of a bandwidth budget that suit a design's job: candidates that small moves reach in many steps.

The bounds of one job on all splits of a budget are one matrix product (`simcore.bounds.many`), and their prices are
linear. Of the splits that no other beats in both, some are candidates, evenly from the quickest to the cheapest.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dse.evaluate.pareto import front_mask
from dse.proof.lifted import MOST_SPLITS, NO_MATTER, all_compositions
from dse.search.guided.candidates import Candidate, Candidates
from dse.search.guided.genome import Gene, values_of_genes
from dse.search.guided.repair import Look
from dse.space.hole import composition, compositions, is_share, split_size
from simcore.bounds.many import Iteration, NetworkFamily, is_linear
from simcore.check.load import parse_sound
from simcore.cost.linear import unit_price
from simcore.design.design import Design
from simcore.memory.plan import program_of

Drawn = tuple[tuple[str, float], ...]

SLOWER = 1.25
"""Splits that take longer than so many times the quickest are left out."""
APART = 16
"""One split in so many is bounded with what overlap costs before it is known which of the others need be."""
_UNSEEN = frozenset(f"system.{policy}" for policy in NO_MATTER)


@dataclass
class ShareCandidates:
    """Makes candidates with other shares of the same budget."""

    candidates: Candidates
    _seen: set[Drawn] = field(default_factory=set)
    """What was drawn beside the shares, of designs that were looked at."""
    _best: dict[Drawn, list[int]] = field(default_factory=dict)
    """The best splits, by what bounds look at of that."""

    def make_other_splits(self, parents: Sequence[Candidate | Look], count: int) -> Iterator[Candidate | None]:
        """Candidates of each of `parents` with up to `count` other splits of its budget; of each design once."""
        for parent in parents:
            split = next(((name, gene) for name, gene in parent.genes.items() if is_share(name)), None)
            if split is None:
                continue
            name, gene = split
            values = values_of_genes(parent.genes)
            rest = tuple(item for item in values.items() if item[0] != name)
            if rest in self._seen or compositions(*split_size(name)) > MOST_SPLITS:
                continue
            self._seen.add(rest)
            looked_at = tuple(item for item in rest if item[0] not in _UNSEEN)
            if looked_at not in self._best:
                self._best[looked_at] = _best_splits(parse_sound(parent.filled.document), name, gene, count)
            for index in self._best[looked_at]:
                yield self.candidates.make({**values, name: index})


def _best_splits(design: Design, name: str, gene: Gene, count: int) -> list[int]:
    """Indices of splits that no other beats in time and price, from the quickest to the cheapest."""
    if not is_linear(design) or not program_of(design).trained:
        return []
    ways = all_splits(design, name, gene)
    prices = prices_of(design, ways)
    return spread_splits(_least_times(Iteration.of(design, program_of(design)), design, ways, prices), prices, count)


def _least_times(
    iteration: Iteration, design: Design, ways: NDArray[np.float64], prices: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The bound on each split `[ways]` [s]; infinite where it is slower than `SLOWER`, or another one beats it.

    What overlap costs is most of the work, so it is asked for where the bound without it does not rule a split out.
    """
    loose, seconds = iteration.seconds(family_of(design, ways), {}, overlap=False), np.full(len(ways), np.inf)
    wanted = front_mask(np.stack([loose, prices], axis=1))
    wanted[::APART] = True
    seconds[wanted] = iteration.seconds(family_of(design, ways[wanted]), {})
    order = np.flatnonzero(wanted)[np.argsort(prices[wanted], kind="stable")]
    quickest = np.array([np.inf, *np.minimum.accumulate(seconds[order])])
    beaten = loose >= quickest[np.searchsorted(prices[order], prices)]  # by one that is cheaper
    left = ~wanted & ~beaten & (loose <= SLOWER * seconds.min())
    seconds[left] = iteration.seconds(family_of(design, ways[left]), {})
    return seconds


def all_splits(design: Design, name: str, gene: Gene) -> NDArray[np.float64]:
    """The bandwidth of each dimension with every split of the budget of a design, by index `[ways, dims]` [B/s]."""
    units, parts = split_size(name)
    open_ones = [int(path[-2]) for path in gene.paths]
    dimensions = design.cluster.dimensions
    step = dimensions[open_ones[0]].bandwidth / composition(units, parts, int(gene.value))[0]
    ways = np.tile(np.array([d.bandwidth for d in dimensions]), (compositions(units, parts), 1))
    ways[:, open_ones] = all_compositions(units, parts) * step
    return ways


def family_of(design: Design, ways: NDArray[np.float64]) -> NetworkFamily:
    """The network of a design with other bandwidths `[ways, dims]` [B/s]."""
    one = NetworkFamily.of([design])
    rates = ways * (one.rates[0] / np.array([d.bandwidth for d in design.cluster.dimensions]))
    return NetworkFamily(design, rates, np.broadcast_to(one.latencies[0], rates.shape))


def prices_of(design: Design, ways: NDArray[np.float64]) -> NDArray[np.float64]:
    """What an NPU's bandwidths cost `[ways]` [$]."""
    prices: NDArray[np.float64] = ways @ np.array([unit_price(design.cost, d) for d in design.cluster.dimensions])
    return prices


def spread_splits(seconds: NDArray[np.float64], prices: NDArray[np.float64], count: int) -> list[int]:
    """Some of those that no other beats in time and price, evenly from the quickest to the cheapest."""
    near = np.flatnonzero(seconds <= SLOWER * seconds.min())
    best = near[front_mask(np.stack([seconds[near], prices[near]], axis=1))]
    order = best[np.lexsort((best, seconds[best]))]
    chosen = np.unique(np.round(np.linspace(0, len(order) - 1, count)).astype(int))
    return [int(order[i]) for i in chosen]
