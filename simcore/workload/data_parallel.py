"""What data parallelism adds to a stage: gradient buckets, ZeRO's gathers of parameters, the optimizer step.

Gradients of all but the routed experts are reduced over data x context, those of an expert over the NPUs that have the
same one: tensor x context x data / (expert tensor x expert). ZeRO (Rajbhandari et al. 2020, arXiv 1910.02054) shards
states over the same groups, or over `shard_group` neighbours of them (hybrid sharding: Zhao et al. 2023, PyTorch FSDP,
arXiv 2304.11277, section 3.2.2). What is kept in shards between two uses is moved between them:

- whole gradients are reduced once, in the last microbatch; sharded ones in every microbatch, which ends with the wait
  for them (`Parallelism.reduces_each`);
- stages 1 and 2 gather the updated parameters after the optimizer step, stage 3 gathers each layer's before its use,
  one layer ahead (`Parallelism.gathers`);
- between shard groups the shards are all-reduced, once they are there.

Layers with a tensor or expert degree of their own have data-parallel groups of their own, and buckets for each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby, zip_longest
from typing import Any, NamedTuple

from simcore.design.degrees import views_of
from simcore.design.design import Design
from simcore.design.layer_range import Degrees
from simcore.document.field import BYTES
from simcore.program import Category, Compute, Operator, Segment, Start, Wait, Waits
from simcore.workload.held import gathered_bytes
from simcore.workload.moving import Moving

MASTER_BYTES = 12
"""fp32 master copy, momentum and variance of a parameter (Adam)."""


def optimizer_bytes(weight: float) -> float:
    """Bytes that the optimizer keeps of a parameter of `weight` bytes: fp32 weights are their own master copy."""
    return MASTER_BYTES - weight if weight == BYTES["fp32"] else MASTER_BYTES


def update_bytes(weight: float, gradient: float) -> float:
    """Bytes that a step moves for a parameter: it reads the gradient, reads and writes all in fp32, writes the weight.

    An fp32 weight is among the first.
    """
    return gradient + 2 * MASTER_BYTES + (0.0 if weight == BYTES["fp32"] else weight)


class Amount(NamedTuple):
    """Parameters per NPU: of what data parallelism copies everywhere, and of routed experts."""

    own: float
    experts: float = 0.0
    apart: tuple[float, ...] = ()
    """Amounts of layers with degrees of their own, by the groups that reduce them (`DataParallel.amount_in`)."""

    @property
    def each(self) -> tuple[float, ...]:
        """The amount of each group that reduces."""
        return (self.own, self.experts, *self.apart)

    @property
    def total(self) -> float:
        """All."""
        return sum(self.each)

    @classmethod
    def by_group(cls, each: Sequence[float]) -> Amount:
        """The amount with so many of each group."""
        return cls(each[0], each[1], tuple(each[2:]))

    @classmethod
    def sum_of(cls, amounts: Iterable[Amount]) -> Amount:
        """All of them together."""
        return cls.by_group([sum(held) for held in zip_longest((0.0, 0.0), *(a.each for a in amounts), fillvalue=0.0)])

    def times(self, count: int) -> Amount:
        """So many times the amount."""
        return Amount.by_group([held * count for held in self.each])


NONE = Amount(0.0)


class Unit(NamedTuple):
    """A run of `repeat` equal pieces of a part, each with `parameters` per NPU and its operators `times` in a row."""

    name: str
    operators: tuple[Operator, ...]
    parameters: Amount
    repeat: int = 1
    times: int = 1


class _Group(NamedTuple):
    """Over whom some parameters are spread: the NPUs that share their states, and those that reduce with them."""

    name: str
    shards: int
    """NPUs in it, over which ZeRO shards."""
    replicas: int
    """Groups like it that have the same parameters."""


class _Buckets(NamedTuple):
    """Gradients that are sent off at the start of a piece, and those sent off before, which are in shards by then."""

    full: Amount
    before: Amount


@dataclass(frozen=True)
class DataParallel:
    """Adds to the units of a part what `design` does over data-parallel NPUs."""

    design: Design

    @cached_property
    def _known(self) -> tuple[tuple[_Group, ...], dict[Degrees | None, tuple[int, int]]]:
        """The groups, those of the section's degrees first; and by degrees which two are of a layer's parameters."""
        section = self.design.parallelism.degrees
        groups = list(_groups_of(self.design))
        places: dict[Degrees | None, tuple[int, int]] = {None: (0, 1)}
        own_of: dict[str, int] = {groups[0].name: 0}
        for degrees, view in views_of(self.design).items():
            own, experts = (g._replace(name=degrees.name_group(g.name, section)) for g in _groups_of(view))
            if own.name not in own_of:
                own_of[own.name] = len(groups)
                groups.append(own)
            places[degrees] = own_of[own.name], len(groups)
            groups.append(experts)
        return tuple(groups), places

    @property
    def _groups(self) -> tuple[_Group, ...]:
        """The groups of all but routed experts, and of these; then those of layers with degrees of their own."""
        return self._known[0]

    def amount_in(self, degrees: Degrees | None, amount: Amount) -> Amount:
        """The parameters of layers with degrees of their own, among the groups of all."""
        if degrees is None:
            return amount
        each = [0.0] * len(self._groups)
        for place, parameters in zip(self._known[1][degrees], amount.each, strict=True):
            each[place] += parameters
        return Amount.by_group(each)

    def shards_apart(self, amount: Amount) -> tuple[tuple[float, int], ...]:
        """The parameters of layers with degrees of their own, each with the NPUs that share their states."""
        return tuple(
            (parameters, group.shards) for parameters, group in zip(amount.apart, self._groups[2:], strict=False)
        )

    @cached_property
    def _alone(self) -> bool:
        """Whether no other NPU has the same parameters, nor the memory that they stream in from."""
        return not self._streams and all(group.shards * group.replicas == 1 for group in self._groups)

    @property
    def _streams(self) -> bool:
        """Whether shards lie in an expanded memory (`simcore.system.streamed`)."""
        return self.design.streamed is not None

    def _each(self, amount: Amount) -> list[tuple[_Group, float]]:
        """The parameters of each kind that there are, with their group."""
        return [(group, parameters) for group, parameters in zip(self._groups, amount.each, strict=False) if parameters]

    @cached_property
    def _precisions(self) -> tuple[float, float]:
        """Bytes of a parameter and of its gradient."""
        workload: Any = self.design.workload
        return BYTES[workload.precision], BYTES[workload.gradient_precision]

    def _reduce(self, amount: Amount, waits: Waits) -> tuple[Operator, ...]:
        """Start the reduction of gradients over their group; with ZeRO into shards, which may leave the NPUs."""
        kind = "reduce_scatter" if self.design.parallelism.zero else "all_reduce"
        if self._streams:
            kind = "store"
        if (served := self.design.parallelism.parameter_server) is not None:
            kind = served.kind
        width = self._precisions[1]
        return tuple(
            Start(kind, group.name, parameters * width, waits)
            for group, parameters in self._each(amount)
            if group.shards > 1 or self._streams
        )

    def reduced(self, amount: Amount) -> tuple[Operator, ...]:
        """Start the reduction of gradients, all at once, and what follows it between shard groups."""
        return self._ended(_Buckets(amount, NONE))

    def _replicate(self, amount: Amount) -> tuple[Operator, ...]:
        """Start the all-reduce of shards of gradients between shard groups, once they are there."""
        width = self._precisions[1]
        starts = tuple(
            Start("all_reduce", "replica", parameters / group.shards * width, Waits.GRADIENTS)
            for group, parameters in self._each(amount)
            if group.replicas > 1
        )
        return (Wait(Waits.SHARDS, Category.DATA), *starts) if starts else ()

    def _sent(self, buckets: _Buckets) -> tuple[Operator, ...]:
        """Send a bucket off; with shard groups, reduce the one before it between them first."""
        if self._groups[0].replicas == 1:
            return self._reduce(buckets.full, Waits.GRADIENTS)
        return (*self._replicate(buckets.before), *self._reduce(buckets.full, Waits.SHARDS))

    def _ended(self, buckets: _Buckets) -> tuple[Operator, ...]:
        """Send the last bucket off, and what is left to do between shard groups."""
        if self._groups[0].replicas == 1:
            return self._sent(buckets)
        return (*self._sent(buckets), *self._replicate(buckets.full))

    def _gather(self, amount: Amount, waits: Waits) -> tuple[Operator, ...]:
        """The whole parameters, of which each NPU has updated (or keeps, or loads) its shard."""
        kind, width = "load" if self._streams else "all_gather", gathered_bytes(self.design)
        return tuple(
            Start(kind, group.name, parameters / group.shards * width, waits)
            for group, parameters in self._each(amount)
            if group.shards > 1 or self._streams
        )

    def forward(self, units: Sequence[Unit]) -> tuple[tuple[Segment, ...], tuple[Segment, ...]]:
        """The forward pass of a microbatch, and that of the first one where it differs (else empty)."""
        gathers = self.design.parallelism.gathers
        if gathers == "once":
            first, usual = self._gathering(units), plain(units)
            return usual, first if first != usual else ()
        return (plain(units) if gathers == "never" else self._gathering(units)), ()

    def backward(self, units: Sequence[Unit], reduces: bool = True) -> tuple[tuple[Segment, ...], tuple[Segment, ...]]:
        """The backward pass of a microbatch, and of the last one; neither reduces gradients unless `reduces`."""
        again = self.design.parallelism.gathers == "twice"
        return self._passes(units, self._gathering if again else plain, reduces)

    def reducing_weights(self, units: Sequence[Unit]) -> tuple[tuple[Segment, ...], tuple[Segment, ...]]:
        """Weight gradients apart from their backward pass, which need no parameters: of a microbatch, and the last."""
        return self._passes(units, plain)

    def _passes(
        self, units: Sequence[Unit], written: Callable[[Sequence[Unit]], tuple[Segment, ...]], reduces: bool = True
    ) -> tuple[tuple[Segment, ...], tuple[Segment, ...]]:
        usual = written(units)
        if not reduces or self._alone:
            return usual, usual
        last = written(self._reducing(units))
        return (last, last) if self.design.parallelism.reduces_each else (usual, last)

    def _reducing(self, units: Sequence[Unit]) -> list[Unit]:
        """A backward pass that reduces: once a bucket is full, the next unit starts with its reduction.

        That a reduction stands at the start of the following unit, and not at the end of its own, changes nothing in
        time, and lets a run of equal layers meet an idle network again where the reduction is faster than the layer.
        """
        each = self.design.parallelism.reduces_each
        arrived: tuple[Operator, ...] = (Wait(Waits.GRADIENTS, Category.DATA),) if each else ()
        if not self.design.parallelism.data_overlap:
            if not each:
                return list(units)
            whole = Amount.sum_of(unit.parameters for unit in units for _ in range(unit.repeat))
            return [*units, Unit("gradients", (*self._ended(_Buckets(whole, NONE)), *arrived), NONE)]
        pieces, rest = self._bucketed(units)
        out: list[Unit] = []
        apart = arrived if self.design.cluster.npu.platform in self.design.software.reduces_apart_on else ()
        for (index, buckets), run in groupby(pieces):
            sent = self._sent(buckets)
            out += _led(units[index], (*sent, *apart) if sent else (), len(list(run)))
        return [*out, Unit("gradients", (*self._ended(rest), *arrived), NONE)]

    def _bucketed(self, units: Sequence[Unit]) -> tuple[list[tuple[int, _Buckets]], _Buckets]:
        """Each piece by the number of its unit, with what is sent off at its start; and what is left at the end."""
        least = self.design.parallelism.bucket / self._precisions[1]
        pieces: list[tuple[int, _Buckets]] = []
        waiting, before = [*NONE.each], NONE
        for index, unit in enumerate(units):
            added = unit.parameters.each
            for _ in range(unit.repeat):
                full = NONE
                if len(waiting) > 2 or any(held >= least for held in waiting):  # else the same in fewer calls
                    full = Amount.by_group([held if held >= least else 0.0 for held in waiting])
                sent = full.total
                pieces.append((index, _Buckets(full, before if sent else NONE)))
                if sent:
                    before = full
                    waiting = [0.0 if held >= least else held for held in waiting]
                waiting += [0.0] * (len(added) - len(waiting))
                for place, more in enumerate(added):
                    waiting[place] += more
        return pieces, _Buckets(Amount.by_group(waiting), before)

    def _gathering(self, units: Sequence[Unit]) -> tuple[Segment, ...]:
        """Segments of the units; each piece's parameters are gathered while the piece before it runs."""
        if not self._streams and all(group.shards == 1 for group in self._groups):
            return plain(units)
        if not self.design.parallelism.data_overlap:
            return plain([led for unit in units for led in _led(unit, self._gathered_first(unit.parameters))])
        pieces = [unit for unit in units if unit.parameters.total]
        out = [Unit("gather", self._gather(pieces[0].parameters, Waits.PREFETCH), NONE)] if pieces else []
        arrived = Wait(Waits.PREFETCH, Category.DATA)
        for i, unit in enumerate(units):
            following = next((later.parameters for later in units[i + 1 :] if later.parameters.total), NONE)
            if not unit.parameters.total:
                out.append(unit)
                continue
            if unit.repeat > 1:
                ahead = (arrived, *self._gather(unit.parameters, Waits.PREFETCH))
                out += _led(unit, ahead, unit.repeat - 1)
            out += _led(unit, (arrived, *self._gather(following, Waits.PREFETCH)), 1)
        return plain(out)

    def _gathered_first(self, amount: Amount) -> tuple[Operator, ...]:
        starts = self._gather(amount, Waits.PREFETCH)
        return (*starts, Wait(Waits.PREFETCH, Category.DATA)) if starts else ()

    def final(self, held: Amount, exchanged: tuple[Operator, ...] = ()) -> tuple[Segment, ...]:
        """Wait for the gradients, step the optimizer, gather the parameters that ZeRO-1 and 2 updated in shards.

        `exchanged`: what is done with reduced gradients before the step.
        """
        p, (weight, gradient) = self.design.parallelism, self._precisions
        late = not self._alone and not p.data_overlap and not p.reduces_each
        operators: list[Operator] = [*self._ended(_Buckets(held, NONE))] if late else []
        operators += [Wait(Waits.GRADIENTS, Category.DATA), *exchanged]
        if self.design.streamed is not None and self.design.streamed.updates:
            return (Segment("optimizer", tuple(operators)),)
        own = self.sharded(held) if p.zero else held.total
        traffic = own * update_bytes(weight, gradient)
        operators.append(Compute("optimizer", "memory", 0.0, traffic, Category.OPTIMIZER))
        if p.zero in (1, 2):
            for start in self._gather(held, Waits.NOW):
                operators += [start, Wait(Waits.NOW, Category.DATA)]
        return (Segment("optimizer", tuple(operators)),)

    @cached_property
    def moving(self) -> Moving:
        """What sharding has whole for a while."""
        p, gradient = self.design.parallelism, self._precisions[1]
        if self._alone:
            return Moving(0.0, 0.0, 0.0)
        gathered = gathered_bytes(self.design) if p.gathers == "twice" else 0.0
        return Moving(gathered, gradient, p.bucket) if p.reduces_each else Moving(gathered, 0.0, 0.0)

    def sharded(self, held: Amount) -> float:
        """Parameters of an NPU's shard."""
        return sum(parameters / group.shards for group, parameters in self._each(held))


