"""Drawn loads on drawn fabrics, packet by packet: `python tests/longrun/packet_loads.py 3000 [FIRST SEED]`.

Of each run: every packet is accounted for at every look; all that was sent has arrived; and where ports are paused, no
packet is lost or sent again, and buffers are empty at the end.
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "simcore" / "engine" / "packets"))

from packet_load import Fabric, Sent, column, drawn_messages, fabric, play_all, transport

from simcore.design.transport import Transport
from simcore.engine.packets import layout as at
from simcore.engine.packets.counters import traffic_of
from simcore.engine.packets.unplayable import largest_need

ROUTED = ({"routing": "ecmp"}, {"routing": "adaptive"}, {"routing": "ecmp", "connections": 2}, {"routing": "shortest"})


def drawn_fabric(draw: random.Random) -> Fabric:
    topology, size = draw.choice(["switch", "fat_tree", "clos", "clos"]), draw.choice([8, 16, 32])
    given = draw.choice(ROUTED) if topology == "clos" else {}
    return fabric(topology, size, 4, draw.choice([1.0, 2.0, 4.0]), **given)


def drawn_transport(draw: random.Random, its: Fabric) -> Transport:
    sprayed = its.block.sprayed
    control = draw.choice(["none", "dcqcn", "dctcp", "timely", *([] if sprayed else ["hpcc"])])
    pfc = sprayed or draw.random() < 0.7
    every = draw.choice([1, 4]) if control in ("none", "dcqcn") or not pfc else 1
    base = transport(control=control, pfc=pfc, acknowledge_every=every, mtu=float(draw.choice([256, 1000, 4096])))
    buffer = 1.05 * largest_need(its, base) + draw.choice([20e3, 200e3, 2e6])
    threshold = draw.choice([None, None, 5e3, 40e3])
    given = {"buffer": buffer, "alpha": draw.choice([0.125, 1.0, 8.0]), "threshold": threshold, "timeout": 50e-6}
    return base.model_copy(update=given)


def drawn_load(draw: random.Random, npus: int, seed: int) -> list[Sent]:
    messages = drawn_messages(npus, draw.choice([30, 150, 400]), seed, draw.choice([3000, 60_000]))
    incast = [(i, 0, 30_000) for i in range(1, npus)] if draw.random() < 0.4 else []
    return messages + incast


def run(seed: int, counts: Counter[str]) -> None:
    draw = random.Random(seed)
    its = drawn_fabric(draw)
    its_transport = drawn_transport(draw, its)
    messages = drawn_load(draw, its.npus, seed)
    played = play_all(its, messages, its_transport, every=3_000_000)
    traffic = traffic_of(played)
    connections = getattr(its.block, "connections", 1)
    arrived = int(played.tables.w[at.FLOWS][:, at.ARRIVED].sum())
    assert arrived == sum(max(size, connections) for *_, size in messages), seed
    if its_transport.pfc:
        assert traffic.dropped == traffic.retransmitted == traffic.out_of_order == 0, seed
        assert not any(any(row) for row in column(played, at.TAKEN, at.SPARE, at.QUEUED)), seed
    counts.update(packet_hops=traffic.packet_hops, pauses=traffic.pauses, drops=traffic.dropped)
    counts.update(with_pauses=its_transport.pfc, runs=1)


def main() -> None:
    number, first = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0
    counts: Counter[str] = Counter()
    for seed in range(first, first + number):
        run(seed, counts)
    print(dict(counts))


if __name__ == "__main__":
    main()
