"""The figures of a design that its metrics follow from: time, power, energy, price, what an iteration makes.

What a second of the cluster costs is that of owning it (`simcore.cost.ownership`). Over the tokens of an iteration,
with the electricity of its energy, it is the cost per token; times the tokens that training takes, over the goodput,
the cost to train: while the job is down the cluster draws what it does at work.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from simcore.cost.ownership import Ownership, Terms
from simcore.design.design import Design
from simcore.design.npu import Npu
from simcore.design.prices import PriceList
from simcore.design.software import Software
from simcore.design.workload import Workload
from simcore.reliability.goodput import Interruptions, goodput, interruptions_of

Number: TypeAlias = Any
"""A float, or an array `[networks]`: that of one job on many networks."""


@dataclass(frozen=True, eq=False)
class Figures:
    """What a run comes to: exact after a simulation; before it each figure at its best, so that metrics are bounds.

    A figure that is not known, or that the workload does not have, is None.
    """

    workload: Workload
    npu: Npu
    npus: int
    prices: PriceList
    power: Number
    """Mean of the cluster, with PUE [W]."""
    capital: Number
    """Price of the cluster [$]."""
    peak: Number
    """What the cluster draws at the most, with PUE [W]."""
    seconds: Number | None = None
    """An iteration [s]."""
    energy: Number | None = None
    """Energy of an iteration [J]."""
    network: Number | None = None
    """Price of the network [$]."""
    samples: float | None = None
    """Tokens, or samples, that an iteration makes."""
    flops: float | None = None
    """What the model asks of an iteration [FLOP]."""
    utilization: Number = 1.0
    """Share of the network's bandwidth that is used."""
    first_token: Number | None = None
    """Until a request has its first token, of a static batch every one [s]."""
    rack: Number | None = None
    """Power of a rack at the most [W]."""
    output_token: Number | None = None
    """Between two tokens of a request [s]."""
    interruptions: Interruptions | None = None
    """What stops the job; None where it is no training, or nothing is known of that."""
    software: Software | None = None
    """The stack that every design which the figures stand for has; None where they may have others."""

    @classmethod
    def of(cls, design: Design, **figures: Number) -> Figures:
        """The figures of a design, given all but its workload, NPUs and price list."""
        cluster = design.cluster
        known = {"interruptions": interruptions_of(design), **figures}
        return cls(workload=design.workload, npu=cluster.npu, npus=cluster.npus, prices=design.cost, **known)

    @property
    def throughput(self) -> Number | None:
        """Tokens, or samples, a second."""
        return _over(self.samples, self.seconds)

    @property
    def mfu(self) -> Number | None:
        """Model FLOPs utilization: the model's FLOPs over what all NPUs could do in the time."""
        if self.flops is None or self.seconds is None or not self.npu.computes(self.workload.precision):
            return None
        return self.flops / (self.seconds * self.npus * self.npu.rate(self.workload.precision))

    @cached_property
    def owned(self) -> Ownership:
        """What the cluster costs to own."""
        return Ownership(Terms.of(self.prices, self.npus), self.capital, self.peak, self.power)

    @property
    def electricity(self) -> Number:
        """Price of the electricity of the whole lifetime [$]."""
        return self.power * self.prices.lifetime * self.prices.electricity

    @property
    def total(self) -> Number:
        """Price of the cluster, with the electricity of its lifetime where the price list asks for that [$]."""
        return self.capital + self.electricity if self.prices.electricity_in_total else self.capital

    @property
    def perf_per_cost(self) -> Number | None:
        """Throughput over the price [1/s/$]."""
        return _over(self.throughput, self.total)

    @property
    def energy_per_token(self) -> Number | None:
        """[J]."""
        return _over(self.energy, self.samples)

    @property
    def cost_per_token(self) -> Number | None:
        """[$]."""
        if self.seconds is None or self.energy is None:
            return None
        return _over(self.owned.used_second * self.seconds + self.energy * self.prices.electricity, self.samples)

    @cached_property
    def goodput(self) -> Number | None:
        """The share of the time in which work is done that lasts (`simcore.reliability.goodput`)."""
        if self.interruptions is None:
            return None
        return goodput(self.interruptions, 0.0 if self.seconds is None else self.seconds)

    @property
    def time_to_train(self) -> Number | None:
        """Time for the tokens that the workload needs at its batch, with what failures take [s]."""
        iterations = _over(self.workload.tokens_to_train, self.samples)
        return None if iterations is None or self.seconds is None else self._with_failures(iterations * self.seconds)

    @property
    def cost_to_train(self) -> Number | None:
        """Cost of the tokens that the workload needs at its batch, with what failures take [$]."""
        wanted, each = self.workload.tokens_to_train, self.cost_per_token
        return None if wanted is None or each is None else self._with_failures(wanted * each)

    @property
    def energy_to_train(self) -> Number | None:
        """Energy for the tokens that the workload needs at its batch, with what failures take [J]."""
        wanted, each = self.workload.tokens_to_train, self.energy_per_token
        return None if wanted is None or each is None else self._with_failures(wanted * each)

    def _with_failures(self, amount: Number) -> Number:
        """What takes an amount without failures."""
        share = self.goodput
        return amount if share is None else amount / share


def _over(figure: Number | None, by: Number | None) -> Number | None:
    """One figure over another; None where one of them is not known, or the second is 0 (a cluster without a price)."""
    if figure is None or by is None:
        return None
    if isinstance(by, np.ndarray):
        with np.errstate(divide="ignore"):
            return figure / by
    return figure / by if by else None
