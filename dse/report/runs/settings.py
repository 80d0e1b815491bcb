"""Settings in which runs differ: leaves of their `study.yaml`, where a hole or a named entry is a leaf."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from dse.report.units import MISSING, shorten_text
from dse.report.values import cell
from dse.space.hole import KINDS_OF_HOLE
from simcore.document.problem import Path, format_path

_LONGEST = 36
_JOB = ("space.workload.", "space.workloads[")
_NAME: Path = ("name",)
"""Path of the space's name, which is no setting."""


@dataclass(frozen=True, slots=True)
class Setting:
    """A key of `study.yaml` in which runs differ."""

    key: str
    values: Mapping[str, Any]
    """Run -> its value; a run without the key is left out."""

    @property
    def title(self) -> str:
        """The key as people call it: without `space`."""
        short = self.key.removeprefix("space.")
        return re.sub(r"^cluster\.dimensions\[(\d+)\]\.", lambda found: f"dimension {found[1]} ", short)

    @property
    def of_job(self) -> bool:
        """Whether it is about the job, so that times of these runs are those of different work."""
        return self.key.startswith(_JOB)

    def text(self, run: str) -> str:
        """The value of a run in few words."""
        return shorten_text(_brief(self.values[run]), _LONGEST) if run in self.values else MISSING


def differing_settings(studies: Mapping[str, Mapping[str, Any]]) -> tuple[Setting, ...]:
    """The keys in which the studies differ, by run; in the order of the documents."""
    leaves = {name: {path: value for path, value in _leaves(study) if path != _NAME} for name, study in studies.items()}
    paths = dict.fromkeys(path for found in leaves.values() for path in found)
    settings = []
    for path in paths:
        values = {name: found[path] for name, found in leaves.items() if path in found}
        if len(values) < len(leaves) or any(value != next(iter(values.values())) for value in values.values()):
            settings.append(Setting(format_path(path), values))
    return tuple(settings)


def _leaves(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    if isinstance(value, Mapping) and value and not any(hole in value for hole in KINDS_OF_HOLE):
        if path and isinstance(value.get("name"), str) and len(value) > 1 and path[0] == "space":
            yield (*path, "name"), value["name"]
            value = {key: inner for key, inner in value.items() if key not in ("name", "source", "sources")}
        for key, inner in value.items():
            yield from _leaves(inner, (*path, key))
    elif isinstance(value, list) and any(isinstance(entry, Mapping | list) for entry in value):
        for index, inner in enumerate(value):
            yield from _leaves(inner, (*path, index))
    else:
        yield path, value


def _brief(value: Any) -> str:
    """A value in few words: alternatives by their names."""
    if isinstance(value, Mapping) and isinstance(value.get("choice"), list):
        return " | ".join(_brief(inner) for inner in value["choice"])
    if isinstance(value, Mapping) and isinstance(value.get("name"), str):
        return str(value["name"])
    if isinstance(value, list) and value and all(isinstance(entry, Mapping) for entry in value):
        return "_".join(f"{entry.get('topology', '?')}({_brief(entry.get('size', '?'))})" for entry in value)
    return cell(value)
