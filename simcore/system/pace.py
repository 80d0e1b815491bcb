"""What a library of collectives adds to messages that are played one by one."""

from __future__ import annotations

from typing import NamedTuple


class Pace(NamedTuple):
    """What a library adds to a phase that is played message by message."""

    slowed: float
    """How many times as long as on the links alone its bytes are served."""
    launch: int
    """Time before its first message leaves [ps]."""


LINKS_ALONE = Pace(1.0, 0)
"""Where no library is known."""
