"""Pauses that wait for each other."""

from __future__ import annotations

import pytest
from packet_load import LATENCY, RATE, RingOfSwitches, drawn_messages, fabric, play_all, transport

from simcore.engine.packets.deadlock import PauseDeadlockError
from simcore.engine.packets.fabric import Fabric

TIGHT = transport(buffer=1e6, threshold=20_000)


def test_a_ring_of_switches_locks_up_and_the_error_names_its_ports() -> None:
    its = Fabric(RingOfSwitches(), 4, RATE, LATENCY)
    messages = [(i, (i + 2) % 4, 2_000_000) for i in range(4)]
    with pytest.raises(PauseDeadlockError) as caught:
        play_all(its, messages, TIGHT)
    onward = {f"switch {i} -> switch {(i + 1) % 4}" for i in range(4)}
    assert set(caught.value.ports) == onward
    assert str(caught.value).startswith("pause deadlock: switch")


def test_the_same_ring_gets_through_where_buffers_hold_all_that_is_sent() -> None:
    its = Fabric(RingOfSwitches(), 4, RATE, LATENCY)
    assert play_all(its, [(i, (i + 2) % 4, 2_000_000) for i in range(4)], transport(buffer=64e6, alpha=8)).now > 0


@pytest.mark.parametrize("seed", range(4))
def test_up_and_down_a_tree_no_load_locks_up(seed: int) -> None:
    play_all(fabric("clos", 16, oversubscription=4.0, routing="ecmp"), drawn_messages(16, 300, seed), TIGHT)
