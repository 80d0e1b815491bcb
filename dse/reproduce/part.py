"""A part of a study, as `study.yaml` has it: what is run, what is varied, and how a value is obtained from it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from dse.space.expression import Expression
from simcore.document.field import Frozen
from simcore.document.problem import Refusal

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

    @property
    def texts(self) -> Iterable[str]:
        """The expressions."""
        return self.least, self.where


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
    """Of the values: what they are, and their unit."""
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
    plots: tuple[Plot, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """The axes that a row names."""
        chosen = () if self.choose is None else self.choose.over
        return tuple(axis for axis in self.axes if axis not in chosen)

    def at(self, place: Place) -> tuple[dict[str, Any], dict[str, float]]:
        """The keys that are set and the numbers that are given at a place on the axes."""
        return settle(self.axes[axis][name] for axis, name in place.items())

    @model_validator(mode="after")
    def _names_what_there_is(self) -> Part:
        quick = [(axis, name) for axis, names in (self.quick or {}).items() for name in names]
        at = [entry for plot in self.plots for entry in plot.at.items()]
        for axis, name in [*self.against.items(), *quick, *at]:
            if axis not in self.axes or name not in self.axes[axis]:
                raise Refusal(f"an alternative of an axis of '{self.name}'", f"{axis}: {name}")
        over = () if self.choose is None else self.choose.over
        for axis in (*over, *(axis for plot in self.plots for axis in plot.axes)):
            if axis not in self.axes:
                raise Refusal(f"an axis of '{self.name}'", axis)
        for plot in self.plots:
            _check_plot(plot, self.columns)
        texts = [self.obtained, *self.show.values(), *(plot.value for plot in self.plots if plot.value is not None)]
        for text in (*texts, *(() if self.choose is None else self.choose.texts)):
            Expression(text).validate()
        return self


def _check_plot(plot: Plot, columns: tuple[str, ...]) -> None:
    placed = [*plot.axes, *plot.at]
    if sorted(placed) != sorted(columns):
        raise Refusal(f"each of {', '.join(columns)} once in x, y, series, or at", f"{plot.file}: {', '.join(placed)}")
    if (plot.kind == "heat") != (plot.y is not None) or (plot.kind == "heat" and plot.series is not None):
        raise Refusal("a heat map with x and y, or lines or bars with x and series", f"{plot.file}: {plot.kind}")
