"""The time bound of one training program on many networks at once.

Networks of a *family* have the same dimensions, algorithms, libraries and policies, and differ in bandwidths and
latencies only. What the links of a phase take is then its load over the bandwidth plus its hops x the latency; what a
library adds follows from that; and the bound of an iteration, the largest of sums of durations and of what collectives
take (`simcore.bounds.iteration`), is a matrix product, but for what overlap costs (`simcore.bounds.overlap`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcore.bounds.collective import CollectiveTime, collective_time, routes
from simcore.bounds.iteration import IterationBound
from simcore.bounds.overlap import StageUse, lost_shares, slowed_time
from simcore.bounds.rounding import SAFE
from simcore.collective import FLAT_RING
from simcore.collective.routed import LATENCY, Routed, by_network_alone, kernel_seconds, routed_of
from simcore.compute import times_of
from simcore.design.design import Design
from simcore.engine.fast.lower import Lowering
from simcore.memory.plan import program_of
from simcore.metrics import Figures
from simcore.power.draw import draws_of, npus_watts
from simcore.program import Program
from simcore.reliability.goodput import at_mtbf, interruptions_of
from simcore.system.chunks import PICOSECONDS, Chunker, Phase, block_of
from simcore.system.placement import GroupSlice, Placement, place

Matrix = NDArray[np.float64]

_RATE = 1e8
"""Bandwidth of the dimensions in which loads are measured [B/s]: up to 400 TB, and to 1/20,000 of a byte."""
_LATENCY = 1e-3
_ROUNDING = 0.51
"""What rounding can take from a duration [ps], and a little for the arithmetic here."""


@dataclass(frozen=True, eq=False)
class NetworkFamily:
    """Networks that differ in bandwidths and latencies: `rates`, `latencies` `[networks, dims]` [B/s], [s]."""

    design: Design
    """One of them, whatever its workload and degrees."""
    rates: Matrix
    latencies: Matrix
    bandwidths: Matrix | None = None
    """Bandwidths of the links `[networks, dims]` [B/s], of which messages reach `rates`; None where unknown."""

    @classmethod
    def of(cls, designs: Sequence[Design]) -> NetworkFamily:
        """The family of designs that agree in all but bandwidths, latencies and efficiencies."""
        chunkers = [(Chunker(design), design.cluster.dimensions) for design in designs]
        links = [[(chunker.rate(d), d.latency, d.bandwidth) for d in dimensions] for chunker, dimensions in chunkers]
        return cls(designs[0], *np.array(links).transpose(2, 0, 1).copy())

    @cached_property
    def probe_design(self) -> Design:
        """The design with dimensions of `_RATE` and `_LATENCY`."""
        return _make_probe(self.design)


def is_linear(design: Design) -> bool:
    """Whether the links of a phase take its load over the bandwidth.

    Not where a flat ring goes at the pace of its slowest dimension, nor where the share of the bandwidth that messages
    reach depends on their size: loads at the best share bound the time there, but a bound of one network is tighter.
    Nor where switches have a number of trees: which groups get none is the whole job's to say; nor where the links of a
    graph have bandwidths of their own. Nor where weights stream in, over queues that are no dimensions.
    """
    dimensions = design.cluster.dimensions
    if design.streamed is not None:
        return False
    plain = all(d.bandwidth > 0 <= d.latency and not isinstance(d.efficiency, tuple) for d in dimensions)
    return plain and FLAT_RING not in design.algorithms and all(d.trees is None is d.graph for d in dimensions)


def _make_probe(design: Design) -> Design:
    def set_unit_speed(dimension: Any) -> Any:
        same = {"efficiency": 1.0, "latency": _LATENCY, "nics": None, "nic_bandwidth": None}
        return dimension.model_copy(update={"bandwidth": _RATE * block_of(dimension).slowed, **same})

    dimensions = tuple(map(set_unit_speed, design.cluster.dimensions))
    cluster = design.cluster.model_copy(update={"dimensions": dimensions, "transport": None})
    return design.model_copy(update={"cluster": cluster})


@dataclass(frozen=True)
class Iteration:
    """The bound of a program on any family of networks of given sizes, by what collectives take there.

    It is the largest row of `constant + least @ (least times) + busy @ (service times)` [ps], and what its stages take
    that compute beside collectives.
    """

    keys: tuple[tuple[Any, ...], ...]
    """What identifies each type of collective."""
    placement: Placement
    forms: Matrix
    """`[rows, 1 + types + types x dims]`."""
    stages: tuple[StageUse, ...]
    """Stages that compute beside collectives; what precedes them is a form."""

    @classmethod
    def of(cls, design: Design, program: Program) -> Iteration:
        """The forms of a training design; only its degrees, its NPU and the sizes of its dimensions count."""
        assert program.trained
        simple, placement = probed(design)
        lowering = Lowering(simple, placement, times_of(design))
        programs = lowering.add(program).tolist()
        keys = tuple(key for key, _ in lowering.keyed())
        times, unit = terms_of(keys, placement, len(design.cluster.dimensions))
        iteration = IterationBound(program, lowering, programs, times, unit)
        return cls(keys, placement, forms_of(iteration.sums()), tuple(iteration.stage_uses()))

    def seconds(self, family: NetworkFamily, known: dict[Any, CollectiveTime], overlap: bool = True) -> Matrix:
        """Least time on each network `[networks]` [s]; `known` keeps what collectives take on this family.

        `overlap`: with what overlap costs; without is looser, and quicker.
        """
        lost = lost_shares(family.design) if overlap else ()
        return self.seconds_with(self._times_on(family, known), family.rates.shape, lost)

    def mean_seconds(self, family: NetworkFamily, known: dict[Any, CollectiveTime]) -> Matrix:
        """Mean of the rows on each network `[networks]` [s]: tells networks of one bound apart, and proves nothing."""
        result: Matrix = self.forms.mean(axis=0) @ self._terms(self._times_on(family, known), *family.rates.shape)
        return result / PICOSECONDS

    def _times_on(self, family: NetworkFamily, known: dict[Any, CollectiveTime]) -> list[CollectiveTime]:
        for key, where in self.wheres():
            if where not in known:
                known[where] = collective_on(family, key, self.placement)
        return [known[where] for _, where in self.wheres()]

    def wheres(self) -> Iterator[tuple[tuple[Any, ...], tuple[Any, ...]]]:
        """The key of each type of collective, and all that its times on a family depend on."""
        for key in self.keys:
            yield key, (*key, self.placement[key[1]])

    def seconds_with(self, times: Sequence[CollectiveTime], shape: tuple[int, ...], lost: Sequence[float]) -> Matrix:
        """Least time on each of `shape` = networks, dims [s], where types of collectives take `times`.

        `lost`: what computation loses beside each dimension; what overlap costs is left out where that is nothing.
        """
        terms = self._terms(times, *shape)
        longest = (self.forms @ terms).max(axis=0)
        for stage in self.stages if any(lost) else ():
            used = replace(stage, before=stage.before @ terms)
            longest = np.maximum(longest, slowed_time(used, times, self.keys, lost))
        result: Matrix = longest * (SAFE / PICOSECONDS)
        return result

    def _terms(self, times: Sequence[CollectiveTime], networks: int, dims: int) -> Matrix:
        """What the columns of the forms stand for on each network `[columns, networks]` [ps]."""
        kinds, terms = len(self.keys), np.zeros((self.forms.shape[1], networks))
        terms[0] = 1.0
        for k, time in enumerate(times):
            terms[1 + k] = time.least
            for d, busy in time.busy.items():
                terms[1 + kinds + k * dims + d] = busy
        return terms

    def problems(self, family: NetworkFamily) -> list[tuple[float, Matrix]]:
        """For each form, its constant [s] and the bytes of its collectives `[collectives, dims]`.

        The form's time is at least the constant plus the sum of each collective's longest bytes / rate: what
        `dse.space.split.bandwidth` minimises. `family` gives the shape; its rates do not count.
        """
        loads = _loads_of(self.keys, self.placement, family)
        (kinds, dims), found = loads.shape, []
        for form in [*self.forms, *self._slowed_forms(lost_shares(family.design))]:
            blocking = form[1 : 1 + kinds, None] * loads
            service = (form[1 + kinds :].reshape(kinds, dims) * loads).sum(axis=0)
            found.append((float(form[0]) / PICOSECONDS, np.vstack([blocking, np.diag(service)]).clip(0.0)))
        return found

    def _slowed_forms(self, lost: Sequence[float]) -> Iterator[Matrix]:
        """What stages take that compute beside collectives, by one dimension at a time."""
        kinds, dims = len(self.keys), len(lost)
        for stage in self.stages:
            for d, share in enumerate(lost):
                form = stage.before.copy()
                for k, (started, blocking) in stage.used.items():
                    form[1 + k] += blocking * (1.0 - share)
                    form[1 + kinds + k * dims + d] += (started + blocking) * share
                yield form

    @property
    def compute(self) -> float:
        """Least time whatever the network [s]."""
        return float(self.forms[:, 0].max()) * SAFE / PICOSECONDS


def _loads_of(keys: Sequence[tuple[Any, ...]], placement: Placement, family: NetworkFamily) -> Matrix:
    """Bytes that each type of collective puts on each dimension `[collectives, dims]`."""
    dims = family.rates.shape[1]
    unit = NetworkFamily(family.design, np.full((1, dims), _RATE), np.zeros((1, dims)))
    loads = np.zeros((len(keys), dims))
    for number, key in enumerate(keys):
        for d, time in collective_on(unit, key, placement, links_alone=True).busy.items():
            loads[number, d] = time[0] / PICOSECONDS * _RATE
    return loads


def probed(design: Design) -> tuple[Design, Placement]:
    """A design that tells which collectives there are, each of one chunk in the usual order; and where groups lie."""
    system = design.system.model_copy(update={"chunks": 1, "inter_dimension": "baseline"})
    simple = _make_probe(design).model_copy(update={"system": system})
    return simple, place(simple)[0]


def terms_of(
    keys: Sequence[tuple[Any, ...]], placement: Placement, dims: int
) -> tuple[list[CollectiveTime], NDArray[np.float64]]:
    """What each type of collective takes, and 1 ps, as vectors of which every sum is a form (`Iteration.forms`)."""
    basis, times = np.eye(1 + len(keys) * (1 + dims)), []
    for k, key in enumerate(keys):
        served = {where.dimension: basis[1 + len(keys) + k * dims + where.dimension] for where in placement[key[1]]}
        times.append(CollectiveTime(basis[1 + k], served, [served]))
    return times, basis[0]


def forms_of(sums: Iterable[Any]) -> Matrix:
    """The sums as rows, but for those that another row equals or exceeds in every term."""
    import moocore

    kept: Matrix = np.unique(np.array(list(sums)), axis=0)
    largest: Matrix = kept[moocore.is_nondominated(-kept)]
    return largest


def collective_on(
    family: NetworkFamily,
    key: tuple[Any, ...],
    placement: Placement,
    links_alone: bool = False,
    kernels: bool = False,
) -> CollectiveTime:
    """What a type of collective takes at least, `[networks]` each [ps].

    `links_alone`: without what libraries add; `kernels`: with what the kernels take that move tokens to experts.
    """
    chunker = Chunker(family.probe_design, links_alone=True)
    if key[0] == "shift" and len(placement[key[1]]) > 1:
        # It is served by its slowest dimension alone, which may be another on each network: none is surely busy.
        chunk = key[2] / chunker.design.system.chunks
        steps = [
            _phase_times(chunker.phase("shift", where, chunk, chunk), family, links_alone)
            for where in placement[key[1]]
        ]
        return CollectiveTime(np.maximum.reduce([step.serialization + step.latency for step in steps]), {}, [{}])
    paths, counts = routes(chunker, placement, (by_network_alone(key[0]), *key[1:]))
    timed = _paths_times(paths, family, links_alone)
    if kernels and (routed := routed_of(key[0])) is not None and routed.row:
        timed = [_with_kernel(path, routed, key[2] / family.design.system.chunks, placement[key[1]]) for path in timed]
    return collective_time(timed, counts, family.rates.T)


def _with_kernel(path: list[Any], routed: Routed, size: float, group: Sequence[GroupSlice]) -> list[Any]:
    """The phases of a chunk of routed tokens, with the kernel that feeds the innermost one (`Chunker`)."""
    at = -1 if routed.way == "dispatch" else 0
    inner, shares = path[at], prod(where.part.members for where in group)
    first, beside = (max(time * PICOSECONDS - 2 * _ROUNDING, 0.0) for time in kernel_seconds(routed, size, shares))
    # Where some steps leave the busiest link free, less than `beside` may be left of them.
    served = inner.serialization if inner.other_links else np.maximum(inner.serialization, beside)
    latency = inner.latency + (LATENCY * PICOSECONDS - _ROUNDING)
    fed = inner._replace(serialization=first + served, latency=latency)
    return [*path[:-1], fed] if at else [fed, *path[1:]]


def _paths_times(paths: Sequence[Sequence[Phase]], family: NetworkFamily, links_alone: bool) -> list[list[Any]]:
    """The phases of paths on every network; a phase that several paths have is looked at once."""
    known = {id(phase): phase for path in paths for phase in path}
    timed = {its: _phase_times(phase, family, links_alone) for its, phase in known.items()}
    return [[timed[id(phase)] for phase in path] for path in paths]


def _phase_times(phase: Phase, family: NetworkFamily, links_alone: bool) -> Any:
    """The phase on every network: load / rate, hops x latency, at least what rounding leaves of them.

    What its library adds counts, too, unless its links are asked for alone.
    """
    scale = _RATE / PICOSECONDS / family.rates[:, phase.dimension]
    other = phase.other_links
    steps, elsewhere = (phase.serialization + other - 0.5) * scale, (other + 0.5 if other else 0.0) * scale
    launch = 0.0 if phase.passes is None else phase.passes.kernel.launch
    hops = round(((phase.latency - other) / PICOSECONDS - launch) / _LATENCY)
    waits = hops * family.latencies[:, phase.dimension]
    if phase.passes is not None and not links_alone:
        steps = phase.passes.seconds(steps)
        waits = waits + launch
    serialization = (steps - elsewhere) * PICOSECONDS - (2 if other else 1) * _ROUNDING
    latency = waits * PICOSECONDS - _ROUNDING
    if other:
        latency = latency + (other - 0.5) * scale * PICOSECONDS - _ROUNDING
    # Not at least 1 ps, as a phase takes: of more chunks that would be more.
    return phase._replace(serialization=np.maximum(serialization, 0), latency=np.maximum(latency, 0))  # type: ignore[arg-type]


def _alone(design: Design) -> tuple[Placement, list[tuple[Any, ...]]]:
    """Where the groups of a design lie whose Program is a single collective, and what identifies that of each."""
    start, placement = program_of(design).single, place(design)[0]
    assert start is not None
    return placement, [(start.kind, group, start.size) for group in placement]


def collective_seconds(design: Design, family: NetworkFamily) -> Matrix:
    """Least time of a collective of all NPUs, or of the slowest of its groups, on each network `[networks]` [s].

    `design` has the workload, on one of the networks.
    """
    placement, keys = _alone(design)
    each = [collective_on(family, key, placement).least for key in keys]
    slowest: Matrix = np.maximum.reduce(each) * (SAFE / PICOSECONDS)
    return slowest


def _utilization(sending: Matrix | float, seconds: Matrix) -> Matrix:
    with np.errstate(divide="ignore"):
        share: Matrix = np.minimum(1.0, sending / (seconds * SAFE))
    return share


def sending_seconds(design: Design, family: NetworkFamily) -> Matrix:
    """Time that all bytes of a collective take where every dimension sends at its bandwidth `[networks]` [s].

    Over the iteration time it is the network's utilisation. Infinite for a collective of several groups.
    """
    placement, keys = _alone(design)
    if len(keys) > 1:
        return np.full(len(family.rates), np.inf)
    paths, counts = routes(Chunker(family.probe_design, links_alone=True), placement, keys[0])
    sums = [sum(phase.sent for phase in path) for path in paths]
    sent = counts * max(sums) if isinstance(counts, int) else float(np.dot(counts, sums))
    links = family.rates if family.bandwidths is None else family.bandwidths  # the former are less: it takes longer
    whole: Matrix = sent / links.sum(axis=1)
    return whole


def figures_of(
    design: Design,
    program: Program | None,
    seconds: Matrix,
    cost: Mapping[str, Matrix],
    sending: Matrix | float,
    joules: float = 0.0,
) -> Figures:
    """The figures of a design `[networks]`, or one for all, each at its best.

    `seconds` are bounds of the iteration time, `cost` what the networks' clusters cost to buy, draw and how often they
    fail, by metric; all have the price list and the reliability of `design`; `sending` is the time that all bytes take
    at the networks' bandwidths, `joules` what each NPU takes at least above idle.
    """
    still = (npus_watts(design, draws_of(design).idle) + cost["power.rest"]) * SAFE
    stops = interruptions_of(design)
    return Figures.of(
        design,
        seconds=seconds,
        power=still,
        energy=still * seconds + npus_watts(design, joules) * SAFE,
        capital=cost["cost.total"],
        network=cost["cost.network"],
        peak=cost["power.peak"],
        rack=cost["power.rack"],
        samples=None if program is None else program.tokens,
        flops=None if program is None else program.model_flops,
        utilization=_utilization(sending, seconds),
        interruptions=None if stops is None else at_mtbf(stops, cost["mtbf"]),
        software=design.software,
    )


def collective_problem(design: Design, family: NetworkFamily) -> Matrix:
    """Bytes of a collective of all NPUs, or of the slowest group's, as `Iteration.problems` gives, `[groups, dims]`."""
    placement, keys = _alone(design)
    return _loads_of(keys, placement, family)


def collective_bytes(design: Design, family: NetworkFamily, slowed: Matrix) -> float:
    """Bytes of all dimensions together, of a collective of all NPUs or of the slowest of its groups.

    `slowed` `[dims]`: bandwidth over rate of each dimension. However a budget of bandwidth is split over the
    dimensions, the collective takes at least these bytes over it.
    """
    placement, keys = _alone(design)
    # A network where each dimension has the bandwidth _RATE, so that weighing by rates weighs by bandwidths.
    even = NetworkFamily(family.design, (_RATE / slowed)[None, :], np.zeros((1, len(slowed))))
    chunker, found = Chunker(even.probe_design, links_alone=True), []
    for key in keys:
        paths, counts = routes(chunker, placement, key)
        sums = [sum(one.serialization[0] for one in path) for path in _paths_times(paths, even, links_alone=True)]
        found.append(counts * min(sums) if isinstance(counts, int) else float(np.dot(counts, sums)))
    return max(found) / PICOSECONDS * _RATE
