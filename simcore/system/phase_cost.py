"""What a phase of a collective costs whatever its size: load per byte, hops, and the messages that make up the load."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from simcore.collective import CustomAlgorithm, Step, algorithm_for
from simcore.design.efficiency import EfficiencyTable, slowdown
from simcore.network import ADDED_KINDS, TREE_KINDS, Block, Listed, Loads, Send, Shift, Slice, SwitchTree
from simcore.network.from_links import listed_cost, listed_loads


class PhaseCost(NamedTuple):
    """Cost of a phase per byte of the buffer / bandwidth, in hops, and bytes sent per byte of the buffer."""

    load: float
    hops: int
    sent: float
    steps: tuple[tuple[Loads, ...], ...]
    """For each step the links that may be its busiest, each with its load, message by message size (both per byte of
    the buffer): `load` is the sum over steps of the busiest one's."""
    in_switch: bool = False
    """Whether switches add up and copy: flows over their tree, no steps of an algorithm."""

    def load_of(self, size: float, table: EfficiencyTable) -> float:
        """The load where messages reach the shares of a table, in units of the best of them; `size` [B]."""
        return sum(
            max(sum(load * slowdown(table, message * size) for load, message in link) for link in step)
            for step in self.steps
        )


@lru_cache(maxsize=4096)
def phase_cost(
    algorithm: str | CustomAlgorithm, topology: Block, kind: str, part: Slice, in_network: bool
) -> PhaseCost:
    """Cost of `kind` by `algorithm` for a group on `part` of a dimension.

    `in_network`: switches add up and copy instead, unless the busiest link then carries more. On one switch that is so
    for reduce_scatter and all_gather: S passes each port, and (n - 1)/n S without (measured on 8 H100s: all_gather at
    300 GB/s by NVLS, 350 round a ring; NVIDIA/nccl issue 1506).
    """
    if in_network and kind in TREE_KINDS and (tree := topology.tree(part)):
        by_switches = _tree_cost(kind, tree, part.members)
        if kind == "all_reduce" or by_switches.load <= _algorithm_cost(algorithm, topology, kind, part).load:
            return by_switches
    return _algorithm_cost(algorithm, topology, kind, part)


def _tree_cost(kind: str, tree: SwitchTree, members: int) -> PhaseCost:
    """All flows pass each level one after the other; a switch takes as long to add as a step between neighbours."""
    piece = 1 / members if kind in ("reduce_scatter", "all_gather") else 1.0
    links = tuple(((1 / (level.links * level.rate), piece / level.links),) for level in tree.levels)
    added = kind in ADDED_KINDS
    hops = len(tree.levels) * (2 if added else 1)
    load = max(load for ((load, _),) in links)
    return PhaseCost(load, hops, 1.0 if added else 1 / members, (links,), in_switch=True)


def _algorithm_cost(algorithm: str | CustomAlgorithm, topology: Block, kind: str, part: Slice) -> PhaseCost:
    if kind == "shift":
        once = topology.step(Shift(1), part)
        return PhaseCost(once.load, once.hops, 1.0, ((once.loads,),))
    load, hops = 0.0, 0
    steps = []
    for step in algorithm_for(algorithm, kind, topology.shape(part)).steps(kind, part.members):
        pattern = step.pattern
        cost = listed_cost(pattern, topology, part) if isinstance(pattern, Listed) else topology.step(pattern, part)
        links = listed_loads(pattern, topology, part) if isinstance(pattern, Listed) else (cost.loads,)
        load += cost.load * step.share
        hops += cost.hops
        steps.append(tuple(_scale_loads(link, step) for link in links))
    sent = (2 if kind == "all_reduce" else 1) * (part.members - 1) / part.members
    return PhaseCost(load, hops, sent, tuple(steps))


def send_cost(topology: Block, part: Slice, distance: int) -> PhaseCost:
    """Cost of a message to the member `distance` further on."""
    cost = topology.step(Send(distance), part)
    return PhaseCost(cost.load, cost.hops, 1.0, ((cost.loads,),))


def _scale_loads(link: Loads, step: Step) -> Loads:
    return tuple((load * step.share, message * step.share / step.pieces) for load, message in link)
