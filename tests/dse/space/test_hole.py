from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiny_spaces import at_most

from dse.space.draw import FixedDraw, InfiniteError, Odometer, RandomDraw
from dse.space.hole import Choice, PowersOfTwo, Product, Range, Split, apportion, composition, compositions, magnitude
from simcore.document.quantity import parse_quantity


def every(hole: Any) -> list[Any]:
    """What a hole gives over all combinations."""
    odometer = Odometer()
    found = []
    while True:
        found.append(hole.fill(odometer, "hole"))
        if not odometer.step():
            return found


class Weights:
    """A smooth draw that gives fixed weights in turn."""

    smooth = True

    def __init__(self, weights: list[float]) -> None:
        self._weights = iter(weights)

    def index(self, name: str, count: int, ordered: bool) -> int:
        raise AssertionError("a smooth draw is asked for weights")

    def real(self, name: str, low: float, high: float, log: bool) -> float:
        return next(self._weights)


def product_of(total: int, *limits: tuple[int, int]) -> Product:
    return Product(total, tuple(f"d{i}" for i in range(len(limits))), limits)


def whole(low: float, high: float, step: float | None, kind: str | None = None, integer: bool = False) -> Range:
    return Range(low, high, step, False, kind, integer)


def test_a_choice_gives_each_alternative_once() -> None:
    assert every(Choice(("a", "b", "c"))) == [0, 1, 2]


@pytest.mark.parametrize(
    ("alternatives", "ordered"),
    [
        ((1, 2, 4), True),
        (("1 GB/s", "200 GB/s", "1 TB/s"), True),
        ((4, 1), False),
        (("ring", "direct"), False),
        ((False, True), False),
        ((1, "ring"), False),
    ],
)
def test_a_choice_of_growing_numbers_or_quantities_is_ordered(alternatives: tuple[Any, ...], ordered: bool) -> None:
    assert Choice(alternatives).is_ordered is ordered


@pytest.mark.parametrize(
    ("value", "number"), [(3, 3.0), ("2 GB/s", 2e9), ("1.7 us", 1.7e-6), (True, None), ("ring", None), (None, None)]
)
def test_the_magnitude_of_a_number_or_quantity_is_si_and_of_anything_else_none(
    value: Any, number: float | None
) -> None:
    assert magnitude(value) == number


def test_a_range_in_whole_steps_gives_integers_with_both_ends() -> None:
    found = every(whole(2, 8, 3.0, integer=True))
    assert found == [2, 5, 8]
    assert all(isinstance(value, int) for value in found)


def test_a_range_of_quantities_is_written_with_units() -> None:
    assert [parse_quantity(text, "bandwidth") for text in every(whole(25e9, 100e9, 25e9, "bandwidth"))] == [
        25e9,
        5e10,
        75e9,
        1e11,
    ]


@given(st.integers(1, 40), st.integers(1, 40), st.integers(1, 12), st.sampled_from([1.0, 0.1, 0.05, 1e-6, 25e9]))
def test_a_range_in_steps_stays_within_its_ends_and_counts_its_values(
    low: int, more: int, step: int, unit: float
) -> None:
    hole = whole(low * unit, (low + more) * unit, step * unit)
    found = every(hole)
    assert len(found) == hole.count == more // step + 1
    assert found == sorted(set(found))
    assert all(hole.low <= value <= hole.high for value in found)


def test_a_continuous_range_stays_within_its_ends_is_uncountable_and_cannot_be_enumerated() -> None:
    hole = Range(0.5, 2.0, None, False, None, False)
    generator = np.random.default_rng(0)
    assert all(0.5 <= hole.fill(RandomDraw(generator), "hole") <= 2.0 for _ in range(100))
    assert hole.count == math.inf
    with pytest.raises(InfiniteError, match="give it a step"):
        every(hole)


def test_a_logarithmic_range_is_uniform_in_the_logarithm() -> None:
    hole = Range(1.0, 1e6, None, True, None, False)
    generator = np.random.default_rng(0)
    values = [hole.fill(RandomDraw(generator), "hole") for _ in range(2000)]
    assert all(1.0 <= value <= 1e6 for value in values)
    assert abs(np.mean(np.log10(values)) - 3.0) < 0.15


@given(st.integers(0, 20), st.integers(0, 20))
def test_powers_of_two_are_all_powers_between_their_ends(low: int, more: int) -> None:
    hole = PowersOfTwo(1 << low, 1 << (low + more))
    assert every(hole) == [1 << exponent for exponent in range(low, low + more + 1)]
    assert hole.count == more + 1


@given(st.integers(0, 7), st.integers(1, 4))
def test_a_power_of_two_splits_into_as_many_products_as_its_exponent_into_sums(exponent: int, parts: int) -> None:
    hole = product_of(1 << exponent, *[(1, 1 << exponent)] * parts)
    assert hole.count == math.comb(exponent + parts - 1, parts - 1)


@given(st.integers(1, 120), st.lists(st.tuples(st.integers(1, 6), st.integers(1, 130)), min_size=1, max_size=3))
def test_a_product_is_every_combination_within_limits_that_multiplies_to_the_total(
    total: int, limits: list[tuple[int, int]]
) -> None:
    ranges = [range(low, min(high, total) + 1) for low, high in limits]
    expected = [degrees for degrees in itertools.product(*ranges) if math.prod(degrees) == total]
    hole = product_of(total, *limits)
    assert list(hole.factorisations) == expected
    if expected:
        assert [tuple(degrees.values()) for degrees in every(hole)] == expected


