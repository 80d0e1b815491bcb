"""The Program: what must happen in an iteration, between workload and engine.

For each *part* of the model (a virtual pipeline stage) a repeated structure of segments, not an unrolled graph. An
operator is compute (FLOPs, bytes), the start of a collective, or the wait for a class of collectives. What blocks is
written as a start followed at once by a wait.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any, NamedTuple

from simcore.graph import Graph
from simcore.policy.groups import group_kind
from simcore.schedule import ORDERS


class Waits(IntEnum):
    """Classes of collectives that a program can wait for."""

    NOW = 0
    """Blocking collectives."""
    PREFETCH = 1
    """The gather of the next layer's parameters (ZeRO-3)."""
    GRADIENTS = 2
    """Gradient buckets on their way."""
    EXCHANGE = 3
    """Embeddings on their way between the owners of tables and of samples; rows on their way to experts and back."""
    OVERLAP = 4
    """What travels beside one piece of a split operator, or beside the gradient of a product's weights."""
    SHARDS = 5
    """A bucket of gradients on its way into shards, which are then reduced between shard groups."""


class Category(IntEnum):
    """Where an NPU's time goes."""

    COMPUTE = 0
    TENSOR = 1
    CONTEXT = 2
    EXPERT = 3
    DATA = 4
    PIPELINE = 5
    OPTIMIZER = 6
    UNGROUPED = 7
    """Communication of groups whose parallelism is not known: those of a trace."""
    OTHER = 8
    """Neither computing nor waiting for communication: an NPU that waits for its host."""


GROUP_CATEGORY = {
    "tensor": Category.TENSOR,
    "expert_tensor": Category.TENSOR,
    "query": Category.TENSOR,
    "context": Category.CONTEXT,
    "expert": Category.EXPERT,
    "data": Category.DATA,
    "data_context": Category.DATA,
    "expert_data": Category.DATA,
    "shard": Category.DATA,
    "expert_shard": Category.DATA,
    "replica": Category.DATA,
    "reshard": Category.TENSOR,
    "pipeline": Category.PIPELINE,
    "all": Category.DATA,
}


LAUNCHED = 1 << 40
"""Pieces of which a kernel is one whose launch takes no time of its own: something else counts what the host does."""


class Compute(NamedTuple):
    """An operator, by `kind`.

    `gemm` runs at the roofline, `memory` moves its bytes, `flash` is fused attention, `core` a product of attention
    that stays in 16 bits where other products are in 8.
    """

    name: str
    kind: str
    flops: float
    bytes: float
    category: Category = Category.COMPUTE
    shape: tuple[float, float, float, float] | None = None
    """Shape of a matrix product: (batch, m, n, k), `batch` products [m,k]x[k,n]."""
    backward_bytes: float | None = None
    """Bytes that the backward pass of a `memory` operator moves [B]; twice its own unless given."""
    fused: tuple[tuple[float, float, float, float], ...] = ()
    """The matrix products (batch, m, n, k) that a `flash` operator does, which need no tables of scores between."""
    pieces: int = 1
    """The number of pieces, of which it is one, that the host launches at once: together they take one launch."""
    recorded: float | None = None
    """Time that was measured [s], where it does not follow from the NPU."""
    routed: bool = False
    """Whether only routing tells how much there is to do: no recorded graph has it, the host launches it each time."""
    padding: float = 1.0
    """FLOPs that its kernel does over `flops`, those for rows that it masks included, or that a faster one would do in
    its time."""
    apart: float = 0.0
    """Least time from one product of the batch to the next [s], where each is a kernel of its own; 0: one kernel does
    all of them."""


class Start(NamedTuple):
    """Issue a collective of `size` [B] over `group`; see `Waits` for `waits`."""

    kind: str
    group: str
    size: float
    waits: Waits


TO_OTHER_END = {"to_last_stage": -1, "to_first_stage": 0}
"""Kinds of `Start` that are a message along the pipeline, not a collective, and the stage that gets it."""


class Wait(NamedTuple):
    """Wait until no collective of class `waits` is outstanding; the time counts as `category`."""

    waits: Waits
    category: Category


Operator = Compute | Start | Wait


