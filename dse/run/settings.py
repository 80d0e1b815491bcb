"""What a run is asked for: by the command line or a program, else by the study that it repeats, else by its space."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dse.execute import Where
from dse.space.samplers import PROVERS
from dse.space.settings import MOST_TRIALS, sampler_problems
from dse.space.space import Space
from simcore.document.problem import InputError, Problem, collect_reads
from simcore.engine.registry import BUILT_IN, engine_named


@dataclass(frozen=True)
class Settings:
    """What a run is asked for, after the space's own `study` section and the command line."""

    sampler: str
    trials: int
    seed: int
    timeout: float | None = None
    jobs: int | None = None
    engine: str = "auto"
    stagnation: int | None = None
    gap: float | None = None
    executor: str = "local"
    address: str | None = None
    design_timeout: float | None = None
    start_timeout: float = 60.0
    storage: str | None = None
    study_name: str | None = None
    grows: bool = False
    """See `Where.grows`."""

    @property
    def where(self) -> Where:
        """Where to evaluate."""
        return Where(self.executor, self.jobs, self.address, self.design_timeout, self.start_timeout, grows=self.grows)


def settle(space: Space, earlier: Mapping[str, Any] | None, given: Mapping[str, Any]) -> Settings:
    """The settings of a run of `space`, where `given` has what was asked for; None: left open.

    `earlier` is the `study.yaml` that is repeated, where one is. Raises `InputError` for a sampler or an engine that is
    not to be had.
    """
    base = space.settings.model_dump() if earlier is None else earlier
    asked = {name: value for name, value in given.items() if value is not None}
    sampler, engine = collect_reads(
        lambda: _sampler(asked.get("sampler"), base["sampler"]), lambda: _engine(asked.get("engine"), earlier)
    )
    # A proof needs as many simulations as it needs: only what is asked for, or the repeated study, ends it earlier.
    unlimited = sampler in PROVERS and earlier is None
    return Settings(
        sampler=sampler,
        trials=asked.get("trials", MOST_TRIALS if unlimited else base["trials"]),
        seed=asked.get("seed", base["seed"]),
        timeout=asked.get("timeout", space.settings.timeout),
        jobs=asked.get("jobs"),
        engine=engine,
        executor=asked.get("executor", base.get("executor", "local")),
        address=asked.get("address"),
        design_timeout=asked.get("design_timeout", base.get("design_timeout")),
        start_timeout=asked.get("start_timeout", Settings.start_timeout),
        storage=asked.get("storage"),
        study_name=asked.get("study_name"),
        stagnation=asked.get("stagnation", base.get("stagnation")),
        gap=asked.get("gap", base.get("gap")),
    )


def _engine(given: str | None, earlier: Mapping[str, Any] | None) -> str:
    """The engine to use. One that a file names is taken only if it is built in: a file must not choose code to run."""
    name = given or (str(earlier["engine"]) if earlier else "auto")
    if given is None and name not in BUILT_IN:
        fix = f"if you trust it, add --engine {name}"
        problem = Problem(("engine",), "a built-in engine in the study", f"'{name}'", fix)
        raise InputError([problem], "study.yaml")
    engine_named(name)
    return name


def _sampler(given: str | None, named: str) -> str:
    """The sampler to use; see `_engine` for one that a file names."""
    where = ("--sampler",) if given else ("sampler",)
    problems = sampler_problems(given or named, where, by_path=given is not None)
    if problems:
        raise InputError(problems, "command line" if given else "study.yaml")
    return given or named
