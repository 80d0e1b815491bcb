"""A value on average over many places: what a paper says of all its set-ups at once."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from itertools import product
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, TypeAdapter, ValidationError, model_validator

from dse.reproduce.lookup import evaluate
from dse.reproduce.measures.base import Case, Measure, Numbers, measure_of
from dse.reproduce.measures.single import SINGLE
from dse.reproduce.part import Alternative, settle
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

    def read(self, folder: Path, run: Mapping[str, Any], changes: Mapping[str, Any]) -> Case:
        """See `Measure.read`."""
        average = _read(run)
        measure = measure_of(average.of, SINGLE)
        places = [settle(chosen) for chosen in product(*(axis.values() for axis in average.over.values()))]
        cases = [
            (
                measure.read(folder, average.of, {**changes, **sets}),
                measure.read(folder, average.of, {**changes, **sets, **average.against}) if average.against else None,
                given,
            )
            for sets, given in places
        ]
        runs = [f"{case.identity} {json.dumps(given, sort_keys=True)}" for case, _, given in cases]
        against = json.dumps(average.against, sort_keys=True)
        return Case(
            f"{average.value} against {against} of {' '.join(runs)}",
            lambda: _summary([_value(average, case, base, given) for case, base, given in cases]),
        )


def _value(average: Average, case: Case, base: Case | None, given: Mapping[str, float]) -> float:
    known = {**case.numbers(), **given}
    if base is not None:
        known["base"] = {**base.numbers(), **given}
    return float(evaluate(average.value, known))


def _summary(values: list[float]) -> Numbers:
    found: Numbers = {"mean": math.fsum(values) / len(values), "least": min(values), "most": max(values)}
    if min(values) > 0:
        found["geomean"] = math.exp(math.fsum(map(math.log, values)) / len(values))
    return {**found, "count": len(values)}


def _read(run: Mapping[str, Any]) -> Average:
    try:
        return TypeAdapter(Average).validate_python(run["average"])
    except ValidationError as error:
        problems = [Problem(("run", "average", *entry["loc"]), *describe_error(entry)) for entry in error.errors()]
        raise InputError(problems, "study") from None
