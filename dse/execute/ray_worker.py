"""What runs on a Ray worker: an evaluator that has imported and compiled what it needs, and says what it is made of."""

from __future__ import annotations

import hashlib
import platform
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from dse.evaluate.evaluate import Evaluate, Outcome

PACKAGES = ("dse", "simcore")


@dataclass(frozen=True, slots=True)
class ProcessBuild:
    """What a process runs: driver and workers must agree, or a study would depend on who evaluates."""

    python: str
    code: Mapping[str, str]
    """Package -> digest of its files."""
    place: str
    """Folder of the package `dse`."""
    node: str = ""

    def differences(self, other: ProcessBuild) -> list[str]:
        """What differs, in words."""
        lines = [] if self.python == other.python else [f"Python {other.python} there, {self.python} here"]
        changed = [name for name in PACKAGES if self.code[name] != other.code[name]]
        return lines + [f"other files of '{name}' there ({other.place}) than here" for name in changed]


def folder(package: str) -> Path:
    """Where a package is installed."""
    spec = find_spec(package)
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent


@cache
def digest(package: str) -> str:
    """Identity of the files of a package that a result can depend on."""
    base = folder(package)
    found = hashlib.sha256()
    files = (path for path in base.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    for path in sorted(files):
        found.update(str(path.relative_to(base)).encode() + b"\0" + path.read_bytes() + b"\0")
    return found.hexdigest()


def describe_process(node: str = "") -> ProcessBuild:
    """What this process runs."""
    return ProcessBuild(platform.python_version(), {name: digest(name) for name in PACKAGES}, str(folder("dse")), node)


class RayWorker:
    """The actor: one process, one design at a time."""

    def __init__(self, evaluator: Evaluate) -> None:
        evaluator.prepare()
        self._evaluator = evaluator

    def describe_process(self) -> ProcessBuild:
        """What this worker is made of."""
        import ray

        return describe_process(ray.get_runtime_context().get_node_id())

    def evaluate(self, documents: Sequence[Mapping[str, Any]]) -> tuple[list[Outcome], float]:
        """The outcomes in order, and the seconds they took."""
        begun = time.perf_counter()
        return [self._evaluator(document) for document in documents], time.perf_counter() - begun
