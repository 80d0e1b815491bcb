"""How many packet-hops a second the packet engine plays on one core: `python tests/benchmarks/bench_packets.py`.

A packet-hop is a packet that passes a link; acknowledgements are not counted. Kernels are compiled, and graphs built,
before the clock runs, which counts time of the processor.
"""

from __future__ import annotations

import time
from typing import Any

from simcore import load_design
from simcore.engine.packets.counters import traffic_of
from simcore.engine.packets.run import Ready, play_ready, prepare
from simcore.memory.plan import program_of

CONTROLS = ("none", "dcqcn", "dctcp", "timely", "hpcc")


def collective(kind: str, size: str, algorithm: str, npus: int, control: str, over: float = 2.0) -> dict[str, Any]:
    leaf = min(16, npus // 2)
    outer = {"topology": "clos", "size": npus, "leaf": leaf, "oversubscription": over, "routing": "ecmp"}
    outer |= {"bandwidth": "25 GB/s", "latency": "1 us", "tier": "pod"}
    cluster = {"npu": "a100-80gb", "dimensions": [outer], "transport": {"control": control}}
    system = {"collective": [algorithm], "chunks": 4}
    return {"workload": {"collective": kind, "size": size}, "cluster": cluster, "system": system}


def measure(document: dict[str, Any]) -> tuple[Ready, float, float]:
    """A design, seconds to build its graph, seconds to play it."""
    design = load_design(document)
    begin = time.process_time()
    ready = prepare(design, program_of(design))
    built = time.process_time()
    played = play_ready(ready)
    end = time.process_time()
    traffic = traffic_of(played)
    simulated = played.now / 1e12
    print(
        f"{document['workload']['collective']:11} {document['workload']['size']:>7} {ready.fabric.npus:4} NPUs "
        f"{document['cluster']['transport']['control']:7} {traffic.packet_hops / 1e6:7.1f} M packet-hops, "
        f"graph {built - begin:5.2f} s, played in {end - built:6.2f} s: "
        f"{traffic.packet_hops / (end - built) / 1e6:5.2f} M/s; {simulated * 1e3:.3f} ms, {traffic.pauses} pauses, "
        f"{traffic.marked} marked"
    )
    return ready, built - begin, end - built


def main() -> None:
    measure(collective("all_reduce", "1 MB", "ring", 8, "dcqcn"))  # compiles
    for control in CONTROLS:
        measure(collective("all_reduce", "16 MB", "ring", 64, control))
        measure(collective("all_to_all", "16 MB", "direct", 64, control))
    measure(collective("all_to_all", "16 MB", "direct", 256, "none"))
    measure(collective("all_reduce", "16 MB", "halving_doubling", 256, "none"))


if __name__ == "__main__":
    main()
