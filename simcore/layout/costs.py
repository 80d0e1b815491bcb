"""What layers and the ends of stages take and hold, as arrays: what stages and recomputation are solved from.

Times are those of one microbatch on an idle network: operators and blocking collectives one after the other, and of
what travels beside computation what that does not hide. Bytes are those of the memory rule (`simcore.memory`), taken
apart into what each layer adds.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from simcore.compute import times_of
from simcore.design.design import Design
from simcore.document.field import BYTES
from simcore.engine.fast.lower import Lowering
from simcore.engine.fast.solo import rehearse
from simcore.engine.fast.state import ALONE, locate_type, new_state
from simcore.memory.footprint import model_states
from simcore.program import Category, Compute, Operator, Start, Wait, Waits
from simcore.schedule import SCHEDULES
from simcore.system.chunks import PICOSECONDS
from simcore.system.interference import UNIT, slowdowns
from simcore.system.placement import place
from simcore.workload.data_parallel import Amount, Unit, optimizer_bytes
from simcore.workload.held import held_bytes, held_gradient_bytes
from simcore.workload.transformer.document import TransformerWorkload
from simcore.workload.transformer.ends import embedding_parameters
from simcore.workload.transformer.further_tokens import further_kind
from simcore.workload.transformer.known_layers import BATCH_ASIDE
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
PARAMETERS = 9
"""Its parameters; of a virtual stage without its layers those of what predicts a further token."""
TAIL = 10
"""What its parameters add after the last microbatch: the optimizer, and what follows it [s]."""
GRADIENTS = 11
"""What its gradients are on their way beside the last backward pass [s]."""
EXPERTS = 12
"""1 of a layer of experts, 0 of a dense one."""
OPEN = 13
"""1 where it is to be solved whether it recomputes, else 0."""
VERSION = 14
"""One version of its weights [B]."""
LAYER_COLUMNS = 15

# Further columns of a virtual stage without its layers, beside those of a layer; MOMENT is as much or minus infinity.
ENDS = 15
"""Bytes kept behind its layers [B]."""
TABLE = 16
"""The gradient of the embedding, beyond all that is kept [B]; minus infinity where it has none."""
PLACES = 17
"""Placeholders of gradients with no layers, dense ones, layers of experts, both [B]: four columns."""
STANDING = 21
"""What is always in use [B]."""
SEND = 22
"""What handing on a microbatch takes [s]."""
FLIGHT = 23
"""Microbatches in flight."""
PLACE = 24
"""Its place (chunk x stages + stage)."""
OLDER = 25
"""Versions of its weights beside the newest one."""
SHARE = 26
"""Updates of weights a microbatch, of a pipeline that never empties; else 0."""
FURTHER = 27
"""As MOMENT, of what predicts a further token; minus infinity where it has none."""
MATRIX = 28
"""Parameters of its output matrix; 0 where it has none."""
EMBEDDED = 29
"""Parameters of its embedding."""
GATHERED, REDUCED, BUCKET = 30, 31, 32
"""See `simcore.workload.moving.Moving`."""
STAGE_COLUMNS = 33


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
    pairs = dict.fromkeys(zip(plain, again, strict=True))
    count = design.parallelism.pipeline * design.parallelism.interleave
    placed = place_parts(design.parallelism, [()] * count)
    units = {kind: builder.units(kind, beside=True) for _, kind in placed}
    timer = _Timer(design, builder, _reference(builder, plain))
    for kind in dict.fromkeys((*plain, *again)):
        layer = builder.layers[kind].beside()
        timer.know((*layer.forward, *layer.backward))
    for unit in (unit for both in units.values() for listed in both for unit in listed):
        timer.know(unit.operators)
    layers = {pair: _layer_row(builder, timer, *pair) for pair in pairs}
    ends = {kind: _stage_row(builder, timer, kind, its, plain) for kind, its in units.items()}
    stages = np.array([ends[kind] for _, kind in placed])
    stages[:-1, SEND] = [0.0 if kind.passed_here else timer.sending for _, kind in placed[:-1]]
    places = [place for place, _ in placed]
    stages[:, PLACE], stages[:, FLIGHT] = places, _flights(design, places)
    rows = np.array([layers[pair] for pair in zip(plain, again, strict=True)])
    schedule = SCHEDULES[design.parallelism.schedule]
    if not schedule.flushes:
        stages[:, OLDER] = [schedule.versions(place, count) - 1 for place in places]
        stages[:, SHARE] = schedule.updates(design.microbatches) / design.microbatches
    return Costs(rows, stages)


def _reference(builder: PartBuilder, kinds: Iterable[LayerKind]) -> Amount:
    """Parameters of a layer, and of the experts of one: what others take for theirs is in proportion."""
    amounts = [builder.layers[kind].parameters for kind in dict.fromkeys(kinds)]
    return Amount(amounts[0].own, max(amount.experts for amount in amounts))


def _flights(design: Design, places: Sequence[int]) -> list[float]:
    """Microbatches in flight at each place."""
    p = design.parallelism
    schedule, sizes = SCHEDULES[p.schedule], (p.pipeline, design.microbatches, p.interleave)
    each = [schedule.in_flight(stage, *sizes) for stage in range(p.pipeline)]
    beside = float(schedule.pairs or 0) if p.expert_overlap and design.microbatches > 1 else 0.0
    return [each[place % p.pipeline][place // p.pipeline] + beside for place in places]


class _Timer:
    """Times operators on an idle network."""

    def __init__(self, design: Design, builder: PartBuilder, reference: Amount) -> None:
        self._design, self._builder = design, builder
        self._references = Amount(reference.own), Amount(0.0, reference.experts)
        placement = place(design)[0]
        self._lowering = Lowering(design, placement, times_of(design))
        self._splits = SCHEDULES[design.parallelism.schedule].splits
        self._slowdowns = slowdowns(design)
        self._alone: dict[int, float] = {}
        self._slower_by: dict[str, float] = {}
        p = design.parallelism
        group = placement.get("pipeline", ())
        onward = self._lowering.chunker.steps_on(group, p.pipeline)
        size = builder.shapes.hidden_bytes / p.tensor
        for amount in self._references:
            self.know((*builder.data.final(amount)[0].operators, *builder.data.reduced(amount)))
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
        if group not in self._slower_by:
            on = (self._slowdowns[where.dimension] for where in self._lowering.placement[group])
            self._slower_by[group] = max(on, default=0) / UNIT
        return self._slower_by[group]

    def know(self, operators: Iterable[Operator]) -> None:
        """Add the types of collectives that will be asked for, which are timed together."""
        for operator in operators:
            if isinstance(operator, Start):
                self._lowering.collective(operator.kind, operator.group, operator.size)

    def seconds(self, operators: Sequence[Operator]) -> float:
        """Operators one after the other, each collective that is waited for as if it were alone [s]."""
        now, until, slower = 0.0, dict[Waits, float](), 0.0
        compute = self._lowering.compute.seconds
        for operator in operators:
            if isinstance(operator, Compute):
                alone = compute(operator)
                beside = max(until.values()) - now if until and slower else 0.0
                now += alone + min(beside * slower / (1 + slower), alone * slower) if beside > 0.0 else alone
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

    @cached_property
    def _late(self) -> tuple[list[float], list[float]]:
        """What parameters take after the last microbatch, and their gradients beside it: of all, and of experts [s]."""
        data, waited = self._builder.data, Wait(Waits.GRADIENTS, Category.DATA)
        found = [[0.0, 0.0], [0.0, 0.0]]
        beside = self._design.parallelism.data_overlap
        for number, amount in enumerate(self._references):
            if amount.total:
                found[0][number] = self.seconds(data.final(amount)[0].operators) / amount.total
                found[1][number] = self.seconds((*data.reduced(amount), waited)) / amount.total if beside else 0.0
        return found[0], found[1]

    def late(self, amount: Amount) -> tuple[float, float]:
        """What so many parameters take after the last microbatch, and their gradients beside its backward pass [s]."""
        tail, gradients = self._late
        own, experts, _ = amount
        return tail[0] * own + tail[1] * experts, gradients[0] * own + gradients[1] * experts


def _layer_row(builder: PartBuilder, timer: _Timer, plain: LayerKind, again: LayerKind) -> Floats:
    """A layer of one kind that may recompute, which then is of another."""
    layer, other = builder.layers[plain].beside(), builder.layers[again].beside()
    own = layer.parameters
    row = np.zeros(LAYER_COLUMNS)
    row[:AGAIN] = timer.passes(layer.forward, layer.backward)
    row[AGAIN] = timer.passes((), other.backward)[1] - row[BACKWARD] if again != plain else 0.0
    row[STATES], row[VERSION] = _states(builder.design, own)
    row[KEPT] = builder.layers.kept(plain)
    row[SAVED] = row[KEPT] - builder.layers.kept(again)
    row[MOMENT], row[MOMENT_AGAIN] = builder.layer_moment(plain), builder.layer_moment(again)
    row[PARAMETERS] = own.total
    row[TAIL], row[GRADIENTS] = timer.late(own)
    row[EXPERTS], row[OPEN] = plain.experts, again != plain and row[SAVED] > 0
    return row


def _stage_row(
    builder: PartBuilder,
    timer: _Timer,
    kind: PartKind,
    units: tuple[list[Unit], list[Unit]],
    layers: Sequence[LayerKind],
) -> Floats:
    """A virtual stage without its layers, forward and backward; `layers` are those that there are."""
    row = np.zeros(STAGE_COLUMNS)
    forward, backward = units
    row[FORWARD] = sum(unit.repeat * timer.seconds(unit.operators) for unit in forward)
    for unit in backward:
        row[BACKWARD : WEIGHTS + 1] += unit.repeat * np.array(timer.passes((), unit.operators)[1:])
    held = Amount(
        sum(unit.parameters.own * unit.repeat for unit in forward),
        sum(unit.parameters.experts * unit.repeat for unit in forward),
    )
    row[STATES], row[VERSION] = _states(builder.design, held)
    row[TAIL], row[GRADIENTS] = timer.late(held)
    predicts = kind.last and bool(builder.shapes.model.multi_token_prediction)
    row[PARAMETERS] = builder.layers.further(further_kind(builder.shapes)).parameters.total if predicts else 0.0
    row[FURTHER] = builder.further_moment() if predicts else -math.inf
    row[MOMENT], row[MATRIX] = (builder.head_moment(), builder.matrix) if kind.last else (-math.inf, 0.0)
    row[GATHERED], row[REDUCED], row[BUCKET] = builder.data.moving
    row[ENDS] = builder.ends(kind.last)
    row[TABLE] = builder.embedding_moment if kind.first else -math.inf
    row[EMBEDDED] = embedding_parameters(builder.shapes) if kind.first else 0.0
    row[STANDING] = builder.standing(())
    for number in range(4):
        kinds = {LayerKind(experts) for experts in (False, True) if number & (2 if experts else 1)}
        shown = kinds & {LayerKind(layer.experts) for layer in layers}
        row[PLACES + number] = builder.placeholders(shown, kind.last)
    return row


def _states(design: Design, amount: Amount) -> tuple[float, float]:
    """Bytes of the model states of so many parameters, and of the weights among them."""
    workload, p = design.workload, design.parallelism
    its = held_bytes(design), held_gradient_bytes(design), optimizer_bytes(BYTES[workload.precision])
    over = (design.sharding_npus, design.expert_sharding_npus)
    each = [
        model_states(parameters, shards, p.zero, *its, not p.reduces_each, p.gathers in ("microbatch", "once"))
        for parameters, shards in zip(amount.each, over, strict=True)
    ]
    weights = sum(states.weights for states in each)
    return weights + sum(states.gradients + states.optimizer for states in each), weights
