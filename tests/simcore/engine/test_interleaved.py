"""Segments of messages that take turns on links."""

from __future__ import annotations

import pytest
import simpy

from simcore.engine.reference.clock import now
from simcore.engine.reference.links import SEGMENT, LinkNetwork, Switching
from simcore.network import Slice
from simcore.network.switch import Switch

PICOSECONDS_A_SEGMENT = SEGMENT * 1e12 / 1e9


def arrivals(switching: Switching, messages: list[tuple[int, int, float]]) -> list[float]:
    """When messages (source, target, segments) that leave at the same time arrive, in segments at full rate."""
    env = simpy.Environment()
    network = LinkNetwork(env, Switch(), Slice(4, 4, 1), 1e9, 0.0, switching)
    found = [0.0] * len(messages)
    for number, (source, target, size) in enumerate(messages):

        def arrived(number: int = number) -> None:
            found[number] = now(env) / PICOSECONDS_A_SEGMENT

        network.send((source, target), size * SEGMENT, 0, arrived)
    env.run()
    return found


def test_a_small_message_does_not_wait_for_a_large_one() -> None:
    messages = [(0, 3, 8.0), (1, 3, 1.0)]
    assert arrivals("cut_through", messages) == pytest.approx([8.0, 9.0])
    assert arrivals("interleaved", messages) == pytest.approx([9.0, 2.0], abs=0.01)


def test_a_connection_has_no_more_of_a_link_for_having_more_messages_on_it() -> None:
    messages = [(0, 3, 4.0), (0, 3, 4.0), (0, 3, 4.0), (1, 3, 4.0)]
    assert arrivals("interleaved", messages)[3] == pytest.approx(8.0, abs=1.0)
    assert arrivals("cut_through", messages)[3] < 9.0


def test_to_whom_is_sent_at_once_gets_an_even_share_of_a_port() -> None:
    assert arrivals("interleaved", [(0, to, 4.0) for to in (1, 2, 3)]) == pytest.approx([12.0] * 3, abs=3.0)
    assert arrivals("cut_through", [(0, to, 4.0) for to in (1, 2, 3)]) == pytest.approx([4.0, 8.0, 12.0])
