"""Numbers and files on the command line: which are allowed, and the message for any other."""

from __future__ import annotations

import argparse
import math
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from simcore.document.problem import Problem

EXECUTORS = ("local", "ray", "ray-tune")
"""As in `dse.execute`, which would bring the simulator along."""


MOST = 10**9
"""Largest number of trials, samples and simulations."""


def positive_integer(text: str) -> int:
    """A whole number of at least 1."""
    return _parse_whole(text, 1, MOST)


def whole_number(text: str) -> int:
    """A whole number, 0 too."""
    return _parse_whole(text, 0, MOST)


def seed(text: str) -> int:
    """A seed: a whole number of 32 bits."""
    return _parse_whole(text, 0, 2**32 - 1)


def share(text: str) -> float:
    """A share: at least 0, less than 1."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0 <= number < 1:
        raise argparse.ArgumentTypeError(f"expected a share such as 0.05, got '{text}'")
    return number


def duration(text: str) -> float:
    """Seconds, more than none."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0 < number <= MOST:
        raise argparse.ArgumentTypeError(f"expected a number of seconds above 0 and up to {MOST:g}, got '{text}'")
    return number


def add_design(command: argparse.ArgumentParser) -> None:
    """The design that a command is about, and values of it to change; `dse.cli.change` reads both."""
    command.add_argument("design", metavar="DESIGN", help="YAML design document")
    command.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="PATH=VALUE",
        dest="changes",
        help="change one value; may be repeated",
    )


def check_jobs(jobs: int | None, elsewhere: bool = False) -> None:
    """Warn about more than two workers a core. With `elsewhere` they run on a cluster, whose cores are not counted.

    Raises `InputError` for more workers than a machine can hold.
    """
    from dse.execute.where import MOST_JOBS, cores
    from simcore.document.problem import InputError, Problem

    if jobs is None or elsewhere:
        return
    if jobs > MOST_JOBS:
        fix = f"this machine has {cores()} cores: --jobs {cores()}"
        raise InputError([Problem(("--jobs",), f"at most {MOST_JOBS:,} workers", f"{jobs:,}", fix)], "command line")
    if jobs > 2 * cores():
        print(f"warning: {jobs} workers share {cores()} cores and wait for one another", file=sys.stderr)


def file_problems(option: str, path: Path | None) -> list[Problem]:
    """Why a file cannot be written, to be asked before the work whose result it will hold."""
    from simcore.document.problem import Problem

    if path is None:
        return []
    if not path.parent.is_dir():
        fix = f"make the folder first: mkdir -p {path.parent}"
        return [Problem((option,), "a file in a folder that exists", f"'{path}'", fix)]
    if path.is_dir() or not os.access(path if path.exists() else path.parent, os.W_OK):
        return [Problem((option,), "a file that can be written", f"'{path}'")]
    return []


def _parse_whole(text: str, least: int, most: int) -> int:
    try:
        number = int(text)
    except ValueError:
        number = least - 1
    if not least <= number <= most:
        raise argparse.ArgumentTypeError(f"expected a whole number from {least} to {most:,}, got '{text[:40]}'")
    return number
