"""Who is told how far something is that takes long."""

from __future__ import annotations

from typing import Protocol


class Note(Protocol):
    """Takes what goes on, and which share of it is done, from 0 to 1; None: not known."""

    def __call__(self, text: str, done: float | None = None) -> None:
        """Take a note; it may raise `KeyboardInterrupt`, so that what is told of can be left."""


def be_silent(text: str, done: float | None = None) -> None:
    """Nobody is told."""
