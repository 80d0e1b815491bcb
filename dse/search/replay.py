"""What a sampler drew and what came of it, as a finished trial that any Optuna study takes.

For studies that cannot be replayed from their seed: those of Ray Tune, and those that several drivers share.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import optuna

from dse.search.base import DrawnValues
from dse.space.draw import RecordedDraw
from dse.space.space import Space

MOST_CATEGORIES = 100
"""Above this many alternatives an index is a number to Optuna: it keeps every category of every trial."""


@dataclass
class Distributions(RecordedDraw):
    """Returns the recorded values and records the Optuna distribution of each."""

    found: dict[str, Any] = field(default_factory=dict)

    def index(self, name: str, count: int, ordered: bool) -> int:
        """See `Draw.index`."""
        if count > 1:
            numbers = ordered or count > MOST_CATEGORIES
            self.found[name] = (
                optuna.distributions.IntDistribution(0, count - 1)
                if numbers
                else optuna.distributions.CategoricalDistribution(list(range(count)))
            )
        return super().index(name, count, ordered)

    def real(self, name: str, low: float, high: float, log: bool) -> float:
        """See `Draw.real`."""
        self.found[name] = optuna.distributions.FloatDistribution(low, high, log=log)
        return super().real(name, low, high, log)


def make_finished_trial(
    space: Space, drawn: DrawnValues, losses: Sequence[float], violations: Mapping[str, float]
) -> Any:
    """A complete trial; `losses` and `violations` as of `Sampler.tell`.

    Raises `KeyError` or `ValueError` where the numbers are of another space.
    """
    source = Distributions(drawn.values, drawn.smooth)
    space.fill(source, solve=False)
    distributions = source.found
    return optuna.trial.create_trial(
        params={name: drawn.values[name] for name in distributions},
        distributions=distributions,
        values=list(losses),
        constraints=dict(violations),
    )
