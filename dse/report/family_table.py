"""The families of a front as a table of text: a number for each objective, and what tells each family from the others.

Where there is room the description stands beside the numbers, else below them.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from textwrap import wrap

from dse.evaluate.record import StudyRecord, TrialRecord
from dse.evaluate.spread import spread_indices
from dse.report.choice import recommended
from dse.report.describe import Comparison, compare
from dse.report.families import IDLE, RANGED, Family
from dse.report.futures import regret_phrase
from dse.report.sensitivity import format_change
from dse.report.summary import Summary
from dse.report.units import MISSING, format_number, format_percent, scale, short_label, shorten_text
from dse.report.workloads import regret_phrases
from dse.space.objective import Objective

KNEE_SIGN, ROBUST_SIGN, BUILT_SIGN = "★", "◆", "●"
"""Marks of the knee, of the robust pick, and of a design to build that is neither."""
GLUE = "\N{NO-BREAK SPACE}"
"""A blank at which no line breaks."""
NARROW = 16
"""Room that is better than no descriptions."""
_LEAST_HEADING = 5
_INDENT = 8
_COMPARED = 500
"""Members whose documents are compared."""


@dataclass(frozen=True, slots=True)
class Column:
    """A heading, with its unit, and a cell for each family."""

    heading: tuple[str, ...]
    """Its lines."""
    cells: tuple[str, ...]

    @property
    def width(self) -> int:
        """Characters that it takes."""
        return max(_LEAST_HEADING, *map(len, (*self.heading, *self.cells)))


@dataclass(frozen=True, slots=True)
class Row:
    """The lines of one family, and whether it is the one to build."""

    lines: tuple[str, ...]
    recommended: bool


@dataclass(frozen=True, slots=True)
class FamilyTable:
    """Columns of numbers and a description of each family."""

    columns: tuple[Column, ...]
    phrases: tuple[tuple[str, ...], ...]
    recommended: tuple[bool, ...]
    depth: int
    """Lines of a row at most."""
    least_room: int = 28
    """Letters beside the numbers from which descriptions stand there; else below them, as far as there are lines."""

    def heading(self, width: int) -> list[str]:
        """The lines above the rows."""
        words = [column.heading for column in self.columns]
        height = max(map(len, words))
        filled = [[*[""] * (height - len(lines)), *lines] for lines in words]
        lines = [self._join(cells) for cells in zip(*filled, strict=True)]
        if self._is_beside(width) and any(self.phrases):
            lines[-1] += "  what it is"
        return [line.rstrip() for line in lines]

    def rows(self, width: int, most: int) -> list[Row]:
        """The rows, of a line at least and `depth` at most, `most` together; the one to build has the first choice."""
        order = sorted(range(len(self.recommended)), key=lambda index: not self.recommended[index])
        phrases = tell_apart(self.phrases, self._room(width) if self._is_beside(width) else width - _INDENT)
        found = {index: self._lines(index, phrases[index], width, 1) for index in order}
        spare = most - len(order)
        for depth in range(2, self.depth + 1):
            for index in order:
                longer = self._lines(index, phrases[index], width, depth)
                if spare > 0 and len(longer) > len(found[index]):
                    found[index] = longer
                    spare -= 1
        return [Row(tuple(found[index]), marked) for index, marked in enumerate(self.recommended)]

    def _lines(self, index: int, phrases: Sequence[str], width: int, most: int) -> list[str]:
        numbers = self._join([column.cells[index] for column in self.columns])
        if not self._is_beside(width):
            told = pack_phrases(phrases, width - _INDENT, most - 1)
            return [numbers, *(" " * _INDENT + line for line in told)]
        first, *rest = pack_phrases(phrases, self._room(width), most)
        return [f"{numbers}  {first}".rstrip(), *(" " * (len(numbers) + 2) + line for line in rest)]

    def _is_beside(self, width: int) -> bool:
        """Whether descriptions stand beside the numbers."""
        return self._room(width) >= self.least_room

    def lacks_descriptions(self, lines: int, width: int) -> bool:
        """Whether so many lines of rows leave none for descriptions, which would fit beside the numbers if need be."""
        bare = any(self.phrases) and lines <= len(self.recommended) and not self._is_beside(width)
        return bare and self._room(width) >= NARROW

    def _join(self, cells: Sequence[str]) -> str:
        return "  ".join(cell.rjust(column.width) for cell, column in zip(cells, self.columns, strict=True))

    def _room(self, width: int) -> int:
        return width - sum(column.width + 2 for column in self.columns)


def family_table(record: StudyRecord, summary: Summary, found: Sequence[Family], compared: Comparison) -> FamilyTable:
    """The table of families; `compared` are their chosen designs (`compare_members`)."""
    number = recommended(record, summary)
    columns = [Column(("trial",), tuple(_mark(family, summary, number) for family in found))]
    trials = {t.number: t for t in record.feasible_trials.numbered_among(family.chosen for family in found)}
    if len(record.objectives) > RANGED:
        chosen = [trials[family.chosen] for family in found]
        columns += [
            _values(objective, [trial.values[objective.name] for trial in chosen]) for objective in record.objectives
        ]
    else:
        several = len(record.objectives) > 1
        columns += [_ranges(objective, found, whole=several) for objective in record.objectives]
        columns += [] if several else [_losses(record.objectives[0], found)]
        columns.append(Column(("designs",), tuple(format_number(len(family.trials)) for family in found)))
    scenarios = summary.what_if.scenarios
    if scenarios is not None:
        known = scenarios.known
        sure = [known.get(family.chosen) for family in found]
        shares = tuple(MISSING if s is None else format_percent(s.regret_p90) for s in sure)
        columns.append(Column(("regret",), shares))
    phrases = [
        (*((IDLE,) if family.idle else ()), *told, *_regrets(record, summary, trials[family.chosen]))
        for told, family in zip(compared.phrases, found, strict=True)
    ]
    marked = tuple(number == family.chosen for family in found)
    return FamilyTable(tuple(columns), tuple(phrases), marked, depth=2 if record.purchase is None else 3)


def _regrets(record: StudyRecord, summary: Summary, trial: TrialRecord) -> tuple[str, ...]:
    return regret_phrase(summary, trial) if summary.futures else regret_phrases(record, summary, trial)


FIRST = ("NPUs", "power cap", "batch", "precision", "oversubscription", "topology", "degrees", "ZeRO")
"""What is said of a design before all else."""


def compare_members(record: StudyRecord, found: Sequence[Family]) -> Comparison:
    """What all members of families share, and in what each chosen design differs from any of them."""
    chosen = [family.chosen for family in found]
    others = [number for family in found for number in family.trials if number not in chosen]
    kept = [others[index] for index in spread_indices(len(others), _COMPARED)]
    trials = {trial.number: trial for trial in record.feasible_trials.numbered_among([*chosen, *kept])}
    told = compare([trials[number].decided_document for number in (*chosen, *kept)], FIRST)
    return Comparison(told.common, told.columns, told.rows[: len(chosen)], told.phrases[: len(chosen)])


def is_marked_built(family: Family, summary: Summary, built: int | None) -> bool:
    """Whether the row of a family says that its design is to be built: its other marks mean another trial."""
    return family.chosen == built and built not in (summary.knee, summary.what_if.robust)


def _mark(family: Family, summary: Summary, built: int | None) -> str:
    knee, robust = summary.knee in family.trials, summary.what_if.robust in family.trials
    marks = (KNEE_SIGN if knee else "") + (ROBUST_SIGN if robust else "")
    own = BUILT_SIGN if is_marked_built(family, summary, built) else ""
    return f"{own}{marks} {family.chosen}".strip()


def _ranges(objective: Objective, found: Sequence[Family], whole: bool) -> Column:
    """Least to most of a family; the best alone unless `whole`."""
    unit = scale(objective.unit, [family.high[objective.name] for family in found], objective.name)
    cells = []
    for family in found:
        low, high = (unit.number(by[objective.name]) for by in (family.low, family.high))
        best = low if objective.sign > 0 else high
        cells.append(best if not whole or low == high else f"{low}{MISSING}{high}")
    return _column(objective, unit.unit, cells)


def _values(objective: Objective, values: Sequence[float]) -> Column:
    """Values of one design of each family."""
    unit = scale(objective.unit, values, objective.name)
    return _column(objective, unit.unit, [unit.number(value) for value in values])


def _column(objective: Objective, unit: str, cells: Sequence[str]) -> Column:
    """The cells of an objective under its name and unit."""
    heading = shorten_text(short_label(objective.name), 40)
    width = max(_LEAST_HEADING, *map(len, cells))
    words = f"{heading} [{unit.replace(' ', GLUE)}]" if unit else heading
    return Column(tuple(line.replace(GLUE, " ") for line in wrap(words, width, break_long_words=False)), tuple(cells))


def _losses(objective: Objective, found: Sequence[Family]) -> Column:
    """How much worse the best of each family is than the best of all."""
    ends = [(family.low if objective.sign > 0 else family.high)[objective.name] for family in found]
    best = ends[0]
    losses = [objective.sign * (end - best) / abs(best) if best else None for end in ends]
    cells = tuple("best" if not index else format_change(loss, objective.sign) for index, loss in enumerate(losses))
    return Column(("against", "best"), cells)


def tell_apart(rows: Sequence[Sequence[str]], width: int) -> list[tuple[str, ...]]:
    """The phrases of rows; where several begin with one line, what tells them apart comes after the first phrase."""
    found = [tuple(row) for row in rows]
    for _ in rows:
        begun: dict[str, list[int]] = {}
        for index, row in enumerate(found):
            begun.setdefault("".join(pack_phrases(row, width, 1)), []).append(index)
        before = [*found]
        for alike in begun.values():
            shared = set.intersection(*(set(before[index]) for index in alike))
            for index in alike if len(alike) > 1 else ():
                found[index] = _begin_with_own(before[index], shared, width)
        if found == before:
            break
    return found


def _begin_with_own(row: Sequence[str], shared: Collection[str], width: int) -> tuple[str, ...]:
    """A row's phrases: the first one, what others do not share with it, and the rest; first what fits into a line."""
    first, others = row[:1], row[1:]
    fitting = {phrase for phrase in others if len(", ".join((*first, phrase))) < width}
    return (*first, *sorted(others, key=lambda phrase: (phrase in shared, phrase not in fitting)))


def pack_phrases(phrases: Sequence[str], width: int, most: int) -> list[str]:
    """The first phrases that fit in `most` lines of `width`, broken between phrases."""
    lines = [""]
    for phrase in phrases:
        joined = f"{lines[-1]}, {phrase}" if lines[-1] else phrase
        if len(joined) < width or not lines[-1]:
            lines[-1] = joined
        elif len(lines) < most:
            lines[-1] += ","
            lines.append(phrase)
        else:
            break
    return [shorten_text(line, width) for line in lines][: max(0, most)]
