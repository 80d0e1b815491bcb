"""How far a run is, for whoever shows it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Tell = Callable[[float], None]

_listener: ContextVar[Tell | None] = ContextVar("_listener", default=None)


@contextmanager
def told(tell: Tell) -> Iterator[None]:
    """Call `tell` with the share of the work that is done, about once a second, while designs are played inside."""
    token = _listener.set(tell)
    try:
        yield
    finally:
        _listener.reset(token)


def say(done: float) -> None:
    """Tell whoever listens that this share of the work is done."""
    listener = _listener.get()
    if listener is not None:
        listener(done)