def streaming_of(design: Design) -> tuple[bool, bool]:
    """Whether weights stream in from a memory, and whether that updates them."""
    memory = design.streamed
    return memory is not None, memory is not None and memory.updates


def _groups_of(design: Design) -> tuple[_Group, _Group]:
    """The groups of all but routed experts, and of these."""
    p, size = design.parallelism, design.copies
    apart = p.expert > 1 or p.folded
    if p.shard_group and p.shard_group < size:
        replicas = size // p.shard_group
        own = _Group("shard", p.shard_group, replicas)
        return own, _Group("expert_shard", design.expert_sharding_npus, replicas) if apart else own
    own = _Group("data" if p.context == 1 else "data_context", size, 1)
    return own, _Group("expert_data", design.expert_copies, 1) if apart else own


def plain(units: Sequence[Unit]) -> tuple[Segment, ...]:
    """Segments of units that need no parameters."""
    return tuple(Segment(unit.name, unit.operators, unit.repeat * unit.times) for unit in units if unit.operators)


def _led(unit: Unit, before: tuple[Operator, ...], repeat: int | None = None) -> list[Unit]:
    """The unit, or `repeat` pieces of it, each with operators `before` it."""
    piece = unit if repeat is None else unit._replace(repeat=repeat)
    if not before:
        return [piece]
    if unit.times == 1:
        return [piece._replace(operators=(*before, *unit.operators))]
    assert piece.repeat == 1
    return [Unit(f"{unit.name}-communication", before, NONE), piece]
