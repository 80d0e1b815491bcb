"""The pool against workers that are drawn: whatever happens, each outcome comes once, in order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from random import Random
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mock_workers import Judge, MockWorkers

from dse.evaluate.evaluate import Evaluator
from dse.execute import call_size
from dse.execute.call_size import CallSize
from dse.execute.pool import MOST_STILLBORN, QUEUED, WINDOW, Pool
from dse.execute.workers import WorkerGone, WorkersError


class Clock:
    """Time that passes with what happens, a millisecond for each time that the pool asks; not with the machine."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        self.now += 1e-3
        return self.now


@pytest.fixture(autouse=True, scope="module")
def clock() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dse.execute.pool.time", Clock())
        yield


def pool(workers: MockWorkers, jobs: int | None = 4, **options: Any) -> Pool:
    return Pool(cast("Evaluator", Judge()), workers, jobs, **options)


def documents(count: int, **special: set[int]) -> list[dict[str, Any]]:
    return [{"n": n, **{name: True for name, which in special.items() if n in which}} for n in range(count)]


@given(seed=st.integers(0, 10**6), jobs=st.integers(1, 6), count=st.integers(0, 200), endless=st.booleans())
def test_every_outcome_comes_once_and_in_order_without_faults(seed: int, jobs: int, count: int, endless: bool) -> None:
    workers = MockWorkers(Random(seed))
    given_ = iter(documents(count)) if endless else documents(count)
    keys = [outcome.key for outcome in pool(workers, jobs).map(given_)]
    assert keys == [str(n) for n in range(count)]
    assert sorted(workers.evaluated) == list(range(count))


@given(seed=st.integers(0, 10**6), jobs=st.integers(1, 6), crashes=st.sets(st.integers(0, 119), max_size=4))
def test_lost_nodes_cost_nothing_and_a_crash_costs_the_design_that_crashes(
    seed: int, jobs: int, crashes: set[int]
) -> None:
    workers = MockWorkers(Random(seed), losses=0.02)
    outcomes = list(pool(workers, jobs).map(iter(documents(120, crash=crashes))))
    assert [outcome.key for outcome in outcomes] == [str(n) for n in range(120)]
    failed = {int(outcome.key) for outcome in outcomes if outcome.state == "failed"}
    assert crashes <= failed
    for n in failed - crashes:  # the machine under it was lost time and again
        assert len(workers.tries[n]) >= 5
    assert max(Counter(workers.evaluated).values(), default=0) == 1
    for n in crashes:
        assert len({worker for worker, _, _ in workers.tries[n]}) == len(workers.tries[n])


def test_a_design_that_crashes_is_tried_once_more_alone_on_another_node() -> None:
    workers = MockWorkers(Random(1), nodes=2)
    outcomes = list(pool(workers, 4).map(documents(60, crash={40})))
    tries = workers.tries[40]
    assert len(tries) == 2
    assert tries[1][2] == 1
    assert tries[0][1] != tries[1][1]
    assert outcomes[40].error == "WorkerError: its worker process died (by lot); tried 2 times, in different processes"


@given(seed=st.integers(0, 10**6))
def test_a_worker_that_dies_now_and_then_costs_no_design(seed: int) -> None:
    workers = MockWorkers(Random(seed), deaths=0.02)
    outcomes = list(pool(workers).map(iter(documents(150))))
    assert [outcome.key for outcome in outcomes] == [str(n) for n in range(150)]
    for outcome in outcomes:  # two deaths under one design are held against it
        assert outcome.state == "feasible" or len(workers.tries[int(outcome.key)]) >= 2


def test_a_design_that_hangs_is_stopped_twice_and_then_failed_while_the_others_go_on() -> None:
    workers = MockWorkers(Random(3))
    outcomes = list(pool(workers, design_timeout=0.2).map(documents(50, hang={7})))
    assert [outcome.key for outcome in outcomes if outcome.state == "failed"] == ["7"]
    assert "not done after 0.2 s, the limit per design; tried 2 times" in str(outcomes[7].error)
    assert sorted(workers.evaluated) == [n for n in range(50) if n != 7]


