"""Two keys against each other: the best design of each cell, its memory, and what cannot be built and why.

The picture of COMET (arXiv 2211.16648, the grids of model against data parallel): colour is the time, the number below
it the memory of an NPU. A cell is what the trials of the run have at that place, whatever they have elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dse.evaluate.read import metric_of
from dse.evaluate.record import StudyRecord, TrialRecord
from dse.report.importance import importance
from dse.report.plots.base import Options, Plot
from dse.report.plots.cells import Cells, CellState, draw_cells
from dse.report.plots.chosen import pick_of
from dse.report.units import clean_text
from dse.report.values import cell as text_of
from dse.report.values import finite_or_none, read_result
from dse.space.hole import magnitude
from dse.whatif.answers import DOES_NOT_FIT
from dse.whatif.grid import Cell, Grid, fill_cells, reserved_memory
from simcore.document.problem import InputError, Problem, suggest_nearest
from simcore.metrics import METRICS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dse.whatif.subject import Subject

_USUAL = ("parallelism.tensor", "parallelism.pipeline", "parallelism.data")
"""The keys that are shown unless told, the first two of them that vary."""
_SOURCE = "command line"
_OFF_THE_FRONT = "bound"
"""Rule of a proof (`StudyRecord.proof`) that leaves out designs that could be built."""
_MOST = 24
"""Values of one key."""


class HeatMap(Plot[Cells]):
    """Cells."""

    about = "two keys against each other, with memory, and with what cannot be built"
    takes = frozenset({"x", "y", "value", "fill", "trial"})
    most = 1

    def collect(self, subjects: Sequence[Subject], options: Options) -> Cells:
        """See `Plot.collect`."""
        (subject,) = subjects
        record = subject.record
        assert record is not None
        x, y = _keys(record, options)
        metric, sign, unit = _metric(record, options.value)
        if options.trial and not options.fill:
            fix = "give --fill N too: it says around which design cells are filled"
            raise InputError([Problem(("--trial",), "a picture with filled cells", "one of trials alone", fix)])
        found = {cell: _best(trials, metric, sign) for cell, trials in _by_cell(record, x, y).items()}
        around, filled = _fill(subject, record, (x, y), set(found), options) if options.fill else (None, {})
        found |= {cell: _best([trial], metric, sign) for cell, trial in filled.items()}
        xs, ys = (tuple(_order({cell[at] for cell in found})) for at in (0, 1))
        _check_size((x, xs), (y, ys))
        cells = tuple(found[a, b].at(a, b) for a in xs for b in ys if (a, b) in found)
        return Cells(
            record.space,
            x,
            y,
            metric,
            unit,
            "lower" if sign > 0 else "higher",
            xs,
            ys,
            cells,
            len(record.trials),
            len(filled),
            None if around is None else around.number,
            _ruled_out(record),
        )

    def draw(self, data: Cells) -> Figure:
        """See `Plot.draw`."""
        return draw_cells(data)


def _ruled_out(record: StudyRecord) -> int:
    """Designs that could be built, but were proven to be off the front, so that no cell knows them."""
    cut = {} if record.proof is None else record.proof["cut"]
    return int(cut.get(_OFF_THE_FRONT, 0))


@dataclass(frozen=True)
class _Best:
    state: str
    value: float | None
    memory: float | None
    trial: int | None
    trials: int
    why: str

    def at(self, x: Any, y: Any) -> CellState:
        return CellState(x, y, self.state, self.value, self.memory, self.trial, self.trials, self.why)


def _keys(record: StudyRecord, options: Options) -> tuple[str, str]:
    """The keys asked for; else tensor, pipeline and data parallel as far as they vary, then what mattered most."""
    varying = _varying(record)
    problems = [
        Problem(
            (f"--{axis}",), "a key that varies in the run", f"'{key}'", suggest_nearest(key, varying) or _some(varying)
        )
        for axis, key in (("x", options.x), ("y", options.y))
        if key is not None and key not in varying
    ]
    if options.x is not None and options.x == options.y:
        problems.append(Problem(("--y",), "another key than --x", f"'{options.y}'"))
    if problems:
        raise InputError(problems, _SOURCE)
    taken = [key for key in (options.x, options.y) if key is not None]
    usual = [key for key in _USUAL if key in varying]
    known = importance(record) if len(usual) < 2 else None
    shares = {} if known is None else known.of_front or next(iter(known.overall.values()), {})
    rest = [key for key in dict.fromkeys([*usual, *shares, *varying]) if key not in taken]
    if len(taken) + len(rest) < 2:
        found = clean_text(f"{len(varying)}: {', '.join(varying)}") if varying else "none"
        raise InputError([Problem((), "a run in which two keys vary", found)], _SOURCE)
    x = options.x or rest.pop(0)
    return x, options.y or rest.pop(0)


def _varying(record: StudyRecord) -> list[str]:
    seen: dict[str, set[str]] = {}
    for trial in record.trials:
        for key, value in trial.params.items():
            seen.setdefault(key, set()).add(text_of(value))
    return [key for key, values in seen.items() if len(values) > 1]


def _some(keys: Sequence[str]) -> str:
    return clean_text(f"keys: {', '.join(keys[:8])}{', …' if len(keys) > 8 else ''}")


def _metric(record: StudyRecord, name: str | None) -> tuple[str, float, str]:
    """Name, sign (1: less is better) and unit of what colours show."""
    for objective in record.objectives:
        if name in (None, objective.name):
            return objective.name, objective.sign, objective.unit
    assert name is not None
    if name not in METRICS:
        known = [*(objective.name for objective in record.objectives), *METRICS]
        fix = suggest_nearest(name, known) or f"metrics: {', '.join(METRICS)}"
        raise InputError([Problem(("--value",), "a metric or an objective of the run", f"'{name}'", fix)], _SOURCE)
    return name, 1.0 if METRICS[name].better == "less" else -1.0, METRICS[name].unit


def _by_cell(record: StudyRecord, x: str, y: str) -> Mapping[Cell, list[TrialRecord]]:
    found: dict[Cell, list[TrialRecord]] = {}
    for trial in record.trials:
        if x in trial.params and y in trial.params and trial.state != "failed":
            found.setdefault((_plain(trial.params[x]), _plain(trial.params[y])), []).append(trial)
    if not found:
        problem = Problem(("--x",), "two keys that some design has both of", f"{x} and {y}", "choose others")
        raise InputError([problem], _SOURCE)
    return found


def _plain(value: Any) -> Any:
    """A value that can be a key."""
    return value if isinstance(value, str | int | float | bool) else text_of(value)


def _best(trials: Sequence[TrialRecord], metric: str, sign: float) -> _Best:
    """The best feasible trial of a cell; where there is none, the one that misses its constraints by least."""
    known = [
        (trial, value)
        for trial in trials
        if trial.state == "feasible" and (value := finite_or_none(metric_of(trial, metric))) is not None
    ]
    if known:
        trial, value = min(known, key=lambda pair: (sign * pair[1], pair[0].number))
        return _Best("feasible", value, _memory(trial), _number(trial), len(trials), "")
    nearest = min(trials, key=lambda trial: (sum(max(0.0, v) for v in trial.violations.values()), trial.number))
    return _Best(nearest.state, None, _memory(nearest), _number(nearest), len(trials), _why(nearest))


def _number(trial: TrialRecord) -> int | None:
    return None if trial.number < 0 else trial.number


def _memory(trial: TrialRecord) -> float | None:
    """Memory of the fullest of several workloads."""
    found = []
    for _, part in trial.parts:
        if part.metrics is None:
            found.append(reserved_memory(part.design))
        else:
            memory = read_result(part.metrics).memory_bytes
            found.append(None if memory is None else memory.reserved)
    return max((memory for memory in found if memory is not None), default=None)


def _why(trial: TrialRecord) -> str:
    broken = trial.cut_by or next(iter(trial.missed), "")
    return DOES_NOT_FIT if broken in ("fits", "memory") else broken or "no value"


def _fill(
    subject: Subject, record: StudyRecord, keys: tuple[str, str], known: set[Cell], options: Options
) -> tuple[TrialRecord, dict[Cell, TrialRecord]]:
    if subject.study is None:
        fix = "give its folder: dse.optimize(…, folder=…), or dse plot heatmap RUN"
        raise InputError([Problem(("--fill",), "a run that can be asked further", "one in memory alone", fix)])
    if len(options.trial) > 1:
        raise InputError([Problem(("--trial",), "one design around which cells are filled", str(len(options.trial)))])
    evaluate = subject.study.evaluator()
    word = options.trial[0] if options.trial else None
    around = pick_of(subject, record, word)
    grid = Grid(subject.study, around, *keys)
    xs, ys = grid.values
    empty = [(a, b) for a in map(_plain, xs) for b in map(_plain, ys) if (a, b) not in known]
    most = min(options.fill, len(empty))
    subject.watcher.phase(f"filling up to {most} of {len(empty)} empty cells around trial {around.number}")
    return around, fill_cells(evaluate, grid, empty, most, subject.watcher.note)


def _order(values: Iterable[Any]) -> list[Any]:
    """By size where all are numbers or quantities, else by name."""
    listed = list(values)
    sizes = {value: magnitude(value) if not isinstance(value, bool) else float(value) for value in listed}
    if all(size is not None for size in sizes.values()):
        return sorted(listed, key=lambda value: (sizes[value] or 0.0, str(value)))
    return sorted(listed, key=str)


def _check_size(*axes: tuple[str, Sequence[Any]]) -> None:
    problems = [
        Problem((key,), f"a key of up to {_MOST} values", f"{len(values)}", "choose another with --x and --y")
        for key, values in axes
        if len(values) > _MOST
    ]
    if problems:
        raise InputError(problems, _SOURCE)


HEATMAP = HeatMap()
