"""Calls the functions of a control by its number: numba cannot cache what calls functions out of a table.

A new control adds its lines here. Functions are imported by names of their own, which the digest of kernels follows.
"""

from __future__ import annotations

from simcore.compiled import borrowing
from simcore.policy.control.base import Floats
from simcore.policy.control.dcqcn import begin as begin_dcqcn
from simcore.policy.control.dcqcn import on_cnp as on_cnp_dcqcn
from simcore.policy.control.dcqcn import on_send as on_send_dcqcn
from simcore.policy.control.dcqcn import on_timer as on_timer_dcqcn
from simcore.policy.control.dctcp import begin as begin_dctcp
from simcore.policy.control.dctcp import on_ack as on_ack_dctcp
from simcore.policy.control.hpcc import begin as begin_hpcc
from simcore.policy.control.hpcc import on_ack as on_ack_hpcc
from simcore.policy.control.none import begin as begin_none
from simcore.policy.control.timely import begin as begin_timely
from simcore.policy.control.timely import on_ack as on_ack_timely

NONE, DCQCN, DCTCP, TIMELY, HPCC = range(5)


@borrowing
def begin(control: int, row: Floats, p: Floats) -> None:
    """See `simcore.policy.control.base`."""
    if control == NONE:
        begin_none(row, p)
    elif control == DCQCN:
        begin_dcqcn(row, p)
    elif control == DCTCP:
        begin_dctcp(row, p)
    elif control == TIMELY:
        begin_timely(row, p)
    elif control == HPCC:
        begin_hpcc(row, p)


@borrowing
def on_send(control: int, row: Floats, p: Floats, size: int) -> None:
    """See `simcore.policy.control.base`."""
    if control == DCQCN:
        on_send_dcqcn(row, p, size)


@borrowing
def on_ack(control: int, row: Floats, p: Floats, hops: Floats) -> None:
    """See `simcore.policy.control.base`."""
    if control == DCTCP:
        on_ack_dctcp(row, p, hops)
    elif control == TIMELY:
        on_ack_timely(row, p, hops)
    elif control == HPCC:
        on_ack_hpcc(row, p, hops)


@borrowing
def on_cnp(control: int, row: Floats, p: Floats) -> None:
    """See `simcore.policy.control.base`."""
    if control == DCQCN:
        on_cnp_dcqcn(row, p)


@borrowing
def on_timer(control: int, row: Floats, p: Floats) -> None:
    """See `simcore.policy.control.base`."""
    if control == DCQCN:
        on_timer_dcqcn(row, p)
