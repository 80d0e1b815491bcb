"""The Pareto front: of one run among everything that was tried, of several runs on common axes.

One run is drawn as its report does (`pareto.png`): by how many objectives it has, each number in a file of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dse.evaluate.record import StudyRecord, TrialRecord
from dse.report.counted import convert_units
from dse.report.plots.base import Options, Plot
from dse.report.plots.chosen import names_of
from dse.report.plots.fronts import Fronts, RunFront
from dse.report.points import groups, time_ends
from dse.report.summary import Summary, summarize
from simcore.document.problem import InputError, Problem

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dse.whatif.subject import Subject


class Front(Plot[Fronts]):
    """Fronts, knees, robust picks, bounds, intervals of the time."""

    about = "the Pareto front, of several runs on common axes"
    bounds = True

    def collect(self, subjects: Sequence[Subject], options: Options) -> Fronts:
        """See `Plot.collect`."""
        runs = tuple(_run_front(subject, name) for subject, name in zip(subjects, names_of(subjects), strict=True))
        _check_objectives(runs)
        return Fronts(runs, tuple(_union(runs)) if len(runs) > 1 else ())

    def draw(self, data: Fronts) -> Figure:
        """See `Plot.draw`."""
        if len(data.runs) == 1:
            return draw_front(data.runs[0].record, data.runs[0].summary)
        from dse.report.plots.overlay import draw_overlay  # matplotlib is imported when something is drawn

        return draw_overlay(data)

    def numbers(self, data: Fronts) -> dict[str, Any]:
        """See `Plot.numbers`."""
        objectives = data.runs[0].record.objectives
        return {
            "objectives": [{"name": o.name, "direction": o.direction, "unit": o.unit} for o in objectives],
            "runs": [_run_numbers(run) for run in data.runs],
            "union": [{"run": data.runs[run].name, "trial": trial} for run, trial in data.union],
        }


def draw_front(record: StudyRecord, summary: Summary) -> Figure:
    """The front of one study: more than two objectives become a matrix of pairs."""
    import matplotlib as mpl

    from dse.report.plots import convergence, matrix, pair, style

    by_objectives: Mapping[int, Callable[[StudyRecord, Summary], Figure]] = {1: convergence.draw, 2: pair.draw}
    with mpl.rc_context(style.STYLE):
        return by_objectives.get(len(record.objectives), matrix.draw)(record, summary)


def _run_front(subject: Subject, name: str) -> RunFront:
    assert subject.record is not None
    record = convert_units(subject.record)
    return RunFront(name, record, summarize(record, subject.what_if))


def _check_objectives(runs: Sequence[RunFront]) -> None:
    """Raise `InputError` where two runs cannot share their axes."""
    wanted = _objectives(runs[0])
    problems = [
        Problem((run.name,), f"the objectives of {runs[0].name}: {wanted}", _objectives(run), "plot them apart")
        for run in runs[1:]
        if _objectives(run) != wanted
    ]
    if problems:
        raise InputError(problems, "command line")


def _objectives(run: RunFront) -> str:
    return ", ".join(f"{objective.direction} {objective.name}" for objective in run.record.objectives)


def _union(runs: Sequence[RunFront]) -> list[tuple[int, int]]:
    import numpy as np

    from dse.evaluate.pareto import front_mask

    members = [(index, trial) for index, run in enumerate(runs) for trial in run.summary.front]
    if not members:
        return []
    losses = np.concatenate([run.record.losses(run.summary.front) for run in runs if run.summary.front])
    kept = [(tuple(row), pair) for row, pair, keep in zip(losses, members, front_mask(losses), strict=True) if keep]
    return [(index, trial.number) for _, (index, trial) in sorted(kept, key=lambda entry: (entry[0], entry[1][0]))]


def _run_numbers(run: RunFront) -> dict[str, Any]:
    shown = groups(run.record, run.summary)
    robust = run.robust
    return {
        "name": run.name,
        "trials": run.summary.trials,
        "shown": {kind: len(trials) for kind, trials in shown.items()},
        "front": [_member(run, trial) for trial in run.summary.front],
        "knee": run.summary.knee,
        "robust": None if robust is None else robust.number,
        "bounds": dict(run.summary.bounds),
    }


def _member(run: RunFront, trial: TrialRecord) -> dict[str, Any]:
    ends = next((e for o in run.record.objectives if (e := time_ends(trial, o.name)) is not None), None)
    return {"trial": trial.number, "values": dict(trial.values), "interval": ends}


FRONT = Front()
