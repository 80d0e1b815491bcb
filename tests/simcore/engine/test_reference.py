"""What only the reference engine plays, what it refuses, and what it costs."""

from __future__ import annotations

from typing import Any

import pytest
import simpy
from drawn_designs import FAMILIES, npu
from hypothesis import given, settings
from hypothesis import strategies as st

from simcore.check.check import check
from simcore.check.load import design_from
from simcore.design.cluster import Straggler
from simcore.design.design import Design
from simcore.document.problem import InputError
from simcore.engine.reference import EventBudgetError, check_budget, estimate_events, reduce_design
from simcore.result import Result
from simcore.simulate import simulate

SWITCH = {"topology": "switch", "bandwidth": "25 GB/s", "latency": "700 ns", "library": {}}
MODEL = {"hidden": 128, "layers": 8, "heads": 8, "vocabulary": 1000, "sequence_length": 64}


def training(
    sizes: tuple[int, ...] = (2, 4),
    cluster: Any = None,
    system: Any = None,
    software: Any = "megatron-core",
    **parallelism: Any,
) -> Design:
    return design_from(
        {
            "workload": {"model": MODEL, "global_batch": 16},
            "parallelism": {"tensor": 2, "pipeline": 2, "bucket": "1 KB", **parallelism},
            "cluster": {"npu": npu("1 us"), "dimensions": [{**SWITCH, "size": n} for n in sizes], **(cluster or {})},
            "system": {"chunks": 2, **(system or {})},
            "software": software,
        }
    )


def collective(kind: str, dimensions: list[dict[str, Any]], chunks: int = 1, **cluster: Any) -> Design:
    return design_from(
        {
            "workload": {"collective": kind, "size": "96 MB"},
            "cluster": {"npu": npu("1 us"), "dimensions": dimensions, **cluster},
            "system": {"chunks": chunks},
        }
    )


def total(result: Result) -> float:
    parts = (result.compute_s, result.exposed_communication_s.total, result.bubble_s, result.optimizer_s)
    return sum(parts) + result.other_s


def test_a_straggler_of_slowdown_one_changes_nothing() -> None:
    usual = simulate(training(), "reference")
    assert simulate(training(cluster={"stragglers": [{"npu": 3, "slowdown": 1.0}]}), "reference") == usual


@pytest.mark.parametrize("engine", ["fast", "reference", "reference_links"])
def test_gradients_slow_the_computation_beside_them_and_nothing_else(engine: str) -> None:
    def compute(node: float, **parallelism: Any) -> float:
        overlap = {"base": "megatron-core", "launch": {"eager": "100 ns"}, "overlap": {"node": node}}
        design = training(system={"chunks": 1}, software=overlap, tensor=1, pipeline=1, **parallelism)
        return simulate(design, engine).compute_s

    usual = compute(0.0)
    assert 1.005 * usual < compute(0.2) < 1.2 * usual
    assert compute(0.2) < compute(0.4)
    assert compute(0.2, data_overlap=False) == usual  # then nothing is computed beside them


@pytest.mark.parametrize("slow", [0, 3, 7])
def test_a_straggler_slows_everyone_and_its_peers_wait_for_it(slow: int) -> None:
    usual = simulate(training(), "reference")
    slowed = simulate(training(cluster={"stragglers": [{"npu": slow, "slowdown": 1.5}]}), "reference")
    assert usual.iteration_time_s < slowed.iteration_time_s <= 1.5 * usual.iteration_time_s
    assert total(slowed) == pytest.approx(slowed.iteration_time_s)


def test_if_all_npus_are_stragglers_it_is_a_cluster_of_slower_npus() -> None:
    everyone = [{"npu": n, "slowdown": 2.0} for n in range(8)]
    free = {"base": "megatron-core", "overlap": {"node": 0.0, "nodes": 0.0}}
    usual, slowed = (simulate(training(cluster={"stragglers": s}, software=free), "reference") for s in ([], everyone))
    assert slowed.compute_s == pytest.approx(2 * usual.compute_s)


