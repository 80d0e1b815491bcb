"""A part of a study, as `study.yaml` has it: what is run, what is varied, and how a value is obtained from it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Annotated, Any, Literal

from pydantic import Field

from dse.space.expression import Expression
from simcore.document.field import Frozen
from simcore.document.problem import Path, Problem, Refusal, suggest_nearest

Place = dict[str, str]
"""Axis -> alternative."""


class Alternative(Frozen):
    """One place on an axis."""

    set: dict[str, Any] = Field(default_factory=dict)
    """Keys of the document, by dotted path, with their values."""
    given: dict[str, float] = Field(default_factory=dict)
    """Numbers that expressions may name."""


def settle(chosen: Iterable[Alternative]) -> tuple[dict[str, Any], dict[str, float]]:
    """The keys that alternatives set and the numbers that they give, together."""
    sets: dict[str, Any] = {}
    given: dict[str, float] = {}
    for each in chosen:
        sets |= each.set
        given |= each.given
    return sets, given


class Choice(Frozen):
    """Axes that a row does not name: it is the best of their alternatives."""

    over: Annotated[tuple[str, ...], Field(min_length=1)]
    least: str
    """What is least there, of what was measured."""
    where: str = "1"
    """What has to hold there."""


class Fitted(Frozen):
    """What of a part was fitted to the published values themselves, or chosen after a look at them."""

    what: str
    """What, to what, and how far that is evidence."""
    rows: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    """The rows that rest on it, by the alternatives that they have; unless given all."""


class Plot(Frozen):
    """A picture of a part: the values of many rows, published or not."""

    file: Annotated[str, Field(pattern=r"^[a-z0-9-]+$")]
    kind: Literal["lines", "bars", "heat"]
    title: str = ""
    """The part's name unless given."""
    x: str
    """Axis."""
    y: str | None = None
    """Axis of a heat map."""
    series: str | None = None
    """Axis: a line, or a colour of bars, for each alternative."""
    at: Place = Field(default_factory=dict)
    """Where the picture is on the other axes."""
    value: str | None = None
    """What is drawn; `obtained` unless given, with the published values beside it."""
    label: str = ""
    """Label of the values: what they are, and their unit."""
    log: bool = False
    """Whether the scale of the values is logarithmic."""

    @property
    def axes(self) -> tuple[str, ...]:
        """The axes that vary."""
        return tuple(axis for axis in (self.x, self.y, self.series) if axis is not None)


class Part(Frozen):
    """One table of a study."""

    name: str
    about: str = ""
    run: dict[str, Any]
    """What is run: of `dse.reproduce.measures.MEASURES` the one that has these keys."""
    axes: dict[str, dict[str, Alternative]] = Field(default_factory=dict)
    """What is varied, by name; alternatives by name."""
    choose: Choice | None = None
    """On which of the axes a row is the best of all alternatives."""
    against: Place = Field(default_factory=dict)
    """What `base` of the expressions is: the same row with these alternatives."""
    obtained: str
    """The value of a row, of what was measured."""
    compare: Literal["equal", "at_least", "at_most"] = "equal"
    """When a value is the published one."""
    published: str | None = None
    """The file with the rows; every combination of the axes where nothing was published."""
    called: str = "published"
    """What its values are, where nobody printed them: a claim, an optimum of published inputs."""
    show: dict[str, str] = Field(default_factory=dict)
    """Further columns of the table: head -> expression."""
    unit: str = ""
    within: Annotated[float, Field(ge=0)] = 0.0
    """Up to which difference a value is reproduced, in its unit, or as a share where `relative`."""
    relative: bool = False
    quick: dict[str, tuple[str, ...]] | None = None
    """Rows of `--quick`, by the alternatives that they have; unless given none."""
    fitted: Fitted | None = None
    plots: tuple[Plot, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """The axes that a row names."""
        chosen = () if self.choose is None else self.choose.over
        return tuple(axis for axis in self.axes if axis not in chosen)

    def expressions(self) -> Iterator[tuple[Path, str]]:
        """Every expression, by its path below the part."""
        yield ("obtained",), self.obtained
        for head, text in self.show.items():
            yield ("show", head), text
        for index, plot in enumerate(self.plots):
            if plot.value is not None:
                yield ("plots", index, "value"), plot.value
        if self.choose is not None:
            yield ("choose", "least"), self.choose.least
            yield ("choose", "where"), self.choose.where

    def at(self, place: Place) -> tuple[dict[str, Any], dict[str, float]]:
        """The keys that are set and the numbers that are given at a place on the axes."""
        return settle(self.axes[axis][name] for axis, name in place.items())


def part_problems(part: Part) -> Iterator[Problem]:
    """What is wrong with a part whose form is right, by the path below the part."""
    yield from _unknown_names(part)
    for path, text in part.expressions():
        try:
            Expression(text).validate()
        except Refusal as refusal:
            yield refusal.at(path)
    for index, plot in enumerate(part.plots):
        for key, axis in (("x", plot.x), ("y", plot.y), ("series", plot.series)):
            if axis is not None and axis not in part.axes:
                yield _unknown(("plots", index, key), f"an axis of '{part.name}'", axis, part.axes)
        yield from (replace(problem, path=("plots", index)) for problem in _plot_problems(plot, part))


def _unknown_names(part: Part) -> Iterator[Problem]:
    """Axes and alternatives that are named and not there."""
    named: list[tuple[Path, str, tuple[str, ...]]] = [
        (("against", axis), axis, (name,)) for axis, name in part.against.items()
    ]
    named += [(("quick", axis), axis, names) for axis, names in (part.quick or {}).items()]
    rows = {} if part.fitted is None else part.fitted.rows
    named += [(("fitted", "rows", axis), axis, names) for axis, names in rows.items()]
    named += [
        (("plots", index, "at", axis), axis, (name,))
        for index, plot in enumerate(part.plots)
        for axis, name in plot.at.items()
    ]
    for path, axis, names in named:
        if axis not in part.axes:
            yield _unknown(path, f"an axis of '{part.name}'", axis, part.axes)
            continue
        for name in names:
            if name not in part.axes[axis]:
                yield _unknown(path, f"an alternative of an axis of '{part.name}'", f"{axis}: {name}", part.axes[axis])
    for index, axis in enumerate(() if part.choose is None else part.choose.over):
        if axis not in part.axes:
            yield _unknown(("choose", "over", index), f"an axis of '{part.name}'", axis, part.axes)


def _unknown(path: Path, expected: str, found: str, known: Iterable[str]) -> Problem:
    return Problem(path, expected, f"'{found}'", suggest_nearest(found.rpartition(": ")[2], known))


def _plot_problems(plot: Plot, part: Part) -> Iterator[Problem]:
    placed = [*plot.axes, *plot.at]
    if all(axis in part.axes for axis in plot.axes) and sorted(placed) != sorted(part.columns):
        expected = f"each of {', '.join(part.columns)} once in x, y, series, or at"
        yield Problem((), expected, f"{plot.file}: {', '.join(placed)}")
    if (plot.kind == "heat") != (plot.y is not None) or (plot.kind == "heat" and plot.series is not None):
        yield Problem((), "a heat map with x and y, or lines or bars with x and series", f"{plot.file}: {plot.kind}")
