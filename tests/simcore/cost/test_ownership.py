"""What it costs to own a cluster: each term by itself, and what they come to together."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simcore.cost.ownership import YEAR, Ownership, Terms
from simcore.design.prices import PriceList
from simcore.document.problem import InputError

NEUTRAL: dict[str, Any] = {"network": {}, "electricity": "0.1 $/kWh", "lifetime": "5 years", "pue": 1.25}


def owned(capital: float = 1e7, peak: float = 1e6, power: float = 8e5, **terms: Any) -> Ownership:
    prices = PriceList.model_validate({**NEUTRAL, **terms})
    return Ownership(Terms.of(prices, 1000), capital, peak, power)


ELECTRICITY = 800 * 8760 * 0.1


def test_without_terms_a_cluster_costs_its_price_and_the_electricity_of_its_life() -> None:
    assert owned().yearly == pytest.approx(ELECTRICITY)
    assert owned().tco == pytest.approx(1e7 + 5 * ELECTRICITY)
    assert owned().used_second == 1e7 / (5 * YEAR)


def test_support_and_staff_are_paid_every_year() -> None:
    found = owned(support=0.04, staff="5e5 $", staff_per_npu="150 $")
    assert found.yearly - owned().yearly == pytest.approx(4e5 + 5e5 + 1.5e5)
    assert found.tco - owned().tco == pytest.approx(5 * (4e5 + 5e5 + 1.5e5))


def test_a_building_is_paid_for_by_the_watts_of_its_machines_over_its_own_life() -> None:
    found = owned(building="12 $/W", building_life="15 years")
    assert found.building == pytest.approx(12 * 1e6 / 1.25 / 15)
    at_cost = owned(building="12 $/W", building_life="15 years", discount=0.1).building
    assert at_cost == pytest.approx(12 * 1e6 / 1.25 * 0.1 / (1 - 1.1**-15))


def test_with_a_cost_of_money_the_parts_of_a_loan_pay_it_back() -> None:
    """A year's worth of the price, paid at the end of each year, leaves nothing of the debt."""
    found = owned(discount=0.1)
    yearly, debt = found.used_second * YEAR, 1e7
    for _ in range(5):
        debt = debt * 1.1 - yearly
    assert debt == pytest.approx(0.0, abs=1e-3)


def test_what_is_left_at_the_end_is_worth_less_today() -> None:
    assert owned(residual=0.2).tco == pytest.approx(owned().tco - 2e6)
    assert owned(residual=0.2, discount=0.1).tco == pytest.approx(owned(discount=0.1).tco - 2e6 / 1.1**5)


def test_a_cluster_that_stands_idle_takes_less_electricity_and_costs_more_for_a_second_of_use() -> None:
    half = owned(utilization=0.5)
    assert half.electricity == pytest.approx(ELECTRICITY / 2)
    assert half.used_second == pytest.approx(2 * owned().used_second)


def test_the_cost_of_all_used_seconds_is_the_total_cost_of_ownership() -> None:
    found = owned(utilization=0.8, discount=0.07, residual=0.1, building="11 $/W", support=0.04, staff="1e6 $")
    second = found.used_second + found.power * found.terms.electricity
    assert second * found.terms.used_seconds == pytest.approx(found.tco)


SHARES = st.floats(0.0, 1.0)
TERMS = st.fixed_dictionaries(
    {
        "residual": SHARES,
        "discount": st.floats(0.0, 0.5),
        "utilization": st.floats(0.01, 1.0),
        "support": SHARES,
        "building": st.floats(0.0, 100.0).map(lambda price: f"{price!r} $/W"),
        "staff": st.floats(0.0, 1e9).map(lambda price: f"{price!r} $"),
    }
)
AMOUNTS = st.floats(0.0, 1e9)


@given(TERMS, AMOUNTS, AMOUNTS, AMOUNTS, st.sampled_from(["capital", "peak", "power"]), st.floats(1.0, 10.0))
def test_every_value_grows_with_price_and_watts_so_that_of_lower_bounds_it_is_one(
    terms: dict[str, Any], capital: float, peak: float, power: float, grown: str, factor: float
) -> None:
    least = {"capital": capital, "peak": peak, "power": power}
    more = {**least, grown: factor * least[grown] + 1.0}
    below, above = owned(**least, **terms), owned(**more, **terms)
    for name in ("yearly", "tco", "used_second"):
        assert 0.0 <= getattr(below, name) <= getattr(above, name) * (1 + 1e-12), name


@given(TERMS)
def test_arrays_give_what_their_numbers_give(terms: dict[str, Any]) -> None:
    capital, peak, power = np.array([1e6, 2e7]), np.array([2e5, 3e6]), np.array([1e5, 2e6])
    together = Ownership(Terms.of(PriceList.model_validate({**NEUTRAL, **terms}), 1000), capital, peak, power)
    for place in range(2):
        alone = owned(float(capital[place]), float(peak[place]), float(power[place]), **terms)
        for name in ("yearly", "tco", "used_second"):
            assert getattr(together, name)[place] == pytest.approx(getattr(alone, name), rel=1e-12), name


@pytest.mark.parametrize(
    "terms",
    [
        {"residual": 1.5},
        {"discount": -0.1},
        {"utilization": 0.0},
        {"support": -0.01},
        {"building": "-1 $/W"},
        {"building": "12 $/kWh"},
        {"ranges": {"npu": [1.2, 1.5]}},
        {"ranges": {"npu": [0.0, 1.5]}},
    ],
)
def test_terms_that_no_owner_has_are_refused(terms: dict[str, Any]) -> None:
    from simcore.check.load import design_from

    document = {
        "workload": {"collective": "all_reduce", "size": "1 MB"},
        "cluster": {
            "npu": "a100-80gb",
            "dimensions": [{"topology": "ring", "size": 4, "bandwidth": "1 GB/s", "tier": "node"}],
        },
        "cost": {"base": "libra", **terms},
    }
    with pytest.raises(InputError, match=next(iter(terms))):
        design_from(document)
