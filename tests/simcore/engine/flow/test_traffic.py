"""Messages as arrays against the plans of the algorithms."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from simcore.collective import KINDS, plan_for
from simcore.engine.flow.traffic import phase_traffic
from simcore.network import Shape
from simcore.network.sent import Floats

ALGORITHMS = ["ring", "direct", "direct[2]", "halving_doubling", "double_binary_tree"]


def hop_by_hop(messages: list[tuple[int, int, float]], members: int, shape: Shape) -> Floats:
    """Bytes from member to member; between neighbours, what goes further passes those in between."""
    found = np.zeros((members, members))
    for source, target, share in messages:
        ahead = (target - source) % members
        if shape.kind == "star":
            ways = [(target - source, 1, 1.0)]
        elif shape.kind == "line":
            ways = [(1 if target > source else -1, abs(target - source), 1.0)]
        elif 2 * ahead == members:
            ways = [(1, ahead, 0.5), (-1, ahead, 0.5)]
        else:
            ways = [(1, ahead, 1.0)] if 2 * ahead < members else [(-1, members - ahead, 1.0)]
        for step, length, part in ways:
            for i in range(length):
                found[(source + step * i) % members, (source + step * (i + 1)) % members] += share * part
    return found


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("kind", [*KINDS, "shift", "send_recv"])
@pytest.mark.parametrize("members", [2, 3, 4, 8])
def test_a_phase_sends_what_its_plan_says(algorithm: str, kind: str, members: int) -> None:
    for shape in (Shape("ring"), Shape("line"), Shape("star", members)):
        if algorithm == "halving_doubling" and members & (members - 1):
            continue
        if algorithm == "direct[2]" and shape.kind != "star":
            continue
        plan = plan_for(algorithm, kind, members, shape)
        planned = []
        for message in plan.messages:
            nodes = (message.source, *message.way, message.target)
            planned += [(a, b, plan.share(message)) for a, b in itertools.pairwise(nodes)]
        sent = phase_traffic(algorithm, kind, members, shape).all(members)
        listed = list(zip(sent.source.tolist(), sent.target.tolist(), sent.share.tolist(), strict=True))
        assert np.allclose(hop_by_hop(listed, members, shape), hop_by_hop(planned, members, shape)), shape


def test_what_one_member_sends_is_its_part_of_everything() -> None:
    traffic = phase_traffic("direct", "all_to_all", 5, Shape("star", 5))
    whole = traffic.all(5)
    alone = traffic.of(3, 5)
    assert sorted(alone.target.tolist()) == sorted(whole.target[whole.source == 3].tolist()) == [0, 1, 2, 4]
    assert alone.share.sum() == pytest.approx(whole.share[whole.source == 3].sum())
