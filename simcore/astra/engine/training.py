"""Runs a 1.0 training loop: the trainer and its accounts. All NPUs of a text workload do the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from simcore.astra.algorithms.collective import Chunk, Planner, Request
from simcore.astra.engine.lock_step import LockStep, TeamTimer
from simcore.astra.engine.phase_time import PhaseTimer
from simcore.astra.engine.queue import FlowShop
from simcore.astra.engine.themis import LoadBalancer
from simcore.astra.files.errors import AstraInputError
from simcore.astra.files.network import Network
from simcore.astra.files.result import AstraResult, LayerTimes
from simcore.astra.files.system import SystemSettings
from simcore.astra.loops import LOOPS
from simcore.astra.loops.base import FORWARD, INPUT_GRAD, WEIGHT_GRAD, Loop, PartKind, Preference
from simcore.astra.loops.dimensions import involved_dimensions, logical_sizes
from simcore.astra.loops.workload import LayerPart, TextLayer, TextWorkload

HIGHEST_PRIORITY = 100_000_000


@dataclass
class _PartBook:
    """What one part of one layer has done so far [ns]."""

    under_way: int = 0
    blocking: bool = False
    waiting_since: list[int] = field(default_factory=list)
    compute: int = 0
    communication: int = 0
    exposed: int = 0


class _LayerPlanner:
    """Plans the collectives of layers, on the logical dimensions of the loop."""

    def __init__(self, network: Network, system: SystemSettings, workload: TextWorkload, queues: int) -> None:
        self.newest_first = system.lifo
        self.sizes, self._model = logical_sizes(workload, network.sizes, system.boost)
        self._system = _pair_broken_dimension(system, network.sizes, self.sizes)
        self._workload = workload
        self._planner = Planner(network, self._system, queues, self.sizes)
        if system.chunk_order == "themis":
            self._planner.balancer = LoadBalancer(network, self.sizes, system.gap_denominator)

    def plan(self, layer: int, part: PartKind, now: int) -> Sequence[Chunk]:
        """Return the chunks of a part's collective that starts at `now`; none if no dimension takes part.

        Raises
        ------
        AstraInputError
            If ASTRA-sim would not finish it.
        """
        found = self._workload.layers[layer]
        wanted = _part(found, part)
        assert wanted.kind is not None
        if self._planner.balancer is not None:
            self._planner.balancer.reset(now)
        involved = involved_dimensions(found, part, len(self.sizes), self._model)
        return self._planner.plan(Request(wanted.kind, wanted.size, involved))


def _pair_broken_dimension(system: SystemSettings, sizes: tuple[int, ...], logical: tuple[int, ...]) -> SystemSettings:
    """Return the system with the algorithm of a broken dimension used for both its halves."""
    if len(sizes) == len(logical):
        return system
    broken = next(index for index, size in enumerate(sizes) if logical[index] != size)
    algorithms = {
        kind: (*found[: broken + 1], *found[broken:]) if len(found) > broken else (*found, found[-1])
        for kind, found in system.algorithms.items()
    }
    return replace(system, algorithms=algorithms)


def _part(layer: TextLayer, part: PartKind) -> LayerPart:
    return {FORWARD: layer.forward, INPUT_GRAD: layer.input_grad, WEIGHT_GRAD: layer.weight_grad}[part]


class LoopTrainer:
    """Drives a training loop on NPUs in lock step."""

    def __init__(self, workload: TextWorkload, passes: int, planner: _LayerPlanner, npus: LockStep) -> None:
        self.workload = workload
        self.passes = passes
        self.finish_ns = -1
        self.books = [{part: _PartBook() for part in PartKind} for _ in workload.layers]
        self._planner = planner
        self._npus = npus
        self._next_priority = 0
        self._under_way = 0
        self._is_over = False
        self._awaited = (0, WEIGHT_GRAD)
        self._loop = LOOPS[workload.loop].play(self)

    def step(self) -> None:
        """Run the loop up to its next delay, or to its end."""
        delay = next(self._loop, None)
        if delay is not None:
            if delay >= 0:
                self._npus.wait(delay, self.step)
            return
        self._is_over = True
        book = self.books[0][WEIGHT_GRAD]
        if book.under_way and not book.waiting_since:
            book.waiting_since.append(self._npus.now)
        self._finish_if_done()

    def compute(self, layer: int, part: PartKind) -> Loop:
        """Compute a part of a layer."""
        time = _part(self.workload.layers[layer], part).compute
        self.books[layer][part].compute += time
        if time > 0:
            yield time

    def issue(self, layer: int, part: PartKind, preference: Preference) -> None:
        """Start a part's collective in the background."""
        self._issue(layer, part, preference, blocking=False)

    def issue_and_wait(self, layer: int, part: PartKind, preference: Preference) -> Loop:
        """Start a part's collective and wait for it."""
        if self._issue(layer, part, preference, blocking=True):
            self._awaited = layer, part
            yield -1

    def wait_for(self, layer: int, part: PartKind) -> Loop:
        """Wait until a part has no collective under way."""
        book = self.books[layer][part]
        while book.under_way:
            if not book.waiting_since:
                book.waiting_since.append(self._npus.now)
            self._awaited = layer, part
            yield -1

    def _issue(self, layer: int, part: PartKind, preference: Preference, blocking: bool) -> bool:
        """Start a part's collective; return whether there is one."""
        found, book, start = self.workload.layers[layer], self.books[layer][part], self._npus.now
        wanted = _part(found, part)
        book.blocking = blocking
        if wanted.kind is None:
            return False
        priority = self._take_priority(preference)
        if wanted.size == 0:  # ASTRA-sim starts it without a chunk that could end it
            book.under_way += 1
            return True

        def updated() -> None:
            self._book_collective(book, start)

        def done() -> None:
            self._npus.wait(found.update, updated)

        try:
            chunks = self._planner.plan(layer, part, start)
            if not chunks:
                return False
            self._npus.start_collective(chunks, priority, done)
        except AstraInputError as error:
            raise AstraInputError(f"{self.workload.path}: layer {found.name}: {error}") from None
        book.under_way += 1
        self._under_way += 1
        return True

    def _take_priority(self, preference: Preference) -> int:
        """Return the priority of a new collective: in the tutorials, the policy overrules the loop."""
        if preference is Preference.HIGHEST:
            return HIGHEST_PRIORITY
        newest_first = self._planner.newest_first
        if preference is not Preference.POLICY and not self.workload.tutorial:
            newest_first = preference is Preference.NEWEST_FIRST
        priority = self._next_priority
        self._next_priority += 1 if newest_first else -1
        return priority

    def _book_collective(self, book: _PartBook, start: int) -> None:
        """A collective and its update are done: book it, and go on if the loop waits for it."""
        now = self._npus.now
        book.communication += now - start
        wakes = True
        if book.under_way == 1 and book.blocking:
            book.exposed += now - start
        elif book.waiting_since:
            book.exposed += now - book.waiting_since.pop()
        else:
            wakes = False
        book.under_way -= 1
        self._under_way -= 1
        if wakes and not self._is_over:
            self.step()
        self._finish_if_done()

    def endless_error(self) -> AstraInputError:
        """Return what to say of a loop that nothing wakes any more: only an empty collective does that."""
        layer, part = self._awaited
        found = self.workload.layers[layer]
        wanted = _part(found, part)
        assert wanted.kind is not None
        assert wanted.size == 0
        return AstraInputError(
            f"{self.workload.path}: layer {found.name}: {wanted.kind.value} of 0 B in {part.value}: expected at least "
            "1 B, as the loop waits for it and ASTRA-sim never ends it; write NONE, or check comm-scale"
        )

    def _finish_if_done(self) -> None:
        if self._is_over and self._under_way == 0:
            self.finish_ns = self._npus.now


