"""The source: an ASTRA-sim 1.0 text workload. Its training loop is played once, and what it does becomes nodes.

All ranks do the same. What a loop computes follows what came before it; a collective in the background is followed by
what waits for it. The update after a collective is a compute node behind it.

Which dimensions of the network a collective takes depends on the loop, so the network's sizes are needed. A 1.0 loop
takes a nanosecond for every change of its state, which a trace has not; and its collectives may overlap, while an NPU
of ASTRA-sim 2.x has one in flight.
"""

from __future__ import annotations

from pathlib import Path

from simcore.astra.files.chakra import CommType, TraceNode, collective_node
from simcore.astra.files.errors import AstraInputError
from simcore.astra.files.nanoseconds import Clock, nanosecond_node
from simcore.astra.files.system import Collective
from simcore.astra.files.text_workload import load_text_workload
from simcore.astra.loops import LOOPS
from simcore.astra.loops.base import FORWARD, INPUT_GRAD, Loop, PartKind, Preference
from simcore.astra.loops.dimensions import involved_dimensions, logical_sizes
from simcore.astra.loops.workload import LayerPart, TextWorkload
from simcore.document.problem import InputError, Problem
from simcore.traces.base import Request, TraceSet, refuse

MOST_NODES = 1_000_000
"""Nodes of one trace at most."""
_MOST_STEPS = 10_000_000
"""Changes of state of a loop that are played at most."""

_KINDS = {
    Collective.ALL_REDUCE: CommType.ALL_REDUCE,
    Collective.ALL_GATHER: CommType.ALL_GATHER,
    Collective.ALL_TO_ALL: CommType.ALL_TO_ALL,
    Collective.REDUCE_SCATTER: CommType.REDUCE_SCATTER,
}


class TextSource:
    """A text workload of ASTRA-sim 1.0."""

    name = "text"
    summary = "a text workload of ASTRA-sim 1.0"

    def claims(self, path: str) -> bool:
        """Plain text."""
        return path.endswith(".txt")

    def read(self, request: Request) -> TraceSet:
        """The traces. Raises `InputError`."""
        if not request.dimensions:
            fix = "--dimensions 8, or of two dimensions, innermost first, --dimensions 4,2"
            refuse(request.path, "the sizes of the network", "none", fix)
        try:
            workload = load_text_workload(Path(request.path))
            sizes, model = logical_sizes(workload, request.dimensions, False)
            if sizes != request.dimensions:
                refuse(request.path, "model-parallel groups of whole dimensions", f"{workload.group} NPUs of a group")
            recorder = _Recorder(workload, 1, len(sizes), model)
            recorder.play()
            if request.passes > 1:
                _check_passes(recorder, request)
                recorder = _Recorder(workload, request.passes, len(sizes), model)
                recorder.play()
        except AstraInputError as error:
            found = "one where " + str(error).removeprefix(f"{request.path}: ")
            raise InputError([Problem((request.path,), "a text workload that can be played", found)], "trace") from None
        npus = 1
        for size in sizes:
            npus *= size
        trace = tuple(recorder.nodes)
        return TraceSet((trace,) * npus, notes=_notes(recorder))


def _check_passes(alone: _Recorder, request: Request) -> None:
    """Refuse more passes than a trace can have nodes, by those of one pass."""
    nodes, steps = len(alone.nodes), alone.steps
    most = max(1, min(MOST_NODES // max(1, nodes), _MOST_STEPS // max(1, steps)))
    if request.passes > most:
        found = f"{request.passes:,} passes of {nodes:,} nodes"
        refuse(request.path, f"at most {MOST_NODES:,} nodes", found, f"--num-passes {most}")


class _Recorder:
    """A training loop's target that writes down what the loop does instead of timing it."""

    def __init__(self, workload: TextWorkload, passes: int, dimensions: int, model: int) -> None:
        self.workload, self.passes = workload, passes
        self.nodes: list[TraceNode] = []
        self.steps = self.overlaps = 0
        self._dimensions, self._model = dimensions, model
        self._after: tuple[int, ...] = ()
        self._clock = Clock()
        self._flying: dict[tuple[int, PartKind], list[int]] = {}

    def play(self) -> None:
        """Play the loop to its end. Raises `AstraInputError` and `InputError`."""
        for delay in LOOPS[self.workload.loop].play(self):
            self.steps += delay > 0
            if len(self.nodes) > MOST_NODES:
                refuse(str(self.workload.path), f"at most {MOST_NODES:,} nodes", "more", "fewer passes or layers")

    def compute(self, layer: int, part: PartKind) -> Loop:
        """Write the compute node of a part, if it takes time."""
        time = self._part(layer, part).compute
        if time > 0:
            self._after = (self._compute(f"{self.workload.layers[layer].name}_{part.value}", time, self._after),)
        yield from ()

    def issue(self, layer: int, part: PartKind, preference: Preference) -> None:
        """Write the collective of a part, if it has one."""
        del preference  # a trace has no priorities
        self._issue(layer, part)

    def issue_and_wait(self, layer: int, part: PartKind, preference: Preference) -> Loop:
        """Write the collective of a part; what comes next follows it."""
        del preference
        if self._issue(layer, part):
            yield from self.wait_for(layer, part)

    def wait_for(self, layer: int, part: PartKind) -> Loop:
        """Let what comes next follow the collectives of a part that are under way."""
        self._after += tuple(self._flying.pop((layer, part), ()))
        yield from ()

    def _part(self, layer: int, part: PartKind) -> LayerPart:
        found = self.workload.layers[layer]
        return {FORWARD: found.forward, INPUT_GRAD: found.input_grad}.get(part, found.weight_grad)

    def _compute(self, name: str, time: int, after: tuple[int, ...]) -> int:
        self.nodes.append(nanosecond_node(len(self.nodes), name, time, after, self._clock))
        return len(self.nodes) - 1

    def _issue(self, layer: int, part: PartKind) -> bool:
        found, wanted = self.workload.layers[layer], self._part(layer, part)
        involved = involved_dimensions(found, part, self._dimensions, self._model)
        if wanted.kind is None or not any(involved):
            return False
        where = f"{self.workload.path}: layer {found.name}"
        if wanted.size == 0:
            refuse(where, "collectives of at least 1 B", "0 B", "write NONE")
        self.overlaps += bool(self._flying)
        last = len(self.nodes)
        self.nodes.append(collective_node(last, _KINDS[wanted.kind], wanted.size, self._after, involved))
        if found.update > 0:
            last = self._compute(f"{found.name}_update", found.update, (last,))
        self._flying.setdefault((layer, part), []).append(last)
        return True


def _notes(recorder: _Recorder) -> tuple[str, ...]:
    notes = [
        "times are nanoseconds in num_ops: run with roofline-enabled 1 and peak-perf 0.001 (else whole microseconds)",
        f"a 1.0 loop takes 1 ns for each change of its state, which traces have not: {recorder.steps:,} ns at most",
    ]
    if recorder.overlaps:
        notes.append("collectives overlap in this loop; an NPU of ASTRA-sim 2.x has one in flight")
    return tuple(notes)
