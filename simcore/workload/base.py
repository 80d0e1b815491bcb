"""A kind of workload: what the simulator asks of it.

A kind is two files: its document form (`simcore.workload.documents`, or `simcore.design`), and its behaviour here,
which turns a design into a `Program`. Everything after that (engines, memory, bounds, cost, export) knows Programs
only. A single collective has no Program; the engines play it as it is.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, NamedTuple

from simcore.design.design import Design
from simcore.document.problem import Problem
from simcore.program import Program


class Totals(NamedTuple):
    """What any design of a workload must do, over all NPUs: the ground of bounds that hold for a whole space."""

    flops: float
    """FLOPs of matrix products in an iteration."""
    samples: int
    """Tokens or samples of an iteration."""
    parameters: float
    """Parameters of the model."""
    trained: bool
    """Whether gradients and optimizer states are kept."""


class WorkloadKind(ABC):
    """Behaviour of one kind of workload."""

    @abstractmethod
    def problems(self, design: Design) -> Iterator[Problem]:
        """What of a well-formed design of this kind cannot be simulated."""

    @abstractmethod
    def program(self, design: Design) -> Program:
        """The Program of a checked design."""

    @abstractmethod
    def totals(self, workload: Any) -> Totals:
        """What every design of `workload` (of this kind) must do."""
