"""What `dse.optimize` may be asked for: the options of the command line by name, checked before anything is done."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Annotated, Any, Literal, TypedDict

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from dse.execute.where import MOST_JOBS
from dse.space.settings import Gap, Seconds, Seed, Trials
from simcore.document.form import describe_error
from simcore.document.problem import InputError, Problem, suggest_nearest


class Options(TypedDict, total=False):
    """The options of `dse.optimize` that few need; each as the option of `dse optimize` that it is named after."""

    timeout: float | None
    """Stop after so many seconds."""
    stagnation: int | None
    """Stop when the hypervolume grew by less than 0.1 % over so many trials."""
    gap: float | None
    """Stop when within this share of every proven bound."""
    engine: str
    """A built-in engine, or `package.module:function`."""
    resume: bool
    """Go on with the study in `folder`."""
    executor: Literal["local", "ray", "ray-tune"]
    """Where to evaluate."""
    address: str | None
    """Address of a Ray cluster."""
    design_timeout: float | None
    """Most seconds that one design may take."""
    start_timeout: float
    """Give up without a worker for so many seconds."""
    storage: str | None
    """Database of a study that several drivers share."""
    study_name: str | None
    """Name of a shared study."""


class _Asked(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)

    trials: Trials | None = None
    sampler: str | None = None
    seed: Seed | None = None
    jobs: Annotated[int, Field(ge=1, le=MOST_JOBS)] | None = None
    timeout: Seconds | None = None
    stagnation: Trials | None = None
    gap: Gap | None = None
    engine: str | None = None
    resume: bool = False
    executor: Literal["local", "ray", "ray-tune"] | None = None
    address: str | None = None
    design_timeout: Seconds | None = None
    start_timeout: Seconds | None = None
    storage: str | None = None
    study_name: str | None = None


def check_options(given: Mapping[str, Any]) -> dict[str, Any]:
    """What was asked for, by name.

    Raises `InputError` with everything that is wrong with it.
    """
    try:
        return _Asked.model_validate(dict(given)).model_dump()
    except ValidationError as error:
        raise InputError([_problem(entry) for entry in error.errors(include_url=False)], "dse.optimize") from None


def _problem(entry: Any) -> Problem:
    name = str(entry["loc"][0])
    if entry["type"] == "extra_forbidden":
        return Problem((name,), "an option of dse.optimize", f"'{name}'", suggest_nearest(name, _Asked.model_fields))
    return Problem((name,), *describe_error(entry))


@contextmanager
def as_arguments() -> Iterator[None]:
    """Turns errors about options of the command line (`--sampler`) into ones about arguments (`sampler`)."""
    try:
        yield
    except InputError as error:
        source = "" if error.source in ("command line", "study") else error.source
        raise InputError(map(_without_dashes, error.problems), source) from None


def _without_dashes(problem: Problem) -> Problem:
    """A problem whose place is an argument, and whose words name arguments, not options."""
    expected, found, fix = (_OPTION.sub(_argument, text) for text in (problem.expected, problem.found, problem.fix))
    first = tuple(_OPTION.sub(_argument, str(part)) for part in problem.path[:1])
    return replace(problem, path=(*first, *problem.path[1:]), expected=expected, found=found, fix=fix)


_OPTION = re.compile(r"--([a-z][a-z-]*)")


def _argument(option: re.Match[str]) -> str:
    return option[1].replace("-", "_")
