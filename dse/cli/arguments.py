"""Numbers on the command line: what they may be, said in one sentence."""

from __future__ import annotations

import argparse
import math
import sys

EXECUTORS = ("local", "ray", "ray-tune")
"""As in `dse.execute`, which would bring the simulator along."""


MOST = 10**9
"""Largest number of trials, samples and simulations."""


def positive(text: str) -> int:
    """A whole number of at least 1."""
    return _whole(text, 1, MOST)


def whole(text: str) -> int:
    """A whole number, 0 too."""
    return _whole(text, 0, MOST)


def seed(text: str) -> int:
    """A seed: a whole number of 32 bits."""
    return _whole(text, 0, 2**32 - 1)


def share(text: str) -> float:
    """A share: 0 or more."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0 <= number < math.inf:
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


def check_jobs(jobs: int | None, elsewhere: bool = False) -> None:
    """Warn of more than two workers a core; `elsewhere`: on a cluster, whose cores are not counted.

    Raises `InputError` for more than a machine can hold.
    """
    from dse.execute.where import MOST_JOBS, cores
    from simcore.problem import InputError, Problem

    if jobs is None or elsewhere:
        return
    if jobs > MOST_JOBS:
        fix = f"this machine has {cores()} cores: --jobs {cores()}"
        raise InputError([Problem(("--jobs",), f"at most {MOST_JOBS:,} workers", f"{jobs:,}", fix)], "command line")
    if jobs > 2 * cores():
        print(f"warning: {jobs} workers share {cores()} cores and wait for one another", file=sys.stderr)


def _whole(text: str, least: int, most: int) -> int:
    try:
        number = int(text)
    except ValueError:
        number = least - 1
    if not least <= number <= most:
        raise argparse.ArgumentTypeError(f"expected a whole number from {least} to {most:,}, got '{text[:40]}'")
    return number
