"""Ports that are paused and wait for each other in a circle: nothing of theirs will ever move again.

A port waits for another one where its pause is due to packets that wait there (Hu et al., HotNets 2016: a cyclic buffer
dependency). Up and down a tree there is no circle.
"""

from __future__ import annotations

from simcore.engine.packets import layout as at
from simcore.engine.packets.fabric import Fabric


class PauseDeadlockError(RuntimeError):
    """Paused ports wait for each other; `ports` names them, each waits for the next one, the last for the first."""

    def __init__(self, ports: tuple[str, ...]) -> None:
        self.ports = ports
        super().__init__(f"pause deadlock: {'; '.join(ports)}: each waits for the next one, the last for the first")


def find_cycle(fabric: Fabric, w: at.Ints) -> tuple[int, ...]:
    """Links whose ports are paused and wait for each other in a circle; none where there is no circle."""
    waits = {link: _blocking(fabric, w, link) for link in range(len(fabric.ports)) if w[at.LINKS][link, at.PAUSED] > 0}
    done: set[int] = set()
    for first in waits:
        path: list[int] = []
        found = _follow(first, waits, path, done)
        if found:
            return found
    return ()


def _follow(link: int, waits: dict[int, list[int]], path: list[int], done: set[int]) -> tuple[int, ...]:
    """Go from port to port, depth first, until one comes again."""
    if link in path:
        return tuple(path[path.index(link) :])
    if link in done or link not in waits:
        return ()
    path.append(link)
    for onward in waits[link]:
        found = _follow(onward, waits, path, done)
        if found:
            return found
    path.pop()
    done.add(link)
    return ()


def _blocking(fabric: Fabric, w: at.Ints, link: int) -> list[int]:
    """Paused ports of a link's target where packets wait that came over it."""
    target, packets, out = fabric.ports[link].target, w[at.PACKETS], []
    for onward, port in enumerate(fabric.ports):
        if port.source != target or w[at.LINKS][onward, at.PAUSED] <= 0:
            continue
        packet = w[at.LINKS][onward, at.HEAD]
        while packet >= 0:
            if w[at.WAYS][packets[packet, at.ITS_WAY], packets[packet, at.HOP_AT]] == link:
                out.append(onward)
                break
            packet = packets[packet, at.NEXT]
    return out