class Segment(NamedTuple):
    """Operators that happen `repeat` times in a row."""

    name: str
    operators: tuple[Operator, ...]
    repeat: int = 1


def blocking_collective(kind: str, group: str, size: float) -> tuple[Operator, ...]:
    """A collective that its stage waits for."""
    return Start(kind, group, size, Waits.NOW), Wait(Waits.NOW, GROUP_CATEGORY[group_kind(group)])


@dataclass(frozen=True, slots=True)
class ModelPart:
    """A virtual pipeline stage: what it does for one microbatch, and what it holds."""

    forward: tuple[Segment, ...]
    backward: tuple[Segment, ...]
    """Backward pass of every microbatch but the last; where gradients are kept in shards, it reduces them too."""
    last_backward: tuple[Segment, ...]
    """The last microbatch's backward: it also reduces the gradients."""
    parameters: float
    """Parameters of the part, per NPU, before any sharding over data parallel."""
    activations: float
    """Bytes that one microbatch keeps from its forward to its backward, per NPU."""
    working: float
    """Bytes of the largest temporary buffers, per NPU."""
    resident: float = 0.0
    """Bytes of weights that are neither reduced nor sharded further (embedding tables), with their states, per NPU."""
    expert_parameters: float = 0.0
    """Part of `parameters`: those of routed experts, which are sharded over fewer NPUs."""
    apart: tuple[tuple[float, int], ...] = ()
    """Part of `parameters`: those of layers with degrees of their own, each with the NPUs over which their states
    are sharded; they are not among `expert_parameters`."""
    weights: tuple[Segment, ...] = ()
    """Weight gradients, where the schedule takes them out of the backward pass, which then reduces no gradients."""
    last_weights: tuple[Segment, ...] = ()
    """The last microbatch's weight gradients: they also reduce the gradients."""
    first_forward: tuple[Segment, ...] = ()
    """The first microbatch's forward, where it alone gathers parameters; empty where it is as the others."""
    alone_forward: tuple[Segment, ...] = ()
    """A forward pass beside no other microbatch, where the schedule has some among others; empty where it is as these.
    """
    alone_backward: tuple[Segment, ...] = ()
    """The same of a backward pass that reduces nothing."""
    most_kept: float | None = None
    """Activations of the layer that keeps most; unless told, all of `activations`."""

    @property
    def largest_kept(self) -> float:
        """Bytes that the layer that keeps most keeps of a microbatch."""
        return self.activations if self.most_kept is None else self.most_kept

    @property
    def first_pass(self) -> tuple[Segment, ...]:
        """The first microbatch's forward."""
        return self.first_forward or self.forward

    def forward_pass(self, microbatch: int, alone: bool) -> tuple[Segment, ...]:
        """The forward of a microbatch, maybe one that is beside no other microbatch."""
        if microbatch == 0:
            return self.first_pass
        return self.alone_forward or self.forward if alone else self.forward

    def backward_pass(self, alone: bool) -> tuple[Segment, ...]:
        """The backward of a microbatch that is not the last one, maybe beside no other microbatch."""
        return self.alone_backward or self.backward if alone else self.backward

    @property
    def played(self) -> tuple[tuple[Segment, ...], ...]:
        """The passes that make up an iteration, see `Program.how_often`."""
        return self.first_pass, self.forward, self.backward, self.weights, self.last_backward, self.last_weights

    @property
    def passes(self) -> tuple[tuple[Segment, ...], ...]:
        """All passes that a microbatch can take, the rare ones too."""
        return (
            self.forward,
            self.backward,
            self.last_backward,
            self.weights,
            self.last_weights,
            self.first_forward,
            self.alone_forward,
            self.alone_backward,
        )


