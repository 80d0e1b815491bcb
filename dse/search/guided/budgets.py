"""The networks on which a job's bounds are best: candidates.

Which shape of the network, which policy, which budget and which shares suit a job is one question: a policy that moves
bytes between dimensions asks for other shares, and no small move changes them all; so it is where each dimension has a
bandwidth of its own. The bounds of a job on the shares of all budgets, or on all bandwidths, are one matrix product
(`simcore.bounds.many`), cheap enough to ask for on every shape and with every policy that bounds look at. Candidates
are some of the networks that no other beats in bound and price, evenly from the quickest to the cheapest, and as many
of those that none beats in the mean of the bound's rows and price. What bounds do not look at is as in the design
beside which the job is looked at.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.proof.branch import JobNode
from dse.proof.lifted import MOST_SPLITS
from dse.proof.parts import Networks, SpacePart, group_networks
from dse.search.guided.candidates import Candidate, Candidates
from dse.search.guided.genome import GeneDraw, Genes, job_of
from dse.search.guided.led import LedCandidates, kind_of_jobs
from dse.search.guided.shares import all_splits, family_of, prices_of, spread_splits
from dse.search.guided.surrogate import limit_threads
from dse.space.hole import compositions, is_share, split_size
from dse.space.sections import JOB_SECTIONS
from simcore.bounds.collective import CollectiveTime
from simcore.bounds.many import NetworkFamily
from simcore.check.load import parse_sound
from simcore.design.design import Design

Draws = Mapping[str, float]
Key = tuple[tuple[str, float], ...]

MOST_SHARES, MOST_LINKS = 250, 64
"""Splits of a budget, and bandwidths without one, that a job is bounded on: of more so many, evenly by their number."""


@dataclass(frozen=True)
class _Shared:
    """A network with splits of its budgets, those of one budget after those of another; or with all its bandwidths."""

    family: NetworkFamily
    prices: NDArray[np.float64]
    draws: tuple[Draws, ...]
    """What each of them draws."""
    known: dict[Any, CollectiveTime] = field(default_factory=dict)
    """What collectives take on them: jobs have many in common."""


@dataclass
class BudgetCandidates:
    """Makes candidates of jobs on every shape and budget, of each job once."""

    candidates: Candidates
    led: LedCandidates
    _seen: set[Hashable] = field(default_factory=set)
    _distinct: dict[Networks, set[int]] = field(default_factory=dict)
    _shared: dict[Key, _Shared | None] = field(default_factory=dict)
    _next: dict[str, int] = field(default_factory=dict)
    """The number of the next job, by kind."""
    _suits: bool | None = None

    def make_of(
        self, designs: Sequence[Candidate], kinds: Sequence[Candidate], jobs: int, count: int
    ) -> Iterator[Candidate | None]:
        """Up to `count` candidates each of the first `jobs` jobs of `designs` that are new on some NPUs.

        These are their own, or those of `kinds` if they are as many.
        """
        elsewhere = [(beside, parse_sound(beside.filled.document)) for beside in kinds]
        for design in designs:
            if jobs <= 0:
                return
            whole, job = _parts_of(design)
            for beside, there in [(design, whole), *elsewhere]:
                if jobs and there.cluster.npus == whole.cluster.npus and self._is_new(there, job):
                    jobs -= 1
                    yield from self._make(job, beside, count, design.filled.params)

    def make_next(self, beside: Candidate, jobs: int, count: int, alike: bool) -> Iterator[Candidate | None]:
        """Up to `count` candidates each of the next `jobs` jobs by least compute, on as many NPUs as `beside`.

        What bounds do not look at is as in `beside` where they are to be `alike`, else drawn at random.
        """
        design = parse_sound(beside.filled.document)
        kind = kind_of_jobs(design)
        for _ in range(jobs):
            job = self.led.job(design, self._next.setdefault(kind, 0))
            if job is None:
                return
            self._next[kind] += 1
            if self._is_new(design, job):
                yield from self._make(job, beside, count, beside.filled.params if alike else {})

    def one_of_each_kind(self, designs: Sequence[Candidate]) -> list[Candidate]:
        """The first of the designs with each workload and NPUs."""
        found: dict[str, Candidate] = {}
        for candidate in designs:
            found.setdefault(kind_of_jobs(parse_sound(candidate.filled.document)), candidate)
        return list(found.values())

    def suits(self, designs: Sequence[Candidate]) -> bool:
        """Whether bandwidths are drawn from a finite number, and bounds are known of the jobs alone."""
        if self._suits is None and designs:
            nodes = self.led.times.nodes(*_parts_of(designs[0]))
            drawn = [self._links_of(part, designs[0]) for node in nodes for part in node.networks.parts[:1]]
            self._suits = (any(map(is_share, designs[0].genes)) and bool(nodes)) or any(drawn)
        return bool(designs and self._suits)

    def _is_new(self, design: Design, job: SpacePart) -> bool:
        key = kind_of_jobs(design), *sorted(job.drawn.items())
        new = key not in self._seen
        self._seen.add(key)
        return new

    def _make(
        self, job: SpacePart, beside: Candidate, count: int, like: Mapping[str, Any]
    ) -> Iterator[Candidate | None]:
        with limit_threads():
            found = self._best_networks(job, beside, count)
        for network in found:
            yield self.candidates.make({**network, **job.drawn}, like=like)

    def _best_networks(self, job: SpacePart, beside: Candidate, count: int) -> list[Draws]:
        """What the networks draw that no other beats in the job's bound and price, or in mean and price.

        `count` at most. Networks of the same bound differ in what the bound lets overlap, and a simulation may not.
        """
        looked: list[tuple[_Shared, NDArray[np.float64]]] = []
        for node in self.led.times.nodes(parse_sound(beside.filled.document), job):
            for part in self._distinct_networks(node):
                shared = self._shared_network(part, job, beside)
                if shared is not None and (iteration := node.iteration) is not None:
                    bound = iteration.seconds(shared.family, shared.known, overlap=False)
                    looked.append((shared, np.array([bound, iteration.mean_seconds(shared.family, shared.known)])))
        if not looked:
            return []
        prices = np.concatenate([shared.prices for shared, _ in looked])
        by_bound, by_mean = np.hstack([seconds for _, seconds in looked])
        chosen = [*spread_splits(by_bound, prices, count - count // 2), *spread_splits(by_mean, prices, count // 2)]
        draws = [draws for shared, _ in looked for draws in shared.draws]
        return [draws[index] for index in dict.fromkeys(chosen)]

    def _distinct_networks(self, node: JobNode) -> list[SpacePart]:
        """The lifted networks of a shape that a job can have and whose bounds or prices differ; of those alike one.

        Which bounds are alike the first job tells that is looked at there, where bandwidths are even.
        """
        spans = [(family, where.start) for family, straight, where in node.networks.spans() if straight]
        if node.networks not in self._distinct:
            self._distinct[node.networks] = _first_of_each(node, spans)
        chosen = self._distinct[node.networks]
        return [node.networks.parts[start] for _, start in spans if start in chosen and node.live[start]]

    def _shared_network(self, network: SpacePart, job: SpacePart, beside: Candidate) -> _Shared | None:
        """A lifted network with the bandwidths it can have; None where these are unknown, or too many."""
        key = tuple(network.drawn.items())
        if key not in self._shared:
            self._shared[key] = self._with_splits(network, job, beside) or self._with_links(network, job, beside)
        return self._shared[key]

    def _with_splits(self, network: SpacePart, job: SpacePart, beside: Candidate) -> _Shared | None:
        """A lifted network with each budget that it splits; None where it splits none, or in too many ways."""
        each = [self._splits({**budget, **job.drawn}, budget, beside) for budget in self._budgets(network, beside)]
        return _join([shared for shared in each if shared is not None])

    def _with_links(self, network: SpacePart, job: SpacePart, beside: Candidate) -> _Shared | None:
        """A lifted network with its bandwidths; None where it draws none, or where bounds are not linear in them."""
        links = self._links_of(network, beside)
        if not links:
            return None
        ways, counts, members = prod(links.values()), [*links.values()], []
        for index in np.unique(np.linspace(0, ways - 1, min(ways, MOST_LINKS)).astype(int)):
            chosen = {**network.drawn, **dict(zip(links, map(int, np.unravel_index(index, counts)), strict=True))}
            document = self._draw({**chosen, **job.drawn}, beside)[1]
            members.append((SpacePart(document, chosen), parse_sound(document)))
        networks = group_networks(members)[0]
        family, straight, where = next(networks.spans())
        prices = np.nan_to_num(networks.metrics["cost.network"][where])
        return _Shared(family, prices, tuple(part.drawn for part in networks.parts[where])) if straight else None

    def _links_of(self, network: SpacePart, beside: Candidate) -> dict[str, int]:
        """What is drawn for a cluster beside what its lifted network draws, each with its number of values.

        Nothing where a value is continuous, a budget is split, be it solved, or there are too many ways.
        """
        genes = self._draw(network.drawn, beside)[0]
        drawn = {name: gene for name, gene in genes.items() if name.startswith("cluster") and name not in network.drawn}
        if any(gene.kind == "real" or name.startswith("cluster.bandwidth.") for name, gene in drawn.items()):
            return {}
        links = {name: int(gene.high) + 1 for name, gene in drawn.items()}
        return links if prod(links.values()) <= MOST_SPLITS else {}

    def _budgets(self, network: SpacePart, beside: Candidate) -> list[Draws]:
        """What a network draws with each budget."""
        genes = self._draw(network.drawn, beside)[0]
        varied = [f"{name.partition('#')[0]}.split" for name in genes if is_share(name)]
        choices = [(name, choice) for name in varied if name in genes for choice in range(int(genes[name].high) + 1)]
        return [{**network.drawn, name: choice} for name, choice in choices] or [network.drawn]

    def _splits(self, values: Draws, budget: Draws, beside: Candidate) -> _Shared | None:
        """A network with splits of one budget."""
        genes, document = self._draw(values, beside)
        name = next((name for name in genes if is_share(name)), None)
        if name is None or compositions(*split_size(name)) > MOST_SPLITS:
            return None
        design = parse_sound(document)
        ways = all_splits(design, name, genes[name])
        indices = np.unique(np.linspace(0, len(ways) - 1, min(len(ways), MOST_SHARES)).astype(int))
        draws = tuple({**budget, name: int(index)} for index in indices)
        return _Shared(family_of(design, ways[indices]), prices_of(design, ways[indices]), draws)

    def _draw(self, values: Draws, beside: Candidate) -> tuple[Genes, Mapping[str, Any]]:
        """The genes and the document of what was drawn, the rest as in `beside`."""
        draw = GeneDraw(self.candidates.generator, values, beside.filled.params)
        return draw.genes, self.candidates.space.fill(draw, solve=False).document


def _parts_of(candidate: Candidate) -> tuple[Design, SpacePart]:
    """A candidate's design, and its job."""
    document = candidate.filled.document
    job = {key: document[key] for key in JOB_SECTIONS if key in document}
    return parse_sound(document), SpacePart(
        job, {name: int(gene.value) for name, gene in job_of(candidate.genes).items()}
    )


def _join(networks: list[_Shared]) -> _Shared | None:
    """Splits of several budgets of a network."""
    if not networks:
        return None
    rates, latencies = (np.vstack([getattr(n.family, name) for n in networks]) for name in ("rates", "latencies"))
    family = NetworkFamily(networks[0].family.design, rates, latencies)
    prices = np.concatenate([network.prices for network in networks])
    return _Shared(family, prices, tuple(draws for network in networks for draws in network.draws))


def _first_of_each(node: JobNode, spans: Sequence[tuple[NetworkFamily, int]]) -> set[int]:
    """Where networks start whose bounds differ, by a job and even bandwidths, or whose prices do."""
    if node.iteration is None:
        return set()
    prices = node.networks.metrics["cost.network"]
    first: dict[tuple[float, float], int] = {}
    for family, start in spans:
        even = NetworkFamily(family.design, family.rates / family.rates.shape[1], family.latencies)
        bound = float(node.iteration.seconds(even, {}, overlap=False).min())
        first.setdefault((bound, float(prices[start])), start)
    return {*first.values()}
