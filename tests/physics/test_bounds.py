"""No iteration beats FLOPs over the peak, bytes over the bandwidth, or what `bound` proves."""

from __future__ import annotations

from typing import Any

import pytest
from designs import (
    ROUNDING,
    SCHEDULES_OF,
    assert_not_beaten,
    collective,
    designs,
    dimension,
    model,
    npu,
    training,
    trainings,
)
from hypothesis import given, settings

from simcore.bounds.compute import compute_seconds, layers_seconds
from simcore.bounds.design import bound, bound_by_compute, bound_on_any_network
from simcore.bounds.many import NetworkFamily, collective_seconds
from simcore.check.load import design_from, load_design
from simcore.design.design import Design
from simcore.engine.flow.links import links_of
from simcore.memory.plan import program_of
from simcore.metrics import METRICS, metrics
from simcore.schedule import ORDERS
from simcore.simulate import simulate
from simcore.workload.transformer.counts import forward_flops
from simcore.workload.transformer.document import TransformerWorkload


def test_every_bound_is_of_a_metric() -> None:
    design = design_from(
        {
            "workload": {"collective": "all_reduce", "size": "1 MB"},
            "cluster": {"npu": npu(), "dimensions": [dimension()]},
        }
    )
    assert set(bound(design)) <= set(METRICS)


@settings(max_examples=200)
@given(designs())
def test_no_metric_beats_the_bound_of_its_design(design: Design) -> None:
    proven, found = bound(design), metrics(simulate(design))
    assert_not_beaten(proven, found)
    assert_not_beaten(bound_by_compute(design, METRICS), found)


@settings(max_examples=60)
@given(trainings().filter(lambda design: bool(links_of(design).links)))
def test_no_metric_beats_the_bound_of_its_design_where_phases_share_links(design: Design) -> None:
    """Placements with the pipeline inside other groups are drawn too: a phase is never faster than alone."""
    proven, found = bound(design), metrics(simulate(design, "flow"))
    assert_not_beaten(proven, found)


@pytest.mark.parametrize("library", [{}, "nccl-hopper"])
@pytest.mark.parametrize("tensor", [1, 8])
def test_no_network_beats_the_bound_on_any_network(library: Any, tensor: int) -> None:
    """Not even links alone, of which the NPUs' library would need more time."""
    links = dimension(bandwidth="100 TB/s", latency="0 s", library=library)
    fast = design_from(training({"tensor": tensor}, [links], accelerator="h100-80gb"))
    slow = design_from(training({"tensor": tensor}, [dimension(library=library)], accelerator="h100-80gb"))
    for design in (fast, slow):
        assert_not_beaten(bound_on_any_network(design), metrics(simulate(fast)))


def test_gathers_that_are_waited_for_together_overlap_their_latencies() -> None:
    """Under ZeRO-3 a layer's experts are gathered beside its other weights."""
    experts = {"experts": 8, "top_k": 2, "feed_forward": 256, "dense_layers": 1}
    workload = {"model": {**model(), "mixture_of_experts": experts}, "global_batch": 64, "precision": "fp16"}
    links = dimension(bandwidth="900 GB/s", latency="20 us", library={})
    design = design_from(training({"data": 8, "zero": 3}, [links], workload=workload))
    assert_not_beaten(bound(design), metrics(simulate(design)))


APART: dict[str, dict[str, Any]] = {
    "fully_connected": {},
    "ring": {},
    "mesh": {},
    "fat_tree": {"leaf": 2, "oversubscription": 4.0},
}
"""Blocks on which the steps of an algorithm use different links."""


@pytest.mark.parametrize("library", [{}, {"library": {"all_reduce": {"memory": "400 GB/s", "piece": "3 us"}}}])
@pytest.mark.parametrize("inter_dimension", ["baseline", "themis"])
@pytest.mark.parametrize("algorithm", ["ring", "halving_doubling"])
@pytest.mark.parametrize("topology", APART)
def test_the_bound_of_steps_that_use_different_links_holds_and_is_near(
    topology: str, algorithm: str, inter_dimension: str, library: dict[str, Any]
) -> None:
    network = [
        dimension(topology, 8, "50 GB/s", "1 us", tier="pod", **APART[topology], **library),
        dimension("switch", 4, "40 GB/s", "1 us", tier="pod"),
    ]
    system = {"collective": [algorithm, "ring"], "inter_dimension": inter_dimension}
    for chunks in (1, 3, 64):
        design = collective("all_reduce", "1 GiB", network, chunks=chunks, **system)
        family = NetworkFamily.of([design])
        found = simulate(design).iteration_time_s
        own, many = bound(design)["iteration_time"], float(collective_seconds(design, family)[0])
        assert own is not None
        assert many <= own * (1 + ROUNDING)
        assert many <= found
        if inter_dimension == "baseline" and chunks == 64:
            assert many >= 0.85 * found


