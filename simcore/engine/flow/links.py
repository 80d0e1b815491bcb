"""The links that the phases of a design share: what `simcore.engine.flow.shared` asks for, from a design.

A stream's messages move at the rate at which one NPU sends them where nothing is shared. How many of them are on a link
at a time follows: the bytes that the phase puts there over those that one of them moves in the time of the phase.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from simcore.collective import routed_of
from simcore.design.design import Design
from simcore.engine.flow.classes import Classes
from simcore.engine.flow.loads import Carried, DimensionLoads, PhaseKind, Sender, dimension_loads
from simcore.engine.flow.rows import Rows
from simcore.engine.flow.shared import Link, Served, Stream
from simcore.program import Program, Start
from simcore.schedule import ORDERS
from simcore.system.chunks import ORDERED_KINDS, Chunker, block_of
from simcore.system.placement import GroupSlice, Placement

ALONE = Stream(1.0, ())
"""The stream of a phase that shares no link."""


@dataclass(frozen=True)
class DesignLinks:
    """See `simcore.engine.flow.shared.SharedLinks`."""

    links: Sequence[Link]
    streams: dict[Served, Stream]

    def stream(self, served: Served) -> Stream:
        """See `SharedLinks.stream`."""
        return self.streams.get(served, ALONE)


def find_links(design: Design, program: Program, classes: Classes) -> DesignLinks:
    """The links that the phases of a design's program share.

    Raises `InputError` where failed links leave messages no way.
    """
    links: list[Link] = []
    streams: dict[Served, Stream] = {}
    kinds = _kinds_of(program)
    rows = Rows(classes, _hops_of(program))
    for dimension in range(len(design.cluster.dimensions)):
        found = _loads_on(design, dimension, classes, kinds, rows)
        if found is not None:
            _add_dimension(design, dimension, found, links, streams)
    return DesignLinks(links, streams)


def _add_dimension(
    design: Design, number: int, found: DimensionLoads, links: list[Link], streams: dict[Served, Stream]
) -> None:
    dimension = design.cluster.dimensions[number]
    bandwidth, first = Chunker(design).rate(dimension), len(links)
    for link in found.links:
        name = f"cluster.dimensions[{number}]: {_describe(link.ends)}"
        links.append(Link(link.rate * bandwidth, name, [(number, *ends) for ends in link.ends]))
    for (npus, group, kind, target), (rate, used) in found.streams.items():
        counts = tuple((first + link, share * found.links[link].rate / rate) for link, share in used)
        streams[Served(npus, group, number, kind, target)] = Stream(rate * bandwidth, counts)


def _describe(ends: Sequence[tuple[int, int]]) -> str:
    source, target = ends[0]
    alike = f" and {len(ends) - 1} alike" if len(ends) > 1 else ""
    return f"the link from {source} to {target}{alike}"


def _loads_on(
    design: Design, number: int, classes: Classes, kinds: Sequence[tuple[str, str]], rows: Rows
) -> DimensionLoads | None:
    """What matters on the links of a dimension; None where nothing can, which is seen without looking at messages."""
    dimension, placement = design.cluster.dimensions[number], classes.placement
    block, worn = block_of(dimension), tuple(design.cluster.worn(number).items())
    if not block.shares and not worn:
        return None
    its_rows = tuple(rows.along(number))
    if not worn and all(_is_of_one_class(row.classes) for row in its_rows):
        return None
    algorithm = Chunker(design).algorithm(number)
    phases = tuple(
        PhaseKind(
            group,
            kind,
            where.part,
            _first_nodes(placement, group, where),
            algorithm,
            dimension.in_network,
            1 / dimension.affinity if where.crosses else 1.0,
        )
        for group, kind in kinds
        for where in placement[group]
        if where.dimension == number
    )
    slices = [where.part for where in placement.get("pipeline", ()) if where.dimension == number]
    return dimension_loads(Carried(block, dimension.size, worn, its_rows, phases, slices[0] if slices else None))


def _is_of_one_class(classes: bytes) -> bool:
    return bool(np.ptp(np.frombuffer(classes, np.int64)) == 0)


def _first_nodes(placement: Placement, group: str, where: GroupSlice) -> tuple[int, ...]:
    """The first node of each group in a row."""
    if "group 0" in placement:
        names = list(placement)
        return (sum(placement[name][0].part.members for name in names[: names.index(group)]),)
    part = where.part
    span = part.members * part.stride
    return tuple(first + offset for first in range(0, part.size, span) for offset in range(part.stride))


def _kinds_of(program: Program) -> list[tuple[str, str]]:
    """(Group, kind of phase) of everything that a program starts."""
    found: dict[tuple[str, str], None] = {}
    for start in _starts_of(program):
        for kind in _phase_kinds(start.kind):
            found[start.group, kind] = None
    return list(found)


def _phase_kinds(kind: str) -> tuple[str, ...]:
    """The kinds of the phases of a collective."""
    if kind == "all_reduce":
        return ORDERED_KINDS
    return ("all_to_all",) if routed_of(kind) else (kind,)


def _starts_of(program: Program) -> Iterator[Start]:
    """Every collective of a program, equal ones once where they are one object."""
    seen: set[int] = set()
    passes = [segments for part in program.parts for segments in part.passes]
    for segments in [*passes, *program.final]:
        for segment in segments:
            if id(segment.operators) not in seen:
                seen.add(id(segment.operators))
                yield from (operator for operator in segment.operators if isinstance(operator, Start))


def _hops_of(program: Program) -> frozenset[tuple[int, int]]:
    """Which stages send to which: along the path of the schedule, and back where the model is trained."""
    if program.stages == 1:
        return frozenset()
    path = [place % program.stages for place in ORDERS[program.schedule].path(program.stages, program.chunks).tolist()]
    onward = {(a, b) for a, b in zip(path, path[1:], strict=False) if a != b}
    return frozenset(onward | ({(b, a) for a, b in onward} if program.trained else set()))


__all__ = ["ALONE", "DesignLinks", "Sender", "find_links"]
