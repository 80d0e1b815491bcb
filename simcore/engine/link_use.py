"""How busy each link of a design's fabric is in an iteration, and with whose messages.

Every row of NPUs along a dimension has its own copy of its links; rows that carry the same are shown once. A phase puts
the same bytes on the same links whenever it is served, so what a link carries follows from how often each stage does
what; an engine only says how long the iteration takes. It is what engines of phases play (`fast`, `flow`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from simcore.compute import times_of
from simcore.design.design import Design
from simcore.document.problem import InputError, Problem
from simcore.engine.fast.iteration import block_issues
from simcore.engine.fast.lower import Lowering, lower_schedule
from simcore.engine.flow.classes import Classes, find_classes
from simcore.engine.flow.links import hops_of, kinds_of, phases_on
from simcore.engine.flow.loads import Carried, Load, Sender, row_loads
from simcore.engine.flow.rows import Row, Rows, unpack
from simcore.engine.flow.wires import Wires, wires_of
from simcore.memory.plan import program_of
from simcore.network.sent import Floats
from simcore.program import Program
from simcore.schedule import ORDERS
from simcore.system.chunks import FLAT, PICOSECONDS, Chunker, Chunks, block_of
from simcore.system.placement import place

Service = Mapping[tuple[Sender, int], float]
"""How long each sender serves a kind of phase on each dimension in an iteration, alone [s]."""


class Share(NamedTuple):
    """What one group of the NPUs of one stage puts on a link."""

    stage: int
    group: str
    """The parallel group; `pipeline` for messages between stages."""
    share: float
    """Of the time for which the link carries it."""


@dataclass(frozen=True, slots=True)
class LinkUse:
    """Links of a row that are loaded alike because packets are spread over all of them; most are single links."""

    ends: tuple[tuple[int, int], ...]
    """Nodes that each leads from and to: those below the row's size are NPUs, the others switches."""
    rate: float
    """Of one of them [B/s]."""
    by: tuple[Share, ...]
    """The largest share first."""

    @property
    def utilization(self) -> float:
        """Share of the time for which it carries data."""
        return sum(one.share for one in self.by)


@dataclass(frozen=True, slots=True)
class RowUse:
    """The links of a row of NPUs along a dimension."""

    dimension: int
    stages: tuple[int, ...]
    """The stage of each of its NPUs; of groups side by side, the number of the group."""
    links: tuple[LinkUse, ...]

    @property
    def busiest(self) -> float:
        """The utilization of its busiest link."""
        return max((link.utilization for link in self.links), default=0.0)


def use_of_links(design: Design, seconds: float) -> tuple[RowUse, ...]:
    """The links of each different row of each dimension, in an iteration of `seconds`.

    Raises `InputError` for several jobs, for a ring over several dimensions, and where failed links leave no way.
    """
    _refuse(design)
    program, classes = program_of(design), find_classes(design, place(design)[0])
    service, kinds = _service(design, program, classes), kinds_of(program, classes.placement)
    rows = Rows(classes, hops_of(program))
    found = []
    for number in range(len(design.cluster.dimensions)):
        carried = _carried(design, number, classes, kinds, rows)
        found += [_row_use(design, number, carried, row, classes, service, seconds) for row in carried.rows]
    return tuple(found)


def _refuse(design: Design) -> None:
    problems = []
    if design.jobs is not None:
        fix = "make a design of each job"
        problems.append(Problem(("jobs",), "one job, to say whose the messages are", f"{len(design.jobs)}", fix))
    if "flat_ring" in design.algorithms:
        fix = "use an algorithm of one dimension"
        problems.append(Problem(("system", "collective"), "collectives of one dimension each", "flat_ring", fix))
    if design.parallelism.parameter_server is not None:
        problems.append(Problem(("parallelism", "gradients"), "all_reduce, between NPUs alone", "parameter_server"))
    if problems:
        raise InputError(problems, "links")


