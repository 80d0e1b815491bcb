"""The cost of a design in all scenarios at once: what moves with each price, by whom it is asked."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simcore.cost.linear import unit_price
from simcore.cost.price import cluster_cost
from simcore.design.design import Design
from simcore.uncertainty.draws import Draws, Floats
from simcore.uncertainty.parameters import PRICES, Unknown


@dataclass(frozen=True)
class DrawnCosts:
    """What the parts of a cluster cost over what they cost at list prices, `[count]` each."""

    network: Floats
    npu: Floats
    memory: Floats
    electricity: Floats

    @classmethod
    def of(cls, design: Design, draws: Draws) -> DrawnCosts:
        """Those of a checked design: a price of one thing is the same for all designs that buy it."""
        return cls(
            network=_network_factor(design, draws),
            npu=_factor(draws, "NPUs", design.cluster.npu.name),
            memory=_factor(draws, "memory", "all designs"),
            electricity=_factor(draws, "electricity", "all designs"),
        )


def _factor(draws: Draws, part: str, of: str) -> Floats:
    factor: Floats = np.exp(draws.error(Unknown(PRICES[part], of))[1:])
    return factor


def _network_factor(design: Design, draws: Draws) -> Floats:
    """Each tier has a price of its own."""
    total = np.zeros(draws.count)
    if not cluster_cost(design).network:
        return total + 1.0
    prices = [unit_price(design.cost, dimension) * dimension.bandwidth for dimension in design.cluster.dimensions]
    for dimension, price in zip(design.cluster.dimensions, prices, strict=True):
        if price:
            total = total + price / sum(prices) * _factor(draws, "the network", dimension.tier)
    return total
