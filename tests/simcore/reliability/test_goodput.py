"""Goodput in closed form: known models, the best interval, what makes it better, and jobs played event by event."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from drawn_jobs import draw_job
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from simcore.reliability.goodput import (
    Interruptions,
    at_mtbf,
    best_interval,
    daly_interval,
    goodput,
    interval,
    share_at,
    waiting,
    young_interval,
)
from simcore.reliability.played import play, play_until

HOUR = 3600.0
JOB = Interruptions(
    1 / (3 * HOUR), 0.8 / (3 * HOUR), stall=30.0, write=60.0, restart=600.0, repair=24 * HOUR, spares=12
)

rates = st.floats(1e-8, 1e-3)
stalls = st.floats(1e-3, 3e3)


@given(rates, stalls, st.floats(0, 1e4))
def test_the_best_interval_is_where_a_numeric_search_finds_the_most_goodput(
    rate: float, stall: float, restart: float
) -> None:
    what = Interruptions(rate, rate, stall=stall, restart=restart)
    best = float(best_interval(stall, rate))
    found = minimize_scalar(
        lambda log: -share_at(what, math.exp(log)), bounds=(math.log(best) - 3, math.log(best) + 3), method="bounded"
    )
    assert share_at(what, best) >= -found.fun * (1 - 1e-12)
    assert math.exp(found.x) == pytest.approx(best, rel=1e-2)


@given(rates, stalls)
def test_young_and_daly_come_near_the_best_interval_where_failures_are_rare(rate: float, stall: float) -> None:
    best = float(best_interval(stall, rate))
    if rate * stall < 1e-4:
        assert young_interval(stall, rate) == pytest.approx(best, rel=0.02)
    if rate * stall < 0.1:
        assert daly_interval(stall, rate) == pytest.approx(best, rel=0.01)
    assert best < young_interval(stall, rate)


def test_without_a_stall_worth_the_name_goodput_is_first_order_in_what_failures_cost() -> None:
    """What Kokolis et al. (arXiv 2410.21680) call E[ETTR]: 1 - f (r + t / 2) over 1 + d / t."""
    what = Interruptions(1e-6, 0.0, stall=5.0, restart=600.0, interval=3600.0)
    first_order = (1 - 1e-6 * (600 + 3600 / 2)) / (1 + 5 / 3600)
    assert goodput(what) == pytest.approx(first_order, rel=2e-5)


def test_nothing_fails_and_everything_lasts() -> None:
    assert goodput(Interruptions(0.0, 0.0)) == 1.0
    assert goodput(Interruptions(0.0, 0.0, stall=3.0, write=9.0, restart=1e3)) == pytest.approx(1.0, rel=1e-12)
    assert goodput(Interruptions(0.0, 0.0, stall=3.0, interval=27.0)) == pytest.approx(0.9)


def test_where_no_restart_ever_succeeds_goodput_is_a_small_number_and_not_none() -> None:
    assert 0 < goodput(Interruptions(1.0, 1.0, stall=10.0, restart=1e6, repair=1e6, spares=0)) < 1e-9


@given(rates, stalls, st.floats(0, 1e3), st.floats(0, 1e4), st.integers(0, 9), st.floats(1.0, 1.5))
def test_whatever_costs_more_lowers_goodput(
    rate: float, stall: float, write: float, restart: float, spares: int, more: float
) -> None:
    one = Interruptions(rate, rate / 2, stall, write, restart, repair=1e4, spares=spares)
    best = goodput(one, 5.0)
    for worse in (
        replace(one, failures=rate * more, repairs=rate / 2 * more),
        replace(one, stall=stall * more),
        replace(one, write=write * more),
        replace(one, restart=restart * more),
        replace(one, repair=1e4 * more),
        replace(one, interval=float(interval(one, 5.0)) * more),
    ):
        assert goodput(worse, 5.0) <= best * (1 + 1e-12)
    assert goodput(one, 5.0 * more) <= best * (1 + 1e-12)
    assert goodput(replace(one, spares=spares + 1), 5.0) >= best * (1 - 1e-12)
    assert goodput(replace(one, spares=None), 5.0) >= best * (1 - 1e-12)


def test_a_checkpoint_begins_when_the_last_one_is_safe_and_after_an_iteration() -> None:
    assert interval(JOB) == pytest.approx(best_interval(JOB.stall, JOB.failures))
    assert interval(replace(JOB, write=5000.0)) == 5000.0
    assert interval(JOB, 7000.0) == 7000.0
    assert interval(replace(JOB, interval=50.0)) == 60.0


def test_waiting_for_nodes_is_erlangs_loss_formula() -> None:
    load = 2.5
    what = replace(JOB, repairs=load / HOUR, repair=HOUR, spares=3)
    terms = [load**k / math.factorial(k) for k in range(5)]
    assert waiting(what) == pytest.approx(terms[4] / sum(terms))
    assert waiting(replace(what, spares=100_000_000)) < 1e-12
    assert waiting(replace(what, spares=None)) == 0.0


def test_many_clusters_at_once_come_to_what_each_comes_to() -> None:
    times = np.array([HOUR, 30 * HOUR, np.nan, 0.0])
    together = goodput(at_mtbf(JOB, times), 5.0)
    software = JOB.failures - JOB.repairs
    alone = [goodput(replace(JOB, failures=1 / t, repairs=max(1 / t - software, 0.0)), 5.0) for t in times[:2]]
    assert together == pytest.approx([*alone, 1.0, 1.0], rel=1e-12)


@pytest.mark.parametrize("number", range(8))
def test_drawn_jobs_played_event_by_event_agree_with_the_closed_form(number: int) -> None:
    """`tests/longrun/weeks.py` plays 500 for longer."""
    what, iteration = draw_job(np.random.default_rng([1, number]))
    played = play_until(what, iteration, 0.003, seed=number)
    assert played.goodput == pytest.approx(goodput(what, iteration), abs=5 * played.error)
    assert played.error <= 0.003 * played.goodput


def test_how_repairs_are_spread_does_not_matter_but_their_mean() -> None:
    what = replace(JOB, spares=4, interval=HOUR / 2)
    fixed = play_until(what, 5.0, 0.01, repairs=lambda generator, mean: mean)
    assert waiting(what) > 0.2
    assert fixed.goodput == pytest.approx(goodput(what, 5.0), abs=5 * fixed.error)


def test_the_time_of_a_played_job_is_accounted_for_to_the_second() -> None:
    played = play(JOB, 5.0, 54 * 24 * HOUR, seed=3)
    assert played.spent.total == pytest.approx(54 * 24 * HOUR, rel=1e-9)
    assert played.goodput == pytest.approx(played.spent.lasting / played.spent.total)
    assert played.spent.failures == pytest.approx(54 * 8, rel=0.2)
    assert play(JOB, 5.0, 54 * 24 * HOUR, seed=3) == played
    assert play(JOB, 5.0, 54 * 24 * HOUR, seed=4) != played


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10_000))
def test_a_played_job_spends_no_time_that_it_does_not_have(seed: int) -> None:
    spent = play(JOB, 5.0, 5 * 24 * HOUR, seed=seed).spent
    assert min(spent.lasting, spent.lost, spent.stalled, spent.restarting, spent.waiting) >= -1e-6
    assert spent.total == pytest.approx(5 * 24 * HOUR, rel=1e-9)
