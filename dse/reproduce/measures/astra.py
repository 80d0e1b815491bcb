"""ASTRA-sim's own files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dse.reproduce.files import inside
from dse.reproduce.measures.base import Measure, Numbers, content

_FILES = ("network", "system", "workload", "comm_groups", "remote_memory")


class RunAstra(Measure):
    """`run: {astra: {network: FILE, system: FILE, workload: FILE, …}}`: `finish_ns`, as `simcore.astra.run` has it.

    Keys that an alternative sets are those of `astra`.
    """

    def numbers(self, folder: Path, run: Mapping[str, Any], changes: Mapping[str, Any]) -> Numbers:
        """See `Measure.numbers`."""
        from simcore.astra.run import run as run_astra

        result = run_astra(**_options(folder, run, changes))
        return {"finish_ns": result.finish_ns, "compute_ns": result.compute_ns}

    def identity(self, folder: Path, run: Mapping[str, Any], changes: Mapping[str, Any]) -> str:
        """See `Measure.identity`."""
        options = _options(folder, run, changes)
        return " ".join(
            f"{key}={content(value) if isinstance(value, Path) else value}" for key, value in sorted(options.items())
        )


def _options(folder: Path, run: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    options = {**run["astra"], **changes}
    return {key: inside(folder, value) if key in _FILES else value for key, value in options.items()}
