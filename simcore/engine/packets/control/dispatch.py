"""Calls the functions of a control by its number: numba cannot cache what calls functions out of a table.

A new control adds its lines here. Functions are imported by names of their own, which the digest of kernels follows.
"""

from __future__ import annotations

from simcore.compiled import borrowing
from simcore.engine.packets.control.base import Floats
from simcore.engine.packets.control.none import begin as begin_none

NONE = 0


@borrowing
def begin(control: int, row: Floats, p: Floats) -> None:
    """See `simcore.engine.packets.control.base`."""
    if control == NONE:
        begin_none(row, p)


@borrowing
def on_send(control: int, row: Floats, p: Floats, size: int) -> None:
    """See `simcore.engine.packets.control.base`."""


@borrowing
def on_ack(control: int, row: Floats, p: Floats, hops: Floats) -> None:
    """See `simcore.engine.packets.control.base`."""


@borrowing
def on_cnp(control: int, row: Floats, p: Floats) -> None:
    """See `simcore.engine.packets.control.base`."""


@borrowing
def on_timer(control: int, row: Floats, p: Floats) -> None:
    """See `simcore.engine.packets.control.base`."""
