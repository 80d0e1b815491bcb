"""How many more tokens a training in a narrow precision needs to the same loss, where that is published."""

from __future__ import annotations

from typing import NamedTuple


class MoreTokens(NamedTuple):
    """What a precision costs."""

    factor: float
    """Tokens over those of a training in a precision that costs none, at least."""
    loss: str
    """What was published of its loss, which `factor` makes up for by `LAW`."""

    @property
    def why(self) -> str:
        """Where the factor comes from, in words."""
        return f"{self.loss}, by Chinchilla's law ({LAW})"


LAW = "arXiv 2203.15556"
LOSSY = {
    "nvfp4": MoreTokens(
        1.5,
        "1 to 1.5 % more loss than fp8 at 12B and 10 trillion tokens, with a sixth of the layers in bf16 (arXiv "
        "2509.25149)",
    ),
}
"""Precisions whose loss no published run has made up for, by name."""


def more_tokens(precision: str, of_run: str | None) -> float:
    """Tokens that a training in a precision needs over those of a run in another one; 1 where no run is named."""
    return 1.0 if of_run is None else factor_of(precision) / factor_of(of_run)


def factor_of(precision: str) -> float:
    """Tokens that a training in a precision needs over those in one that costs none."""
    known = LOSSY.get(precision)
    return 1.0 if known is None else known.factor


def described(precision: str, of_run: str | None) -> str:
    """Why tokens differ from those of a run in another precision, in words."""
    times, known = f"{more_tokens(precision, of_run):.3g} times those in {of_run}", LOSSY.get(precision)
    if known is not None:
        return f"{times}, at the least: {known.why}"
    return f"{times}, at the most, which has {LOSSY[of_run or ''].why}"
