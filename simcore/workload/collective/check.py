"""What a single collective must satisfy."""

from __future__ import annotations

from collections.abc import Iterator

from simcore.collective import algorithm_named
from simcore.design.algorithm import CUSTOM
from simcore.design.design import Design
from simcore.document.problem import Path, Problem
from simcore.network import TOPOLOGIES
from simcore.workload.collective.document import CollectiveWorkload


def collective_problems(design: Design) -> Iterator[Problem]:
    """NPUs have others to talk to; groups fill the innermost dimension, each with an algorithm that serves its size."""
    if design.cluster.npus < 2:
        yield Problem(("cluster", "dimensions"), "at least 2 NPUs for a collective", str(design.cluster.npus))
    groups, inner = CollectiveWorkload.of(design.workload).groups, design.cluster.dimensions[0]
    if groups is None:
        return
    path: Path = ("workload", "groups")
    if sum(groups) != inner.size:
        expected = f"groups that fill the {inner.size} NPUs of cluster.dimensions[0]"
        yield Problem(path, expected, f"{sum(groups)} members", "make the groups add up to the number of NPUs")
    if not TOPOLOGIES[inner.topology].takes_any_groups:
        yield Problem(path, f"no groups on a {inner.topology}, which not all sizes fit", "some")
    name = design.algorithms[0]
    needs = {} if name.startswith(CUSTOM) else {n: algorithm_named(name).needs(n) for n in groups}
    unfit = next((members for members, need in needs.items() if need), None)
    if unfit is not None:
        fix = "use ring, direct or double_binary_tree there"
        yield Problem(path, f"{needs[unfit]} for '{name}'", f"a group of {unfit}", fix, rule="powers of two")
