"""How to search a space: the `study` section."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, PositiveInt, ValidationError

from simcore.problem import Problem, nearest

SAMPLERS = ("auto", "random", "exhaustive", "exact", "nsga2", "nsga3", "tpe")


class StudySettings(BaseModel):
    """Sampler, trials, seed, batch; each can be given on the command line too."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    sampler: str = "auto"
    trials: PositiveInt = 400
    seed: Annotated[int, Field(ge=0, lt=2**32)] = 0
    batch: PositiveInt = 32
    """Designs proposed together; independent of the number of workers, so that these do not change a study."""
    reference_point: dict[str, float] | None = None
    """Of the hypervolume, by objective; 1.1 x the worst feasible value unless given."""


def parse_settings(data: Any, objectives: Sequence[str], problems: list[Problem]) -> StudySettings:
    """The settings; what is wrong is added to `problems`."""
    if not isinstance(data, Mapping):
        problems.append(Problem(("study",), "a mapping of keys to values", repr(data)))
        return StudySettings()
    try:
        settings = StudySettings.model_validate(data)
    except ValidationError as error:
        for entry in error.errors(include_url=False):
            path = ("study", *entry["loc"])
            if entry["type"] == "extra_forbidden":
                known = list(StudySettings.model_fields)
                fix = nearest(str(path[-1]), known) or f"known keys: {', '.join(known)}"
                problems.append(Problem(path, "a known key", f"'{path[-1]}'", fix))
            else:
                problems.append(Problem(path, entry["msg"].removeprefix("Input should be "), repr(entry["input"])))
        return StudySettings()
    problems += sampler_problems(settings.sampler, ("study", "sampler"))
    reference = settings.reference_point
    if reference is not None and set(reference) != set(objectives):
        what = f"a value for each objective ({', '.join(objectives)})"
        problems.append(Problem(("study", "reference_point"), what, ", ".join(reference) or "none"))
    return settings


def sampler_problems(name: str, path: tuple[str, ...]) -> list[Problem]:
    """The problem of an unknown sampler, if it is one."""
    if name in SAMPLERS:
        return []
    return [Problem(path, f"one of {', '.join(SAMPLERS)}", f"'{name}'", nearest(name, SAMPLERS))]
