"""On an idle fabric packets take what the link level says, and what headers and storing packets at switches add."""

from __future__ import annotations

from typing import Any

import pytest
from packet_load import LATENCY, RATE, Fabric, fabric, play_all

from simcore import load_design, simulate
from simcore.design.transport import Transport


def in_a_row(sizes: list[int], rates: list[float], delays: list[int]) -> int:
    """When the last of these packets has passed links one after the other, each stored before it goes on [ps]."""
    ready = [0] * len(sizes)
    for rate, delay in zip(rates, delays, strict=True):
        free = 0
        for i, size in enumerate(sizes):
            free = max(free, ready[i]) + round(size / rate * 1e12)
            ready[i] = free + delay
    return ready[-1]


FABRICS = {
    "switch": fabric("switch", 8),
    "fat tree 1:1": fabric("fat_tree", 8),
    "fat tree 4:1": fabric("fat_tree", 8, oversubscription=4.0),
    "clos, by hash": fabric("clos", 16, oversubscription=2.0, routing="ecmp"),
}


@pytest.mark.parametrize("size", [1, 999, 1000, 1001, 2500, 64_000])
@pytest.mark.parametrize("name", FABRICS)
def test_a_message_takes_what_its_packets_take_in_a_row(name: str, size: int) -> None:
    its, transport = FABRICS[name], Transport()
    target = its.npus - 1
    ports = [its.ports[link] for link in its.ways(0, target)[0]]
    packets = [min(1000, size - begin) + transport.header for begin in range(0, size, 1000)]
    expected = in_a_row(packets, [port.rate for port in ports], [port.delay for port in ports])
    assert play_all(its, [(0, target, size)]).now == expected


@pytest.mark.parametrize("packets", [1, 10, 1000])
@pytest.mark.parametrize("name", FABRICS)
def test_full_packets_take_the_link_levels_time_and_headers_and_one_packet_a_further_link(
    name: str, packets: int
) -> None:
    its, transport = FABRICS[name], Transport()
    ports = [its.ports[link] for link in its.ways(0, its.npus - 1)[0]]
    slowest, full = min(port.rate for port in ports), 1000 + transport.header
    link_level = packets * 1000 / slowest + sum(port.delay for port in ports) / 1e12
    headers = packets * transport.header / slowest
    stored = sum(full / port.rate for port in ports) - full / slowest
    played = play_all(its, [(0, its.npus - 1, 1000 * packets)])
    assert played.now / 1e12 == pytest.approx(link_level + headers + stored, rel=1e-9)


def test_both_directions_of_a_cable_take_half_of_what_the_block_counts_for_the_two() -> None:
    its: Fabric = fabric("fat_tree", 8)
    assert {port.delay for port in its.ports} == {round(LATENCY / 2 * 1e12)}
    assert sum(its.ports[link].delay for link in its.ways(0, 7)[0]) == round(2 * LATENCY * 1e12)


def document(kind: str, algorithm: str, transport: dict[str, Any] | None = None) -> dict[str, Any]:
    outer = {"topology": "clos", "size": 8, "bandwidth": RATE / 1e9, "latency": "1 us", "tier": "pod", "leaf": 4}
    cluster = {"npu": "a100-80gb", "dimensions": [outer | {"bandwidth": "25 GB/s", "routing": "ecmp"}]}
    if transport is not None:
        cluster["transport"] = transport
    system = {"collective": [algorithm], "chunks": 1}
    return {"workload": {"collective": kind, "size": "1 MiB"}, "cluster": cluster, "system": system}


BARE = {"control": "none", "header": 0, "acknowledgement": 0, "efficiency": 1.0}


@pytest.mark.parametrize(
    ("kind", "algorithm", "steps"),
    [("all_reduce", "ring", 14), ("all_gather", "ring", 7), ("all_reduce", "halving_doubling", 6)],
)
def test_a_collective_without_headers_takes_the_link_levels_time_and_what_switches_store(
    kind: str, algorithm: str, steps: int
) -> None:
    design = load_design(document(kind, algorithm, BARE))
    packets, links = (simulate(design, engine).iteration_time_s for engine in ("packets", "reference_links"))
    if algorithm == "ring":  # one flow a link; of halving_doubling, some hashes meet
        assert links <= packets <= links + steps * 3 * 1000 / RATE
    else:
        assert packets == pytest.approx(links, rel=0.25)


def test_headers_and_acknowledgements_cost_a_ring_their_share_of_the_bytes() -> None:
    bare = simulate(load_design(document("all_reduce", "ring", BARE)), "packets").iteration_time_s
    usual = simulate(load_design(document("all_reduce", "ring")), "packets").iteration_time_s
    sent = 2 * 7 / 8 * 2**20 / RATE
    assert usual - bare == pytest.approx(sent * (82 + 86) / 1000, rel=0.1)
