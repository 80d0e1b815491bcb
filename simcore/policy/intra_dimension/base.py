"""In which order the chunks that wait for a dimension are served.

A policy is two numbers: the key of a phase, and what each later issue adds to it. The smallest key is served first;
ties go by arrival, then issue, then chunk. A started phase is never interrupted.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar


class IntraDimension(ABC):
    """An order of service within a dimension."""

    issue_weight: ClassVar[int] = 0
    """What the number of its issue, times this, adds to the key of a phase."""
    ranks_groups: ClassVar[bool] = False
    """Whether the key is a place in the order of groups, and says nothing of sizes."""
    by_arrival: ClassVar[bool] = False
    """Whether nothing but arrivals counts: then a phase never overtakes another."""

    @abstractmethod
    def key(self, priority: Sequence[str], group: str, size: int) -> int:
        """The key of a phase of `group` that begins with a chunk of `size` [B].

        `priority` lists groups as `system.priority` does, the first one first.
        """
