"""Pauses that wait for each other in a circle: found, and named, where routes allow it; never up and down a tree."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from simcore.design.transport import Transport
from simcore.engine.packets import layout as at
from simcore.engine.packets.deadlock import PauseDeadlockError
from simcore.engine.packets.fabric import Fabric
from simcore.engine.packets.graph import Graph
from simcore.engine.packets.play import Played, play
from simcore.network import Block, Link, Route, Shape, Slice

SWITCHES = 3


@dataclass(frozen=True)
class Circle(Block):
    """Three switches, each with one NPU and joined to both others; ways go all round, or straight to the target."""

    switched = True
    straight: bool = False

    def shape(self, part: Slice) -> Shape:
        """See `Block.shape`."""
        return Shape("star")

    def wiring(self, part: Slice) -> tuple[Link, ...]:
        """See `Block.wiring`: of NPU i up and down, then of switch i to the next one and back."""
        links = []
        for here in range(SWITCHES):
            switch, onward = SWITCHES + here, SWITCHES + (here + 1) % SWITCHES
            links += [Link(here, switch, 1.0, 1), Link(switch, here, 1.0, 1)]
            links += [Link(switch, onward, 1.0, 1), Link(onward, switch, 1.0, 1)]
        return tuple(links)

    def routes(self, part: Slice, source: int, target: int) -> tuple[Route, ...]:
        """See `Block.routes`."""
        away = (target - source) % SWITCHES
        if self.straight and away == 2:
            between = [4 * target + 3]
        else:
            between = [4 * ((source + step) % SWITCHES) + 2 for step in range(away)]
        return ((4 * source, *between, 4 * target + 1),)


def play_circle(block: Circle, control: str = "none", **transport: object) -> Played:
    """Every NPU sends to the one two switches further on, which fills each link between switches twice."""
    graph = Graph(SWITCHES)
    for npu in range(SWITCHES):
        graph.message(npu, (npu + 2) % SWITCHES, 8e6)
    given = {"control": control, "buffer": "1 MB", **transport}
    return play(Fabric(block, SWITCHES, 25e9, 1e-6), graph, Transport.model_validate(given))


def test_pauses_on_ways_round_a_circle_end_in_a_deadlock_that_names_its_ports() -> None:
    with pytest.raises(PauseDeadlockError, match="each waits for the next one") as caught:
        play_circle(Circle())
    assert sorted(caught.value.ports) == [f"switch {i} -> switch {(i + 1) % SWITCHES}" for i in range(SWITCHES)]


def test_the_same_messages_on_straight_ways_arrive() -> None:
    played = play_circle(Circle(straight=True))
    assert played.lost_count == 0
    assert int(played.finish.min()) > 0


@pytest.mark.parametrize("control", ["dctcp", "hpcc"])
def test_a_control_that_keeps_queues_below_the_threshold_never_closes_the_circle(control: str) -> None:
    marking = {"marking": {"low": "20 kB", "high": "20 kB"}} if control == "dctcp" else {}
    played = play_circle(Circle(), control, **marking)
    assert played.lost_count == 0
    assert int(played.tables.w[at.LINKS][:, at.PAUSES].sum()) == 0


def test_without_pauses_packets_are_dropped_and_sent_again_and_all_arrives() -> None:
    played = play_circle(Circle(), pfc=False)
    assert int(played.tables.w[at.LINKS][:, at.DROPS].sum()) > 0
    assert int(played.finish.min()) > 0
    assert played.lost_count == 0
