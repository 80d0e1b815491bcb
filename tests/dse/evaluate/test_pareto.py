from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from dse.evaluate.idling import idling_mask
from dse.evaluate.pareto import (
    WORTH,
    compromise_units,
    front_mask,
    hypervolume,
    knee,
    nearness,
    reference_point,
    worth_mask,
)
from dse.space.objective import Objective


def staircase(n: int) -> Any:
    return np.array([(i, n - 1 - i) for i in range(n)], dtype=float)


def integer_points(objectives: int, most: int = 7) -> st.SearchStrategy[Any]:
    shape = st.tuples(st.integers(1, most), st.just(objectives))
    return shape.flatmap(lambda s: arrays(np.float64, s, elements=st.integers(-3, 4).map(float)))


MATRICES = st.integers(1, 4).flatmap(integer_points)


@pytest.mark.parametrize("n", [1, 2, 3, 10, 57])
def test_a_staircase_of_n_steps_has_the_volume_n_squared_minus_n_times_n_minus_1_over_2(n: int) -> None:
    assert hypervolume(staircase(n), np.array([n, n], float)) == n**2 - n * (n - 1) // 2


@pytest.mark.parametrize("n", [1, 2, 4, 6])
def test_a_staircase_in_three_dimensions_has_the_volume_of_a_tetrahedral_stack(n: int) -> None:
    points = np.array([(i, j, n - 1 - i - j) for i in range(n) for j in range(n - i)], float)
    # The cubes of [0, n]^3 that no point dominates have coordinates that sum to less than n - 1.
    missed = n * (n - 1) * (n + 1) // 6
    assert hypervolume(points, np.full(3, float(n))) == n**3 - missed


def test_every_step_of_a_staircase_is_on_the_front_and_nothing_behind_it_is() -> None:
    points = np.concatenate([staircase(9), staircase(9) + 1.0])
    assert front_mask(points).tolist() == [True] * 9 + [False] * 9


@given(MATRICES)
def test_the_front_is_what_comparing_every_pair_leaves(points: Any) -> None:
    beaten = [any((a <= b).all() and (a < b).any() for a in points) for b in points]
    assert front_mask(points).tolist() == [not lost for lost in beaten]


@given(MATRICES)
def test_the_volume_is_the_number_of_unit_cubes_that_a_point_dominates(points: Any) -> None:
    reference = np.full(points.shape[1], 4.0)
    cells = np.array(list(product(range(-3, 4), repeat=points.shape[1])), float)
    covered = (cells[:, None, :] >= points[None, :, :]).all(axis=2).any(axis=1)
    assert hypervolume(points, reference) == pytest.approx(covered.sum(), abs=1e-9)


@given(MATRICES)
def test_dominated_points_add_nothing_to_the_volume(points: Any) -> None:
    reference = np.full(points.shape[1], 5.0)
    front = points[front_mask(points)]
    assert hypervolume(front, reference) == pytest.approx(hypervolume(points, reference), abs=1e-9)


@given(MATRICES, st.randoms())
def test_the_order_of_points_does_not_matter(points: Any, shuffler: Any) -> None:
    order = list(range(len(points)))
    shuffler.shuffle(order)
    reference = np.full(points.shape[1], 5.0)
    assert front_mask(points[order]).tolist() == front_mask(points)[order].tolist()
    assert hypervolume(points[order], reference) == pytest.approx(hypervolume(points, reference), abs=1e-9)


@pytest.mark.parametrize("objectives", [1, 2, 3, 4])
def test_duplicates_of_a_front_point_are_all_on_the_front(objectives: int) -> None:
    points = np.array([[1.0] * objectives, [1.0] * objectives, [2.0] * objectives])
    assert front_mask(points).tolist() == [True, True, False]


def test_a_point_with_nan_is_never_on_the_front_and_hides_nothing() -> None:
    nan = float("nan")
    points = np.array([[nan, 0.0], [1.0, 1.0], [nan, nan], [0.0, nan]])
    assert front_mask(points).tolist() == [False, True, False, False]


def test_a_matrix_of_nan_alone_has_no_front() -> None:
    assert not front_mask(np.full((3, 2), np.nan)).any()


def test_an_infinite_value_is_dominated_by_a_finite_one() -> None:
    assert front_mask(np.array([[np.inf, 1.0], [1.0, 1.0]])).tolist() == [False, True]


@pytest.mark.parametrize("objectives", [1, 2, 3])
def test_no_points_have_an_empty_front_and_no_volume(objectives: int) -> None:
    nothing = np.empty((0, objectives))
    assert front_mask(nothing).shape == (0,)
    assert hypervolume(nothing, np.ones(objectives)) == 0.0
    assert knee(nothing) is None