@settings(max_examples=100)
@given(trainings(parts=True))
def test_the_layers_alone_take_no_longer_than_the_compute_of_the_program_and_that_no_longer_than_the_iteration(
    design: Design,
) -> None:
    whole = compute_seconds(design, program_of(design))
    assert 0.0 <= max(0.0, layers_seconds(design, {})) <= whole * (1 + 1e-12)
    assert whole <= simulate(design).iteration_time_s * (1 + 1e-12)


@pytest.mark.parametrize("schedule", [name for name, order in ORDERS.items() if order.splits])
def test_layers_alone_say_much_of_a_schedule_that_splits_the_backward_pass(schedule: str) -> None:
    interleave = max(interleave for interleave, its in SCHEDULES_OF.items() if schedule in its)
    degrees = {"pipeline": 4, "data": 2, "schedule": schedule, "interleave": interleave}
    design = load_design(training(degrees, [dimension("switch", 8, "50 GB/s", "1 us")]))
    assert layers_seconds(design, {}) > 0.5 * compute_seconds(design, program_of(design))


@given(trainings(parts=True))
def test_no_iteration_is_faster_than_its_flops_at_the_peak(design: Design) -> None:
    workload, npu = design.workload, design.cluster.npu
    assert isinstance(workload, TransformerWorkload)
    rate = npu.peak[workload.precision] * design.cluster.npus
    result = simulate(design)
    assert result.iteration_time_s >= 3 * forward_flops(workload) / rate
    assert result.mfu is not None
    assert 0 < result.mfu <= 1


@settings(max_examples=200)
@given(designs())
def test_no_iteration_is_faster_than_the_bytes_of_any_dimension_at_its_bandwidth(design: Design) -> None:
    result = simulate(design)
    for use, dim in zip(result.network, design.cluster.dimensions, strict=True):
        assert result.iteration_time_s * (1 + 1e-4) >= use.bytes_per_npu / dim.bandwidth
        assert result.iteration_time_s >= use.busy_s
        assert use.utilization <= 1 + 1e-4
    assert result.network_utilization <= 1 + 1e-4


def without(document: dict[str, Any]) -> dict[str, Any]:
    """What is known of any design with this workload, number of NPUs and prices."""
    return {key: value for key, value in document.items() if key in ("workload", "cost")}


@settings(max_examples=150)
@given(trainings(parts=True))
def test_the_bound_of_a_partial_document_holds_for_every_completion(design: Design) -> None:
    document = design.document()
    partial = {**without(document), "cluster": {"npu": document["cluster"]["npu"], "npus": design.cluster.npus}}
    proven, found = bound(partial), metrics(simulate(design))
    complete = bound(design)
    for name, best in proven.items():
        value, closer = found[name], complete.get(name)
        if best is None or value is None:
            continue
        sign = 1 if METRICS[name].better == "less" else -1
        assert sign * value >= sign * best * (1 - sign * ROUNDING), name
        if closer is not None:
            assert sign * closer >= sign * best * (1 - sign * ROUNDING), name


@pytest.mark.parametrize(
    "partial",
    [
        {},
        {"workload": {"model": "gpt3-175b", "global_batch": 8}},
        {"cluster": {"npu": "a100-80gb", "npus": 8}},
        {"workload": {"model": "gpt3-175b", "global_batch": 8}, "cluster": {"npu": "a100-80gb"}},
        {"workload": {"model": "gpt3-175b", "global_batch": 8}, "cluster": {"npus": 8}},
    ],
)
def test_a_partial_document_without_workload_or_npus_is_refused(partial: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"workload|npu|cluster"):
        bound(partial)
