"""How to search a space: the `study` section."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from dse.space.samplers import AUTO, SAMPLERS, sampler_names
from simcore.document.form import describe_error
from simcore.document.problem import UNKNOWN_KEY, Problem, suggest_nearest
from simcore.metrics import METRICS

MOST_TRIALS = 10**9
"""Largest number of trials; a search that is given as many goes on until it ends by itself."""
Trials = Annotated[int, Field(strict=True, gt=0, le=MOST_TRIALS)]
Seconds = Annotated[float, Field(strict=True, gt=0, le=1e9)]
Seed = Annotated[int, Field(strict=True, ge=0, lt=2**32)]
Gap = Annotated[float, Field(ge=0, lt=1, allow_inf_nan=False)]


class StudySettings(BaseModel):
    """Sampler, trials, seed, batch; each can be given on the command line too."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    sampler: str = "auto"
    """What proposes designs (docs/search.md, *Samplers*)."""
    trials: Trials = 400
    """Distinct designs to evaluate."""
    seed: Seed = 0
    """Seed of the sampler."""
    batch: Trials = 32
    """Designs proposed together; independent of the number of workers, so that these do not change a study."""
    decide: tuple[Literal["cluster", "cost", "reliability", "parallelism", "system", "software"], ...] | None = None
    """Sections that all workloads share; every other hole is tuned for each workload (`dse.buy`)."""
    aggregate: Literal["weighted", "worst", "regret"] = "weighted"
    """One value from those of several workloads: weighted mean, worst of weight x value, worst regret of a future."""
    tune: str | None = None
    """Metric that the software of a workload is tuned for; the first objective that it changes unless given."""
    tune_sampler: str = "auto"
    """Sampler that tunes; `auto`: exact up to 20,000 combinations of software, else what `auto` is for a study."""
    tune_trials: Trials = 200
    """Designs of each workload on each cluster, for samplers that are not exact."""
    design_timeout: Seconds | None = None
    """Seconds that one design may take; beyond, it is tried once more in another process, and then failed."""
    reference_point: dict[str, Annotated[float, Field(allow_inf_nan=False)]] | None = None
    """Reference point of the hypervolume, by objective; 1.1 x the worst feasible value unless given."""
    timeout: Seconds | None = None
    """Stop after so many seconds; the one rule by which two machines may differ in the number of trials."""
    stagnation: Trials | None = None
    """Stop when the hypervolume grew by less than 0.1 % over so many trials."""
    gap: Gap | None = None
    """Stop when each objective's best is within this share of its proven bound."""


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
                fix = suggest_nearest(str(path[-1]), known) or f"known keys: {', '.join(known)}"
                problems.append(Problem(path, UNKNOWN_KEY, f"'{path[-1]}'", fix))
            else:
                problems.append(Problem(path, *describe_error(entry)))
        problems += _names(data, objectives)
        return StudySettings()
    problems += _names(data, objectives)
    reference = settings.reference_point
    if reference is not None and set(reference) != set(objectives):
        what = f"a value for each objective ({', '.join(objectives)})"
        problems.append(Problem(("study", "reference_point"), what, ", ".join(reference) or "none"))
    return settings


def _names(data: Mapping[str, Any], objectives: Sequence[str]) -> list[Problem]:
    """Problems of the samplers and the metric that are named, whatever else is wrong with the section."""
    problems: list[Problem] = []
    for key in ("sampler", "tune_sampler"):
        name = data.get(key)
        if isinstance(name, str) and (key, name) != ("tune_sampler", "exact"):
            problems += sampler_problems(name, ("study", key))
    tune = data.get("tune")
    if isinstance(tune, str) and tune not in METRICS and tune not in objectives:
        fix = suggest_nearest(tune, [*METRICS, *objectives], "metrics")
        problems.append(Problem(("study", "tune"), "a metric or one of the objectives", f"'{tune}'", fix))
    return problems


def sampler_problems(name: str, path: tuple[str, ...], by_path: bool = False) -> list[Problem]:
    """The problem of an unknown sampler, if it is one.

    One of an import path is known only where `by_path` says so: a file must not choose code to run.
    """
    if name == AUTO or name in SAMPLERS or (by_path and ":" in name):
        return []
    if ":" in name:
        fix = f"if you trust it, add --sampler {name}"
        return [Problem(path, "a built-in sampler in a file", f"'{name}'", fix)]
    names = sampler_names()
    return [Problem(path, f"one of {', '.join(names)}", f"'{name}'", suggest_nearest(name, names))]