def _service(design: Design, program: Program, classes: Classes) -> Service:
    """See `Service`; of a training job each class does what its stage does."""
    lowering = Lowering(design, classes.placement, times_of(design))
    service: dict[tuple[Sender, int], float] = defaultdict(float)
    if program.single is not None:
        for its, group in enumerate(classes.placement):
            split = lowering.chunker.split_collective(
                program.single.kind, classes.placement[group], program.single.size
            )
            _add_service(service, split, 1, Sender(its, group, "", -1))
        return service
    choices, split_up = lower_schedule(lowering, program), ORDERS[program.schedule].splits
    for its, stage in enumerate(classes.stages):
        issues = block_issues(lowering, choices[stage].tolist(), program.microbatches, split_up, program.updates)
        for number, (key, (group, split)) in enumerate(lowering.keyed()):
            if len(key) == 3:  # no message between stages
                _add_service(service, split, issues.get(number, 0), Sender(its, group, "", -1))
    for source, target, split in _messages(program, lowering.chunker, classes):
        for its in (its for its, stage in enumerate(classes.stages) if stage == source):
            _add_service(service, split, program.microbatches, Sender(its, "pipeline", "", target))
    return service


def _add_service(service: dict[tuple[Sender, int], float], split: Chunks, times: int, sender: Sender) -> None:
    for path, chunks in split.count_paths():
        for phase in path:
            kind = phase.kind.removeprefix(FLAT)
            service[sender._replace(kind=kind), phase.dimension] += times * chunks * phase.serialization / PICOSECONDS


def _messages(program: Program, chunker: Chunker, classes: Classes) -> Iterator[tuple[int, int, Chunks]]:
    """What a microbatch sends from stage to stage, as far as its gradients: (stage, stage that gets it, phases)."""
    p, slices = program.stages, classes.placement.get("pipeline", ())
    if p == 1:
        return
    onward = chunker.steps_on(slices, p)
    path = [place % p for place in ORDERS[program.schedule].path(p, program.chunks).tolist()]
    sizes = program.sends or [program.send_bytes] * len(path)
    for size, here, there in zip(sizes, path, path[1:], strict=False):
        if here != there:
            split = chunker.split_message(slices, onward[here if there == (here + 1) % p else there], size)
            yield here, there, split
            if program.trained:
                yield there, here, split


def _carried(design: Design, number: int, classes: Classes, kinds: Sequence[tuple[str, str]], rows: Rows) -> Carried:
    dimension, placement = design.cluster.dimensions[number], classes.placement
    worn = tuple(design.cluster.worn(number).items())
    pipeline = [where.part for where in placement.get("pipeline", ()) if where.dimension == number]
    phases = phases_on(design, number, placement, kinds)
    block = block_of(dimension)
    return Carried(block, dimension.size, worn, tuple(rows.along(number)), phases, pipeline[0] if pipeline else None)


def _row_use(
    design: Design, number: int, carried: Carried, row: Row, classes: Classes, service: Service, seconds: float
) -> RowUse:
    dimension = design.cluster.dimensions[number]
    wires = wires_of(block_of(dimension), dimension.size, carried.worn)
    users: dict[tuple[int, str], Floats] = {}
    for load in [*row_loads(carried, row, wires), *_reduced(carried, row, wires)]:
        share = load.share * service.get((load.sender, number), 0.0) / seconds
        user = classes.stages[load.sender.npus], load.sender.group
        users[user] = users.get(user, 0.0) + share
    rates = wires.rate / wires.count * Chunker(design).rate(dimension)
    links = tuple(
        LinkUse(wires.ends(pool), float(rate), _shares(users, pool)) for pool, rate in enumerate(rates.tolist()) if rate
    )
    return RowUse(number, tuple(classes.stages[its] for its in unpack(row.classes).tolist()), links)


def _shares(users: Mapping[tuple[int, str], Floats], pool: int) -> tuple[Share, ...]:
    found = [Share(*user, float(shares[pool])) for user, shares in users.items() if shares[pool] > 0]
    return tuple(sorted(found, key=lambda one: (-one.share, one.stage, one.group)))


def _reduced(carried: Carried, row: Row, wires: Wires) -> Iterator[Load]:
    """What a switch adds up: each NPU's port carries the buffer once in each direction, for as long as the phase."""
    its = unpack(row.classes)
    ends = np.array([min(wires.ends(pool)[0]) for pool in range(len(wires.rate))])
    for phase in carried.phases:
        if phase.in_network and phase.kind == "all_reduce":
            for one in np.unique(its).tolist():
                mine = np.append(its == one, False)[np.minimum(ends, carried.size)]
                yield Load(Sender(one, phase.group, phase.kind, -1), mine.astype(float), 1.0)


def busiest_rows(rows: Sequence[RowUse]) -> dict[int, RowUse]:
    """The busiest row of each dimension."""
    found: dict[int, RowUse] = {}
    for row in rows:
        if row.dimension not in found or row.busiest > found[row.dimension].busiest:
            found[row.dimension] = row
    return found
