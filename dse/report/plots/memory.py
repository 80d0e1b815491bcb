"""What an NPU holds against what it can hold: each pipeline stage of one design, or several designs side by side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from dse.evaluate.spread import spread_indices
from dse.report.plots.bars import Bars, Row, StackedBars, row_of
from dse.report.plots.base import Options
from dse.report.plots.chosen import MOST_ROWS, Chosen, choose_along, choose_one
from dse.report.reasons import memory_parts
from dse.report.units import format_percent
from dse.whatif.stages import MemoryOfStages, memory_of_stages
from simcore.result import Memory

if TYPE_CHECKING:
    from dse.whatif.subject import Subject

_COLOURS = {
    "weights": "#0072B2",
    "gradients": "#56B4E9",
    "optimizer": "#009E73",
    "keys and values": "#F0C000",
    "activations": "#E69F00",
    "working space": "#D55E00",
    "reserved beside": "#C3CBD3",
}


class MemoryByStage(StackedBars):
    """Stacked bytes."""

    about = "what each pipeline stage holds in memory, against its capacity"

    def collect(self, subjects: Sequence[Subject], options: Options) -> Bars:
        """See `Plot.collect`."""
        if len(subjects) == 1 and len(options.trial) <= 1:
            return _of_stages(choose_one(subjects[0], options))
        choice = choose_along(subjects, options)
        return _of_designs(choice.designs, choice.describe())

    def colours(self, data: Bars) -> Mapping[str, str]:
        """See `StackedBars.colours`."""
        return _COLOURS


_CAPTION = (
    "Per NPU, at the peak of the iteration. Reserved beside: what the allocator loses, the context and communicators' "
    "buffers."
)


def _of_stages(chosen: Chosen) -> Bars:
    found = memory_of_stages(chosen.document)
    rows = [
        Row(_name(stage.first, stage.last), "", "", memory_parts(stage.memory), run=chosen.run, trial=chosen.trial)
        for stage in found.stages
    ]
    kept = [rows[index] for index in spread_indices(len(rows), MOST_ROWS)]
    among = "" if len(kept) == len(rows) else f", {len(kept)} of {len(rows)} kinds of stage shown"
    fullest = max(stage.memory.reserved for stage in found.stages)
    full = f"the fullest stage takes {format_percent(fullest / found.capacity)} of the memory"
    said = f"{chosen.run} {chosen.name} {chosen.note}".strip() if chosen.trial is not None else chosen.run
    return Bars(
        "What each pipeline stage holds in memory",
        f"{said}  ·  {full}{among}",
        "Memory of one NPU",
        "B",
        tuple(kept),
        _CAPTION,
        {"capacity": found.capacity},
    )


def _of_designs(designs: Sequence[Chosen], said: str) -> Bars:
    found = [memory_of_stages(chosen.document) for chosen in designs]
    rows = tuple(row_of(chosen, memory_parts(_fullest(stages))) for chosen, stages in zip(designs, found, strict=True))
    same = len({stages.capacity for stages in found}) == 1
    limits = {"capacity": found[0].capacity} if same else dict(_named(designs, found))
    return Bars("What the fullest stage holds in memory", said, "Memory of one NPU", "B", rows, _CAPTION, limits)


def _named(designs: Sequence[Chosen], found: Sequence[MemoryOfStages]) -> Iterator[tuple[str, float]]:
    """Capacities that differ, each under the name of the first design that has it."""
    seen: set[float] = set()
    for chosen, stages in zip(designs, found, strict=True):
        if stages.capacity not in seen:
            seen.add(stages.capacity)
            yield f"{chosen.name}:", stages.capacity


def _fullest(found: MemoryOfStages) -> Memory:
    return max((stage.memory for stage in found.stages), key=lambda memory: memory.peak)


def _name(first: int, last: int) -> str:
    return f"stage {first}" if first == last else f"stages {first} to {last}"


MEMORY = MemoryByStage()
