"""Which links of the fabric are busy, and with whose messages: one design, each network dimension."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dse.report.plots import style
from dse.report.plots.base import Options, Plot
from dse.report.plots.chosen import choose_one
from dse.report.plots.fabric import Alike, Fabric, Line, Names, Node, by_job, distinct_links, lay_out
from dse.report.units import format_percent, format_with_unit, shorten_text
from simcore.check.load import design_from
from simcore.design.design import Design
from simcore.document.problem import InputError
from simcore.engine.link_use import RowUse, busiest_rows, use_of_links
from simcore.policy.groups import group_kind

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from dse.whatif.subject import Subject

_WIDTH, _TALL, _GAP = 11.0, 2.15, 0.62
_ROWS = 4
"""Links of a dimension that are told one by one."""
_NAMED = 16
"""Nodes of a level that have their names."""
_GROUPS = {
    "tensor": "#0072B2",
    "pipeline": "#D55E00",
    "data": "#009E73",
    "data_context": "#009E73",
    "context": "#E69F00",
    "expert": "#AA5B8C",
    "expert_data": "#F0C000",
}
_OTHER = "#56B4E9"
_JOBS = ("#0072B2", "#D55E00", "#009E73", "#AA5B8C", "#B8860B", "#56B4E9")
_FREE = "#EEF1F4"
_ALSO = 0.1
"""The share of a link's load from which on a second job is drawn on it."""
_IDLE = "#DDE2E7"
_STAGES = ("#1F2933", "#7B8794", "#52606D", "#B8C0CA")


@dataclass(frozen=True, slots=True)
class BusyLink:
    """Links that are loaded alike."""

    name: str
    alike: int
    """How many they are."""
    rate: float
    """Rate of one of these links [B/s]."""
    utilization: float
    by_group: dict[str, float]
    """Share of the time for which it carries the messages of each group; of several jobs, of "job: group"."""
    by_job: dict[str, float]
    """The same, of each job; empty where there is one."""
    stages: dict[str, tuple[int, ...]]
    """Whose messages of each of `by_group` these are."""


@dataclass(frozen=True, slots=True)
class DimensionLinks:
    """The busiest row of NPUs along a dimension."""

    dimension: int
    name: str
    rows: int
    """Different rows there are."""
    fabric: Fabric
    busiest: tuple[BusyLink, ...]


@dataclass(frozen=True)
class FabricLinks:
    """The fabric of one design."""

    run: str
    name: str
    trial: int | None
    seconds: float
    engine: str
    jobs: tuple[str, ...]
    """Names of several jobs; empty where there is one."""
    dimensions: tuple[DimensionLinks, ...]


class LinksPlot(Plot[FabricLinks]):
    """Nodes and links."""

    about = "the fabric's links: which are busy, and with whose messages"
    takes = frozenset({"trial"})
    most = 1
    designs = True

    def collect(self, subjects: Sequence[Subject], options: Options) -> FabricLinks:
        """See `Plot.collect`."""
        (subject,) = subjects
        chosen = choose_one(subject, options)
        design, result = design_from(dict(chosen.document)), chosen.result
        jobs = tuple(job.name for job in result.jobs)
        try:
            rows = use_of_links(design, *(job.iteration_time_s for job in result.jobs or (result,)))
        except InputError as error:
            raise InputError(error.problems, f"{subject.name} {chosen.name}") from None
        dimensions = tuple(_dimension(design, row, rows, jobs) for _, row in sorted(busiest_rows(rows).items()))
        name = f"{chosen.name} {chosen.note}".strip()
        return FabricLinks(chosen.run, name, chosen.trial, result.iteration_time_s, result.engine, jobs, dimensions)

    def draw(self, data: FabricLinks) -> Figure:
        """See `Plot.draw`."""
        return _draw(data)


def _dimension(design: Design, row: RowUse, rows: Sequence[RowUse], jobs: Sequence[str]) -> DimensionLinks:
    its = design.cluster.dimensions[row.dimension]
    ratios = its.oversubscription if isinstance(its.oversubscription, tuple) else (its.oversubscription,)
    thinned = ", " + " and ".join(f"{ratio:g}:1" for ratio in ratios) if max(ratios) > 1 else ""
    rate = format_with_unit(its.bandwidth, "B/s")
    adds = ", switches reduce" if its.in_network else ""
    said = f"dimension {row.dimension}: {its.topology} of {its.size}{thinned}, {rate} an NPU{adds}"
    names = Names.of(row)
    busiest = tuple(_busy(alike, names, jobs) for alike in distinct_links(row)[:_ROWS])
    among = sum(one.dimension == row.dimension for one in rows)
    return DimensionLinks(row.dimension, said, among, lay_out(row), busiest)


