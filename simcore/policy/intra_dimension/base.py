"""In which order the chunks that wait for a dimension are served.

A policy is two numbers: the key of a phase, and what each later issue adds to it. The smallest key is served first;
ties go by arrival, then issue, then chunk. A started phase is not interrupted, unless the policy serves phases step by
step (`simcore.system.steps`): then each step waits for its turn.
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
    by_steps: ClassVar[bool] = False
    """Whether the steps of a phase are served one by one."""

    @abstractmethod
    def key(self, priority: Sequence[str], group: str, size: int) -> int:
        """The key of a phase of `group` that begins with a chunk of `size` [B].

        `priority` lists groups as `system.priority` does, the first one first.
        """

    def key_of_step(self, key: int, begun: bool) -> int:
        """The key of a phase of `key`, or, where steps are served one by one, of a step of one that has `begun`."""
        del begun
        return key
