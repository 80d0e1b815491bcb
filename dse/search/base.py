"""A sampler proposes designs and is told what became of them.

    ask ──▶ Proposal ──▶ tell (an outcome)   or   reject (a repeat of a design that was already proposed)

The evaluator is never inside a sampler, and a sampler never sees the simulator.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dse.fill import Filled


@dataclass(frozen=True, slots=True)
class Proposal:
    """A filled document, and the sampler's own handle on it."""

    filled: Filled
    handle: Any = None


class Sampler(ABC):
    """A way to choose which designs to try. Same space, seed and outcomes: same proposals."""

    learns: bool = True
    """Whether what it proposes depends on what it is told."""

    @abstractmethod
    def ask(self) -> Proposal | None:
        """The next proposal; None where the space is exhausted."""

    @abstractmethod
    def tell(self, proposal: Proposal, losses: tuple[float, ...], violations: Mapping[str, float]) -> None:
        """What became of a proposal: values to be minimised, and every constraint (<= 0: met)."""

    @abstractmethod
    def reject(self, proposal: Proposal) -> None:
        """The proposal repeats an earlier one, or failed: it teaches nothing."""