@settings(max_examples=100)
@given(FAMILIES["everything"], st.data())
def test_whatever_npus_are_slow_everyone_finishes(design: Design, data: st.DataObject) -> None:
    slow = data.draw(st.lists(st.integers(0, design.cluster.npus - 1), unique=True, min_size=1, max_size=4))
    factors = data.draw(st.lists(st.floats(1.0, 10.0), min_size=len(slow), max_size=len(slow)))
    stragglers = tuple(Straggler(npu=n, slowdown=f) for n, f in zip(slow, factors, strict=True))
    cluster = design.cluster.model_copy(update={"stragglers": stragglers})
    result = simulate(design.model_copy(update={"cluster": cluster}), "reference")
    assert total(result) == pytest.approx(result.iteration_time_s)


def test_the_fast_engine_refuses_stragglers_and_names_the_engine_that_does_not() -> None:
    with pytest.raises(InputError, match=r"cluster.stragglers: .*engine 'fast'.*\(3\); use engine 'flow'"):
        simulate(training(cluster={"stragglers": [{"npu": 3, "slowdown": 1.5}]}), "fast")


@pytest.mark.parametrize("engine", ["fast", "reference"])
def test_engines_without_messages_refuse_failed_links(engine: str) -> None:
    design = training(cluster={"failed_links": [{"dimension": 0, "between": [0, 2]}]})
    with pytest.raises(InputError, match=rf"engine '{engine}' plays phases.*use engine 'flow' or 'reference_links'"):
        simulate(design, engine)


def test_link_level_refuses_a_limit_of_active_chunks() -> None:
    with pytest.raises(InputError, match=r"system\.active_chunks: expected 'overlap'"):
        simulate(training(system={"active_chunks": 2}), "reference_links")