def run_training(
    network: Network, system: SystemSettings, workload: TextWorkload, passes: int, queues: int, rendezvous: bool
) -> AstraResult:
    """Run a text workload on a network.

    Raises
    ------
    AstraInputError
        If a collective cannot be planned, or the loop never ends.
    """
    planner = _LayerPlanner(network, system, workload, queues)
    slots = -(-system.active_chunks // queues)
    timer = TeamTimer(network, system, PhaseTimer(network, system, queues, rendezvous=rendezvous), rendezvous)
    lock_step = LockStep(FlowShop(len(planner.sizes) * queues, slots, queue_rule(system, workload)), timer)
    trainer = LoopTrainer(workload, passes, planner, lock_step)
    trainer.step()
    lock_step.run()
    if trainer.finish_ns < 0:
        raise trainer.endless_error()
    return _summarize(trainer, network.npus)


def queue_rule(system: SystemSettings, workload: TextWorkload) -> str:
    """Return the waiting order; smallest-chunk-first was rewritten after the tutorials."""
    return "SCF-release" if system.queue_order == "SCF" and not workload.tutorial else system.queue_order


def _summarize(trainer: LoopTrainer, npus: int) -> AstraResult:
    finish = trainer.finish_ns
    compute = sum(book.compute for books in trainer.books for book in books.values())
    order = (FORWARD, WEIGHT_GRAD, INPUT_GRAD)
    layers = tuple(
        LayerTimes(
            layer.name,
            *(books[part].compute for part in order),
            *(books[part].exposed for part in order),
            *(books[part].communication for part in order),
        )
        for layer, books in zip(trainer.workload.layers, trainer.books, strict=True)
    )
    return AstraResult(
        finish_ns=finish,
        finish_ns_per_npu=np.full(npus, finish, np.int64),
        compute_ns=compute,
        exposed_communication_ns=finish - compute,
        layers=layers,
    )
