"""How busy links are: as many bytes as NPUs send, on the links that messages take."""

from __future__ import annotations

from typing import Any

import pytest
from designs import collective, dimension, training

from simcore.check.load import design_from
from simcore.design.design import Design
from simcore.document.problem import InputError
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


def test_a_ring_over_several_dimensions_is_refused() -> None:
    design = collective("all_reduce", "1 MiB", [NODE, dimension("switch", 4)], collective=["flat_ring", "flat_ring"])
    with pytest.raises(InputError, match="collectives of one dimension each, got flat_ring"):
        use_of_links(design, 1.0)
