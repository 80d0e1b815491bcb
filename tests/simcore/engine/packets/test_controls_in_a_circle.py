"""Where routes allow a pause deadlock, a control that keeps queues short, or no pauses at all, gets through."""

from __future__ import annotations

import pytest
from packet_load import LATENCY, RATE, RingOfSwitches, play_all, transport

from simcore.design.transport import Marks
from simcore.engine.packets import layout as at
from simcore.engine.packets.deadlock import PauseDeadlockError
from simcore.engine.packets.fabric import Fabric
from simcore.engine.packets.play import Played

EARLY = Marks.model_validate({"low": "20 kB", "high": "20 kB"})


def play_circle(**given: object) -> Played:
    """Each of four NPUs sends to the one two switches further on, which fills the links between switches twice."""
    its = Fabric(RingOfSwitches(), 4, RATE, LATENCY)
    return play_all(its, [(i, (i + 2) % 4, 2_000_000) for i in range(4)], transport(buffer=1e6, **given))


def test_line_rate_and_pauses_lock_up() -> None:
    with pytest.raises(PauseDeadlockError):
        play_circle()


@pytest.mark.parametrize("given", [{"control": "dctcp", "marking": EARLY}, {"control": "hpcc"}])
def test_a_control_that_keeps_queues_below_the_threshold_never_closes_the_circle(given: dict[str, object]) -> None:
    played = play_circle(**given)
    assert played.lost_count == 0
    assert int(played.tables.w[at.LINKS][:, at.PAUSES].sum()) == 0


def test_without_pauses_packets_are_dropped_and_sent_again_and_all_arrives() -> None:
    played = play_circle(pfc=False)
    assert int(played.tables.w[at.LINKS][:, at.DROPS].sum()) > 0
    assert int(played.finish.min()) > 0
    assert played.lost_count == 0