@dataclass(frozen=True, slots=True)
class Program:
    """A training iteration: `part_of[place]` is the part at each place, that is chunk x stages + stage.

    Which place a microbatch visits as the k-th, as its virtual stage k, is the schedule's to say (`path`).
    """

    parts: tuple[ModelPart, ...]
    part_of: tuple[int, ...]
    stages: int
    chunks: int
    microbatches: int
    schedule: str
    send_bytes: float
    """Bytes a stage sends to the next for one microbatch, per NPU."""
    final: tuple[tuple[Segment, ...], ...]
    """What follows the last backward of each stage: the wait for gradients, the optimizer step, …, `[stages]`."""
    model_flops: float
    """FLOPs of the model per iteration over all NPUs, without recomputation."""
    tokens: int
    """Tokens (or samples, see `counts`) per iteration; 0 where there are none."""
    counts: str = "tokens"
    """What `tokens` counts."""
    sends: tuple[float, ...] | None = None
    """Bytes that virtual stage k hands to the next (and gets back) for one microbatch, where they differ."""
    trained: bool = True
    """Whether gradients are reduced and an optimizer steps; else there are only forward passes."""

    graph: Graph | None = None
    """What happens after what, where that is an explicit graph; segments then only list its operators."""
    cache: tuple[float, ...] | None = None
    """Bytes of keys and values that each stage holds per NPU, where the Program serves, `[stages]`."""
    weights: tuple[float, ...] | None = None
    """Bytes of the weights of each stage per NPU, where not all are as wide as products compute, `[stages]`."""
    opening: Program | None = None
    """What makes the first token of a request, where prompts are read a few at a time."""

    @property
    def updates(self) -> int:
        """How often weights are updated in an iteration."""
        return ORDERS[self.schedule].updates(self.microbatches)

    @property
    def updated_after(self) -> int:
        """After how many microbatches weights are updated."""
        return self.microbatches // self.updates

    @property
    def serves(self) -> bool:
        """Whether requests are served, whose tokens its chunks make."""
        return self.cache is not None

    @property
    def single(self) -> Start | None:
        """The one collective that is all there is to do; None of Programs with more in them.

        Whose time is that of a collective alone needs no stages, blocks or schedule to be played or bounded.
        """
        if (
            self.graph is not None
            or self.tokens
            or self.trained
            or len(self.parts) > 1
            or len(self.parts[0].forward) != 1
        ):
            return None
        ((_, operators, repeat),) = self.parts[0].forward
        if len(operators) != 2 or repeat * self.microbatches * self.chunks * self.stages > 1 or any(self.final):
            return None
        return operators[0] if isinstance(operators[0], Start) else None

    @property
    def how_often(self) -> tuple[int, ...]:
        """How often a part plays each of its `played` passes.

        A pass beside no other microbatch is counted as one beside another: they do the same, in another order.
        """
        m, updates = self.microbatches, self.updates
        return 1, m - 1, m - updates, m - 1, updates, 1

    def parts_of(self, stage: int) -> list[ModelPart]:
        """The parts of a stage, by chunk."""
        return [self.parts[part] for part in self.part_of[stage :: self.stages]]

    def passes_of(self, stage: int) -> Iterator[tuple[tuple[Segment, ...], int]]:
        """The lists of segments that a stage plays in an iteration, each with how often."""
        for part in self.parts_of(stage):
            yield from zip(part.played, self.how_often, strict=True)
        yield self.final[stage], self.updates

    def segments_of(self, stage: int) -> Iterator[tuple[Segment, int]]:
        """The segments of these, each with how often they are played."""
        for segments, times in self.passes_of(stage):
            yield from ((segment, times) for segment in segments)

    @property
    def alike_stages(self) -> tuple[list[int], ...]:
        """The stages in groups that play the same passes."""
        found: dict[tuple[Any, ...], list[int]] = {}
        rows = [self.part_of[first : first + self.stages] for first in range(0, len(self.part_of), self.stages)]
        for stage, key in enumerate(zip(*rows, map(id, self.final), strict=True)):
            found.setdefault(key, []).append(stage)
        return (*found.values(),)

    @property
    def first_token(self) -> Program:
        """What happens until a request has its first token: its own prompt, or the first chunk of all requests.

        The last stage does not send the tokens on.
        """
        sends = None if self.sends is None else self.sends[: self.stages]
        return self.opening or replace(self, chunks=1, part_of=self.part_of[: self.stages], sends=sends)

    def sent_bytes(self, virtual_stage: int, onward: int) -> float:
        """Bytes that a virtual stage sends for one microbatch to the next (1) or the previous one (-1), per NPU."""
        if self.sends is None:
            return self.send_bytes
        return self.sends[virtual_stage if onward == 1 else virtual_stage - 1]
