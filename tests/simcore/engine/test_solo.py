"""A collective alone is not played but noted: what is noted is what playing it gives."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from simcore.engine.fast.queues import advance, wait
from simcore.engine.fast.solo import rehearse, start
from simcore.engine.fast.state import ALONE, NEVER, NOW, SOLO_END_AT, TYPE_SIZE, TYPES_AT, Ints, Paths, new_state, pack

CHUNKS = 5
WAITS = 1
TIMES = st.tuples(st.integers(1, 9), st.integers(0, 9))


def alone(net: Ints, kind: int) -> int:
    return int(net[TYPES_AT]) + kind * TYPE_SIZE + ALONE


def rehearsed(net: Ints) -> Ints:
    """An idle network that knows how long each type takes alone."""
    state: Ints = new_state(net, 1, 8, 8, CHUNKS)[0]
    rehearse(net, state)
    return state


@given(st.permutations(range(4)), st.lists(TIMES, min_size=1, max_size=4), st.sampled_from([0, -1]))
def test_chunks_in_a_row_take_what_playing_them_takes(
    order: list[int], times: list[tuple[int, int]], weight: int
) -> None:
    paths: Paths = [[(d, *time, 0) for d, time in zip(order, times, strict=False)]]
    net = pack([(paths, [0] * CHUNKS)], 4, weight, 0)
    known = int(net[alone(net, 0)])
    net[alone(net, 0)] = 0
    rehearsed(net)
    assert known == net[alone(net, 0)] > 0


@given(
    st.lists(TIMES, min_size=2, max_size=2),
    st.sampled_from([0, 5, 23, 24, 40, 46]),
    st.integers(0, 2),
    st.sampled_from([0, -1]),
)
def test_a_solo_that_is_joined_goes_on_as_if_it_had_been_played(
    times: list[tuple[int, int]], later: int, slots: int, weight: int
) -> None:
    """Two that meet and two that go on elsewhere end when they do on networks of their own."""
    met: Paths = [[(0, *times[0], 0), (1, *times[1], 0), (0, *times[0], 0)]]
    elsewhere: Paths = [[(2, 23, 1, 0), (3, 17, 2, 0), (2, 11, 0, 0)]]

    def ends(types: list[Paths], meet: bool) -> tuple[int, int]:
        net = pack([(paths, [0] * CHUNKS) for paths in types], 4, weight, slots)
        state = rehearsed(net)
        if elsewhere in types:  # two, so that they are played, and dimensions pick at all sorts of times
            start(net, state, types.index(elsewhere), 0)
            start(net, state, types.index(elsewhere), 0)
        if meet:
            start(net, state, 0, WAITS)
            assert state[state[SOLO_END_AT]] == net[alone(net, 0)]
            advance(net, state, later)
            start(net, state, 0, WAITS)
            assert (state[state[SOLO_END_AT]] == NEVER) == (later < net[alone(net, 0)])
        found = []
        for group in (WAITS, 0):
            wait(net, state, group)
            found.append(int(state[NOW]))
        return found[0], max(found)

    one, other = ends([met], True)[0], ends([elsewhere], False)[1]
    assert ends([met, elsewhere], True) == (one, max(one, other))
