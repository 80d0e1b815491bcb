"""What layers and the ends of stages take and hold, as arrays: what stages and recomputation are solved from.

Times are those of one microbatch on an idle network: operators and blocking collectives one after the other, and of
what travels beside computation what that does not hide. Bytes are those of the memory rule (`simcore.memory`), taken
apart into what each layer adds.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simcore.compute import times_of
from simcore.design.design import Design
from simcore.document.field import BYTES
from simcore.engine.fast.lower import Lowering
from simcore.engine.fast.solo import rehearse
from simcore.engine.fast.state import ALONE, locate_type, new_state
from simcore.memory.footprint import model_states, weight_bytes
from simcore.program import Category, Compute, Operator, Start, Wait, Waits
from simcore.schedule import SCHEDULES
from simcore.system.chunks import PICOSECONDS
from simcore.system.interference import UNIT, slowdowns
from simcore.system.placement import place
from simcore.workload.data_parallel import Amount
from simcore.workload.transformer.document import TransformerWorkload
from simcore.workload.transformer.further_tokens import further_kind
from simcore.workload.transformer.known_layers import BATCH_ASIDE, Layer
from simcore.workload.transformer.layer import LayerKind
from simcore.workload.transformer.layers import split_backward
from simcore.workload.transformer.program import PartBuilder, PartKind, place_parts, shapes_of
from simcore.workload.transformer.stages import open_kinds

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Columns of a layer.
FORWARD = 0
"""Its forward pass [s]."""
BACKWARD = 1
"""Its backward pass; input gradients alone where the schedule splits it [s]."""
WEIGHTS = 2
"""Its weight gradients, where the schedule splits the backward pass [s]."""
AGAIN = 3
"""What recomputing it adds to the backward pass [s]."""
STATES = 4
"""Weights, gradients and optimizer states [B]."""
KEPT = 5
"""What it keeps of one microbatch [B]."""
SAVED = 6
"""What it keeps less of it where it is recomputed [B]."""
MOMENT = 7
"""Most bytes in use beyond what is kept, in its backward pass [B]."""
MOMENT_AGAIN = 8
"""The same, where it is recomputed [B]."""
MOVING = 9
"""What sharding has whole of it for a while [B]."""
TAIL = 10
"""What its parameters add after the last microbatch: the optimizer, and what follows it [s]."""
GRADIENTS = 11
"""What its gradients are on their way beside the last backward pass [s]."""
EXPERTS = 12
"""1 of a layer of experts, 0 of a dense one."""
OPEN = 13
"""1 where it is to be solved whether it recomputes, else 0."""
LAYER_COLUMNS = 14

# Further columns of a virtual stage without its layers, beside those of a layer; MOMENT is as much or minus infinity.
ENDS = 14
"""Bytes kept behind its layers [B]."""
TABLE = 15
"""The gradient of the embedding, beyond all that is kept [B]; minus infinity where it has none."""
PLACES = 16
"""Placeholders of gradients with no layers, dense ones, layers of experts, both [B]: four columns."""
STANDING = 20
"""What is always in use [B]."""
SEND = 21
"""What handing on a microbatch takes [s]."""
FLIGHT = 22
"""Microbatches in flight."""
PLACE = 23
"""Its place (chunk x stages + stage)."""
STAGE_COLUMNS = 24


@dataclass(frozen=True)
class Costs:
    """What the layers of a design take and hold, and its virtual stages without them."""

    layers: Floats
    """`[layers, LAYER_COLUMNS]`."""
    stages: Floats
    """`[virtual stages, STAGE_COLUMNS]`, in the order in which a microbatch passes them."""


def costs_of(design: Design) -> Costs:
    """The costs of a checked design of a transformer that asks for something to be solved."""
    workload = TransformerWorkload.of(design.workload).model_copy(update=BATCH_ASIDE)
    builder = PartBuilder(design.model_copy(update={"workload": workload}), shapes_of(design))
    plain, again = open_kinds(workload.model, design.parallelism, workload.sequence)
    timer = _Timer(design, builder)
    known: dict[tuple[LayerKind, LayerKind], Floats] = {}
    for pair in zip(plain, again, strict=True):
        if pair not in known:
            known[pair] = _layer_row(builder, timer, *pair)
    count = design.parallelism.pipeline * design.parallelism.interleave
    placed = place_parts(design.parallelism, [()] * count)
    dense = next((kind for kind in plain if not kind.experts), None)
    expert = next((kind for kind in plain if kind.experts), None)
    stages = np.array([_stage_row(builder, timer, kind, dense, expert) for _, kind in placed])
    stages[:-1, SEND] = [0.0 if kind.passed_here else timer.sending for _, kind in placed[:-1]]
    places = [place for place, _ in placed]
    stages[:, PLACE], stages[:, FLIGHT] = places, _flights(design, places)
    return Costs(np.array([known[pair] for pair in zip(plain, again, strict=True)]), stages)


def _flights(design: Design, places: Sequence[int]) -> list[float]:
    """Microbatches in flight at each place."""
    p = design.parallelism
    schedule, sizes = SCHEDULES[p.schedule], (p.pipeline, design.microbatches, p.interleave)
    each = [schedule.in_flight(stage, *sizes) for stage in range(p.pipeline)]
    beside = 1.0 if p.expert_overlap and design.microbatches > 1 else 0.0
    return [each[place % p.pipeline][place // p.pipeline] + beside for place in places]


class _Timer:
    """Times operators on an idle network."""

    def __init__(self, design: Design, builder: PartBuilder) -> None:
        self._design, self._builder = design, builder
        placement = place(design)[0]
        self._lowering = Lowering(design, placement, times_of(design))
        self._splits = SCHEDULES[design.parallelism.schedule].splits
        self._slowdowns = slowdowns(design)
        self._alone: dict[int, float] = {}
        p = design.parallelism
        group = placement.get("pipeline", ())
        onward = self._lowering.chunker.steps_on(group, p.pipeline)
        size = builder.shapes.hidden_bytes / p.tensor
        self._message = self._lowering.message("pipeline", size, onward[0]) if p.pipeline > 1 else None
        self._tails: dict[int, float] = {}

    @property
    def sending(self) -> float:
        """A message to the next stage [s]."""
        return 0.0 if self._message is None else self._collective(self._message)

    def _collective(self, kind: int) -> float:
        """A type of collective alone [s]."""
        if kind not in self._alone:
            net = self._lowering.network()
            rehearse(net, new_state(net, 1, 1, 1, self._design.system.chunks)[0])
            types = range(len(self._lowering.types))
            self._alone = {its: int(net[locate_type(net, its) + ALONE]) / PICOSECONDS for its in types}
        return self._alone[kind]

    def _slower(self, group: str) -> float:
        """What collectives of a group add to the computation beside them, as a share of it."""
        on = (self._slowdowns[where.dimension] for where in self._lowering.placement[group])
        return max(on, default=0) / UNIT

    def know(self, operators: Iterable[Operator]) -> None:
        """Add the types of collectives that will be asked for, which are timed together."""
        for operator in operators:
            if isinstance(operator, Start):
                self._lowering.collective(operator.kind, operator.group, operator.size)

    def seconds(self, operators: Sequence[Operator]) -> float:
        """Operators one after the other, each collective that is waited for as if it were alone [s]."""
        now, until, slower = 0.0, dict[Waits, float](), 0.0
        for operator in operators:
            if isinstance(operator, Compute):
                alone = self._lowering.compute.seconds(operator)
                beside = max(until.values(), default=0.0) - now
                now += alone + min(max(beside, 0.0) * slower / (1 + slower), alone * slower)
            elif isinstance(operator, Start):
                taken = self._collective(self._lowering.collective(operator.kind, operator.group, operator.size))
                until[operator.waits] = max(now, until.get(operator.waits, 0.0)) + taken
                slower = self._slower(operator.group)
            else:
                now = max(now, until.get(operator.waits, 0.0))
        return now

    def passes(self, forward: Sequence[Operator], backward: tuple[Operator, ...]) -> tuple[float, float, float]:
        """A forward pass, a backward pass and, where the schedule splits it, its weight gradients [s]."""
        inputs, weights = split_backward(backward) if self._splits else (backward, ())
        return self.seconds(forward), self.seconds(inputs), self.seconds(weights)

    def tail(self, amount: Amount) -> float:
        """What parameters take after the last microbatch, in proportion to those of the whole stage [s]."""
        return self.seconds(self._builder.data.final(amount)[0].operators) if amount.total else 0.0

    def reduction(self, amount: Amount) -> float:
        """What the gradients of parameters are on their way, where that is beside computation [s]."""
        if not self._design.parallelism.data_overlap:
            return 0.0
        return self.seconds((*self._builder.data.reduced(amount), Wait(Waits.GRADIENTS, Category.DATA)))


def _layer_row(builder: PartBuilder, timer: _Timer, plain: LayerKind, again: LayerKind) -> Floats:
    """A layer of one kind that may recompute, which then is of another."""
    layer, other = _beside(builder, plain), _beside(builder, again)
    own = builder.layers[plain].parameters
    timer.know((*layer.forward, *layer.backward, *other.backward))
    row = np.zeros(LAYER_COLUMNS)
    row[:AGAIN] = timer.passes(layer.forward, layer.backward)
    row[AGAIN] = timer.passes((), other.backward)[1] - row[BACKWARD] if again != plain else 0.0
    row[STATES] = _states(builder.design, own)
    row[KEPT] = builder.layers.kept(plain)
    row[SAVED] = row[KEPT] - builder.layers.kept(again)
    row[MOMENT], row[MOMENT_AGAIN] = builder.layer_moment(plain), builder.layer_moment(again)
    row[MOVING] = builder.data.moving(own.total)
    row[TAIL], row[GRADIENTS] = timer.tail(own), timer.reduction(own)
    row[EXPERTS], row[OPEN] = plain.experts, again != plain and row[SAVED] > 0
    return row


def _beside(builder: PartBuilder, kind: LayerKind) -> Layer:
    return builder.layers[kind].beside()


def _stage_row(
    builder: PartBuilder, timer: _Timer, kind: PartKind, dense: LayerKind | None, expert: LayerKind | None
) -> Floats:
    """A virtual stage without its layers."""
    row = np.zeros(STAGE_COLUMNS)
    forward, backward = builder.units(kind, beside=True)
    timer.know(operator for unit in (*forward, *backward) for operator in unit.operators)
    row[FORWARD] = sum(unit.repeat * timer.seconds(unit.operators) for unit in forward)
    for unit in backward:
        row[BACKWARD : WEIGHTS + 1] += unit.repeat * np.array(timer.passes((), unit.operators)[1:])
    held = Amount(
        sum(unit.parameters.own * unit.repeat for unit in forward),
        sum(unit.parameters.experts * unit.repeat for unit in forward),
    )
    row[STATES], row[TAIL], row[GRADIENTS] = _states(builder.design, held), timer.tail(held), timer.reduction(held)
    further = builder.layers.further(further_kind(builder.shapes)).parameters.total if _predicts(builder, kind) else 0.0
    row[MOVING] = builder.data.moving(further)
    empty: set[LayerKind] = set()
    beside = builder.placeholders(empty, kind.last) + row[MOVING] + builder.standing
    row[MOMENT] = builder.working((), 0.0, first=False, last=True) - beside if kind.last else -math.inf
    row[ENDS] = builder.ends(kind.last)
    row[TABLE] = builder.embedding_moment if kind.first else -math.inf
    row[STANDING] = builder.standing
    for number in range(4):
        kinds = {each for bit, each in ((1, dense), (2, expert)) if number & bit and each is not None}
        row[PLACES + number] = builder.placeholders(kinds, kind.last)
    return row


def _predicts(builder: PartBuilder, kind: PartKind) -> bool:
    return kind.last and bool(builder.shapes.model.multi_token_prediction)


def _states(design: Design, amount: Amount) -> float:
    """Bytes of the model states of so many parameters."""
    workload, p = design.workload, design.parallelism
    weight, gradient = weight_bytes(workload.precision), BYTES[workload.gradient_precision]
    over = (design.sharding_npus, design.expert_sharding_npus)
    found = 0.0
    for parameters, shards in zip(amount, over, strict=True):
        states = model_states(
            parameters, shards, p.zero, weight, gradient, not p.reduces_each, p.gathers in ("microbatch", "once")
        )
        found += states.weights + states.gradients + states.optimizer
    return found
