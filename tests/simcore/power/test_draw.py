"""What a cluster draws follows from what its NPUs do, from its bill and from its building."""

from __future__ import annotations

from typing import Any

import pytest
from designs import dimension, model, training

from simcore.bounds.design import bound
from simcore.check.load import design_from
from simcore.cost.materials import bill_of
from simcore.design.design import Design
from simcore.design.npu import NpuPower
from simcore.document.problem import InputError
from simcore.metrics import METRICS, metrics_before
from simcore.result import Result
from simcore.simulate import simulate

NODES = [
    dimension("switch", 8, "450 GB/s", tier="node"),
    dimension("switch", 8, "50 GB/s", tier="pod"),
]


def design(parallelism: dict[str, Any] | None = None, **cluster: Any) -> Design:
    workload = {"model": "llama3-8b", "global_batch": 128, "sequence_length": 2048, "precision": "bf16"}
    parallelism = parallelism or {"tensor": 4, "pipeline": 2, "zero": 1}
    whole = {"npu": "h100-80gb", "dimensions": NODES, **cluster}
    return design_from({"workload": workload, "parallelism": parallelism, "cluster": whole})


def test_a_collective_alone_is_waited_for() -> None:
    whole = design_from(
        {
            "workload": {"collective": "all_reduce", "size": "1 GB"},
            "cluster": {"npu": "h100-80gb", "dimensions": NODES},
        }
    )
    result = simulate(whole)
    assert result.power is not None
    assert result.power.activity.wait == result.iteration_time_s
    assert result.power.npus == pytest.approx(64 * 210 * whole.cost.pue)
    assert bound(whole)["energy"] == pytest.approx(result.energy_j, rel=0.05)


def test_products_draw_more_than_what_memory_bounds_and_that_more_than_waiting() -> None:
    result = simulate(design())
    assert result.power is not None
    activity = result.power.activity
    assert activity.tensor > activity.memory > 0
    assert activity.seconds == pytest.approx(result.iteration_time_s)
    alone = simulate(design(parallelism={"tensor": 4, "zero": 1}))
    assert alone.power is not None
    assert alone.power.activity.wait == pytest.approx(alone.exposed_communication_s.total)
    assert alone.power.activity.idle == pytest.approx(alone.bubble_s)


@pytest.mark.parametrize("engine", ["fast", "flow", "reference"])
def test_npus_of_all_stages_draw_for_what_they_do_whichever_ends_last(engine: str) -> None:
    network = [dimension("switch", 8, "50 GB/s", tier="pod")]
    small = model(layers=16)

    def drawn(stages: list[int]) -> Result:
        layout = {"pipeline": 4, "data": 2, "stages": stages}
        return simulate(design_from(training(layout, network, workload={"model": small, "global_batch": 16})), engine)

    even, *uneven = (drawn(stages) for stages in ([4, 4, 4, 4], [1, 5, 5, 5], [5, 5, 5, 1]))
    assert even.power is not None
    for result in uneven:
        assert result.power is not None
        does = result.power.activity
        assert does.tensor == pytest.approx(even.power.activity.tensor, rel=1e-3)
        assert does.memory == pytest.approx(even.power.activity.memory, rel=0.02)
        assert does.seconds == pytest.approx(result.iteration_time_s)
        assert result.energy_j > even.energy_j


def test_the_peak_is_nameplates_and_the_network_with_the_cooling_and_a_cap_lowers_it() -> None:
    whole, low = design(), design(power_cap="500 W")
    before, capped = metrics_before(whole, None), metrics_before(low, None)
    assert before["power.peak"] == pytest.approx(bill_of(whole).watts_max * 1.2)
    assert before["power.peak"] == pytest.approx(8 * 10200 * 1.2, rel=0.05)
    assert before["power.peak"] - capped["power.peak"] == pytest.approx(64 * 200 * 1.2)  # type: ignore[operator]
    assert before["power.rest"] == capped["power.rest"] == pytest.approx(bill_of(whole).watts * 1.2)


def test_a_rack_holds_as_many_nodes_as_its_entry_says_and_counts_no_cooling() -> None:
    assert metrics_before(design(), None)["power.rack"] == pytest.approx(4 * 10200)
    assert metrics_before(design(power_cap="500 W"), None)["power.rack"] == pytest.approx(4 * (10200 - 8 * 200))
    small = design(dimensions=[dimension("switch", 8, "450 GB/s", tier="node")])
    assert metrics_before(small, None)["power.rack"] == pytest.approx(10200)


