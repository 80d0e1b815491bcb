"""A run as a value: its trials and front as tables, its plot, and each of its designs to go on with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Unpack

from dse.door.options import as_arguments
from dse.evaluate.record import StudyRecord, TrialRecord
from dse.report.pick import best_trial, numbered_trial, pick
from dse.report.summary import Summary, summarize
from dse.run.document import open_study
from dse.run.record import record_in
from dse.whatif.subject import Study, Subject
from simcore.check.load import design_from
from simcore.design.design import Design
from simcore.document.problem import InputError, Problem

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

_FEW = 20
"""Members of the front that are shown in a notebook."""


class PlotOptions(TypedDict, total=False):
    """The options of `Run.plot`; `dse.report.plots.base.Options` says what they mean."""

    trial: str | int | Sequence[str | int]
    x: str
    y: str
    value: str
    fill: int
    npus: Sequence[int]
    mode: Literal["weak", "strong"]


class Run:
    """What a search came to. Shows itself in a notebook, as its plot and its front.

    All values are in SI units. Rows of tables are trials, by number.
    """

    def __init__(self, record: StudyRecord, ended: str | None = None, study: Study | None = None) -> None:
        self._record = record
        self._study = study
        self.ended = ended
        """Why the search ended: `trials`, `time`, `stagnation` or `gap` (what was asked for is reached), `exhausted`
        (there are no other designs), `stopped` (by the callback), `interrupted`; None where it is not known, because
        the run was read from its folder."""

    @cached_property
    def _summary(self) -> Summary:
        return summarize(self._record)

    @cached_property
    def trials(self) -> pd.DataFrame:
        """Every trial, one row each: state, objectives, metrics, violations, the rule that cut it, its parameters.

        The columns are those of `trials.csv`.
        """
        from dse.report.tables import make_frame, trials_table

        return make_frame(trials_table(self._record)).set_index("number")

    @cached_property
    def front(self) -> pd.DataFrame:
        """The rows of `trials` that no other dominates, by the first objective."""
        return self.trials.loc[[trial.number for trial in self._record.front]]

    @property
    def knee(self) -> TrialRecord | None:
        """The member of the front where either objective can gain only what costs the other much; None without one."""
        return self._record.knee

    @property
    def bounds(self) -> Mapping[str, float | None]:
        """Objective -> what no design of the space is better than; None where nothing is proven."""
        return self._summary.bounds

    @property
    def gap(self) -> Mapping[str, float | None]:
        """Objective -> by which share of it a design could still be better than the best found; None: not known."""
        return self._summary.gaps

    @property
    def hypervolume(self) -> float:
        """Volume between the front and the reference point; 0 where nothing is feasible."""
        return self._record.hypervolume

    def best(self, metric: str) -> TrialRecord:
        """The feasible trial with the best value of an objective, or of another metric such as `cost.total`.

        Raises `InputError` where there is no such metric, or no feasible trial that has it.
        """
        return best_trial(self._record, metric)

    def design(self, trial: int | str | TrialRecord, workload: str | None = None) -> Design:
        """The design of a trial, to simulate, to change with `with_`, or to write down.

        `trial` is one of `run.trials`, its number, or `knee` or `best:METRIC`.
        Where a cluster is bought for several workloads, that of the first one, or of `workload`. Raises `InputError`
        where there is no such trial or workload, or where the trial's design is not valid (the rule that cut it says
        why).
        """
        parts = dict(self._trial(trial).parts)
        name = next(iter(parts)) if workload is None else workload
        if name not in parts:
            problem = Problem(("workload",), f"one of {', '.join(filter(None, parts)) or 'no names'}", f"'{name}'")
            raise InputError([problem])
        return design_from(parts[name].design or {})

    def _trial(self, trial: int | str | TrialRecord) -> TrialRecord:
        if isinstance(trial, str):
            return pick(self._record, text=trial)
        return numbered_trial(self._record, trial.number if isinstance(trial, TrialRecord) else trial)

    @as_arguments()
    def plot(self, kind: str = "front", *others: Run, **options: Unpack[PlotOptions]) -> Figure:
        """A figure of matplotlib: of this run, and of `others` beside it.

        `kind` is one of `dse.report.plots.PLOTS`: `front`, `heatmap`, `breakdown`, `bandwidth`, `memory`, `cost`,
        `scaling`, `tornado`, `timeline`, `links`, `queues`, `regret`, or one that a package brings; `options` are
        those of `dse plot`
        (`trial="knee"`, `x="parallelism.tensor"`, `fill=100`, …). Raises `InputError` for another kind, and where it
        cannot show these runs.
        """
        from dse.report.plots import Options, plot_of

        given: dict[str, Any] = dict(options)
        if isinstance(given.get("trial"), str | int):
            given["trial"] = (str(given["trial"]),)
        asked = Options(
            **{**given, "trial": tuple(map(str, given.get("trial", ()))), "npus": tuple(given.get("npus", ()))}
        )
        return plot_of(kind, [run._subject for run in (self, *others)], asked).figure

    @cached_property
    def _subject(self) -> Subject:
        """The run as pictures and further questions take it."""
        place = "" if self._study is None or self._study.folder is None else self._study.folder.name
        return Subject(self._record.space, self._record, self._study, place=place)

    def __repr__(self) -> str:
        """One line: what it is of, how much of it is there."""
        return f"<dse.Run of {self._record.space}: {self._counted()}>"

    def _counted(self) -> str:
        front, ended = len(self._record.front), "" if self.ended is None else f", ended: {self.ended}"
        return f"{len(self._record.trials)} trials, {front} on the front{ended}"

    def _repr_html_(self) -> str:
        """For notebooks: the decision, the plot, then objectives and parameters of the front."""
        from html import escape

        from dse.report.counted import convert_units
        from dse.report.decision import describe_decision
        from dse.report.plots import plot_bytes

        picture = plot_bytes(self._record, self._summary)["svg"].decode()
        names = [objective.name for objective in self._record.objectives]
        params = dict.fromkeys(name for trial in self._record.front for name in trial.params)
        shown = self.front[[*names, *(name for name in params if name in self.front)]]
        table = shown.dropna(axis="columns", how="all").head(_FEW).to_html()
        decision = describe_decision(convert_units(self._record), self._summary)
        said = "".join(f"<p>{escape(sentence)}</p>" for sentence in decision.sentences)
        counted = f"<p>{escape(self._record.space)}: {escape(self._counted())}</p>"
        return f"{counted}{said}{picture[picture.index('<svg') :]}{table}"


def load_run(folder: str | Path) -> Run:
    """Open the folder of an earlier run.

    Raises `InputError` where the folder holds none.
    """
    study = open_study(Path(folder))
    return Run(record_in(study), study=Study.of(study))
