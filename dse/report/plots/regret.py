"""How much each cluster of a front is regretted in each future, or by each workload that it is bought for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dse.buy.regret import worst_regret
from dse.evaluate.record import StudyRecord
from dse.evaluate.spread import spread_indices
from dse.report.describe import compare
from dse.report.plots import style
from dse.report.plots.base import Options, Plot
from dse.report.summary import summarize
from dse.report.units import clean_text, format_percent, format_with_unit, label, shorten_text
from dse.report.values import trial_metrics
from dse.report.workloads import told_regrets
from simcore.document.problem import InputError, Problem

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from dse.whatif.subject import Subject

MOST = 16
"""Clusters of a front that are shown, evenly along it."""
_NOTE = (
    "Regret: how much worse than on the cluster that is best for this {} alone, of those that were tried. "
    "Worst: of the row."
)


@dataclass(frozen=True)
class Cluster:
    """A row."""

    trial: int
    about: str
    """What it is, in few words."""
    price: float | None
    """[$]."""
    regrets: tuple[float, ...]
    """Regret in each future, as a share."""
    worst: float


@dataclass(frozen=True)
class Regrets:
    """A front of clusters, the dearest first, over futures."""

    run: str
    kind: str
    """What the columns are: `future` or `workload`."""
    metric: str
    names: tuple[str, ...]
    weights: tuple[float, ...]
    clusters: tuple[Cluster, ...]
    front: int
    """Clusters of the whole front."""


class RegretByFuture(Plot[Regrets]):
    """A table whose cells are coloured by regret."""

    about = "how much each cluster is regretted in each future, or by each workload"
    most = 1

    def collect(self, subjects: Sequence[Subject], options: Options) -> Regrets:
        """See `Plot.collect`."""
        subject = subjects[0]
        assert subject.record is not None
        return _collect(subject.record, subject.name)

    def draw(self, data: Regrets) -> Figure:
        """See `Plot.draw`."""
        import matplotlib as mpl
        from matplotlib.figure import Figure

        with mpl.rc_context(style.STYLE):
            left, right, below = 3.4, 0.3, 0.75
            width = max(8.5, left + right + 1.35 * (len(data.names) + 1))
            height = below + 1.7 + 0.42 * len(data.clusters)
            figure = Figure(figsize=(width, height))
            axes = figure.add_axes(
                (left / width, below / height, 1 - (left + right) / width, 1 - (below + 1.7) / height)
            )
            _draw_cells(axes, data)
            title = f"Regret in {label(data.metric)} by {data.kind}"
            figure.text(0.25 / width, 1 - 0.42 / height, title, fontsize=15, fontweight="bold")
            shown = len(data.clusters)
            of = f"{shown} of {data.front} clusters" if shown < data.front else f"{shown} clusters"
            figure.text(0.25 / width, 1 - 0.72 / height, f"{data.run}: {of} of the front", color=style.QUIET)
            figure.text(0.25 / width, 0.25 / height, _NOTE.format(data.kind), fontsize=9, color=style.QUIET)
            return figure


def _collect(record: StudyRecord, run: str) -> Regrets:
    summary = summarize(record)
    told = told_regrets(summary)
    if record.purchase is None or not told or not summary.front:
        fix = "search one with 'futures' or 'workloads' (docs/buying.md)"
        found = "no feasible cluster" if told else "a run of one workload"
        raise InputError([Problem(("RUN",), "a run that buys a cluster for futures or workloads", found, fix)], run)
    front = [summary.front[index] for index in spread_indices(len(summary.front), MOST)]
    phrases = compare([trial.decided_document for trial in front]).phrases
    rows = []
    for trial, told_apart in zip(front, phrases, strict=True):
        worst = worst_regret(told, trial.number)
        assert worst is not None  # a feasible cluster runs everything
        lost = tuple(party.losses[trial.number].regret for party in told)
        price = trial_metrics(trial.parts[0][1])["cost.total"]
        rows.append(Cluster(trial.number, ", ".join(told_apart), price, lost, worst[0]))
    kind = "future" if summary.futures else "workload"
    names, weights = tuple(party.name for party in told), tuple(party.weight for party in told)
    return Regrets(run, kind, record.purchase.tune.name, names, weights, tuple(rows), len(summary.front))


def _draw_cells(axes: Axes, data: Regrets) -> None:
    from matplotlib import colormaps
    from matplotlib.colors import Normalize

    rows = [(*cluster.regrets, cluster.worst) for cluster in data.clusters]
    most = max(max(row) for row in rows) or 1.0
    colours, norm = colormaps["cividis_r"], Normalize(0.0, most)
    image = axes.imshow(rows, aspect="auto", cmap=colours, norm=norm)
    image.set_rasterized(True)
    for y, row in enumerate(rows):
        for x, regret in enumerate(row):
            ink = "white" if norm(regret) > 0.55 else style.INK
            weight = "bold" if x == len(data.names) else "normal"
            axes.text(x, y, format_percent(regret), ha="center", va="center", color=ink, fontweight=weight)
    axes.axvline(len(data.names) - 0.5, color="white", linewidth=4)
    headings = [_heading(data.kind, *column) for column in zip(data.names, data.weights, strict=True)]
    axes.xaxis.tick_top()
    axes.set_xticks(range(len(headings) + 1), [*headings, "worst"], fontsize=10)
    axes.set_yticks(range(len(rows)), [_name(cluster) for cluster in data.clusters], fontsize=10)
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)


def _heading(kind: str, name: str, weight: float) -> str:
    likely = format_percent(weight) if kind == "future" else f"weight {weight:g}"
    return f"{shorten_text(clean_text(name), 16)}\n{likely}"


def _name(cluster: Cluster) -> str:
    about = f"{shorten_text(cluster.about, 26)}, " if cluster.about else ""
    return f"{about}{format_with_unit(cluster.price, '$')}  #{cluster.trial}"


REGRET = RegretByFuture()