def test_a_rack_that_holds_fewer_nodes_draws_less_and_there_are_more_of_them() -> None:
    two, one = (design_from({**design().document(), "cost": {"base": "libra", "npus_per_rack": n}}) for n in (16, 1))
    assert metrics_before(two, None)["power.rack"] == pytest.approx(2 * 10200)
    assert metrics_before(one, None)["power.rack"] == pytest.approx(10200)
    assert [metrics_before(each, None)["racks"] for each in (design(), two, one)] == [2, 4, 8]


@pytest.mark.parametrize("prices", ["libra", "street-2025"])
def test_machines_that_are_sold_by_the_rack_stay_whole(prices: str) -> None:
    workload = {"model": "llama3-8b", "global_batch": 576, "sequence_length": 2048, "precision": "bf16"}
    cluster = {"npu": "gb200", "fabric": "gb200-nvl72", "npus": 576}
    asked = ({"base": prices, "npus_per_rack": n} for n in (16, 32, 144))
    found = [
        metrics_before(
            design_from({"workload": workload, "parallelism": {"tensor": 8}, "cluster": cluster, "cost": c}), None
        )
        for c in (prices, *asked)
    ]
    assert len({each["power.rack"] for each in found}) == len({each["racks"] for each in found}) == 1
    assert found[0]["racks"] == (8 if prices == "libra" else 12)


def test_fewer_nodes_in_a_rack_buy_more_racks_at_a_list_of_parts() -> None:
    found = []
    for held in (32, 16):
        whole = design_from({**design().document(), "cost": {"base": "street-2025", "npus_per_rack": held}})
        found.append({item.where: item.count for item in bill_of(whole).items if item.part == "rack"})
    assert [each["nodes"] for each in found] == [2, 4]


def test_trays_of_a_domain_that_is_used_in_part_fill_a_rack_as_others_do_and_idle() -> None:
    cluster = {"npu": "gb200", "fabric": "gb200-nvl72", "dimensions": None, "npus": 576}
    whole, part = ({k: v for k, v in {**cluster, "domain": size}.items() if v is not None} for size in (72, 64))
    workload = {"model": "llama3-8b", "global_batch": 576, "sequence_length": 2048, "precision": "bf16"}
    full, partly = (
        design_from({"workload": workload, "parallelism": {"tensor": 8}, "cluster": its, "cost": "street-2025"})
        for its in (whole, part)
    )
    racks = [metrics_before(one, None)["power.rack"] for one in (full, partly)]
    assert racks[1] == pytest.approx(racks[0])
    unused = [item for item in bill_of(partly).items if item.where == "unused"]
    assert [(item.count, item.watts, item.price) for item in unused] == [(72, partly.cluster.npu.power.idle, 0.0)]
    assert not [item for item in bill_of(full).items if item.where == "unused"]


def test_the_mean_lies_between_a_job_that_idles_and_the_peak() -> None:
    whole = design()
    result = simulate(whole)
    still = (64 * 122 + bill_of(whole).watts) * 1.2
    assert still < result.power_w < metrics_before(whole, None)["power.peak"]
    assert result.energy_j == pytest.approx(result.power_w * result.iteration_time_s)
    assert METRICS["power.mean"].read(result) == METRICS["power"].read(result) == result.power_w  # type: ignore[misc]


@pytest.mark.parametrize("cap", [None, "300 W", "550 W"])
def test_the_bound_of_the_energy_counts_hosts_and_work_and_is_not_above_it(cap: str | None) -> None:
    whole = design() if cap is None else design(power_cap=cap)
    result, proven = simulate(whole), bound(whole)["energy"]
    assert proven is not None
    assert 0.9 * result.energy_j < proven <= result.energy_j


def test_an_npu_without_figures_of_its_own_draws_between_idle_and_its_maximum() -> None:
    draws = NpuPower.model_validate({"max": "400 W", "idle": "100 W"}).draws
    assert draws == (400.0, 265.0, 145.0, 100.0)


@pytest.mark.parametrize("power", [{"max": "400 W", "idle": "500 W"}, {"max": "400 W", "idle": "50 W", "wait": "40 W"}])
def test_draws_outside_idle_and_the_maximum_are_a_problem(power: dict[str, str]) -> None:
    with pytest.raises(InputError, match="of idle to the maximum"):
        design(npu={"base": "h100-80gb", "power": power})
