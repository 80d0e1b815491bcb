"""What reaches NPUs of a memory whose controllers sit along the edge of their mesh, each at an open side of an NPU.

Each controller sends to all NPUs (weights that stream in; gradients leave by the same ways): straight on from the edge
through its row or column, and from there to both sides. On a mesh of w x h the link to the last column then carries
what the controllers above and below w - 1 columns send, and one at the left: 2 w - 1 controllers; the other way 2 h - 1
(FRED, ISCA 2025, arXiv 2406.19580, section 3.2: 2 N - 1). On 5 x 4 NPUs with links of 750 GB/s, 18 controllers of 128
GB/s so reach 0.65 of their rate.
"""

from __future__ import annotations

from collections.abc import Iterator

from simcore.design.design import Design
from simcore.document.problem import Problem


def busiest_edge_link(width: int, height: int) -> int:
    """Controllers whose data the busiest link of a mesh carries."""
    return 2 * max(width, height) - 1


def edge_share(design: Design) -> float:
    """Share of the expanded memory's bandwidth that the mesh lets through; 1 where its controllers are elsewhere."""
    memory = design.cluster.memory
    if memory is None or memory.expanded is None or not memory.expanded.edge:
        return 1.0
    row, column = design.cluster.dimensions[:2]
    each = memory.expanded.rate * row.size * column.size / (2 * (row.size + column.size))
    links = [(d.bandwidth / 2) / ((2 * d.size - 1) * each) for d in (row, column)]
    return min(1.0, *links)


def edge_problems(design: Design) -> Iterator[Problem]:
    """What keeps controllers from sitting along an edge."""
    memory = design.cluster.memory
    if memory is None or memory.expanded is None or not memory.expanded.edge:
        return
    found = [dimension.topology for dimension in design.cluster.dimensions[:2]]
    if found != ["mesh", "mesh"]:
        expected = "false where the first two dimensions are no mesh, which has an edge"
        yield Problem(("cluster", "memory", "expanded", "edge"), expected, f"true on {', '.join(found)}")
