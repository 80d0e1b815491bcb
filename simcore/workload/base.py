"""A kind of workload: what the simulator asks of it.

A kind is a folder: its section of the document, its checks, its Program, and the `WorkloadKind` that says all of this
to the rest. After the Program everything (engines, memory, bounds, cost, export) knows Programs only, a single
collective being a Program of one operator. What else a part of the simulator or of the search must know of a kind is
asked here, and has an answer for kinds that do not say.

A kind is listed in `simcore.design.workload.KINDS`, or brought by an installed package (`simcore.family`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterator, Mapping
from functools import cache
from typing import Any, Literal, NamedTuple

from simcore.design.design import Design
from simcore.design.workload import KINDS, Workload, WorkloadForm, workload_tag
from simcore.document.problem import Problem, Refusal
from simcore.network import Slice
from simcore.program import Operator, Program
from simcore.schedule import SCHEDULES
from simcore.schedule.base import MOST_CHUNKS


class Totals(NamedTuple):
    """What any design of a workload must do, over all NPUs: the ground of bounds that hold for a whole space."""

    flops: float
    """Least FLOPs of matrix products in an iteration."""
    samples: int
    """Tokens or samples of an iteration."""
    parameters: float
    """Parameters of the model."""
    counted_flops: float | None = None
    """Most FLOPs that `mfu` counts of an iteration, where designs differ in them; None: nothing is known of it."""
    kept_beside: float = 0.0
    """Bytes of the model that `parameters` leave out, and that a checkpoint keeps as they are."""
    weights: float | None = None
    """Bytes of the parameters at the least, where not all are held in the precision of products."""


class LayersAlone(NamedTuple):
    """The layers of a job, which are known before there is a Program: few kinds, each many times."""

    total: int
    """Layers of the model."""
    fewest: int
    """Layers of the virtual stage that has the fewest."""
    kinds: tuple[Hashable, ...]
    """What identifies each kind of layer, on all designs that have it."""
    operators: Callable[[Any], tuple[Operator, ...]]
    """The forward and the backward pass of a layer of a kind, for one microbatch."""


class Sample(NamedTuple):
    """Some chunks of a Program that has many, from which the others follow nearly."""

    program: Program
    """With those chunks alone, the first one included; what is held is as in all of it."""
    repeats: tuple[float, ...]
    """For how many of all chunks each of them stands, itself included."""


class Repeated(NamedTuple):
    """A number of a design of which a smaller design of the same kind has less."""

    number: int
    path: tuple[str, ...]
    """The key of the document that says it."""
    unit: int = 1
    """It stays a multiple of this."""
    written: Callable[[int], Any] = int
    """What the key says for another number."""


NPUS = "NPUs"
"""What a design has fewer of when `WorkloadKind.spread` is smaller."""


READ = (
    "how samples reach the NPUs: storage that reads them, hosts that decode them and links that copy them are neither "
    "timed nor sized for so many a second"
)
"""What is said of images and of lookups."""


class WorkloadKind(WorkloadForm, ABC):
    """Behaviour of one kind of workload."""

    trained: bool = True
    """Whether gradients and optimizer states are kept; else there are only forward passes."""
    spread: str = "data"
    """The parallel group over which the batch is spread, so that fewer NPUs of it do the same."""
    same_group: Mapping[str, str] = {}
    """Groups that Programs of this kind name, each with the group that has the same NPUs."""
    jobs_by: Literal["layers", "programs", "tokens", "network"] | None = None
    """How the certificate of a space (`dse.proof.relax`) orders designs by what they take at least: by their `layers`;
    by whole Programs; by the first tokens of a served model (`output_length`); by what they send, if they compute
    nothing. None: not at all, and only the bounds of `totals` hold."""
    explicit: bool = False
    """Whether Programs of this kind carry a graph (`Program.graph`), which few engines play."""
    uneven: str = ""
    """What several NPUs share unevenly in practice, and evenly here, in words; empty where that is nothing."""
    feeding: str = ""
    """What brings samples to the NPUs and is not timed, in words; empty where they are tokens, which are small."""
    exact: bool = False
    """Whether tests hold the bounds of many networks at once to this kind, so that exact search relies on them."""

    @abstractmethod
    def problems(self, design: Design) -> Iterator[Problem]:
        """What of a well-formed design of this kind cannot be simulated."""

    @abstractmethod
    def program(self, design: Design) -> Program:
        """The Program of a checked design."""

    def totals(self, workload: Any) -> Totals | None:
        """What every design of `workload` (of this kind) must do; None where nothing is known."""
        return None

    def degrees(self, design: Design) -> Mapping[str, int]:
        """The parallel groups that share out the NPUs, innermost first, and how many NPUs each has."""
        p = design.parallelism
        degrees = {"tensor": p.tensor, "context": p.context, "data": design.data, "pipeline": p.pipeline}
        return {group: degrees[group] for group in design.cluster.placement} | degrees

    def inner_groups(self, design: Design) -> Mapping[str, tuple[str, int]]:
        """Groups that are the innermost members of another one: by name, that group and how many of its NPUs."""
        return {}

    def sample(self, design: Design) -> Sample | None:
        """Some chunks of the Program of a checked design, which are known sooner; None where all of it is needed."""
        return None

    def placement(self, design: Design) -> dict[str, tuple[tuple[int, Slice], ...]] | None:
        """The slices of every group, where the kind says itself who is where; None where degrees decide that."""
        return None

    def first_stage(self, design: Design) -> Program | None:
        """A Program without operators whose first stage holds no more than that of the design; None: it is not known.

        It is known much sooner than the Program of the design.
        """
        return None

    def unmodelled(self, design: Design) -> tuple[str, ...]:
        """What results of this kind do not know, a sentence each."""
        return ()

    def groups(self, workload: Any) -> tuple[int, ...] | None:
        """Members of groups of NPUs that lie side by side on the innermost dimension and each play the Program alone.

        None where all NPUs play it together.
        """
        return None

    def layers(self, design: Design) -> LayersAlone | None:
        """The layers of a design; None where they are not alike, or nothing is known of them without a Program."""
        return None

    def repeated(self, design: Design) -> dict[str, Repeated]:
        """What repeats in a design, by name, `NPUS` aside."""
        p, each = design.parallelism, design.data * design.microbatch
        unit = SCHEDULES[p.schedule].round(p.pipeline, p.interleave)
        path = ("workload", "global_batch")
        return {
            "microbatches": Repeated(design.microbatches, path, unit, lambda number: number * each),
            "chunks": Repeated(design.system.chunks, ("system", "chunks")),
        }

    def reductions(self, design: Design) -> tuple[tuple[str, int], ...]:
        """In which order a design becomes one that the reference engine can afford: what has less, and the least of it.

        What repeats goes first, because it changes least: microbatches beyond what fills the pipeline twice, chunks
        beyond eight, data-parallel NPUs beyond two; then what is left of each, in the same order.
        """
        stages = design.parallelism.pipeline
        return (
            ("microbatches", 2 * stages),
            ("chunks", 8),
            (NPUS, 2),
            ("microbatches", stages),
            ("chunks", 1),
            (NPUS, 1),
            ("microbatches", 1),
        )


def kind_of(workload: Workload) -> WorkloadKind:
    """The kind of a section of a document; see `kind_named`."""
    return _kind_with(type(workload))


@cache
def _kind_with(section: type[Workload]) -> WorkloadKind:
    return kind_named(next(name for name, form in KINDS.items() if form.section is section))


def kind_named(name: str) -> WorkloadKind:
    """The kind called `name`.

    Raises `TypeError` where a package brings a form without a behaviour.
    """
    kind = KINDS[name]
    if not isinstance(kind, WorkloadKind):
        raise TypeError(f"workload kind {name}: expected a WorkloadKind, got a {type(kind).__name__}")
    return kind


def workload_program(design: Design) -> Program:
    """What a checked design does, memory apart (see `simcore.memory.plan`).

    Raises `ValueError` for a Program without microbatches, or of more chunks than blocks can name, which no engine can
    play: its design breaks a rule that the kind does not know.
    """
    program = kind_of(design.workload).program(design)
    if program.microbatches < 1:
        raise Refusal("at least 1 microbatch", str(program.microbatches), where=workload_tag(design.workload))
    if program.chunks > MOST_CHUNKS:
        expected = f"at most {MOST_CHUNKS:,} chunks of a stage"
        raise Refusal(expected, f"{program.chunks:,}", where=workload_tag(design.workload))
    return program
