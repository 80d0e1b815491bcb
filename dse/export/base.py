"""A program that trains or serves, as the place a decision goes to: what it is told, and what it cannot be told."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from simcore.design.design import Design
from simcore.design.workload import USUAL
from simcore.workload.transformer.document import TransformerWorkload
from simcore.workload.transformer.stages import Runs, stage_runs


@dataclass(frozen=True, slots=True)
class Said:
    """What a written file says of a design, as sections of a design document."""

    parallelism: dict[str, Any]
    workload: dict[str, Any]
    """`model` too, where the file says its shape."""
    placement: tuple[str, ...] = ("tensor", "context", "data", "pipeline")
    """Order in which groups take the ranks, innermost first."""
    offloaded: tuple[str, ...] = ()
    """What lies in the host's memory, as `cluster.memory.expanded.place` has it."""


class Unsaid(NamedTuple):
    """A key of the design that the file does not give."""

    path: str
    design: str
    """What the design has."""
    runs: str
    """What runs instead."""

    def __str__(self) -> str:
        return f"{self.path}: the design has {self.design}, what is written runs {self.runs}"


@dataclass(frozen=True, slots=True)
class Exported:
    """A design for a program that runs it."""

    target: str
    file: str
    """The usual name of the file."""
    text: str
    unsaid: tuple[Unsaid, ...]
    """What the program cannot be told, or does otherwise."""
    notes: tuple[str, ...] = field(default=())
    """What its user has to know or to add."""


STEPPED_THERE = "the host's processors step the optimizer, where the prediction brings its states to the NPUs"
"""What the user of a program has to know that keeps the optimizer in the host's memory."""


def stages_of(design: Design) -> tuple[Runs, ...]:
    """The layers of each virtual stage of a transformer that is trained, and how they are cut and recomputed."""
    workload = TransformerWorkload.of(design.workload)
    return stage_runs(workload.model, design.parallelism, workload.sequence)


def offloaded(design: Design) -> tuple[str, ...]:
    """What lies in the expanded memory of a design."""
    memory = design.expanded_memory
    return () if memory is None else tuple(sorted(memory.place))


class Target(ABC):
    """A program that trains or serves, which files of `dse export` start."""

    name: str
    """As `--for` has it."""
    file: str
    """The usual name of the file."""
    software: tuple[str, ...]
    """Stacks of the catalogue that predict it."""
    workload: str = USUAL
    """The kind of workload that it runs."""

    @abstractmethod
    def write(self, design: Design) -> str:
        """The file that runs a checked design of such a workload.

        Raises `InputError` where nothing that the program can run would be this design.
        """

    @abstractmethod
    def read(self, text: str) -> Said:
        """What a file that `write` wrote says."""

    def elsewhere(self, design: Design) -> Mapping[str, str]:
        """Paths of a design that are not said in its file at all, each with where they are."""
        del design
        return {}

    def notes(self, design: Design) -> Iterator[str]:
        """What the user of the file has to know or to add."""
        yield from ()
