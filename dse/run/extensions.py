"""The installed packages that a study uses beyond dse: written into `study.yaml`, and needed to resume or report it."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from dse.space.samplers import SAMPLERS
from dse.study.store import STUDY
from simcore.design.extensions import FAMILIES as OF_DESIGNS
from simcore.design.extensions import used_packages
from simcore.document.problem import InputError, Problem
from simcore.document.text import read_document
from simcore.metrics import METRICS

FAMILIES = {
    **OF_DESIGNS,
    "objectives": METRICS,
    "constraints": METRICS,
    "sampler": SAMPLERS,
    "tune_sampler": SAMPLERS,
}
"""The families whose members studies name, by the key under which they do."""


def extensions(space: Mapping[str, Any], sampler: str) -> dict[str, dict[str, str]]:
    """What the `versions` of a `study.yaml` say of packages: nothing where the space and the sampler need none."""
    packages = used_packages({**space, "sampler": sampler}, FAMILIES)
    return {"extensions": packages} if packages else {}


def check_installed(folder: Path) -> None:
    """Raise `InputError` where a package that the study of a run folder uses is not installed.

    Its version may be another: whether that matters is asked where the study is resumed.
    """
    if (folder / STUDY).is_file():
        check_packages(read_document(folder / STUDY).data, str(folder / STUDY))


def check_packages(study: Mapping[str, Any], source: str) -> None:
    """Raise `InputError` where a package that a `study.yaml` names is not installed."""
    versions = study.get("versions")
    recorded = versions.get("extensions") if isinstance(versions, Mapping) else None
    problems = [
        Problem(
            ("versions", "extensions", package),
            f"package {package} {number}, whose extensions the study uses",
            "none installed",
            f"pip install {package}=={number}",
        )
        for package, number in (recorded.items() if isinstance(recorded, Mapping) else ())
        if not _is_installed(package)
    ]
    if problems:
        raise InputError(problems, source)


def _is_installed(package: str) -> bool:
    try:
        version(package)
    except PackageNotFoundError:
        return False
    return True
