"""What a phase of a collective costs whatever its size: load per byte, hops, and the messages that make up the load."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from simcore.collective import CustomAlgorithm, Step, algorithm_for
from simcore.design.efficiency import EfficiencyTable, slowdown
from simcore.network import Block, Listed, Loads, Send, Shift, Slice


class PhaseCost(NamedTuple):
    """Cost of a phase per byte of the buffer / bandwidth, in hops, and bytes sent per byte of the buffer."""

    load: float
    hops: float
    sent: float
    steps: tuple[tuple[Loads, ...], ...]
    """For each step the links that may be its busiest, each with its load, message by message size (both per byte of
    the buffer): `load` is the sum over steps of the busiest one's."""

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
    """Cost of `kind` by `algorithm` for a group on `part` of a dimension."""
    if in_network and kind == "all_reduce":
        return PhaseCost(1.0, 2, 1.0, ((((1.0, 1.0),),),))
    if kind == "shift":
        once = topology.step(Shift(1), part)
        return PhaseCost(once.load, once.hops, 1.0, ((once.loads,),))
    load, hops = 0.0, 0.0
    steps = []
    for step in algorithm_for(algorithm, kind, topology.shape(part)).steps(kind, part.members):
        pattern = step.pattern
        if isinstance(pattern, Listed):
            cost, links = topology.listed(pattern, part)
        else:
            cost = topology.step(pattern, part)
            links = (cost.loads,)
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
