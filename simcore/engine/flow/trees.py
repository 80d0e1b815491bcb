"""What collectives put on links that switches add up and copy (`simcore.network.reduction`).

Every member sends its part up to its switch; a switch passes one sum on over all its uplinks alike, and copies what
comes down. So the links above a switch carry as much as one member's port does, however many members are below.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from simcore.engine.flow.wires import Wires
from simcore.network import ADDED_KINDS, Slice
from simcore.network.reduction import Rung
from simcore.network.sent import Floats, Ints


def tree_loads(wires: Wires, kind: str, nodes: Ints, classes: Ints) -> dict[int, Floats]:
    """Bytes on each pool of the trees over groups, per byte of their buffers, by class.

    `nodes` are those of the groups, `classes` who is there, both `[groups, members]`. Of what a group puts on a link
    each class has as much as it has members.
    """
    return {its: _tree_load(wires, kind, nodes, (classes == its).mean(axis=1)) for its in np.unique(classes).tolist()}


def _tree_load(wires: Wires, kind: str, nodes: Ints, weights: Floats) -> Floats:
    load = np.zeros(len(wires.rate))
    for group, weight in zip(nodes[weights > 0].tolist(), weights[weights > 0].tolist(), strict=True):
        for links, share in tree_links(wires, kind, group):
            np.add.at(load, wires.pools_of_links(links), weight * share / len(links))
    return load


def tree_links(wires: Wires, kind: str, nodes: Sequence[int]) -> Iterator[tuple[Ints, float]]:
    """The links side by side that lead up, and down, at each level of the tree over `nodes`, with what they carry.

    That is a share of the buffer, for all of them together.
    """
    whole = Slice(wires.size, wires.size, 1)
    ladders = [wires.block.ladder(whole, node) for node in nodes]
    places = list(range(len(nodes)))
    for level in range(len(ladders[0])):
        first: dict[int, Rung] = {}
        below: dict[int, int] = {}
        for place, ladder in zip(places, ladders, strict=True):
            first.setdefault(place, ladder[level])
            below[place] = below.get(place, 0) + 1
        for place, rung in first.items():
            up, down = _carried(kind, below[place] / len(nodes), place == places[0])
            yield wires.working(rung.up), up
            yield wires.working(rung.down), down
        places = [ladder[level].switch for ladder in ladders]
        if len(set(places)) == 1:
            return


def _carried(kind: str, below: float, of_first: bool) -> tuple[float, float]:
    """What goes up from, and down to, a share `below` of the members, the first one among them or not."""
    if kind == "broadcast":
        return float(of_first), 1.0
    return 1.0 if kind in ADDED_KINDS else below, below if kind == "reduce_scatter" else 1.0