def _busy(alike: Alike, names: Names, jobs: Sequence[str]) -> BusyLink:
    link = alike.first
    groups: dict[str, float] = {}
    stages: dict[str, list[int]] = {}
    for one in link.by:
        user = f"{jobs[one.job]}: {one.group}" if jobs else one.group
        groups[user] = groups.get(user, 0.0) + one.share
        stages.setdefault(user, []).append(one.stage)
    source, target = link.ends[0]
    said = {group: tuple(sorted(its)) for group, its in stages.items()}
    name = f"{names.name(source)} {'↔' if alike.both_ways else '→'} {names.name(target)}"
    each = {jobs[job]: share for job, share in by_job(link).items()} if jobs else {}
    return BusyLink(name, alike.links, link.rate, link.utilization, groups, each, said)


def _draw(data: FabricLinks) -> Figure:
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context(style.STYLE):
        height = 1.15 + len(data.dimensions) * (_TALL + _GAP) + 0.45
        figure = Figure(figsize=(_WIDTH, height))
        most = max((line.utilization for one in data.dimensions for line in one.fabric.lines), default=0.0)
        most = max([most, *(link.utilization for one in data.dimensions for link in one.busiest), 1e-9])
        top = height - 1.15
        for one in data.dimensions:
            figure.text(
                0.012, (top - 0.02) / height, shorten_text(one.name, 70), fontsize=10.5, fontweight="bold", va="top"
            )
            bottom = (top - 0.3 - _TALL) / height
            _draw_fabric(figure.add_axes((0.03, bottom, 0.5, _TALL / height)), one.fabric, most, bool(data.jobs))
            _draw_bars(figure.add_axes((0.7, bottom + 0.12 / height, 0.255, (_TALL - 0.12) / height)), one, most, data)
            top -= _TALL + _GAP
        _write(figure, data, most)
        return figure


def _draw_fabric(axes: Axes, fabric: Fabric, most: float, several: bool) -> None:
    """Nodes and lines; a line is as dark and as wide as its busiest link, of several jobs in the colour of its job."""
    from matplotlib.collections import LineCollection

    axes.set_axis_off()
    if not fabric.nodes:
        axes.text(0.5, 0.5, "too many NPUs to draw", ha="center", va="center", color=style.QUIET)
        return
    places = [(node.x, node.y) for node in fabric.nodes]
    lines = sorted(fabric.lines, key=lambda line: line.utilization)
    shades = [_shade_of_job(line, most) if several else _shade(line.utilization / most) for line in lines]
    widest = 4.0 if len(lines) <= 24 else 2.2 if len(lines) <= 200 else 1.0
    widths = [0.4 + (widest - 0.4) * line.utilization / most for line in lines]
    ways = [[places[end] for end in line.ends] for line in lines]
    axes.add_collection(LineCollection(ways, colors=shades, linewidths=widths, zorder=1, rasterized=len(ways) > 400))
    also = [number for number, line in enumerate(lines) if several and _has_second(line)]
    if also:
        seconds = [_colour(list(lines[number].jobs)[1]) for number in also]
        where, wide = [ways[number] for number in also], [widths[number] for number in also]
        axes.add_collection(
            LineCollection(where, colors=seconds, linewidths=wide, linestyles=[(0, (2.2, 2.2))], zorder=2)
        )
    round_ = not any(node.npus == 0 for node in fabric.nodes)
    for level in sorted({node.y for node in fabric.nodes}) if not round_ else [None]:
        here = [node for node in fabric.nodes if level is None or node.y == level]
        _draw_nodes(axes, here, named=len(here) <= _NAMED, round_=round_, several=several)
    axes.set_xlim(-0.06, 1.06)
    axes.set_ylim(-0.26, 1.16)
    if round_:
        axes.set_aspect("equal")


def _has_second(line: Line) -> bool:
    """Whether a second job has a part of a line's load that can be seen."""
    shares = list(line.jobs.values())
    return len(shares) > 1 and shares[1] >= _ALSO * line.utilization


def _colour(job: int) -> str:
    return _FREE if job < 0 else _JOBS[job % len(_JOBS)]


def _shade_of_job(line: Line, most: float) -> Any:
    from matplotlib.colors import LinearSegmentedColormap

    job = next(iter(line.jobs), None)
    if job is None:
        return _IDLE
    return LinearSegmentedColormap.from_list("job", [_IDLE, _colour(job)])(min(1.0, 0.25 + line.utilization / most))


