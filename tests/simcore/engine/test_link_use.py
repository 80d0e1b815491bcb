"""How busy links are: as many bytes as NPUs send, on the links that messages take."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pytest
from designs import collective, dimension, training

from simcore.check.load import design_from
from simcore.design.design import Design
from simcore.engine.fast.iteration import time_program
from simcore.engine.link_use import RowUse, busiest_rows, use_of_links
from simcore.memory.plan import program_of
from simcore.result import Result
from simcore.simulate import simulate
from simcore.system.placement import place

NODE = dimension("switch", 4, "100 GB/s", tier="node")
OUTER = dimension("fat_tree", 8, "25 GB/s", leaf=4, oversubscription=4.0, tier="pod")


def used(design: Design) -> tuple[Result, tuple[RowUse, ...]]:
    result = simulate(design, "fast")
    return result, use_of_links(design, result.iteration_time_s)


def bytes_from(row: RowUse, npu: int, seconds: float) -> float:
    """What the links that lead away from an NPU carry."""
    leaving = [link for link in row.links if link.ends[0][0] == npu]
    return sum(link.utilization * link.rate * seconds for link in leaving)


@pytest.mark.parametrize("more", [{}, {"in_network": True}])
@pytest.mark.parametrize(("pipeline", "interleave"), [(1, 1), (4, 1), (4, 2)])
def test_the_links_of_an_npu_carry_what_it_sends(pipeline: int, interleave: int, more: dict[str, Any]) -> None:
    degrees = {"tensor": 4, "pipeline": pipeline, "data": 8 // pipeline, "interleave": interleave, "zero": 1}
    design = design_from(training(degrees, [NODE | more, OUTER], system={"chunks": 4}))
    result, rows = used(design)
    last = time_program(design, program_of(design), place(design)[0])[0].stage  # the one that the result tells of
    for use, number in zip(result.network, range(2), strict=True):
        row = next(row for row in rows if row.dimension == number and last in row.stages)
        carried = bytes_from(row, row.stages.index(last), result.iteration_time_s)
        assert carried == pytest.approx(use.bytes_per_npu, rel=1e-6)


def test_halving_doubling_among_all_connected_keeps_three_links_of_seven_busy_half_as_long_each() -> None:
    network = [dimension("fully_connected", 8, "100 GB/s", "0 s", tier="package")]
    design = collective("all_reduce", "1 GiB", network, collective=["halving_doubling"], chunks=64)
    _, (row,) = used(design)
    by_distance = [next(link for link in row.links if link.ends == ((0, other),)) for other in range(1, 8)]
    first, second, third, fourth = (by_distance[distance - 1].utilization for distance in (1, 2, 4, 3))
    assert first == pytest.approx(2 * second) == pytest.approx(4 * third)
    assert 0.98 < first <= 1
    assert fourth == 0


def test_an_oversubscribed_leafs_uplinks_are_busier_than_ports_and_say_with_whose_messages() -> None:
    document = training({"tensor": 4, "pipeline": 2, "data": 4}, [NODE, OUTER])
    document["cluster"]["placement"] = ["tensor", "context", "pipeline", "data"]
    _, rows = used(design_from(document))
    row = busiest_rows(rows)[1]
    ports = [link for link in row.links if min(link.ends[0]) < 8]
    between = [link for link in row.links if min(link.ends[0]) >= 8]
    assert max(link.utilization for link in between) > max(link.utilization for link in ports)
    assert {(one.group, one.stage) for link in between for one in link.by} == {("data", 0), ("data", 1)}
    assert all(0 <= link.utilization <= 1 for link in row.links)


def test_groups_side_by_side_load_links_of_their_own() -> None:
    document = {
        "workload": {"collective": "all_reduce", "size": "64 MiB", "groups": [3, 5]},
        "cluster": {"npu": "a100-80gb", "dimensions": [dimension("switch", 8, "100 GB/s", tier="node")]},
        "system": {"collective": ["ring"]},
    }
    _, rows = used(design_from(document))
    row = busiest_rows(rows)[0]
    groups = {link.ends[0][0]: {one.group for one in link.by} for link in row.links if link.ends[0][0] < 8}
    assert groups == {npu: {"group 0" if npu < 3 else "group 1"} for npu in range(8)}


def test_a_flat_ring_sends_half_of_everything_each_way_over_every_link_that_it_crosses() -> None:
    network = [NODE, dimension("switch", 4, "25 GB/s", tier="pod")]
    design = collective("all_reduce", "64 MiB", network, collective=["flat_ring", "flat_ring"], chunks=4)
    result, rows = used(design)
    sent = 2 * 15 / 16 * 64 * 2**20
    inner = [row for row in rows if row.dimension == 0]
    # 0 1 2 3 | 7 6 5 4 | 8 9 10 11 | 15 14 13 12 and back: in each row three neighbours, at its ends one
    assert [round(bytes_from(inner[0], npu, result.iteration_time_s) / sent, 6) for npu in range(4)] == [0.5, 1, 1, 0.5]
    outer = [row for row in rows if row.dimension == 1]
    leaving = [[round(bytes_from(row, npu, result.iteration_time_s) / sent, 6) for npu in range(4)] for row in outer]
    assert sorted(leaving) == [[0.0] * 4, [0.5] * 4, [0.5] * 4]  # within nodes, and at both ends of them
    busy = result.network[1].busy_s / result.iteration_time_s
    assert busiest_rows(rows)[1].busiest == pytest.approx(busy, rel=1e-6)


@pytest.mark.parametrize("kind", ["all_reduce", "reduce_scatter", "all_gather", "broadcast"])
def test_switches_pass_on_one_sum_whatever_is_below_them(kind: str) -> None:
    outer = dimension("clos", 8, "25 GB/s", leaf=4, oversubscription=4.0, routing="adaptive", in_network=True)
    design = collective(kind, "64 MiB", [outer], collective=["direct"], chunks=4)
    result, (row,) = used(design)
    size = 64 * 2**20 * (8 if kind == "all_gather" else 1)
    loads: dict[str, float] = defaultdict(float)
    for link in row.links:
        (source, target), carried = link.ends[0], link.utilization * link.rate * result.iteration_time_s
        if 0 in (source, target):
            loads[f"port {'up' if source == 0 else 'down'}"] += carried / size
        elif min(source, target) == 8:  # the first leaf
            loads[f"leaf {'up' if source == 8 else 'down'}"] += carried * len(link.ends) / size
    expected = dict.fromkeys(("port up", "port down", "leaf up", "leaf down"), 1.0)
    expected |= {"port up": 1 / 8, "leaf up": 1 / 2} if kind == "all_gather" else {}
    expected |= {"port down": 1 / 8, "leaf down": 1 / 2} if kind == "reduce_scatter" else {}
    assert loads == pytest.approx(expected, rel=1e-6)


def test_links_say_which_jobs_share_them() -> None:
    job = {"workload": {"collective": "all_to_all", "size": "64 MiB"}, "npus": 8, "placement": "spread"}
    outer = dimension("clos", 16, "25 GB/s", leaf=8, oversubscription=4.0, routing="adaptive", tier="pod")
    document = {
        "jobs": [{**job, "name": "one"}, {**job, "npus": 4, "name": "two"}],
        "cluster": {"npu": "a100-80gb", "dimensions": [outer]},
        "system": {"collective": ["direct"], "chunks": 4},
    }
    design = design_from(document)
    result = simulate(design, "flow")
    seconds = [each.iteration_time_s for each in result.jobs]
    (row,) = use_of_links(design, *seconds)
    assert [row.jobs.count(number) for number in (0, 1, -1)] == [8, 4, 4]
    between = [link for link in row.links if min(link.ends[0]) >= 16]
    assert all({one.job for one in link.by} == {0, 1} for link in between)
    assert 0.9 < max(link.utilization for link in between) <= 1.0 + 1e-9
    for npu in range(16):
        (port,) = [link for link in row.links if link.ends[0][0] == npu]
        assert {one.job for one in port.by} == ({row.jobs[npu]} if row.jobs[npu] >= 0 else set())
    sent = [bytes_from(row, row.jobs.index(number), seconds[number]) for number in (0, 1)]
    assert sent == [pytest.approx(7 / 8 * 64 * 2**20), pytest.approx(3 / 4 * 64 * 2**20)]


def test_links_inside_a_node_are_those_of_one_job_each() -> None:
    job = {"workload": {"collective": "all_reduce", "size": "1 MiB"}, "npus": 8}
    document = {
        "jobs": [{**job, "name": "one"}, {**job, "name": "two"}],
        "cluster": {"npu": "a100-80gb", "dimensions": [NODE, dimension("switch", 4, tier="pod")]},
    }
    design = design_from(document)
    rows = use_of_links(design, *(each.iteration_time_s for each in simulate(design, "flow").jobs))
    assert [set(row.jobs) for row in rows if row.dimension == 0] == [{0}, {1}]
    assert [row.jobs for row in rows if row.dimension == 1] == [(0, 0, 1, 1)]
