"""Designs that differ from a given one in two keys alone, for the cells of a heat map that no trial fell into."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from dse.evaluate.evaluate import Evaluator
from dse.evaluate.note import Note
from dse.evaluate.recall import HoleDraw, indices_of, recall
from dse.evaluate.record import TrialRecord
from dse.space.draw import RecordedDraw
from dse.space.hole import Choice, PowersOfTwo, Product, Range
from dse.study.journal import StoredTrial
from dse.whatif.steps import StepsAround
from dse.whatif.subject import Study
from simcore.check.check import check
from simcore.check.load import parse_design
from simcore.document.problem import InputError, Problem, Refusal, format_path, suggest_nearest
from simcore.memory.plan import memory_needed

Cell = tuple[Any, Any]
"""Value of the key along x, and of that along y."""
MOST_VALUES = 40
"""Most values of one key in a grid."""


class Grid:
    """All values of two keys around one design of a study.

    Raises `InputError` where the space does not give the design, or where a key is not one whose values it lists.
    """

    def __init__(self, study: Study, around: TrialRecord, x: str, y: str) -> None:
        source = recall(study.space, around)
        if source is None:
            expected = "a design that the space gives"
            raise InputError([Problem(("trial",), expected, f"trial {around.number}, which it does not")])
        self._study, self._around, self._source = study, around, source
        self._keys = (x, y)
        self._holes = tuple(_hole_of(source.drawn, key) for key in self._keys)

    @property
    def values(self) -> tuple[list[Any], list[Any]]:
        """The values of each key that the space has, in its order."""
        listed = [_values_of(self._source.drawn[name].hole, at) for name, at in self._holes]
        return listed[0], listed[1]

    def document(self, cell: Cell) -> Any | None:
        """The design of a cell: its two keys as given, all else as near to the design around which it is as can be.

        None where the space has none.
        """
        drawn = dict(self._source.drawn)
        wanted: dict[str, list[tuple[int, Any]]] = {}
        for (name, at), value in zip(self._holes, cell, strict=True):
            wanted.setdefault(name, []).append((at, value))
        moved = [(name, _index_of(drawn[name], given)) for name, given in wanted.items()]
        if any(index is None for _, index in moved):
            return None
        changed = [(name, float(index)) for name, index in moved if index is not None and index != drawn[name].value]
        for name, index in changed:
            drawn[name] = replace(drawn[name], value=index)
        if not changed:
            return self._around.design
        # The last move is told to the steps, which fill the space with it; those before it are in what was drawn.
        steps = StepsAround(self._study.space, self._around, drawn, (changed[-1],), self._source.solved)
        return next((neighbour.document for neighbour in steps.neighbours()), None)


def fill_cells(
    evaluate: Evaluator, grid: Grid, cells: Iterable[Cell], most: int, note: Note
) -> dict[Cell, TrialRecord]:
    """The designs of at most `most` cells, evaluated by `evaluate`; `note` is told how many are.

    A design of a cell has number -1: it is no trial.
    """
    found: dict[Cell, TrialRecord] = {}
    for cell in cells:
        if len(found) >= most:
            break
        document = grid.document(cell)
        if document is None:
            continue
        try:
            outcome = evaluate(document)
        except Refusal:
            continue  # an expression that gives what no design can have: the space has no such cell
        found[cell] = StoredTrial(-1, {}, outcome).record()
        note(f"{len(found)} of {most} cells", len(found) / most)
    return found


def reserved_memory(document: Mapping[str, Any] | None) -> float | None:
    """What must be reserved on the fullest stage of a design [B], simulated or not; None where it is no valid one."""
    design = None if document is None else parse_design(document)[0]
    memory = None if design is None or check(design) else memory_needed(design)
    return None if memory is None else memory.reserved


def _hole_of(drawn: Mapping[str, HoleDraw], key: str) -> tuple[str, int]:
    """Which hole draws a key, and as the which of its values."""
    listed: list[str] = []
    for name, known in drawn.items():
        if isinstance(known.hole, Choice | PowersOfTwo | Product | Range) and known.count:
            paths = [format_path(path) for path in known.paths]
            if key in paths:
                return name, paths.index(key)
            listed += paths
    expected = "a key of the design whose values the space lists, to fill its cells"
    raise InputError(
        [Problem((key,), expected, "another", suggest_nearest(key, listed) or f"keys: {', '.join(listed)}")]
    )


def _values_of(hole: Any, at: int) -> list[Any]:
    if isinstance(hole, Product):
        return sorted({degrees[at] for degrees in hole.factorisations})
    if isinstance(hole, Choice):
        return [*hole.labels[:MOST_VALUES]]
    if isinstance(hole, PowersOfTwo):
        return [hole.low << index for index in range(int(hole.count))]
    return [hole.fill(RecordedDraw({"": index}, smooth=False), "") for index in range(min(hole.steps, MOST_VALUES))]


def _index_of(was: HoleDraw, given: Sequence[tuple[int, Any]]) -> int | None:
    """What a hole draws to give these values; of degrees with others to choose, those nearest to what was drawn."""
    if not isinstance(was.hole, Product):
        found = indices_of(was.hole, [given[0][1]])
        return found[0] if found else None
    here = was.hole.factorisations[int(was.value)]
    fitting = [
        (sum(max(a, b) / min(a, b) for a, b in zip(degrees, here, strict=True)), index)
        for index, degrees in enumerate(was.hole.factorisations)
        if all(degrees[at] == value for at, value in given)
    ]
    return min(fitting)[1] if fitting else None