def test_points_on_or_beyond_the_reference_point_add_no_volume() -> None:
    reference = np.array([2.0, 2.0])
    assert hypervolume(np.array([[2.0, 0.0], [0.0, 3.0]]), reference) == 0.0
    assert hypervolume(np.array([[2.0, 0.0], [1.0, 1.0]]), reference) == 1.0


def test_the_reference_point_is_a_tenth_beyond_the_worst_value_of_each_objective() -> None:
    points = np.array([[1.0, 30.0], [2.0, 10.0]])
    assert reference_point(points) == pytest.approx([2.2, 33.0])


def test_the_reference_point_of_negative_losses_lies_behind_the_worst_and_not_in_front_of_it() -> None:
    points = np.array([[-10.0, -1.0], [-2.0, -5.0]])
    reference = reference_point(points)
    assert reference == pytest.approx([-1.8, -0.9])
    assert (reference >= points).all()


@given(MATRICES)
def test_no_point_lies_beyond_the_reference_point(points: Any) -> None:
    assert (points <= reference_point(points)).all()


def test_the_knee_is_the_point_farthest_below_the_line_through_the_extremes() -> None:
    assert knee(np.array([[0.0, 100.0], [0.5, 50.0], [0.2, 20.0], [1.0, 0.0]])) == 2


@given(st.floats(1e-6, 1e6), st.floats(1e-6, 1e6), st.floats(-100, 100))
def test_the_knee_does_not_depend_on_the_units_of_an_objective(first: float, second: float, shift: float) -> None:
    front = np.array([[0.0, 1.0], [0.1, 0.4], [0.5, 0.3], [1.0, 0.0]])
    assert knee(front * [first, second] + [shift * first, 0.0]) == knee(front)


def test_the_knee_of_three_objectives_is_farthest_below_the_plane_through_the_extremes() -> None:
    front = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.2, 0.2, 0.2]])
    assert knee(front) == 3


@pytest.mark.parametrize("points", [[[1.0, 2.0]], [[1.0, 2.0], [2.0, 1.0]], [[1.0, 2.0]] * 4])
def test_a_front_of_fewer_than_three_different_points_has_no_knee(points: list[list[float]]) -> None:
    assert knee(np.array(points)) is None


def test_a_flat_objective_does_not_break_the_knee() -> None:
    assert knee(np.array([[0.0, 1.0, 5.0], [0.2, 0.2, 5.0], [1.0, 0.0, 5.0]])) == 1


def test_nearness_is_0_on_a_front_and_the_shift_that_frees_a_point_from_it() -> None:
    front = staircase(5)
    assert nearness(front, front).tolist() == [0.0] * 5
    # (2, 2) is on the front; (3, 3) must improve by 1 in both, (2.5, 4) by 1 past (1, 3): the front is 4 long.
    assert nearness(np.array([[3.0, 3.0], [2.5, 4.0]]), front).tolist() == [0.25, 0.25]


@given(st.integers(1, 4).flatmap(lambda m: st.tuples(integer_points(m), integer_points(m))))
def test_a_point_moved_by_its_nearness_is_not_beaten_in_all_objectives_and_by_less_it_is(pair: Any) -> None:
    points, others = pair
    front = others[front_mask(others)]
    span = front.max(axis=0) - front.min(axis=0)
    worst = np.abs(front).max(axis=0)
    unit = np.where(span > 0, span, np.where(worst > 0, worst, 1.0))
    differ = (np.concatenate([points, front]) != front[0]).any(axis=0)
    differ |= not differ.any()
    far = nearness(points, front)
    for point, shift in zip(points, far, strict=True):
        beaten = [
            ((front < point - moved * unit)[:, differ].all(axis=1)).any() for moved in (shift + 1e-6, shift - 1e-6)
        ]
        assert beaten == [False, True]


def test_a_compromise_counts_in_lengths_of_a_front_with_a_knee_and_else_in_mean_sizes() -> None:
    """Of two ends each is a length away from the other, however little one of them costs."""
    ends = np.array([[2.0, 10.0], [1.0, 11.0]])
    assert units(ends).tolist() == [1.0, 11.0], "a tenth more of one is worth half of the other"
    three = np.array([[2.0, 10.0], [1.0, 20.0], [1.2, 12.0]])
    assert units(three).tolist() == [1.0, 10.0]
    assert units(np.array([[0.0, 3.0]])).tolist() == [np.inf, 3.0]
    assert units(three, three * [2.0, 1.0]).tolist() == [2.0, 10.0]


