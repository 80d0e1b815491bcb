"""An incast: several NPUs send to one at the same time, and nothing else is under way."""

from __future__ import annotations

from simcore.design.design import Design
from simcore.design.transport import Transport
from simcore.document.problem import InputError, Problem
from simcore.engine.packets.graph import Graph
from simcore.engine.packets.play import Played, play
from simcore.engine.packets.run import fabric_of
from simcore.engine.packets.unplayable import packet_problems

RECEIVER = 0


def play_incast(design: Design, senders: int, size: int) -> Played:
    """`senders` NPUs, spread evenly over the outermost dimension, send `size` [B] each to its first one.

    Raises `InputError` where engine `packets` does not play the design's fabric, or it has fewer other NPUs.
    """
    fabric = fabric_of(design)
    others = fabric.size - 1
    problems = packet_problems(design)
    if not 1 <= senders <= others:
        problems.append(
            Problem(("senders",), f"1 to {others}, of {fabric.size} NPUs that share switches", str(senders))
        )
    if problems:
        raise InputError(problems)
    graph = Graph(fabric.size * fabric.stride)
    for sender in range(senders):
        graph.message((1 + sender * others // senders) * fabric.stride, RECEIVER, size)
    return play(fabric, graph, design.cluster.transport or Transport())
