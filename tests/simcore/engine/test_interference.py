"""Computation beside collectives: the rule, and that the compiled engine follows it, with collectives played or not."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simcore.engine.fast.computation import compute
from simcore.engine.fast.queues import wait
from simcore.engine.fast.solo import rehearse, start
from simcore.engine.fast.state import NOW, OUTSTANDING, Ints, Paths, new_state, pack
from simcore.engine.interference import time_left_over, time_needed, work_done

WAITS = 1
SLOWDOWNS = st.sampled_from([0, 1, 37, 200, 1000, 10_000])
LONG = 1 << 62


def carries(slowdown: int) -> st.SearchStrategy[int]:
    return st.integers(0, 1000 + slowdown - 1) if slowdown else st.just(0)


@given(st.data(), SLOWDOWNS, st.integers(1, LONG // 16))
def test_the_time_needed_is_the_least_in_which_the_work_is_done(data: st.DataObject, slowdown: int, work: int) -> None:
    carry = data.draw(carries(slowdown))
    needed = time_needed(work, carry, slowdown)
    assert needed == ceil(Fraction(work * (1000 + slowdown) - carry, 1000))
    assert work_done(needed, carry, slowdown) == work > work_done(needed - 1, carry, slowdown)


@given(SLOWDOWNS, st.lists(st.integers(0, 5000), max_size=20))
def test_the_work_done_follows_from_the_time_however_it_is_cut(slowdown: int, parts: list[int]) -> None:
    done = carry = 0
    for part in parts:
        done += work_done(part, carry, slowdown)
        carry = time_left_over(part, carry, slowdown)
    assert done == floor(Fraction(1000 * sum(parts), 1000 + slowdown))


def network(*types: Paths, chunks: int, slowdowns: tuple[int, ...]) -> tuple[Ints, Ints]:
    """A network of three dimensions on which each of the types may be beside computation, idle."""
    net = pack([(paths, [0] * chunks) for paths in types], 3, 0, 0, slowdowns, set(range(len(types))))
    state: Ints = new_state(net, 1, 8, 8, chunks)[0]
    rehearse(net, state)
    return net, state


@pytest.mark.parametrize(
    ("work", "took"),
    [
        (83, 100),  # 100 ps at 1.2 ps each do 83 1/3
        (84, 101),  # of which whole ones count; latency costs nothing
        (1000, 1017),
        (1, 2),
    ],
)
def test_computation_is_slowed_while_a_phase_is_served_and_not_while_it_flies(work: int, took: int) -> None:
    net, state = network([[(0, 100, 50, 0)]], chunks=1, slowdowns=(200, 0, 0))
    start(net, state, 0, WAITS)
    compute(net, state, work)
    assert state[NOW] == took
    assert (state[OUTSTANDING] == 0) == (took >= 150)


def test_of_several_dimensions_the_largest_slowdown_counts() -> None:
    net, state = network([[(0, 100, 0, 0)]], [[(1, 60, 0, 0)]], [[(2, 500, 0, 0)]], chunks=1, slowdowns=(200, 1000, 0))
    for kind in range(3):
        start(net, state, kind, WAITS)
    compute(net, state, 400)
    assert state[NOW] == 437  # 30 done by 60, 33 more by 100, the rest in its own time


def test_what_waits_in_a_queue_slows_nothing() -> None:
    net, state = network([[(0, 100, 0, 0), (1, 10, 0, 0)]], chunks=2, slowdowns=(0, 1000, 0))
    start(net, state, 0, WAITS)
    compute(net, state, 300)
    assert state[NOW] == 310  # dimension 1 serves for 10 ps, twice


TIMES = st.tuples(st.integers(1, 9), st.integers(0, 9))


@given(
    st.lists(TIMES, min_size=3, max_size=3),
    st.permutations(range(3)),
    st.lists(st.integers(1, 40), min_size=1, max_size=8),
    st.tuples(*[st.sampled_from([0, 1, 200, 3000])] * 3),
)
def test_a_solo_slows_computation_as_if_it_were_played(
    times: list[tuple[int, int]], order: list[int], works: list[int], slowdowns: tuple[int, ...]
) -> None:
    """One alone is a solo; when a second one starts with it, both are played."""
    path: Paths = [[(d, *time, 0) for d, time in zip(order, times, strict=True)]]

    def ends(collectives: int) -> list[int]:
        net, state = network(path, chunks=3, slowdowns=slowdowns)
        for _ in range(collectives):
            start(net, state, 0, WAITS)
        found = []
        for work in works:
            compute(net, state, work)
            found.append(int(state[NOW]))
        wait(net, state, WAITS)
        return [*found, int(state[NOW])]

    assert ends(1) == plainly(path[0], 3, works, slowdowns)
    assert ends(2) == plainly(path[0], 6, works, slowdowns)


def plainly(
    path: list[tuple[int, int, int, int]], chunks: int, works: list[int], slowdowns: tuple[int, ...]
) -> list[int]:
    """When each work is done, and then the chunks: picosecond by picosecond."""
    serving: dict[int, list[int]] = {}
    free = [0] * 3
    last = 0
    for _ in range(chunks):
        ready = 0
        for d, service, latency, _ in path:
            begin = max(ready, free[d])
            free[d] = begin + service
            for now in range(begin, free[d]):
                serving.setdefault(now, []).append(slowdowns[d])
            ready = free[d] + latency
        last = max(last, ready)
    now, found = 0, []
    for work in works:
        spent: dict[int, int] = {}
        while sum(time * 1000 // (1000 + slow) for slow, time in spent.items()) < work:
            slow = max(serving.get(now, [0]))
            spent[slow] = spent.get(slow, 0) + 1
            now += 1
        found.append(now)
    return [*found, max(now, last)]
