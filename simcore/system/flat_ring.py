"""A collective as one ring over all members of a group, whatever dimensions lie between neighbours."""

from __future__ import annotations

import math
from collections.abc import Sequence

from simcore.design.design import Design
from simcore.design.dimension import block_of
from simcore.design.efficiency import slowdown
from simcore.design.library import Kernel
from simcore.network import Send
from simcore.system.phase import FLAT, Phase, picoseconds
from simcore.system.placement import GroupSlice


def flat_ring_phase(
    design: Design, kind: str, group: Sequence[GroupSlice], size: float, rates: Sequence[float], kernel: Kernel | None
) -> Phase:
    """One ring over all members of a group, in both directions at once, whatever dimensions lie between neighbours.

    It goes at the pace of its slowest dimension, and is served there; its latency is that of all its hops but one.
    Only on the innermost dimension has an NPU both its neighbours, and only at a switch do they share a port. `rates`
    are those that the group reaches on its dimensions [B/s]; `kernel`, where a library has one, does all of it: that of
    the innermost dimension.
    """
    members = left = math.prod(where.part.members for where in group)
    whole = size * members if kind == "all_gather" else size
    seconds_a_byte, hops = [], []
    for where, rate in zip(group, rates, strict=True):
        dimension = design.cluster.dimensions[where.dimension]
        topology = block_of(dimension)
        cost = topology.step(Send(1), where.part)
        shared = topology.switched and where is group[0] and where.part.members > 2
        slowed = slowdown(dimension.efficiency, whole / members / 2 * cost.messages[0][1])
        seconds_a_byte.append(cost.load * (1.0 if shared else 0.5) / rate * slowed)
        hops.append((left - left // where.part.members, cost.hops * dimension.latency))
        left //= where.part.members
    hops.append((1, hops[-1][1]))  # from the last member back to the first
    slowest = max(range(len(group)), key=seconds_a_byte.__getitem__)
    turns = 2 if kind == "all_reduce" else 1
    sent = turns * (members - 1) / members * whole
    latency = turns * (sum(count * each for count, each in hops) - min(each for _, each in hops))
    seconds = sent * seconds_a_byte[slowest] / design.software.flat_rate
    if kernel is not None:
        seconds = kernel.seconds(seconds, whole, design.system.chunks)
        latency += kernel.launch
    return Phase(
        group[slowest].dimension,
        picoseconds(seconds),
        picoseconds(latency, least=0),
        size,
        sent,
        FLAT + kind,
        steps=turns * (members - 1),
    )
