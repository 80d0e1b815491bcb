"""What a network and its collectives must satisfy: leaves, failed links, stragglers, users' own algorithms.

As in `simcore.check`, each rule is one function from a design to the problems it finds.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator

from simcore.collective import FLAT_RING, CustomAlgorithm
from simcore.collective.data import find_misplaced
from simcore.design.algorithm import CUSTOM
from simcore.design.design import Design
from simcore.design.dimension import Dimension
from simcore.design.lacked import lacked_by_libraries
from simcore.design.once import once_for
from simcore.design.same import Same
from simcore.document.problem import Path, Problem, suggest_nearest
from simcore.network import BLOCK_KEYS, TOPOLOGIES, Shape, Slice
from simcore.network.routing import ROUTINGS
from simcore.system.chunks import block_of, custom_of
from simcore.system.placement import place


def network_problems(design: Design, part: bool = False) -> list[Problem]:
    """Every problem of the network, of the collectives on it and of what is wrong with some NPUs or links.

    `part`: the design is a job on a part of a cluster.
    """
    problems = [*(_cluster_problems(design, part=True) if part else cluster_problems(design))]
    if not problems:
        problems += _groups_that_fit(design)
    if not problems and design.system.algorithms:
        problems += _check_custom_members(design)
    return problems


def asked_beside_degrees(design: Design) -> Hashable | None:
    """All of a design but how its one job is spread: what rules of clusters look at, and one of a search has often."""
    if design.jobs is not None:
        return None
    sections = design.cluster, design.system, design.software, design.cost, design.reliability, design.workload
    return *map(Same, sections), design.hypothetical


KEPT = 4096
"""Clusters of which problems are kept."""


@once_for(asked_beside_degrees, KEPT)
def cluster_problems(design: Design) -> list[Problem]:
    """Problems that are there whatever groups a job forms; not to be changed."""
    return _cluster_problems(design, part=False)


def _cluster_problems(design: Design, part: bool) -> list[Problem]:
    problems = list(_check_blocks(design, part))
    if problems:
        return problems
    problems = [*_check_stragglers(design), *_check_failed_links(design), *_check_flat_ring(design)]
    for index in range(len(design.cluster.dimensions)):
        problems += _check_algorithm(design, index, ("system", "collective", index))
    if not design.hypothetical:
        problems += lacked_by_libraries(design)
    for name in design.system.algorithms:
        problems += _check_own_algorithm(design, name)
    return problems or list(_dimensions_that_fit(design))


def _check_algorithm(design: Design, index: int, path: Path) -> Iterator[Problem]:
    name, dimension = design.algorithms[index], design.cluster.dimensions[index]
    shape = block_of(dimension).shape(Slice(dimension.size, dimension.size, 1))
    if name.startswith("direct[") and shape.kind != "star":
        found = f"'{name}', a window over peers that are no neighbours"
        yield Problem(path, f"an algorithm for a {dimension.topology}", found, "use ring or direct there")
    known = design.system.algorithms
    if name.startswith(CUSTOM) and name.removeprefix(CUSTOM) not in known:
        own = ", ".join(known) or "none"
        yield Problem(
            path, f"an algorithm of system.algorithms ({own})", f"'{name}'", suggest_nearest(name[len(CUSTOM) :], known)
        )


def _check_own_algorithm(design: Design, name: str) -> Iterator[Problem]:
    """It names members and blocks that exist, and leaves the data where it must."""
    own = custom_of(design, CUSTOM + name)
    assert isinstance(own, CustomAlgorithm)
    for kind, listed in design.system.algorithms[name].items():
        path: Path = ("system", "algorithms", name, kind)
        outside = [m for m in listed.messages if max(m.source, m.target) >= listed.members]
        beyond = [m for m in listed.messages if max(m.blocks) >= listed.blocks]
        if outside or beyond:
            expected = f"members below {listed.members} and blocks below {listed.blocks}"
            bad = (outside or beyond)[0]
            yield Problem(path, expected, f"{bad.source} -> {bad.target} with blocks {list(bad.blocks)}")
        elif (misfit := own.misfit(kind)) is not None:
            yield Problem(path, *misfit)
        else:
            wrong = find_misplaced(kind, listed.members, own.plan(kind, listed.members, Shape("line")))
            if wrong:
                yield Problem(path, f"messages that leave the data of a {kind} where it must be", wrong[0])


def _check_custom_members(design: Design) -> Iterator[Problem]:
    """A user's own algorithm serves groups of one size."""
    for group, slices in place(design)[0].items():
        for where in slices:
            name = design.algorithms[where.dimension].removeprefix(CUSTOM)
            for kind, listed in design.system.algorithms.get(name, {}).items():
                if listed.members != where.part.members:
                    yield Problem(
                        ("system", "algorithms", name, kind, "members"),
                        f"the {where.part.members} members that '{group}' has on dimension {where.dimension}",
                        str(listed.members),
                        "list another algorithm for that dimension, or place the group elsewhere",
                        rule="members of an algorithm",
                    )


def _check_blocks(design: Design, part: bool) -> Iterator[Problem]:
    """Keys of dimensions that their topology has, and that make one."""
    for index, dimension in enumerate(design.cluster.dimensions):
        path: Path = ("cluster", "dimensions", index)
        unknown = [
            *_check_graph(dimension, (*path, "latency")),
            *_check_leaf(dimension, (*path, "leaf")),
            *_check_keys(dimension, path),
        ]
        yield from unknown
        if unknown:
            continue
        block = block_of(dimension)
        for misfit in block.misfits(block.whole(dimension.size) if part else dimension.size):
            yield Problem((*path, misfit.key), misfit.expected, misfit.found, misfit.fix)


