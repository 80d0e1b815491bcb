"""The example package, as pip installs it: its modules, and what says of which families they are members."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
EXAMPLE = Path(__file__).parent / "dse-example"
PROJECT = tomllib.loads((EXAMPLE / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def install(target: Path, version: str = PROJECT["version"]) -> Path:
    """Install the example package into the folder `target`, without pip, which would ask the network for a builder."""
    shutil.copytree(EXAMPLE / "dse_example", target / "dse_example", ignore=shutil.ignore_patterns("__pycache__"))
    about = target / f"dse_example-{version}.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {PROJECT['name']}\nVersion: {version}\n")
    groups = (
        "\n".join([f"[{group}]", *(f"{name} = {target}" for name, target in members.items())])
        for group, members in PROJECT["entry-points"].items()
    )
    (about / "entry_points.txt").write_text("\n\n".join(groups))
    return target


def ran(*command: object, package: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run `python -m command`, with the folder of an installed package on the path."""
    paths = [str(package)] if package else []
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([*paths, os.environ.get("PYTHONPATH", str(ROOT))])}
    return subprocess.run(
        [sys.executable, "-m", *map(str, command)],
        env=environment,
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
