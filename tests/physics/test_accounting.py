"""What is reported adds up: the breakdown to the iteration, degrees to NPUs, watts to joules."""

from __future__ import annotations

import pytest
from designs import collectives, designs, trainings
from hypothesis import given, settings

from simcore.bounds.compute import work_joules
from simcore.cost.linear import unit_price
from simcore.cost.materials import bill_of
from simcore.design.design import Design
from simcore.memory.plan import program_of
from simcore.metrics import METRICS, metrics
from simcore.result import Result
from simcore.simulate import simulate
from simcore.workload.transformer.document import TransformerWorkload


def parts(result: Result) -> float:
    spent = result.compute_s + result.exposed_communication_s.total + result.bubble_s
    return spent + result.optimizer_s + result.other_s


@settings(max_examples=200)
@given(designs())
def test_the_breakdown_sums_to_the_iteration_time(design: Design) -> None:
    result = simulate(design)
    assert parts(result) == pytest.approx(result.iteration_time_s, rel=1e-9)
    assert result.bubble_s >= 0
    assert min(result.compute_s, result.optimizer_s, result.other_s, result.exposed_communication_s.total) >= 0


@given(trainings())
def test_tensor_context_pipeline_data_multiply_to_the_npus(design: Design) -> None:
    p = design.parallelism
    assert p.tensor * p.context * p.pipeline * design.data == design.cluster.npus == simulate(design).npus


@given(trainings())
def test_rates_cost_power_and_energy_follow_from_the_time(design: Design) -> None:
    result, workload, cluster = simulate(design), design.workload, design.cluster
    assert isinstance(workload, TransformerWorkload)
    seconds, npus, power = result.iteration_time_s, cluster.npus, cluster.npu.power
    assert result.throughput_tokens_per_s == pytest.approx(workload.global_batch * workload.sequence / seconds)
    network = sum(npus * unit_price(design.cost, d) * d.bandwidth for d in cluster.dimensions)
    assert result.cost.network == pytest.approx(network)
    assert result.cost.npu == npus * 1000.0
    assert result.cost.total == pytest.approx(network + npus * 1000.0 + result.cost.memory)
    assert result.power is not None
    does, draws, pue = result.power.activity, power.draws, design.cost.pue
    assert does.seconds == pytest.approx(seconds)
    worked = does.tensor + does.memory
    if design.parallelism.pipeline == 1:
        assert worked == pytest.approx(result.compute_s + result.optimizer_s)
    else:
        assert work_joules(design, program_of(design)) <= does.tensor * draws.tensor + does.memory * draws.memory
        assert worked <= seconds * (1 + 1e-12)
    joules = does.tensor * draws.tensor + does.memory * draws.memory + does.wait * draws.wait + does.idle * draws.idle
    assert result.power.npus == pytest.approx(npus * joules / seconds * pue)
    assert result.power_w == result.power.mean == pytest.approx(result.power.npus + bill_of(design).watts * pue)
    assert result.power.mean <= result.power.peak == pytest.approx(bill_of(design).watts_max * pue)
    assert result.energy_j == pytest.approx(result.power_w * seconds)
    assert result.throughput_tokens_per_s is not None
    assert result.perf_per_cost == pytest.approx(result.throughput_tokens_per_s / result.cost.total)
    assert npus * power.idle * pue <= result.power.npus * (1 + 1e-12) <= npus * power.max * pue * (1 + 1e-9)


@given(collectives())
def test_a_collective_leaves_empty_what_does_not_apply(design: Design) -> None:
    result = simulate(design)
    assert result.throughput_tokens_per_s is None
    assert result.mfu is None
    assert result.memory_bytes is None
    assert result.perf_per_cost is None
    assert result.fits
    assert result.iteration_time_s > 0


@given(designs())
def test_a_design_fits_exactly_where_its_peak_is_within_the_capacity(design: Design) -> None:
    result = simulate(design)
    if result.memory_bytes is not None:
        assert result.fits == (result.memory_bytes.peak <= result.memory_capacity_bytes)
        memory = result.memory_bytes
        assert memory.peak >= memory.weights + memory.gradients + memory.optimizer + memory.activations


@given(designs())
def test_the_result_document_has_the_keys_of_the_contract(design: Design) -> None:
    document = simulate(design).document()
    assert set(document) >= {
        "iteration_time_s",
        "throughput_tokens_per_s",
        "mfu",
        "compute_s",
        "exposed_communication_s",
        "bubble_s",
        "memory_bytes",
        "memory_capacity_bytes",
        "fits",
        "network",
        "cost",
        "power_w",
        "energy_j",
        "perf_per_cost",
        "engine",
        "npus",
    }
    assert set(document["exposed_communication_s"]) == {"tensor", "data", "pipeline", "expert", "context"}
    assert set(document["cost"]) == {"network", "npu", "memory", "storage", "other", "total"}
    assert all(set(use) == {"dimension", "bytes_per_npu", "busy_s", "utilization"} for use in document["network"])
    if document["memory_bytes"] is not None:
        assert set(document["memory_bytes"]) >= {"weights", "gradients", "optimizer", "activations", "peak"}


@given(designs())
def test_metrics_have_the_names_of_the_model(design: Design) -> None:
    named = metrics(simulate(design))
    assert set(named) >= {
        "iteration_time",
        "throughput",
        "mfu",
        "exposed_communication",
        "bubble",
        "memory.peak",
        "memory.capacity",
        "fits",
        "cost.total",
        "cost.network",
        "cost.npu",
        "cost.memory",
        "power",
        "energy",
        "perf_per_cost",
        "network_utilization",
    }
    assert list(named) == list(METRICS)