@given(st.sampled_from([1, 7, 8, 12, 64, 360, 1024]), st.integers(1, 4), st.data())
def test_smooth_weights_reach_every_factorisation(total: int, parts: int, data: st.DataObject) -> None:
    hole = product_of(total, *[(1, total)] * parts)
    degrees = data.draw(st.sampled_from(hole.factorisations))
    weights = [math.log(degree) / math.log(max(total, 2)) for degree in degrees]
    assert tuple(hole.fill(Weights(weights), "hole").values()) == degrees


@given(st.sampled_from([1, 8, 360, 1024]), st.lists(st.floats(0, 1), min_size=3, max_size=3))
def test_any_smooth_weights_give_a_factorisation_within_limits(total: int, weights: list[float]) -> None:
    hole = product_of(total, (1, 4), (1, total), (1, total))
    assert tuple(hole.fill(Weights(weights), "hole").values()) in hole.factorisations


def test_a_product_of_a_large_number_is_found_by_its_divisors_and_not_by_counting_up_to_it() -> None:
    with at_most(10):
        assert product_of(2**40, (1, 2**40), (1, 2**40), (1, 2**40)).count == math.comb(42, 2)


@given(st.integers(1, 12), st.integers(1, 5))
def test_compositions_are_numbered_one_to_one_in_order(units: int, parts: int) -> None:
    units += parts - 1
    found = [tuple(composition(units, parts, i)) for i in range(compositions(units, parts))]
    assert len(set(found)) == len(found) == math.comb(units - 1, parts - 1)
    assert found == sorted(found)
    assert all(sum(shares) == units and min(shares) >= 1 and len(shares) == parts for shares in found)


@given(st.lists(st.integers(1, 60), min_size=1, max_size=5))
def test_every_composition_is_apportioned_by_its_own_shares(shares: list[int]) -> None:
    assert apportion(sum(shares), [float(share - 1) for share in shares]) == shares


@given(st.lists(st.floats(0, 1), min_size=1, max_size=5), st.integers(0, 200))
def test_apportioned_shares_add_up_and_none_is_less_than_one_step(weights: list[float], more: int) -> None:
    units = len(weights) + more
    shares = apportion(units, weights)
    assert sum(shares) == units
    assert min(shares) >= 1


@given(st.lists(st.floats(0.01, 1), min_size=2, max_size=5), st.integers(0, 200))
def test_a_larger_weight_is_never_apportioned_less(weights: list[float], more: int) -> None:
    shares = apportion(len(weights) + more, weights)
    for (a, one), (b, other) in itertools.combinations(zip(weights, shares, strict=True), 2):
        assert (one >= other) or not a > b
        assert (one <= other) or not a < b


@pytest.mark.parametrize(("budget", "parts"), [("100 GB/s", 1), ("100 GB/s", 2), ("200 GB/s", 3), ("100 GB/s", 4)])
def test_a_split_gives_every_way_to_share_its_budget_in_whole_steps(budget: str, parts: int) -> None:
    split = Split(budget, 25e9)
    odometer, found = Odometer(), set()
    while True:
        found.add(tuple(parse_quantity(share, "bandwidth") for share in split.fill(odometer, "split", budget, parts)))
        if not odometer.step():
            break
    steps = round(parse_quantity(budget, "bandwidth") / 25e9)
    assert len(found) == math.comb(steps - 1, parts - 1)
    assert all(sum(shares) == steps * 25e9 and min(shares) >= 25e9 for shares in found)


def test_a_budget_of_less_than_a_step_for_each_part_cannot_be_split() -> None:
    with pytest.raises(ValueError, match="expected a budget of at least 3 steps of 25 GB/s, got 50 GB/s"):
        Split("50 GB/s", 25e9).fill(Odometer(), "split", "50 GB/s", 3)


@given(st.lists(st.integers(1, 4), min_size=1, max_size=5))
def test_an_odometer_visits_every_combination_once_and_in_order(counts: list[int]) -> None:
    odometer, found = Odometer(), []
    while True:
        found.append(tuple(odometer.index(f"h{i}", count, False) for i, count in enumerate(counts)))
        if not odometer.step():
            break
    assert found == list(itertools.product(*map(range, counts)))


def test_an_odometer_visits_branches_of_unequal_depth_once_each() -> None:
    odometer, found = Odometer(), []
    while True:
        first = odometer.index("first", 3, False)
        rest = [odometer.index(f"{first}.{i}", 2, False) for i in range(first)]
        found.append((first, *rest, *(odometer.index("n", 2, True) for _ in range(first == 0))))
        if not odometer.step():
            break
    assert found == [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0, 0), (2, 0, 1), (2, 1, 0), (2, 1, 1)]


def test_a_fixed_draw_takes_what_is_given_and_the_first_of_everything_else() -> None:
    draw = FixedDraw({"a": 2, "b": 9})
    assert [draw.index(name, 4, False) for name in "abc"] == [2, 3, 0]
    assert draw.real("e", 0.25, 1.0, False) == 0.25
    assert draw.counts == {"a": 4, "b": 4, "c": 4}