def test_members_that_buy_next_to_nothing_weigh_no_compromise() -> None:
    """At both ends of a front: ten percent more of one objective there buy one percent of the other."""
    middle = np.array([[2.0, 10.0], [1.5, 12.0], [1.2, 14.0], [1.0, 20.0]])
    assert worth_mask(middle).all()
    ends = np.array([[0.99, 22.0], [0.985, 40.0], [2.2, 9.9], [5.0, 9.85]])
    front = np.vstack([middle, ends])
    assert worth_mask(front).tolist() == [True] * 4 + [False] * 4
    assert units(front).tolist() == units(middle).tolist() == [1.0, 10.0]
    assert worth_mask(np.vstack([front, [6.0, 0.0]])).all(), "a value of 0 has no percents"
    assert worth_mask(np.empty((0, 2))).tolist() == []


@pytest.mark.parametrize("seed", range(20))
def test_what_is_worth_its_price_does_not_depend_on_units(seed: int) -> None:
    points = np.random.default_rng(seed).uniform(1.0, 9.0, (60, 3))
    front = points[front_mask(points)]
    mask = worth_mask(front)
    assert mask.any()
    assert (worth_mask(front * [1e-6, 4.0, 1e9]) == mask).all()
    rates = np.column_stack([-1 / front[:, 0], front[:, 1:]])
    assert (worth_mask(rates) == mask).all(), "a time and the rate that it means are worth the same"


def units(front: NDArray[np.float64], played: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
    """Of a front in one scenario, which is what was predicted where nothing is said."""
    return compromise_units(front, (front if played is None else played).T[:, :, None])[:, 0, 0]


def test_a_front_of_two_groups_has_only_ends_as_one_of_two_values() -> None:
    two = np.array([[58.28, 45.95], [71.43, 31.26]])
    near = np.vstack([two, two * [[0.998, 1.009], [0.998, 1.007]]])
    assert units(two) == pytest.approx(two.mean(axis=0))
    assert units(near) == pytest.approx(near.mean(axis=0))
    apart = np.vstack([two, [[62.0, 36.0]]])
    assert units(apart) == pytest.approx(np.ptp(apart, axis=0))


def test_prices_that_are_nearly_the_same_on_a_front_count_for_little() -> None:
    """Latency, price and throughput of a served model: the price says 6 %, the latency twenty times."""
    latency = np.array([35.0, 50.0, 75.0, 120.0, 240.0, 480.0, 700.0])
    throughput = np.array([-1.2, -1.9, -2.4, -2.8, -3.1, -3.3, -3.4])
    front = np.column_stack([latency, [1.3, 1.25, 1.24, 1.235, 1.233, 1.231, 1.23], throughput])
    part = front[worth_mask(front)]
    assert knee(part) is not None
    size, length = np.abs(part).mean(axis=0), np.ptp(part, axis=0)
    counting = units(front)
    assert counting[[0, 2]] == pytest.approx(length[[0, 2]])
    assert length[1] < counting[1] == pytest.approx(WORTH * size[1] * (length / size).max())


def test_a_front_that_bends_outwards_has_no_knee() -> None:
    """Its ends are equally far from the line through them: either would be picked by the order of rows."""
    front = np.array([[14.47, 28.60], [31.69, 22.71], [34.15, 19.72]])
    assert knee(front) is knee(front[::-1]) is None
    assert knee(np.array([[0.0, 1.0], [0.5, 0.5], [1.0, 0.0]])) is None


@pytest.mark.parametrize("columns", [2, 3, 4])
def test_a_front_of_points_with_infinities_is_that_of_all_pairs(columns: int) -> None:
    values = np.array([-np.inf, 0.0, 1.0, np.inf])
    generator = np.random.default_rng(columns)
    for _ in range(50):
        points = generator.choice(values, (12, columns))
        beaten = [any((q <= p).all() and (q < p).any() for q in points) for p in points]
        assert front_mask(points).tolist() == [not lost for lost in beaten]


def test_a_design_that_only_saves_electricity_is_no_compromise() -> None:
    objectives = [Objective("cost.tco", "minimize", "$"), Objective("time_to_train", "minimize", "s")]
    front = np.array([[20.0, 3000.0], [20.1, 40.0], [20.2, 21.0], [25.0, 20.5], [30.0, 10.0]])
    assert idling_mask(objectives, front).tolist() == [True, True, False, False, False]
    priced = [Objective("cost.total", "minimize", "$"), objectives[1]]
    assert not idling_mask(priced, front).any()
    assert not idling_mask(objectives[:1], front[:, :1]).any()
