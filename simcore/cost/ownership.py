"""What it costs to own a cluster: what is bought, what every year takes, and what is left at the end.

With the price C of the cluster [$], its lifetime of L years, and a cost of money of r a year:

- *annuity* a(r, L) = (1 - (1 + r)^-L) / r, or L where r is 0: today's worth of 1 $ at the end of each of L years. One
  over it is the capital recovery factor (any text on engineering economics; Park, Contemporary Engineering Economics).
- *residual*: the cluster is sold for the share R of its price, worth R C (1 + r)^-L today. So it costs, net of that,
  C (1 - R (1 + r)^-L).
- *building*: a price per watt of critical load, which is what the machines draw at the most, without PUE (the unit of
  the Cushman & Wakefield and JLL guides), spread over the building's own life: price x watts / a(r, its life) a year.
- *electricity*: price x mean draw with PUE x the share U of the time in which jobs run. The rest draws nothing.
- *support* is a share of C a year, *staff* an amount a year and one for each NPU.

The total cost of ownership is today's worth of all of that, *TCO* = C (1 - R (1 + r)^-L) + yearly x a(r, L), as in
Barroso, Hoelzle, Ranganathan, The Datacenter as a Computer (2018), chapter 6, with the cost of money made explicit. A
used second costs the same in every year: TCO without electricity over U a(r, L), the *levelized* cost (Short, Packey,
Holt 1995, NREL/TP-462-5173), plus the electricity that it takes.

Without these terms (r, R, support, building, staff 0; U 1) that is C / L a second: straight-line amortisation.

Every value grows with C, with the watts and with the energy, so that of lower bounds it is one. All is arithmetic:
numbers may be arrays.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import expm1, log1p
from typing import Any, TypeAlias

from simcore.design.prices import PriceList

Number: TypeAlias = Any
"""A float, or an array of floats."""
YEAR = 365 * 86400.0
"""[s]"""


@dataclass(frozen=True, slots=True)
class Terms:
    """On which terms a cluster is owned; see `PriceList` for each."""

    lifetime: float
    """[s]"""
    discount: float
    """A year."""
    residual: Number
    utilization: float
    electricity: Number
    """[$ per J]"""
    pue: Number
    building: Number
    """[$ per W without PUE]"""
    building_life: float
    """[s]"""
    support: Number
    """Share a year."""
    staff: Number
    """Staff of the whole cluster [$ a year]."""

    @classmethod
    def of(cls, prices: PriceList, npus: int) -> Terms:
        """Terms of a price list, for a cluster of so many NPUs."""
        return cls(
            lifetime=prices.lifetime,
            discount=prices.discount,
            residual=prices.residual,
            utilization=prices.utilization,
            electricity=prices.electricity,
            pue=prices.pue,
            building=prices.building,
            building_life=prices.building_life,
            support=prices.support,
            staff=prices.staff + npus * prices.staff_per_npu,
        )

    def annuity(self, seconds: float) -> float:
        """Today's worth of 1 $ a second over a time, paid at the end of each year [$]."""
        if not self.discount:
            return seconds
        return -YEAR * expm1(-seconds / YEAR * log1p(self.discount)) / self.discount

    @property
    def years(self) -> float:
        """Years of the lifetime, later ones worth less."""
        return self.annuity(self.lifetime) / YEAR

    @property
    def used_seconds(self) -> float:
        """Seconds of the lifetime in which jobs run, those of later years worth less."""
        return self.utilization * self.annuity(self.lifetime)

    @property
    def per_dollar(self) -> Number:
        """What a dollar of the price adds to the total cost of ownership: itself and its support, less what is left."""
        left = self.residual * (1 + self.discount) ** (-self.lifetime / YEAR)
        return 1 - left + self.support * self.years


@dataclass(frozen=True, slots=True)
class Ownership:
    """The cost of owning a cluster: lower bounds where `capital`, `peak` and `power` are."""

    terms: Terms
    capital: Number
    """What the cluster is bought for [$]."""
    peak: Number
    """What it draws at the most, with PUE [W]."""
    power: Number
    """What it draws while a job runs, with PUE [W]."""

    @property
    def building(self) -> Number:
        """To build for its peak [$ a year]."""
        terms = self.terms
        return terms.building * self.peak / terms.pue * YEAR / terms.annuity(terms.building_life)

    @property
    def electricity(self) -> Number:
        """Price of the electricity while jobs run [$ a year]."""
        return self.terms.electricity * self.power * self.terms.utilization * YEAR

    @property
    def yearly(self) -> Number:
        """What every year takes [$ a year]."""
        return self.terms.support * self.capital + self.building + self.terms.staff + self.electricity

    @property
    def tco(self) -> Number:
        """Today's worth of everything over the lifetime [$]."""
        return self._beside_electricity + self.electricity * self.terms.years

    @property
    def used_second(self) -> Number:
        """What a second in which jobs run costs beside its electricity [$]."""
        return self._beside_electricity / self.terms.used_seconds

    @property
    def _beside_electricity(self) -> Number:
        return self.capital * self.terms.per_dollar + (self.building + self.terms.staff) * self.terms.years
