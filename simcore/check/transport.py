"""What a transport must satisfy beyond its form: a buffer that holds what thresholds ask, and marks that are heeded."""

from __future__ import annotations

from collections.abc import Iterator

from simcore.design.design import Design
from simcore.design.transport import Transport
from simcore.document.problem import Problem
from simcore.document.quantity import write_quantity
from simcore.policy.control import CONTROLS

_AT = ("cluster", "transport")


def transport_problems(design: Design) -> list[Problem]:
    """Problems of `cluster.transport`; none where the design names no transport."""
    transport = design.cluster.transport
    if transport is None:
        return []
    return [*_check_buffer(transport), *_check_marks(transport, design.cluster.dimensions[-1].bandwidth)]


def _check_buffer(transport: Transport) -> Iterator[Problem]:
    least = 2 * (transport.mtu + transport.header) + transport.reserve
    if transport.buffer < least:
        yield Problem(
            (*_AT, "buffer"),
            f"switches with a buffer of at least two packets and a port's reserve ({write_quantity(least, 'size')})",
            write_quantity(transport.buffer, "size"),
            "give them one, or leave the transport out",
        )
    elif transport.threshold is not None and transport.threshold > transport.buffer:
        yield _beyond((*_AT, "threshold"), transport.threshold, transport.buffer)


def _check_marks(transport: Transport, rate: float) -> Iterator[Problem]:
    usual = CONTROLS[transport.control].marking(rate, 0.0)
    if transport.marking is not None:
        if usual is None:
            fix = "leave it out, or choose dcqcn or dctcp"
            yield Problem((*_AT, "marking"), "a control that heeds marks", f"'{transport.control}'", fix)
        if transport.marking.high > transport.buffer:
            yield _beyond((*_AT, "marking", "high"), transport.marking.high, transport.buffer)
    elif usual is not None and usual.high > transport.buffer:
        yield Problem(
            (*_AT, "marking"),
            f"thresholds within the buffer of {write_quantity(transport.buffer, 'size')}",
            f"the usual ones of '{transport.control}', up to {write_quantity(usual.high, 'size')}",
            "give lower ones, or a larger buffer",
        )


def _beyond(path: tuple[str, ...], found: float, buffer: float) -> Problem:
    limit = f"at most the buffer ({write_quantity(buffer, 'size')})"
    return Problem(path, limit, write_quantity(found, "size"), "lower it, or give a larger buffer")
