"""Electricity, cost and energy per token, training, racks, memory beyond the NPU's own, shared NICs."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from simcore.catalog import entry
from simcore.check.load import design_from
from simcore.document.problem import InputError
from simcore.metrics import metrics
from simcore.simulate import simulate

DESIGN: dict[str, Any] = {
    "workload": {
        "model": {"name": "tiny", "hidden": 256, "layers": 8, "heads": 8, "vocabulary": 1000, "sequence_length": 128},
        "global_batch": 32,
        "training_tokens": 3e9,
    },
    "parallelism": {"tensor": 2},
    "cluster": {
        "npu": "a100-80gb",
        "dimensions": [
            {"topology": "switch", "size": 4, "bandwidth": "100 GB/s", "latency": "1 us", "tier": "node"},
            {"topology": "switch", "size": 16, "bandwidth": "25 GB/s", "latency": "1 us", "tier": "pod"},
        ],
    },
}
TOKENS = 32 * 128
LIFETIME = 4 * 365 * 86400


def design(**changes: Any) -> dict[str, Any]:
    return copy.deepcopy(DESIGN) | changes


def test_cost_per_token_is_the_amortised_cluster_and_its_electricity() -> None:
    result = simulate(design_from(DESIGN))
    joules = result.energy_j / TOKENS
    assert result.energy_per_token_j == pytest.approx(joules, rel=1e-12)
    capital = result.cost.total / LIFETIME * result.iteration_time_s / TOKENS
    assert result.cost_per_token == pytest.approx(capital + joules / 3.6e6 * 0.10, rel=1e-12)
    assert result.electricity_cost == pytest.approx(result.power_w * LIFETIME / 3.6e6 * 0.10, rel=1e-12)


def test_training_takes_its_tokens_over_the_throughput_and_the_goodput() -> None:
    result = simulate(design_from(DESIGN))
    assert result.throughput_tokens_per_s is not None
    assert result.cost_per_token is not None
    assert result.goodput is not None
    assert 0.9 < result.goodput < 1
    lasting = result.throughput_tokens_per_s * result.goodput
    assert result.time_to_train_s == pytest.approx(3e9 / lasting, rel=1e-12)
    drawn = metrics(result)["energy_to_train"]
    assert drawn == pytest.approx(result.power.mean * result.time_to_train_s, rel=1e-12)
    assert result.cost_to_train == pytest.approx(3e9 * result.cost_per_token / result.goodput, rel=1e-12)
    unfailing = simulate(design_from(design(reliability="none")))
    assert unfailing.goodput == 1
    assert unfailing.time_to_train_s == pytest.approx(3e9 / result.throughput_tokens_per_s, rel=1e-12)
    del (silent := design())["workload"]["training_tokens"]
    found = metrics(simulate(design_from(silent)))
    assert found["time_to_train"] is found["cost_to_train"] is None
    assert found["cost_per_token"] == result.cost_per_token


def test_a_cluster_used_for_its_whole_life_costs_what_all_its_tokens_cost() -> None:
    result = simulate(design_from(DESIGN))
    assert result.throughput_tokens_per_s is not None
    assert result.cost_per_token is not None
    over_life = result.cost_per_token * result.throughput_tokens_per_s * LIFETIME
    assert over_life == pytest.approx(result.cost.total + result.electricity_cost, rel=1e-12)


def test_electricity_is_in_the_total_only_where_the_price_list_says_so() -> None:
    plain = simulate(design_from(DESIGN))
    prices = {**entry("prices", "libra"), "name": "own", "electricity_in_total": True}
    whole = simulate(design_from(design(cost=prices)))
    assert plain.cost.total == plain.cost.network + plain.cost.npu
    assert whole.cost.total == pytest.approx(plain.cost.total + plain.electricity_cost, rel=1e-12)
    assert whole.cost_per_token == plain.cost_per_token  # it is in there anyway, and only once


def test_a_collective_has_no_tokens_to_pay_for() -> None:
    document = design(workload={"collective": "all_reduce", "size": "1 MB"})
    del document["parallelism"]
    found = metrics(simulate(design_from(document)))
    assert found["cost_per_token"] is found["energy_per_token"] is found["time_to_train"] is None
    assert found["racks"] == 2


@pytest.mark.parametrize(
    ("npus", "per_rack", "racks"), [(64, 32, 2), (64, 72, 2), (64, 60, 2), (64, 16, 4), (64, 1, 8), (64, None, 2)]
)
def test_racks_hold_whole_nodes_and_the_last_may_be_part_empty(npus: int, per_rack: int | None, racks: int) -> None:
    prices = {**entry("prices", "libra"), "name": "own", "npus_per_rack": per_rack}
    result = simulate(design_from(design(cost=prices)))
    assert (result.npus, result.racks) == (npus, racks)


def test_memory_beyond_the_npus_own_is_capacity_and_is_priced() -> None:
    document = design()
    document["cluster"]["memory"] = {"capacity": "100 GiB", "fragmentation": 0.1}
    plain, more = simulate(design_from(DESIGN)), simulate(design_from(document))
    assert more.memory_capacity_bytes == pytest.approx(0.9 * plain.memory_capacity_bytes * 100 / 80)
    assert more.cost.memory == pytest.approx(64 * 20 * 2**30 * 8e-9, rel=1e-12)
    assert more.cost.total == pytest.approx(plain.cost.total + more.cost.memory, rel=1e-12)
    assert more.iteration_time_s == plain.iteration_time_s
    assert design_from(design_from(document).document()).document() == design_from(document).document()


def test_less_memory_than_the_npus_own_is_refused() -> None:
    document = design()
    document["cluster"]["memory"] = {"capacity": "40 GiB"}
    with pytest.raises(InputError, match=r"cluster\.memory\.capacity.*at least the NPU's own memory \(80 GiB\)"):
        design_from(document)


def test_the_nics_of_a_node_are_shared_by_its_npus() -> None:
    document = design()
    outer = document["cluster"]["dimensions"][1]
    del outer["bandwidth"]
    outer |= {"nics": 2, "nic_bandwidth": "50 GB/s"}
    shared = design_from(document)
    assert shared.cluster.dimensions[1].bandwidth == 25e9
    assert simulate(shared).iteration_time_s == simulate(design_from(DESIGN)).iteration_time_s
    assert simulate(shared).cost == simulate(design_from(DESIGN)).cost
    assert design_from(shared.document()).document() == shared.document()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"nics": 2.5, "nic_bandwidth": "50 GB/s"}, "whole number of 'nics'"),
        ({"nics": 2}, "expected 'nic_bandwidth' beside 'nics'"),
        ({"nics": 4, "nic_bandwidth": "50 GB/s"}, "no 'bandwidth' beside 'nics'"),
        ({"nics": 4, "nic_bandwidth": "50 GB"}, "bandwidth"),
    ],
)
def test_nics_that_make_no_sense_are_refused(change: dict[str, Any], said: str) -> None:
    document = design()
    document["cluster"]["dimensions"][1] |= change
    with pytest.raises(InputError) as caught:
        design_from(document)
    assert said in str(caught.value)
