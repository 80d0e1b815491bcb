"""Numbers on the command line: what they may be, said in one sentence."""

from __future__ import annotations

import argparse
import math

EXECUTORS = ("local", "ray", "ray-tune")
"""As in `dse.execute`, which would bring the simulator along."""


def positive(text: str) -> int:
    """A whole number of at least 1."""
    return _whole(text, 1, None)


def whole(text: str) -> int:
    """A whole number, 0 too."""
    return _whole(text, 0, None)


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
    if not 0 < number < math.inf:
        raise argparse.ArgumentTypeError(f"expected a number of seconds above 0, got '{text}'")
    return number


def _whole(text: str, least: int, most: int | None) -> int:
    try:
        number = int(text)
    except ValueError:
        number = least - 1
    if number < least or (most is not None and number > most):
        limit = f"of at least {least}" if most is None else f"from {least} to {most}"
        raise argparse.ArgumentTypeError(f"expected a whole number {limit}, got '{text}'")
    return number
