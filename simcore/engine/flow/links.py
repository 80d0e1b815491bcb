"""The links that the phases of a design share: what `simcore.engine.flow.shared` asks for, from a design.

A stream's messages move at the rate at which one NPU sends them where nothing is shared. How many of them are on a link
at a time follows: the bytes that the phase puts there over those that one of them moves in the time of the phase. All
messages of a stream have one pace. So where links have failed, or hashes collide, the way with most on it decides: in a
collective everybody waits for the slowest.

Where `system.intra_dimension` ranks groups, links serve the messages of the first one first. A stream then counts as
`RANK` times as many messages, each at 1 / `RANK` of the rate, for each of the design's groups that it goes before: fair
shares among so many leave the others little.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from simcore.collective import routed_of
from simcore.design.cluster import Cluster
from simcore.design.design import Design
from simcore.design.once import once
from simcore.engine.flow.classes import Classes, find_classes
from simcore.engine.flow.loads import Carried, DimensionLoads, PhaseKind, dimension_loads
from simcore.engine.flow.rows import Rows
from simcore.engine.flow.shared import Link, Served, Stream
from simcore.memory.plan import program_of
from simcore.policy.intra_dimension import INTRA_DIMENSION
from simcore.program import TO_OTHER_END, Program, Start
from simcore.schedule import ORDERS
from simcore.system.chunks import ORDERED_KINDS, Chunker, block_of
from simcore.system.placement import GroupSlice, Placement, place, stages_between
from simcore.system.streamed import LOAD, STREAMED
from simcore.system.trees import crowded_out

ALONE = Stream(1.0, ())
"""The stream of a phase that shares no link."""
RANK = 16.0
"""Not more: a message on its way is not interrupted, so that the first ones wait a little, and none stand still."""


@dataclass(frozen=True)
class DesignLinks:
    """See `simcore.engine.flow.shared.SharedLinks`."""

    links: Sequence[Link]
    streams: dict[Served, Stream]

    def stream(self, served: Served) -> Stream:
        """See `SharedLinks.stream`."""
        return self.streams.get(served, ALONE)


@once
def links_of(design: Design) -> DesignLinks:
    """The links that the phases of a design share where its classes are the stages; raises as `find_links`."""
    return find_links(design, program_of(design), find_classes(design, place(design)[0]))


@once
def find_sharing(design: Design) -> tuple[str, ...]:
    """Why the fast engine is not exact on a design: a sentence for each reason; empty where it is.

    Raises `InputError` where failed links leave messages no way.
    """
    reasons = []
    if slow := design.cluster.stragglers:
        reasons.append(f"{len(slow)} of the NPUs compute slower than the others of their stage")
    if any(_may_share(design, number) for number in range(len(design.cluster.dimensions))):
        reasons += [f"phases share links ({link.name})" for link in links_of(design).links[:1]]
    if design.cluster.failed_links and not reasons:
        reasons.append("links have failed, or carry less")
    return tuple(reasons)


def needs_flow(cluster: Cluster, shared: DesignLinks) -> bool:
    """Whether the flow engine is needed to play a design on a cluster: the fast one knows none of these."""
    return bool(shared.links or cluster.stragglers or cluster.failed_links)


def find_links(design: Design, program: Program, classes: Classes) -> DesignLinks:
    """The links that the phases of a design's program share.

    Raises `InputError` where failed links leave messages no way.
    """
    links: list[Link] = []
    streams: dict[Served, Stream] = {}
    ranks = rank_groups(design, program)
    numbers = [d for d in range(len(design.cluster.dimensions)) if _may_share(design, d, classes.simple)]
    if numbers:
        kinds, rows = kinds_of(program, classes.placement), Rows(classes, hops_of(program))
        for number in numbers:
            found = _loads_on(design, number, classes, kinds, rows)
            if found is not None:
                _add_dimension(design, number, found, ranks, links, streams)
    return DesignLinks(links, streams)


def _may_share(design: Design, number: int, stages: bool = True) -> bool:
    """Whether classes (`stages`: of the stages) may share links of a dimension: a glance, at no link or message."""
    dimension = design.cluster.dimensions[number]
    if any(link.dimension == number for link in design.cluster.failed_links):
        return True
    pipeline = place(design)[0].get("pipeline", ())
    return block_of(dimension).shares and (not stages or any(where.dimension == number for where in pipeline))


def _add_dimension(
    design: Design,
    number: int,
    found: DimensionLoads,
    ranks: Mapping[str, float],
    links: list[Link],
    streams: dict[Served, Stream],
) -> None:
    dimension = design.cluster.dimensions[number]
    bandwidth, first = Chunker(design).rate(dimension), len(links)
    for link in found.links:
        name = f"cluster.dimensions[{number}]: {describe_link(link.ends, dimension.size)}"
        links.append(Link(link.rate * bandwidth, name, [(number, *ends) for ends in link.ends]))
    for (npus, group, kind, target), (usual, fastest, used) in found.streams.items():
        rate = usual / ranks.get(group, 1.0)
        counts = tuple((first + link, share * found.links[link].rate / rate) for link, share in used)
        served = Served(npus, group, number, kind, target)
        streams[served] = Stream(rate * bandwidth, counts, fastest)
    for (npus, group, kind, target), tail in found.tails.items():
        served = Served(npus, group, number, kind, target)
        streams[served] = streams.get(served, ALONE)._replace(tail=tail)


def rank_groups(design: Design, program: Program) -> dict[str, float]:
    """As how many messages each one of a group counts, where groups are ranked."""
    policy, order = INTRA_DIMENSION[design.system.intra_dimension], design.system.priority
    if not policy.ranks_groups:
        return {}
    keys = {start.group: policy.key(order, start.group, 0) for start in _starts_of(program)}
    keys["pipeline"] = policy.key(order, "pipeline", 0)
    behind = sorted(set(keys.values()), reverse=True)
    return {group: RANK ** behind.index(key) for group, key in keys.items()}


def describe_link(ends: Sequence[tuple[int, int]], npus: int) -> str:
    """Links by their ends: the first of them in words, and how many are like it."""
    source, target = (f"NPU {end}" if end < npus else f"switch {end}" for end in ends[0])
    alike = f", and {len(ends) - 1} like it" if len(ends) > 1 else ""
    return f"the link from {source} to {target}{alike}"


_KNOWN: dict[Hashable, DimensionLoads | None] = {}
"""What was found on dimensions where classes are stages, by all that it follows from."""
MOST_KNOWN = 1024


def _loads_on(
    design: Design, number: int, classes: Classes, kinds: Sequence[tuple[str, str]], rows: Rows
) -> DimensionLoads | None:
    """What matters on the links of a dimension; None where each row of NPUs is of one class, which fits its links."""
    if not classes.simple:
        return _find_loads(design, number, classes, kinds, rows)
    cluster, dimension = design.cluster, design.cluster.dimensions[number]
    sizes = tuple(its.size for its in cluster.dimensions)
    its = block_of(dimension), tuple(cluster.worn(number).items()), _algorithms(design, number)
    library = design.library_of(dimension)
    cost = dimension.in_network, dimension.affinity, tuple(crowded_out(design)), library is not None and library.adds
    key = number, sizes, *its, *cost, tuple(kinds), rows.hops, tuple(classes.placement.items())
    if key not in _KNOWN:
        if len(_KNOWN) >= MOST_KNOWN:
            _KNOWN.clear()
        _KNOWN[key] = _find_loads(design, number, classes, kinds, rows)
    return _KNOWN[key]


def _algorithms(design: Design, number: int) -> tuple[Hashable, ...]:
    """The algorithms of a dimension, by kind."""
    return tuple(Chunker(design).algorithm(number, kind) for kind in ORDERED_KINDS)


def _find_loads(
    design: Design, number: int, classes: Classes, kinds: Sequence[tuple[str, str]], rows: Rows
) -> DimensionLoads | None:
    dimension, placement = design.cluster.dimensions[number], classes.placement
    worn = tuple(design.cluster.worn(number).items())
    its_rows = tuple(rows.along(number))
    if not worn and all(_is_of_one_class(row.classes) for row in its_rows):
        return None
    taken = [where.part for where in placement.get("pipeline", ()) if where.dimension == number]
    phases = phases_on(design, number, placement, kinds)
    carried = Carried(block_of(dimension), dimension.size, worn, its_rows, phases, taken[0] if taken else None)
    return dimension_loads(carried)


def phases_on(
    design: Design, number: int, placement: Placement, kinds: Sequence[tuple[str, str]]
) -> tuple[PhaseKind, ...]:
    """The phases of collectives that a dimension serves."""
    dimension, chunker = design.cluster.dimensions[number], Chunker(design)
    return tuple(
        PhaseKind(
            group,
            kind,
            where.part,
            _first_nodes(placement, group, where),
            chunker.algorithm(number, kind),
            chunker.has_tree(where),
            1 / dimension.affinity if where.crosses else 1.0,
            1 if kind == "shift" and len(placement[group]) > 1 else stages_between(design, placement, where),
        )
        for group, kind in kinds
        for where in placement.get(group, ())
        if where.dimension == number
    )


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


def kinds_of(program: Program, placement: Placement) -> list[tuple[str, str]]:
    """(Group, kind of phase) of everything that a program starts; of groups side by side each one."""
    found: dict[tuple[str, str], None] = {}
    for start in _starts_of(program):
        if start.kind in TO_OTHER_END:
            continue  # a message (`hops_of`)
        groups = (start.group,) if start.group in placement else placement
        found |= dict.fromkeys((group, kind) for group in groups for kind in _phase_kinds(start.kind))
    return list(found)


def _phase_kinds(kind: str) -> tuple[str, ...]:
    """The kinds of the phases of a collective."""
    if kind == "all_reduce":
        return ORDERED_KINDS
    if kind in STREAMED:
        return ("all_gather" if kind == LOAD else "reduce_scatter", "broadcast")
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


def hops_of(program: Program) -> frozenset[tuple[int, int]]:
    """Which stages send to which: along the path of the schedule, and back where the model is trained.

    And from one end to the other, where these exchange gradients.
    """
    if program.stages == 1:
        return frozenset()
    ends = {(0, program.stages - 1), (program.stages - 1, 0)}
    path = [place % program.stages for place in ORDERS[program.schedule].path(program.stages, program.chunks).tolist()]
    onward = {(a, b) for a, b in pairwise(path) if a != b}
    exchanged = ends if any(start.kind in TO_OTHER_END for start in _starts_of(program)) else set()
    return frozenset(onward | exchanged | ({(b, a) for a, b in onward} if program.trained else set()))
