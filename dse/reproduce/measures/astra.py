"""ASTRA-sim's own files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dse.reproduce.files import inside
from dse.reproduce.measures.base import Case, Measure, Numbers, content

_FILES = ("network", "system", "workload", "comm_groups", "remote_memory")


class RunAstra(Measure):
    """`run: {astra: {network: FILE, system: FILE, workload: FILE, …}}`: `finish_ns`, as `simcore.astra.run` has it.

    Keys that an alternative sets are those of `astra`.
    """

    def read(self, folder: Path, run: Mapping[str, Any], changes: Mapping[str, Any]) -> Case:
        """See `Measure.read`."""
        asked = {**run["astra"], **changes}
        options = {key: inside(folder, value) if key in _FILES else value for key, value in asked.items()}
        said = (f"{key}={content(value) if isinstance(value, Path) else value}" for key, value in options.items())
        return Case(" ".join(sorted(said)), lambda: _run(options))


def _run(options: Mapping[str, Any]) -> Numbers:
    from simcore.astra.run import run

    result = run(**options)
    return {"finish_ns": result.finish_ns, "compute_ns": result.compute_ns}
