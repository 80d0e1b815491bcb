"""A trial as a journal has it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dse.evaluate.evaluate import Outcome


@dataclass(frozen=True, slots=True)
class StoredTrial:
    """A trial of the journal."""

    number: int
    params: dict[str, Any]
    outcome: Outcome
    draws: dict[str, Any] | None = None
    """The sampler's own numbers, where a study cannot be replayed from its seed."""
