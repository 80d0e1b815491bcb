"""What a single collective must satisfy."""

from __future__ import annotations

from collections.abc import Iterator

from simcore.design.design import Design
from simcore.document.problem import Path, Problem
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
        yield Problem(path, expected, f"{sum(groups)} members", "let them add up")
    if inner.topology == "fat_tree":
        yield Problem(path, "no groups on a fat_tree, whose leaves they might straddle", "some")
    odd = [members for members in groups if members & (members - 1)]
    if design.algorithms[0] == "halving_doubling" and odd:
        found = f"a group of {odd[0]}"
        fix = "use ring, direct or double_binary_tree there"
        yield Problem(path, "powers of two for 'halving_doubling'", found, fix, rule="powers of two")
