"""What operators of a thread take of its time, against a count of every tick."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from simcore.traces.pytorch.spans import shares
from simcore.traces.pytorch.timeline import Event

SPANS = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 12)), max_size=8)


def is_in(tick: int, spans: list[tuple[int, int]]) -> bool:
    return any(start <= tick < start + length for start, length in spans)


@settings(max_examples=200, deadline=None)
@given(SPANS, SPANS)
def test_each_tick_in_which_operators_run_belongs_to_the_last_that_started(
    operators: list[tuple[int, int]], waits: list[tuple[int, int]]
) -> None:
    operators.sort(key=lambda span: (span[0], -span[1]))
    expected = [0] * len(operators)
    for tick in range(50):
        if is_in(tick, operators) and not is_in(tick, waits):
            expected[max(place for place, (start, _) in enumerate(operators) if start <= tick)] += 1
    events = [Event("op", "cpu_op", start, length, "1", {}) for start, length in operators]
    assert shares(events, [(start, start + length) for start, length in waits]) == expected
