"""How many tokens a training needs at a batch: the trade of tokens for steps, and laws of the critical batch.

To a given loss a training takes E = E_min (1 + B / B_crit) tokens at batches of B tokens (McCandlish et al. 2018, arXiv
1812.06162, eq. 2.11). E_min is what batches far below the critical one need; at the critical batch it is twice that.
The critical batch B_crit grows with the tokens of the training and hardly with the model, as two groups found.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Discriminator, Field, Tag, model_validator

from simcore.document.field import Frozen
from simcore.document.problem import Refusal

Tokens = Annotated[float, Field(gt=0)]
LawName = Literal["bergsma-2025", "zhang-2024"]
USUAL_LAW: LawName = "bergsma-2025"
SPREAD = 3.0
"""What a law says may be so many times too high or too low (assumed). The fits end at models of 3.3 billion parameters.
OLMo's plateau of 17 million tokens (arXiv 2505.23971) is three times the batch at which Bergsma's law charges 20 %;
other optimizers bear batches up to three times as large (arXiv 2505.02222)."""
_STEPS = 200
_EXACT = 1e-15


class CriticalBatch(Frozen):
    """A critical batch: where a training to the same loss needs twice the tokens, and half again the fewest steps."""

    tokens: Tokens
    """Tokens of the critical batch."""
    low: Tokens | None = None
    """The least that it may be [tokens]; as `tokens` unless given."""
    high: Tokens | None = None
    """The most that it may be [tokens]; as `tokens` unless given."""
    source: str = ""
    """Where the number comes from."""

    @model_validator(mode="after")
    def _ordered(self) -> CriticalBatch:
        low, high = self.ends
        if not low <= self.tokens <= high:
            raise Refusal("low <= tokens <= high", f"{low:g}, {self.tokens:g} and {high:g}")
        return self

    @property
    def ends(self) -> tuple[float, float]:
        """The least and the most that it may be [tokens]."""
        return self.low or self.tokens, self.high or self.tokens


_Spelled = Annotated[CriticalBatch, Tag("[key]")]
_Named = Annotated[Literal["bergsma-2025", "zhang-2024", "none"], Tag("[name]")]
AnyCriticalBatch = Annotated[_Spelled | _Named, Discriminator(lambda v: "[name]" if isinstance(v, str) else "[key]")]
"""A critical batch as documents write it: spelled out, the name of a law, or `none`."""


@dataclass(frozen=True, slots=True)
class BatchLaw:
    """A critical batch that grows with the tokens of the training: `coefficient` x E_min ^ `exponent` [tokens]."""

    coefficient: float
    exponent: float
    source: str

    def at(self, least: float) -> float:
        """The critical batch of a training that needs `least` tokens at small batches [tokens]."""
        return self.coefficient * math.pow(least, self.exponent)


LAWS: dict[LawName, BatchLaw] = {
    # In sequences of 2,048 tokens: 0.0471 E_min^0.462; models up to 3.3 billion parameters.
    "bergsma-2025": BatchLaw(0.0471 * 2048, 0.462, "Bergsma et al. 2025, arXiv 2505.13738"),
    # In sequences of 512 tokens, of tokens in millions: 22.91 D^0.47, where steps exceed linear scaling by 20 %, which
    # is a fifth of the critical batch; models up to 1.2 billion parameters.
    "zhang-2024": BatchLaw(5 * 22.91 * 512 / 1e6**0.47, 0.47, "Zhang et al. 2024, arXiv 2410.21676"),
}
"""The laws by name."""


@dataclass(frozen=True, slots=True)
class Appetite:
    """How many tokens a training needs at any batch."""

    least: float
    """At batches far below the critical one [tokens]."""
    critical: float
    """The critical batch [tokens]."""

    def at(self, batch: float) -> float:
        """Tokens that it needs at batches of `batch` tokens."""
        return self.least * (1 + batch / self.critical)


def appetites(wanted: float, at: float, critical: CriticalBatch | LawName) -> tuple[Appetite, Appetite, Appetite]:
    """How many tokens a training needs that needs `wanted` at batches of `at` tokens (0: far below the critical one).

    As the critical batch is expected, and with the least and the most that it may be.
    """
    if isinstance(critical, CriticalBatch):
        laws = tuple((tokens, 0.0) for tokens in (critical.tokens, *critical.ends))
    else:
        law = LAWS[critical]
        laws = tuple((law.coefficient * factor, law.exponent) for factor in (1.0, 1 / SPREAD, SPREAD))
    expected, low, high = (_solve(wanted, at, *each) for each in laws)
    return expected, low, high


def _solve(wanted: float, at: float, coefficient: float, exponent: float) -> Appetite:
    """The fixed point of least = wanted / (1 + at / critical(least)): a contraction, as the exponent is below 1."""
    least, critical = wanted, coefficient * wanted**exponent
    for _ in range(_STEPS):
        before, least = least, wanted / (1 + at / critical)
        critical = coefficient * least**exponent
        if abs(least - before) <= _EXACT * least:
            break
    return Appetite(least, critical)


def described(expected: Appetite, ends: Sequence[Appetite], critical: CriticalBatch | LawName) -> str:
    """How tokens depend on the batch, in words: the critical batch, its ends, its source."""
    low, high = sorted(end.critical for end in ends)
    source = critical.source if isinstance(critical, CriticalBatch) else LAWS[critical].source
    between = f", {_millions(low)} to {_millions(high)}" if low < high else ""
    return f"critical batch {_millions(expected.critical)} tokens{between} ({source or 'as the design says it'})"


def _millions(tokens: float) -> str:
    return f"{tokens / 1e6:.3g} M"
