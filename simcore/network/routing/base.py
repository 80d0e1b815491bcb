"""Which of the ways between two NPUs a message takes: one file per routing.

A block lists the ways that its routings may choose from, numbered from 0; a routing says which of them a message takes.
Everything is arrays, one entry a message, since a step of a large fabric has many.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


class Routing(ABC):
    """A routing."""

    everywhere: ClassVar[bool] = False
    """Whether each message is spread evenly over all its ways, packet by packet."""
    drawn: ClassVar[bool] = False
    """Whether a hash of both ends and a seed picks the way, so that several connections have several ways."""
    detours: ClassVar[bool] = False
    """Whether its ways are not the shortest ones."""

    @abstractmethod
    def pick(self, ways: Ints, source: Ints, target: Ints, seed: int) -> Ints:
        """The way of each message, below `ways`, the number of ways that it has; not asked where `everywhere`.

        `source` and `target` are the NPUs' places in the dimension. `seed` counts where ways are drawn.
        """
