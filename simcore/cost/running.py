"""What running the cluster costs: electricity, dollars and joules per token, time and dollars to train.

A cluster of price C (network, NPUs, memory) that is used for its whole lifetime L and draws power P (with PUE) at a
price e of electricity costs C / L + P e dollars a second. Over the tokens of an iteration that is the cost per token;
times the tokens that training takes, the cost to train. Our own definitions: straight-line amortisation, no idle time.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from simcore.design.design import Design
from simcore.design.prices import PriceList
from simcore.design.workload import Workload
from simcore.result import Cost


@dataclass(frozen=True, slots=True)
class PerToken:
    """None where the workload has no tokens, or does not say how many it trains on."""

    energy: float | None = None
    """[J / token]."""
    cost: float | None = None
    """[$ / token]."""
    time_to_train: float | None = None
    """[s]."""
    cost_to_train: float | None = None
    """[$]."""


def electricity(design: Design, power: float) -> float:
    """Price of the electricity of the whole lifetime at `power` [W], in dollars."""
    return power * design.cost.lifetime * design.cost.electricity


def with_electricity(design: Design, cost: Cost, power: float) -> Cost:
    """The price of a cluster, its total with the electricity of its lifetime where the price list asks for that."""
    if not design.cost.electricity_in_total:
        return cost
    return replace(cost, total=cost.total + electricity(design, power))


def per_token(
    prices: PriceList, workload: Workload, capital: float, energy: float, seconds: float, tokens: float | None
) -> PerToken:
    """Of an iteration of `tokens` that takes `seconds` and `energy` [J] on a cluster of price `capital` [$]."""
    if not tokens:
        return PerToken()
    cost = (capital / prices.lifetime * seconds + energy * prices.electricity) / tokens
    wanted = workload.tokens_to_train
    if wanted is None:
        return PerToken(energy / tokens, cost)
    return PerToken(energy / tokens, cost, wanted / tokens * seconds, wanted * cost)


def racks(design: Design) -> int:
    """Racks that the NPUs fill."""
    return -(-design.cluster.npus // design.cost.npus_per_rack)
