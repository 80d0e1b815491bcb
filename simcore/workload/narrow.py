"""How many more tokens a training in a narrow precision needs to the same loss, where that is published."""

from __future__ import annotations

from typing import NamedTuple


class MoreTokens(NamedTuple):
    """What a precision costs."""

    factor: float
    """Tokens over those of a training in a precision that costs none, at least."""
    why: str


NARROW = {
    "nvfp4": MoreTokens(
        1.5,
        "1 to 1.5 % more loss than fp8 at 12B and 10 trillion tokens, with a sixth of the layers in bf16 (arXiv "
        "2509.25149), by Chinchilla's law (arXiv 2203.15556)",
    ),
}
"""Precisions whose loss no published run has made up for, by name."""


def more_tokens(precision: str, of_run: str | None) -> float:
    """Tokens that a training in a precision needs over those of a run in another one; 1 where no run is named."""
    return 1.0 if of_run is None else factor_of(precision) / factor_of(of_run)


def factor_of(precision: str) -> float:
    """Tokens that a training in a precision needs over those in one that costs none."""
    known = NARROW.get(precision)
    return 1.0 if known is None else known.factor


def described(precision: str, of_run: str | None) -> str:
    """Why tokens differ from those of a run in another precision, in words."""
    times, known = f"{more_tokens(precision, of_run):.3g} times those in {of_run}", NARROW.get(precision)
    if known is not None:
        return f"{times}, at the least: {known.why}"
    return f"{times}, at the most, which has {NARROW[of_run or ''].why}"
