"""Drivers of a shared study whose engine notes who evaluates what."""

from __future__ import annotations

import subprocess
from pathlib import Path

from cli_runs import start

ENGINE = """\
import os, sys, time
sys.path.insert(0, {tests!r})
from tiny_spaces import cheap

def engine(design):
    with open({log!r}, "a") as file:
        file.write(f"{{os.getpid()}} {{design.key}}\\n")
    time.sleep(0.03)
    return cheap(design)
"""
TRIALS = 60


def evaluated(given: Path) -> list[tuple[str, str]]:
    log = given.parent / "evaluated"
    return [(pid, key) for pid, key in map(str.split, log.read_text().splitlines())] if log.exists() else []


def driver(given: Path, url: str, name: str, *arguments: object, sampler: str = "nsga2") -> subprocess.Popen[str]:
    return start(
        *("optimize", given, "--storage", url, "--study-name", name, "--trials", TRIALS, "--sampler", sampler),
        *("--engine", "noting_engine:engine", *arguments),
        engines=given.parent,
    )
