"""The links that the phases of several jobs share: what `simcore.engine.flow.shared` asks for, of jobs side by side.

Jobs meet on one dimension of the cluster, of which each has a part; the rows of NPUs along all others are of one job
each. There a phase takes as long as in its job's own design, whose links have what the job alone can use of them, and
what it sends goes over the links of the cluster's dimension. Classes of NPUs are numbered over all jobs. No job's
messages go first: a switch does not know what a job's own ranks are.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from simcore.design.design import Design
from simcore.design.dimension import block_of
from simcore.design.jobs import JobShare
from simcore.engine.flow.classes import Classes
from simcore.engine.flow.links import (
    ALONE,
    DesignLinks,
    describe_link,
    find_links,
    hops_of,
    kinds_of,
    phases_on,
)
from simcore.engine.flow.loads import (
    Load,
    PhaseKind,
    Sender,
    find_tails,
    is_in_switches,
    links_that_matter,
    nodes_of,
    phase_time,
    shares_of,
)
from simcore.engine.flow.rows import Row, Rows, unpack
from simcore.engine.flow.shared import Link, Served, Stream, Tail
from simcore.engine.flow.traffic import phase_traffic
from simcore.engine.flow.trees import tree_loads
from simcore.engine.flow.wires import Wires, wires_of
from simcore.network import Slice
from simcore.network.sent import Floats, Ints, Sent
from simcore.program import Program
from simcore.system.chunks import Chunker
from simcore.system.phase_cost import send_cost


@dataclass(frozen=True)
class PlayedShare:
    """A job on its share of a cluster."""

    share: JobShare
    program: Program
    classes: Classes
    first: int
    """Number of its first class among those of all jobs."""

    @cached_property
    def dimension(self) -> int | None:
        """The dimension of its design that is a part of the shared one; None where it has one place there."""
        seen = self.share.dimensions
        return seen.index(self.share.shared) if self.share.shared in seen else None

    @cached_property
    def rows(self) -> Rows:
        """Its rows of NPUs."""
        return Rows(self.classes, hops_of(self.program))

    @cached_property
    def phases(self) -> tuple[PhaseKind, ...]:
        """What the shared dimension serves of its collectives."""
        assert self.dimension is not None
        placement = self.classes.placement
        return phases_on(self.share.design, self.dimension, placement, kinds_of(self.program, placement))

    @cached_property
    def pipeline(self) -> Slice | None:
        """What its pipeline takes of the shared dimension."""
        taken = self.classes.placement.get("pipeline", ())
        return next((where.part for where in taken if where.dimension == self.dimension), None)

    def number(self, served: Served) -> Served:
        """What a class of the job serves, the class numbered among those of all jobs."""
        return served._replace(npus=served.npus + self.first)


def find_jobs_links(design: Design, jobs: Sequence[PlayedShare]) -> DesignLinks:
    """The links that the phases of a cluster's jobs share, those of each job alone among them.

    Raises `InputError` where failed links leave messages no way.
    """
    links: list[Link] = []
    streams: dict[Served, Stream] = {}
    for job in jobs:
        _add_own(job, links, streams)
    present = [job for job in jobs if job.dimension is not None]
    if present:
        _add_shared(design, present, links, streams)
    return DesignLinks(links, streams)


def _add_own(job: PlayedShare, links: list[Link], streams: dict[Served, Stream]) -> None:
    """Add what the phases of a job share on the dimensions whose rows are of one job each."""
    own, first = find_links(job.share.design, job.program, job.classes), len(links)
    kept = {served: stream for served, stream in own.streams.items() if served.dimension != job.dimension}
    links += own.links
    for served, stream in kept.items():
        moved = tuple((first + link, count) for link, count in stream.links)
        streams[job.number(served)] = stream._replace(links=moved)


def _add_shared(design: Design, jobs: Sequence[PlayedShare], links: list[Link], streams: dict[Served, Stream]) -> None:
    """Add what the phases of all jobs share on the dimension of which each has a part."""
    number = jobs[0].share.shared
    dimension = design.cluster.dimensions[number]
    wires = wires_of(block_of(dimension), dimension.size, tuple(design.cluster.worn(number).items()))
    bandwidth = Chunker(design).rate(dimension)
    found: dict[Sender, tuple[float, tuple[tuple[int, float], ...]]] = {}
    tails: dict[Sender, Tail] = {}
    owners = {job.first + its: job for job in jobs for its in range(len(job.classes.stages))}
    for rows in _rows_together(design, jobs):
        loads = [load for job, row in zip(jobs, rows, strict=True) for load in loads_on_row(job, row, wires)]
        for link, users in links_that_matter(wires, loads, _slower(jobs, rows, wires, loads)):
            name = f"cluster.dimensions[{number}]: {describe_link(link.ends, dimension.size)}"
            for load, share in users:
                rate, before = found.get(load.sender, (load.rate, ()))
                found[load.sender] = max(rate, load.rate), (*before, (len(links), share * link.rate))
            links.append(Link(link.rate * bandwidth, name, [(number, *ends) for ends in link.ends]))
        for job, row in zip(jobs, rows, strict=True):
            for sender, tail in _tails_on_row(job, row, wires):
                tails[sender] = max(tail, tails.get(sender, tail))

    def served(its: Sender) -> Served:
        dimension = owners[its.npus].dimension
        assert dimension is not None
        return Served(its.npus, its.group, dimension, its.kind, its.target)

    for sender, (rate, used) in found.items():
        streams[served(sender)] = Stream(rate * bandwidth, tuple((link, need / rate) for link, need in used))
    for sender, tail in tails.items():
        streams[served(sender)] = streams.get(served(sender), ALONE)._replace(tail=tail)


def _rows_together(design: Design, jobs: Sequence[PlayedShare]) -> Iterator[tuple[Row, ...]]:
    """The different rows of the shared dimension: of each job its part of them."""
    shared = jobs[0].share.shared
    sizes = [dimension.size for dimension in design.cluster.dimensions]
    others = [range(1 if index == shared else size) for index, size in enumerate(sizes)]
    seen: set[tuple[Row, ...]] = set()
    for coordinates in itertools.product(*reversed(others)):
        at = coordinates[::-1]
        rows = tuple(
            job.rows.row_at(job.dimension, [at[index] for index in job.share.dimensions])
            for job in jobs
            if job.dimension is not None
        )
        if rows not in seen:
            seen.add(rows)
            yield rows


def loads_on_row(job: PlayedShare, row: Row, wires: Wires) -> Iterator[Load]:
    """What the classes of a job put on the links of the shared dimension, in one row of it."""
    classes, places = unpack(row.classes), np.array(job.share.places)
    assert job.dimension is not None
    own = block_of(job.share.design.cluster.dimensions[job.dimension])
    for phase in job.phases:
        if is_in_switches(own, phase):
            yield from _tree_loads(job, phase, classes, places, wires)
            continue
        traffic = phase_traffic(phase.algorithm, phase.kind, phase.part.members, own.shape(phase.part))
        sent = traffic.all(phase.part.members).of_groups(phase.part, np.array(phase.firsts))
        time, sending = phase_time(own, phase), classes[sent.source]
        for its in np.unique(sending).tolist():
            messages = Sent(*(column[sending == its] for column in sent))
            sender = Sender(job.first + its, phase.group, phase.kind, -1)
            yield _load(sender, messages, time, places, wires, traffic.at_once)
    for onward in row.onward:
        assert job.pipeline is not None
        source = unpack(onward.sources)
        target = source + onward.distance * job.pipeline.stride
        cost = send_cost(own, job.pipeline, abs(onward.distance))
        sender = Sender(job.first + onward.sender, "pipeline", "send_recv", onward.target)
        yield _load(sender, Sent(source, target, np.ones(len(source))), cost.load, places, wires)


def _tails_on_row(job: PlayedShare, row: Row, wires: Wires) -> Iterator[tuple[Sender, Tail]]:
    """What chunks of a job fly longer over worn links of the shared dimension, in one row of it."""
    assert job.dimension is not None
    own = block_of(job.share.design.cluster.dimensions[job.dimension])
    for sender, tail in find_tails(own, job.phases, row, wires, np.array(job.share.places)):
        yield sender._replace(npus=job.first + sender.npus), tail


def _tree_loads(job: PlayedShare, phase: PhaseKind, classes: Ints, places: Ints, wires: Wires) -> Iterator[Load]:
    """What each class of a job puts on links where switches add up and copy."""
    assert job.dimension is not None
    time = phase_time(block_of(job.share.design.cluster.dimensions[job.dimension]), phase)
    nodes = nodes_of(phase)
    for its, load in tree_loads(wires, phase.kind, places[nodes], classes[nodes]).items():
        sender = Sender(job.first + its, phase.group, phase.kind, -1)
        yield Load(sender, shares_of(load, time, wires), 1 / time)


def _load(sender: Sender, messages: Sent, time: float, places: Ints, wires: Wires, at_once: float = 1.0) -> Load:
    """The load of messages between nodes of a job, which take `time` together where the job is alone."""
    whole = messages.at(places)
    return Load(sender, shares_of(wires.load(whole), time, wires), wires.most_of_one(whole, at_once) / time)


def _slower(jobs: Sequence[PlayedShare], rows: Sequence[Row], wires: Wires, loads: Sequence[Load]) -> NDArray[np.bool_]:
    """Links that carry more of some phase than where nothing is worn, `[links]`."""
    changed = np.zeros(len(wires.rate), bool)
    if not wires.worn:
        return changed
    whole = [load for job, row in zip(jobs, rows, strict=True) for load in loads_on_row(job, row, wires.whole)]
    for worn, usual in zip(loads, whole, strict=True):
        changed |= _is_more(worn.share, usual.share)
    return changed


def _is_more(one: Floats, other: Floats) -> NDArray[np.bool_]:
    more: NDArray[np.bool_] = one > other * (1 + 1e-9) + 1e-9
    return more
