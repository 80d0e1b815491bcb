"""How long cables are: racks in rows, from the number of nodes that they join. All of it is assumed (docs/bill.md).

A cable goes up from its rack and down into the other, and between them along half of the way over all racks that its
level of the network joins, which is where its switches stand.
"""

from __future__ import annotations

ROW = 20
"""Racks of a row."""
WIDTH = 0.6
"""Width of a rack [m]."""
PITCH = 3.0
"""From a row to the next, with its aisle [m]."""
RISE = 6.0
"""Up to the tray and down again, at both ends [m]."""
INSIDE = 3.0
"""Inside a rack [m]."""
SWITCHES_PER_RACK = 16
"""Switches and servers of a rack that has no nodes."""


def cable_length(nodes: int, per_rack: int, switches: int) -> float:
    """The longest cable from one of `switches` to one of `nodes` nodes, or to a switch that serves them [m]."""
    racks = -(-nodes // per_rack)
    if racks <= 1 and switches <= 1:
        return INSIDE
    along, across = min(racks, ROW) * WIDTH, -(-racks // ROW) * PITCH
    return RISE + (along + across) / 2
