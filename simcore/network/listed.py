"""The cost of any messages that are sent at once: the busiest link's bytes, the longest way's hops."""

from __future__ import annotations

from simcore.network.base import Block, Listed, Loads, Slice, StepCost


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


def listed_loads(pattern: Listed, block: Block, part: Slice) -> tuple[Loads, ...]:
    """The different loads of links that the messages of `pattern` make, each message by itself."""
    links = block.wiring(part)
    loads: dict[int, list[tuple[float, float]]] = {}
    for source, target, share in pattern.messages:
        routes = block.routes(part, source, target)
        for route in routes:
            for link in route:
                each = share / len(routes)
                loads.setdefault(link, []).append((each / links[link].rate, each))
    return tuple(sorted({tuple(sorted(load)) for load in loads.values()}))
