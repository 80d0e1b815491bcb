"""What a part of a study runs: a design, ASTRA-sim's files, or a search. One class each.

A measure gives numbers by name, of which the part's expression makes the obtained value.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dse.reproduce.study import inside
from simcore.document.problem import InputError, Problem

Numbers = dict[str, Any]


class Measure(ABC):
    """Runs one document of a study."""

    @abstractmethod
    def numbers(self, folder: Path, run: Mapping[str, Any], changes: Mapping[str, Any]) -> Numbers:
        """What is measured of a run with some keys changed, by name; all of it survives JSON."""

    @abstractmethod
    def identity(self, folder: Path, run: Mapping[str, Any], changes: Mapping[str, Any]) -> str:
        """What the numbers depend on, beside the code."""


class SimulateDesign(Measure):
    """`run: {design: FILE, engine: E}`: every metric of the design's result."""

    def numbers(self, folder: Path, run: Mapping[str, Any], changes: Mapping[str, Any]) -> Numbers:
        """See `Measure.numbers`."""
        from simcore.metrics import metrics
        from simcore.simulate import simulate

        result = simulate(self._design(folder, run, changes), run.get("engine", "auto"))
        beside = {"network_utilization": result.network_utilization, "npus": result.npus}
        found = {**metrics(result), **beside}
        return {name: value for name, value in found.items() if isinstance(value, int | float)}

    def identity(self, folder: Path, run: Mapping[str, Any], changes: Mapping[str, Any]) -> str:
        """See `Measure.identity`."""
        return f"{self._design(folder, run, changes).key} {run.get('engine', 'auto')}"

    def _design(self, folder: Path, run: Mapping[str, Any], changes: Mapping[str, Any]) -> Any:
        from simcore.check.load import load_design

        design = load_design(inside(folder, run["design"]))
        return design.with_(dict(changes)) if changes else design


class RunAstra(Measure):
    """`run: {astra: {network: FILE, system: FILE, workload: FILE, …}}`: `finish_ns`, as `simcore.astra.run` has it.

    Keys that an alternative sets are those of `astra`.
    """

    def numbers(self, folder: Path, run: Mapping[str, Any], changes: Mapping[str, Any]) -> Numbers:
        """See `Measure.numbers`."""
        from simcore.astra.run import run as run_astra

        result = run_astra(**self._options(folder, run, changes))
        return {"finish_ns": result.finish_ns, "compute_ns": result.compute_ns}

    def identity(self, folder: Path, run: Mapping[str, Any], changes: Mapping[str, Any]) -> str:
        """See `Measure.identity`."""
        options = self._options(folder, run, changes)
        return " ".join(f"{key}={_content(value)}" for key, value in sorted(options.items()))

    def _options(self, folder: Path, run: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
        files = ("network", "system", "workload", "comm_groups", "remote_memory")
        options = {**run["astra"], **changes}
        return {key: inside(folder, value) if key in files else value for key, value in options.items()}


def _content(value: Any) -> str:
    from hashlib import blake2b

    return blake2b(value.read_bytes(), digest_size=8).hexdigest() if isinstance(value, Path) else str(value)


MEASURES: dict[str, Measure] = {"design": SimulateDesign(), "astra": RunAstra()}
"""What can be run, by the key of `run` that says it."""


def measure_of(run: Mapping[str, Any]) -> Measure:
    """What runs `run`; raises `InputError` where nothing does."""
    for key, measure in MEASURES.items():
        if key in run:
            return measure
    raise InputError([Problem(("run",), f"one of {', '.join(MEASURES)}", ", ".join(run) or "nothing")])
