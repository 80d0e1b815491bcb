"""A value on average over many places: what a paper says of all its set-ups at once."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, TypeAdapter, ValidationError, model_validator

from dse.reproduce.lookup import lookup_of
from dse.reproduce.measures.base import Measure, Numbers
from dse.reproduce.part import Alternative
from dse.space.expression import Expression
from simcore.document.field import Frozen
from simcore.document.form import describe_error
from simcore.document.problem import InputError, Problem


class Average(Frozen):
    """What `average` of a run says."""

    of: dict[str, Any]
    """What is run, as in a part."""
    over: Annotated[dict[str, Annotated[dict[str, Alternative], Field(min_length=1)]], Field(min_length=1)]
    """Axes with their alternatives; the value is taken at every combination."""
    against: dict[str, Any] = Field(default_factory=dict)
    """What `base` of the value is: the same run with these keys set."""
    value: str
    """An expression of what was measured, and of the numbers that alternatives give."""

    @model_validator(mode="after")
    def _reads(self) -> Average:
        Expression(self.value).validate()
        return self


class AverageRuns(Measure):
    """`run: {average: {of: RUN, over: {AXIS: {ALTERNATIVE: {set: …}}}, against: {PATH: VALUE}, value: EXPRESSION}}`.

    `mean` (arithmetic), `geomean`, `least` and `most` of the value, and `count`, at how many places it was taken. A
    row's own alternatives hold at all of them. A geometric mean there is only of values above 0.
    """

    def __init__(self, measures: Mapping[str, Measure]) -> None:
        self._measures = measures

    def numbers(self, folder: Path, run: Mapping[str, Any], changes: Mapping[str, Any]) -> Numbers:
        """See `Measure.numbers`."""
        average = _read(run)
        measure, values = self._measure_of(average), []
        for place, given in _places(average):
            known = measure.numbers(folder, average.of, {**changes, **place}) | given
            if average.against:
                against = {**changes, **place, **average.against}
                known["base"] = measure.numbers(folder, average.of, against) | given
            values.append(_evaluate(average.value, known))
        found = {"mean": math.fsum(values) / len(values), "least": min(values), "most": max(values)}
        if min(values) > 0:
            found["geomean"] = math.exp(math.fsum(map(math.log, values)) / len(values))
        return {**found, "count": len(values)}

    def identity(self, folder: Path, run: Mapping[str, Any], changes: Mapping[str, Any]) -> str:
        """See `Measure.identity`."""
        average = _read(run)
        measure = self._measure_of(average)
        runs = [
            f"{measure.identity(folder, average.of, {**changes, **place})} {json.dumps(given, sort_keys=True)}"
            for place, given in _places(average)
        ]
        against = json.dumps(average.against, sort_keys=True)
        return f"{average.value} against {against} of {' '.join(runs)}"

    def _measure_of(self, average: Average) -> Measure:
        for key, measure in self._measures.items():
            if key in average.of:
                return measure
        expected, found = f"one of {', '.join(self._measures)}", ", ".join(average.of) or "nothing"
        raise InputError([Problem(("run", "average", "of"), expected, found)], "study")


def _read(run: Mapping[str, Any]) -> Average:
    try:
        return TypeAdapter(Average).validate_python(run["average"])
    except ValidationError as error:
        problems = [Problem(("run", "average", *entry["loc"]), *describe_error(entry)) for entry in error.errors()]
        raise InputError(problems, "study") from None


def _places(average: Average) -> Iterator[tuple[dict[str, Any], dict[str, float]]]:
    """The keys that are set and the numbers that are given at each place."""
    for chosen in product(*(axis.values() for axis in average.over.values())):
        changes = {path: value for each in chosen for path, value in each.set.items()}
        yield changes, {name: number for each in chosen for name, number in each.given.items()}


def _evaluate(text: str, known: Numbers) -> float:
    try:
        return float(Expression(text).value(lookup_of(known)))
    except ValueError as error:
        expected = "names of what was measured"
        raise InputError([Problem(("run", "average", text), expected, str(error))], "study") from None