def test_calls_grow_to_a_tenth_of_a_second_and_what_flies_is_bounded() -> None:
    workers = MockWorkers(Random(5), seconds=0.001)
    taken = 0

    def endless() -> Iterator[dict[str, Any]]:
        nonlocal taken
        while True:
            taken += 1
            yield {"n": taken - 1, **({"hang": True} if taken == 30 else {})}

    until_nothing_happens(workers)
    with pytest.raises(TimeoutError):
        list(pool(workers, 3).map(endless()))
    each = round(call_size.TARGET / 0.001)
    assert workers.largest == each
    assert workers.flying <= 3 * QUEUED * each
    assert taken <= (3 * WINDOW + 3 * QUEUED) * each


def until_nothing_happens(workers: MockWorkers) -> None:
    """Raises `TimeoutError` where a pool would wait for ever."""
    idle = 0
    before = workers.events

    def events(seconds: float) -> list[Any]:
        nonlocal idle
        found = before(seconds)
        idle = 0 if found else idle + 1
        if idle > 300:
            raise TimeoutError
        return found

    workers.events = events  # type: ignore[method-assign]


def test_a_batch_is_shared_out_so_that_workers_end_together() -> None:
    workers = MockWorkers(Random(7), seconds=1e-5)
    running = pool(workers, 4)
    list(running.map(iter(documents(3000))))
    workers.tries.clear()
    list(running.map(documents(32)))
    sizes = {size for tries in workers.tries.values() for _, _, size in tries}
    assert (min(sizes), max(sizes)) == (1, 4)


def test_without_a_worker_the_study_stops_and_says_why() -> None:
    workers = MockWorkers(Random(0))
    workers.never = True
    with pytest.raises(WorkersError, match=r"no worker after 0.05 s: all 4 CPUs are in use"):
        list(pool(workers, start_timeout=0.05).map(documents(3)))


def test_workers_that_cannot_work_end_the_study_at_once() -> None:
    workers = MockWorkers(Random(0))
    workers.unfit = True
    with pytest.raises(WorkersError, match="other files there"):
        list(pool(workers).map(documents(3)))


def test_workers_that_die_before_they_are_ready_are_not_started_for_ever() -> None:
    workers = MockWorkers(Random(0))
    workers.events = lambda seconds: [WorkerGone(w, "out of memory") for w in list(workers.calls)]  # type: ignore[method-assign]
    with pytest.raises(WorkersError, match=f"{MOST_STILLBORN} workers in a row died .*: out of memory"):
        list(pool(workers).map(documents(3)))


def test_the_number_of_workers_follows_the_cluster_where_none_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dse.execute.pool.RECOUNT_SECONDS", 0.0)
    workers = MockWorkers(Random(2), nodes=1)
    running = pool(workers, None)
    outcomes = running.map(iter(documents(400)))
    next(outcomes)
    assert running.status().wanted == 2
    workers.cluster |= {"more", "and more"}
    assert len(list(outcomes)) == 399
    assert running.status().wanted == 6
    assert running.status().nodes == 3


def test_outcomes_of_a_search_that_was_broken_off_never_reach_the_next() -> None:
    running = pool(MockWorkers(Random(4)))
    first = running.map(iter(documents(500)))
    assert [next(first).key for _ in range(40)] == [str(n) for n in range(40)]
    again = [{"n": n} for n in range(1000, 1100)]
    assert [outcome.key for outcome in running.map(again)] == [str(n) for n in range(1000, 1100)]


def test_what_is_evaluated_and_waits_for_a_slower_design_can_be_had() -> None:
    workers = MockWorkers(Random(3))
    until_nothing_happens(workers)
    running = pool(workers)
    outcomes = running.map(documents(40, hang={7}))
    given_ = [next(outcomes).key for _ in range(7)]
    with pytest.raises(TimeoutError):
        next(outcomes)
    held = {outcome.key for outcome in running.waiting_outcomes()}
    assert held
    assert held.isdisjoint({*given_, "7"})
    assert held <= {str(n) for n in workers.evaluated}


def test_one_fast_design_does_not_bring_a_call_of_minutes() -> None:
    size = CallSize()
    assert size.next_size(None, 1) == 1
    size.record_call(1, 1e-7)
    assert size.next_size(None, 1) == 2
    for _ in range(call_size.REMEMBERED):
        size.record_call(10, 10 * 0.25)
    assert size.next_size(None, 1) == 1
