"""What switches that add up and copy put on the links of their trees (`simcore.network.reduction`)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np

from simcore.engine.flow.loads import Load, PhaseKind, Sender
from simcore.engine.flow.wires import Wires
from simcore.network import TREE_KINDS, Block, Slice, SwitchTree
from simcore.network.sent import Floats, Ints
from simcore.system.phase_cost import phase_cost, tree_cost


def tree_of(block: Block, phase: PhaseKind) -> SwitchTree | None:
    """The tree of a group's switches, if they do the phase: where no link then carries more than by the algorithm."""
    tree = block.tree(phase.part) if phase.in_network and phase.kind in TREE_KINDS else None
    if tree is None or phase.kind == "all_reduce":
        return tree
    by_algorithm = phase_cost(phase.algorithm, block, phase.kind, phase.part).occupied
    return tree if tree_cost(phase.kind, tree, phase.part.members).occupied <= by_algorithm else None


def reduction_loads(
    block: Block, phase: PhaseKind, tree: SwitchTree, nodes: Sequence[Ints], classes: Ints, wires: Wires
) -> Iterator[Load]:
    """What a phase puts on links, by class; `nodes` are those of each group in the row, `classes` those of all nodes.

    `block` is the dimension as the job sees it, `wires` are those of the whole dimension.
    """
    time = phase_cost(phase.algorithm, block, phase.kind, phase.part, True).occupied * phase.slowed
    pools = _Pools(wires)
    found: dict[int, Floats] = defaultdict(lambda: np.zeros(len(wires.rate)))
    for members in nodes:
        for level in range(len(tree.levels)):
            for below, up, down in _branches(wires, members, level):
                its = found[int(classes[below[0]])]
                sent, received = _through(phase.kind, len(below), len(members), bool(below[0] == members[0]))
                pools.add(its, up, sent)
                pools.add(its, down, received)
    for npus, carried in found.items():
        share = np.divide(carried, wires.rate * time, out=np.zeros(len(carried)), where=wires.rate > 0)
        yield Load(Sender(npus, phase.group, phase.kind, -1), share, 1.0)


def _through(kind: str, below: int, members: int, first: bool) -> tuple[float, float]:
    """What goes up from `below` of the members of a group, and down to them, in shares of the buffer.

    `first`: the first member is among them.
    """
    part = below / members
    match kind:
        case "all_reduce":
            return 1.0, 1.0
        case "reduce_scatter":
            return 1.0, part
        case "all_gather":
            return part, 1.0
        case _:
            return float(first), 1.0


def _branches(wires: Wires, members: Ints, level: int) -> Iterator[tuple[list[int], list[int], list[int]]]:
    """The members under each member or switch below a level, its links up, and down."""
    whole = Slice(wires.size, wires.size, 1)
    ladders = [wires.block.ladder(whole, node) for node in members.tolist()]
    under: dict[int, list[int]] = defaultdict(list)
    for place, ladder in enumerate(ladders):
        under[place if level == 0 else ladder[level - 1].switch].append(place)
    for places in under.values():
        up = dict.fromkeys(link for place in places for link in ladders[place][level].up)
        down = dict.fromkeys(link for place in places for link in ladders[place][level].down)
        yield [int(members[place]) for place in places], list(up), list(down)


class _Pools:
    """In which pools of links the links of a dimension are."""

    def __init__(self, wires: Wires) -> None:
        links = wires.block.wiring(Slice(wires.size, wires.size, 1))
        self.ends = [(link.source, link.target) for link in links]
        self.rates = [link.rate for link in links]
        self.rate = wires.rate
        self.pools: dict[tuple[int, int], list[int]] = defaultdict(list)
        for pool in range(len(wires.rate)):
            for ends in wires.ends(pool):
                self.pools[ends].append(pool)

    def add(self, carried: Floats, links: Sequence[int], size: float) -> None:
        """Add what links carry together, each as much as its rate allows."""
        together = sum(self.rates[link] for link in links)
        for link in links:
            pools = self.pools[self.ends[link]]
            for pool in pools:
                carried[pool] += size * self.rates[link] / together / len(pools)