def _draw_nodes(axes: Axes, nodes: Sequence[Node], *, named: bool, round_: bool, several: bool) -> None:
    size = 60 if len(nodes) <= 16 else 26 if len(nodes) <= 64 else 10
    staged = any(node.stage > 0 for node in nodes)
    for node in nodes:
        switch = node.npus == 0
        colour = style.INK if switch else _colour(node.job) if several else _STAGES[node.stage % len(_STAGES)]
        look: Any = {
            "marker": "s" if switch else "o",
            "s": size,
            "color": colour,
            "edgecolors": style.QUIET if node.job < 0 and not switch else "white",
            "linewidths": 0.6,
        }
        axes.scatter([node.x], [node.y], zorder=3, **look)
        if named:
            _name_node(axes, node, round_=round_, staged=staged and node.job >= 0)


def _name_node(axes: Axes, node: Node, *, round_: bool, staged: bool) -> None:
    if round_:
        x, y = node.x + 0.17 * (node.x - 0.5), node.y + 0.17 * (node.y - 0.5)
        axes.text(x, y, node.name.removeprefix("NPU "), fontsize=7.5, ha="center", va="center", color=style.QUIET)
        return
    below = node.npus > 0
    said = node.name if not below else node.name.removeprefix("NPU ") + (f"\ns{node.stage}" if staged else "")
    offset = -0.07 if below else 0.06
    look: dict[str, Any] = {"fontsize": 7, "ha": "center", "color": style.QUIET, "va": "top" if below else "bottom"}
    box = {"boxstyle": "round,pad=0.1", "facecolor": "white", "edgecolor": "none", "alpha": 0.85}
    axes.text(node.x, node.y + offset, said, zorder=4, bbox=box, **look)


def _shade(share: float) -> Any:
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("use", [_IDLE, "#F5C9A8", "#D55E00", "#6E2F00"])(share)


def _draw_bars(axes: Axes, one: DimensionLinks, most: float, data: FabricLinks) -> None:
    """The busiest links, each by whose messages it carries."""
    labels = []
    for place, link in enumerate(one.busiest):
        left = 0.0
        for user, share in (link.by_job or link.by_group).items():
            colour = _colour(data.jobs.index(user)) if data.jobs else _GROUPS.get(user, _OTHER)
            axes.barh(place, share, 0.56, left=left, color=colour, edgecolor="white", linewidth=0.4)
            left += share
        alike = f" (+ {link.alike - 1:,} alike)" if link.alike > 1 else ""
        labels.append(f"{link.name}{alike}\n{_whose(link)}")
        axes.text(left + 0.015 * most, place, format_percent(left), fontsize=8.5, va="center")
    axes.set_yticks(range(len(labels)), labels, fontsize=7.8)
    axes.set_ylim(max(len(labels), 2) - 0.4, -0.6)
    axes.set_xlim(0, most * 1.16)
    axes.xaxis.set_major_formatter(lambda value, _: format_percent(value))
    axes.tick_params(axis="y", length=0)
    axes.tick_params(axis="x", labelsize=8)


def _whose(link: BusyLink) -> str:
    if link.by_job:
        said = [f"{job}: {', '.join(_groups_of(link, job))}" for job in link.by_job]
        return shorten_text("; ".join(said), 46)
    parts = []
    for group, stages in link.stages.items():
        some = f"{stages[0]}–{stages[-1]}" if len(stages) > 2 else ", ".join(map(str, stages))
        parts.append(f"{group} (s{some})")
    return shorten_text(", ".join(parts), 46) if parts else "idle"


def _groups_of(link: BusyLink, job: str) -> list[str]:
    return [user.removeprefix(f"{job}: ") for user in link.by_group if user.startswith(f"{job}: ")]


def _write(figure: Figure, data: FabricLinks, most: float) -> None:
    said = f"{data.run} {data.name}" if data.trial is not None else data.run
    parts = [said, format_with_unit(data.seconds, "s"), f"engine {data.engine}", f"busiest link {format_percent(most)}"]
    style.write_headline(figure, "Which links are busy, and with whose messages", "  ·  ".join(parts))
    groups = dict.fromkeys(group for one in data.dimensions for link in one.busiest for group in link.by_group)
    colours = {group: _GROUPS.get(group_kind(group), _OTHER) for group in groups}
    key = {name: _colour(job) for job, name in enumerate(data.jobs)} or colours
    style.draw_key(figure, key or {"idle": _IDLE}, 0.63)
    more = [f"{one.rows} in dimension {one.dimension}" for one in data.dimensions if one.rows > 1]
    style.draw_note(
        figure,
        [
            "Share of the iteration for which a link carries data; lines are as dark and wide as the busier direction.",
            "Colour: the job that uses it most, dashed with the second." if data.jobs else "",
            "Every row of NPUs along a dimension has its own links: the busiest row is shown"
            + (f" (of different ones: {', '.join(more)})." if more else "."),
            "s: pipeline stage." if not data.jobs else "",
        ],
    )


LINKS = LinksPlot()