@pytest.mark.parametrize(
    ("cluster", "said"),
    [
        ({"stragglers": [{"npu": 8, "slowdown": 2.0}]}, r"stragglers\[0\].npu: expected an NPU below 8, got 8"),
        ({"stragglers": [{"npu": 1, "slowdown": 2.0}] * 2}, "each NPU at most once"),
        ({"failed_links": [{"dimension": 2, "between": [0, 1]}]}, "a dimension below 2"),
        ({"failed_links": [{"dimension": 0, "between": [0, 1]}]}, "two ends of a link of the switch"),
    ],
)
def test_bad_stragglers_and_links_are_named(cluster: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        training(cluster=cluster)


DIMENSIONS = [
    {"topology": "ring", "size": 4, "bandwidth": "100 GB/s", "latency": "20 ns"},
    {"topology": "fully_connected", "size": 3, "bandwidth": "60 GB/s", "latency": "100 ns"},
    {"topology": "fat_tree", "leaf": 2, "size": 4, "bandwidth": "20 GB/s", "latency": "1 us", "oversubscription": 2.0},
]


@pytest.mark.parametrize("kind", ["all_reduce", "reduce_scatter", "all_gather", "all_to_all", "broadcast", "send_recv"])
def test_one_chunk_takes_as_long_over_links_as_by_phases_on_three_dimensions(kind: str) -> None:
    design = collective(kind, DIMENSIONS)
    by_phases = simulate(design, "reference").iteration_time_s
    assert simulate(design, "fast").iteration_time_s == by_phases
    assert simulate(design, "reference_links").iteration_time_s == pytest.approx(by_phases, abs=1e-9)


def test_a_training_iteration_of_one_chunk_takes_about_as_long_over_links() -> None:
    design = training(system={"chunks": 1}, bucket="1 GB", zero=1)
    by_phases = simulate(design, "reference").iteration_time_s
    assert simulate(design, "reference_links").iteration_time_s == pytest.approx(by_phases, rel=1e-6)


@pytest.mark.parametrize("topology", ["switch", "ring", "fully_connected"])
def test_exchanges_around_a_ring_of_one_chunk_take_as_long_over_links(topology: str) -> None:
    four = {**SWITCH, "topology": topology, "size": 4, "bandwidth": "0.05 GB/s"}
    cluster = {"dimensions": [four, {**SWITCH, "size": 2}]}
    design = training((), cluster, {"chunks": 1}, bucket="1 GB", tensor=1, pipeline=1, context=4)
    links, phases = simulate(design, "reference_links"), simulate(design, "fast")
    assert phases.exposed_communication_s.context > 0
    assert links.exposed_communication_s.context == pytest.approx(phases.exposed_communication_s.context, rel=1e-6)


def test_many_chunks_over_links_differ_but_not_wildly() -> None:
    design = collective("all_reduce", DIMENSIONS, chunks=16)
    ratio = simulate(design, "reference_links").iteration_time_s / simulate(design, "reference").iteration_time_s
    assert 0.7 < ratio < 1.3


def test_a_failed_link_makes_a_collective_slower() -> None:
    ring = [{"topology": "ring", "size": 4, "bandwidth": "100 GB/s", "latency": "20 ns"}]
    failed = [{"dimension": 0, "between": [1, 2]}]
    whole, broken = (collective("all_reduce", ring, failed_links=links) for links in ([], failed))
    times = [simulate(design, "reference_links").iteration_time_s for design in (whole, broken)]
    assert times[1] > 1.5 * times[0]


def test_a_cut_off_npu_is_a_clear_error() -> None:
    cut = collective("all_reduce", [{**SWITCH, "size": 4}], failed_links=[{"dimension": 0, "between": [2, 4]}])
    with pytest.raises(InputError, match=r"cluster\.failed_links: expected a way from NPU"):
        simulate(cut, "reference_links")


@settings(max_examples=60)
@given(FAMILIES["everything"])
def test_the_estimate_of_events_is_near_the_count(design: Design) -> None:
    counted = 0
    step = simpy.Environment.step

    def counting(env: simpy.Environment) -> None:
        nonlocal counted
        counted += 1
        step(env)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(simpy.Environment, "step", counting)
        simulate(design, "reference")
    assert counted / 2 < estimate_events(design) + 20 * design.cluster.npus < 2 * counted + 40 * design.cluster.npus


def test_above_the_budget_it_refuses_and_says_what_would_fit() -> None:
    design = training()
    events = estimate_events(design)
    check_budget(design, check, budget=events)
    with pytest.raises(
        EventBudgetError, match=rf"expected at most {events // 2:,} events, got about .*; what fits: layers"
    ):
        check_budget(design, check, budget=events // 2)


@settings(max_examples=60)
@given(FAMILIES["everything"])
def test_a_reduced_design_is_valid_fits_and_says_what_was_reduced(design: Design) -> None:
    events = estimate_events(design)
    assert reduce_design(design, check, events) == (design, ())
    try:
        smaller, notes = reduce_design(design, check, events // 3)
    except EventBudgetError:
        return
    assert estimate_events(smaller) <= events // 3
    assert check(smaller) == []
    assert notes
    assert all(" -> " in note for note in notes)
    assert smaller.parallelism.tensor == design.parallelism.tensor
    assert smaller.parallelism.pipeline == design.parallelism.pipeline


def test_a_collective_is_reduced_to_fewer_chunks_then_to_fewer_npus() -> None:
    big = collective("all_reduce", [{**SWITCH, "size": 8}, {**SWITCH, "size": 1024}], chunks=64)
    smaller, notes = reduce_design(big, check, 10_000)
    assert estimate_events(smaller) <= 10_000
    assert [note.split()[0] for note in notes] == ["chunks", "NPUs"]


def test_where_nothing_smaller_fits_it_says_so() -> None:
    with pytest.raises(EventBudgetError, match="no smaller design fits a budget of 10"):
        reduce_design(training(), check, 10)
