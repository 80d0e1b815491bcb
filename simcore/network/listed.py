"""The cost of any messages that are sent at once: the busiest link's bytes, the longest way's hops."""

from __future__ import annotations

from simcore.network.base import Block, Listed, Slice, StepCost


def listed_cost(pattern: Listed, block: Block, part: Slice) -> StepCost:
    """Cost of the messages of `pattern` for a group on `part`; see `Block.step`."""
    links = block.wiring(part)
    load = [0.0] * len(links)
    hops = 0
    for source, target, share in pattern.messages:
        routes = block.routes(part, source, target)
        for route in routes:
            hops = max(hops, sum(links[link].hops for link in route))
            for link in route:
                load[link] += share / len(routes) / links[link].rate
    return StepCost(max(load), hops)
