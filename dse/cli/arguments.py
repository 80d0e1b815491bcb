"""Numbers on the command line: what they may be, said in one sentence."""

from __future__ import annotations

import argparse
import math

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


def _whole(text: str, least: int, most: int) -> int:
    try:
        number = int(text)
    except ValueError:
        number = least - 1
    if not least <= number <= most:
        raise argparse.ArgumentTypeError(f"expected a whole number from {least} to {most:,}, got '{text[:40]}'")
    return number