def _check_graph(dimension: Dimension, path: Path) -> Iterator[Problem]:
    """Links' latencies are measured in steps of the dimension's, bandwidths in shares of its."""
    own = dimension.graph is not None and any(link.latency for link in dimension.graph.links)
    if own and dimension.latency <= 0:
        yield Problem(path, "a latency above 0 where links have their own", f"{dimension.latency:g} s")


def _check_leaf(dimension: Dimension, path: Path) -> Iterator[Problem]:
    leaf, size = dimension.leaf, dimension.size
    if (leaf is None) == TOPOLOGIES[dimension.topology].leaves:
        expected = "the NPUs under each leaf switch" if leaf is None else "no leaf on what has no leaves"
        yield Problem(path, expected, str(leaf or "nothing"), "add 'leaf: 8'" if leaf is None else "drop it")
    elif leaf is not None and size % leaf and not (size < leaf and dimension.topology == "clos"):
        yield Problem(path, f"leaves that divide the dimension ({size} NPUs)", str(leaf))


def _check_keys(dimension: Dimension, path: Path) -> Iterator[Problem]:
    its = TOPOLOGIES[dimension.topology]
    for key in BLOCK_KEYS:
        value = getattr(dimension, key)
        if value is not None and key not in its.keys:
            owners = ", ".join(name for name, block in TOPOLOGIES.items() if key in block.keys)
            found = f"one of a {dimension.topology}"
            yield Problem((*path, key), f"no {key} on what is no {owners}", found, "drop it")
    routing = dimension.routing
    if routing is not None and routing not in its.routings:
        known = ", ".join(its.routings)
        expected = f"a routing of a {dimension.topology} ({known})" if known else f"none on a {dimension.topology}"
        yield Problem((*path, "routing"), expected, f"'{routing}'", "drop it" if not known else "")
    for key, usual in (("routing_seed", 0), ("connections", 1)):
        if getattr(dimension, key) != usual and (routing is None or not ROUTINGS[routing].drawn):
            yield Problem(
                (*path, key),
                f"'routing: ecmp' beside {key}",
                routing or "none",
                "drop it, or give the routing",
                rule=f"{key.replace('_', ' ')} of ecmp",
            )


def _dimensions_that_fit(design: Design) -> Iterator[Problem]:
    """Dimensions of sizes that the topology can serve."""
    for index, dimension in enumerate(design.cluster.dimensions):
        needed = block_of(dimension).needs(Slice(dimension.size, dimension.size, 1))
        if needed:
            path: Path = ("cluster", "dimensions", index, "size")
            yield Problem(path, f"{needed} on a {dimension.topology}", str(dimension.size))


def _groups_that_fit(design: Design) -> Iterator[Problem]:
    """Groups of sizes that the topology can serve."""
    for group, slices in place(design)[0].items():
        for where in slices:
            dimension = design.cluster.dimensions[where.dimension]
            needed, leaf = block_of(dimension).needs(where.part), dimension.leaf
            if needed:
                yield Problem(
                    ("cluster", "dimensions", where.dimension, "leaf" if leaf else "size"),
                    f"{needed} ({group} parallelism: {where.part.members} NPUs, {where.part.stride} apart)",
                    str(leaf or dimension.size),
                    "choose sizes that divide each other",
                    rule="groups fill leaves" if leaf else f"groups fit a {dimension.topology}",
                )


def _check_failed_links(design: Design) -> Iterator[Problem]:
    dimensions = design.cluster.dimensions
    seen: set[tuple[int, frozenset[int]]] = set()
    for index, failed in enumerate(design.cluster.failed_links):
        path: Path = ("cluster", "failed_links", index)
        link = failed.dimension, frozenset(failed.between)
        if link in seen:
            yield Problem((*path, "between"), "each link at most once", "{} and {}".format(*failed.between), "drop one")
        seen.add(link)
        if failed.dimension >= len(dimensions):
            yield Problem((*path, "dimension"), f"a dimension below {len(dimensions)}", str(failed.dimension))
            continue
        dimension = dimensions[failed.dimension]
        block, part = block_of(dimension), Slice(dimension.size, dimension.size, 1)
        ends = {frozenset((link.source, link.target)) for link in block.wiring(part)}
        if frozenset(failed.between) not in ends:
            a, b = failed.between
            yield Problem(
                (*path, "between"),
                f"two ends of a link of the {dimension.topology} ({dimension.size} NPUs; switches are numbered from "
                f"{dimension.size})",
                f"{a} and {b}",
            )


def _check_stragglers(design: Design) -> Iterator[Problem]:
    seen: set[int] = set()
    for index, straggler in enumerate(design.cluster.stragglers):
        path: Path = ("cluster", "stragglers", index, "npu")
        if straggler.npu >= design.cluster.npus:
            yield Problem(path, f"an NPU below {design.cluster.npus}", str(straggler.npu), "NPUs are counted from 0")
        if straggler.npu in seen:
            yield Problem(path, "each NPU at most once", str(straggler.npu), "drop one of the two")
        seen.add(straggler.npu)


def _check_flat_ring(design: Design) -> Iterator[Problem]:
    """A group over several dimensions is one ring if any of them says so; inner ones may have others for their own."""
    path: Path = ("system", "collective")
    if FLAT_RING not in design.algorithms:
        return
    if {*design.algorithms[design.algorithms.index(FLAT_RING) :]} != {FLAT_RING}:
        expected = "flat_ring on every dimension outside of one that has it"
        yield Problem(path, expected, ", ".join(design.algorithms))
    if design.system.inter_dimension != "baseline":
        expected = "baseline with flat_ring, which visits all dimensions at once"
        yield Problem(("system", "inter_dimension"), expected, design.system.inter_dimension)
