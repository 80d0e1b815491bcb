"""One NPU that stands for all gives what all NPUs give: fast paths against the event-by-event machine."""

from __future__ import annotations

import json
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import astra_cases as cases
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simcore import astra
from simcore.astra.algorithms.collective import Planner
from simcore.astra.engine.engine import Everyone, Planners
from simcore.astra.engine.machine import Machine
from simcore.astra.engine.packets import PacketPlan, ReductionTurns, _time_windowed, time_lone_phase
from simcore.astra.files.chakra import CommType, NodeType, TraceNode, collective_node, compute_node, int_attribute
from simcore.astra.files.graph import NpuGraph, run_graphs
from simcore.astra.files.remote_memory import MemoryPorts
from simcore.astra.run import Case

KINDS = [CommType.ALL_REDUCE, CommType.ALL_GATHER, CommType.REDUCE_SCATTER, CommType.ALL_TO_ALL]
ALGORITHMS = ["ring", "direct", "direct1", "direct2", "halvingDoubling"]
SIZES = [64, 1000, 4096, 1_000_003, 1 << 20]


@dataclass(frozen=True)
class Draw:
    """One random run; every rank has its own nodes when they differ."""

    network: dict[str, Any]
    system: dict[str, Any]
    ranks: list[list[TraceNode]]
    groups: dict[str, list[int]]
    options: dict[str, Any]


@st.composite
def networks(draw: st.DrawFn) -> dict[str, Any]:
    sizes = draw(st.sampled_from([[2], [3], [4], [8], [2, 2], [2, 3], [4, 2], [4, 4], [2, 2, 2]]))
    return {
        "topology": [draw(st.sampled_from(["Ring", "FullyConnected", "Switch"])) for _ in sizes],
        "npus_count": sizes,
        "bandwidth": [draw(st.sampled_from([50.0, 25.0, 3.3])) for _ in sizes],
        "latency": [draw(st.sampled_from([500.0, 0.0, 333.3])) for _ in sizes],
    }


@st.composite
def systems(draw: st.DrawFn, sizes: list[int]) -> dict[str, Any]:
    def algorithms(kind: str) -> list[str]:
        halves = kind != "all-to-all" and all(size & (size - 1) == 0 for size in sizes)
        return [draw(st.sampled_from(ALGORITHMS if halves else ALGORITHMS[:4])) for _ in sizes]

    return {
        "scheduling-policy": "LIFO",
        "endpoint-delay": draw(st.sampled_from([1, 10, 100])),
        "active-chunks-per-dimension": draw(st.integers(1, 3)),
        "preferred-dataset-splits": draw(st.sampled_from([1, 2, 5])),
        "collective-optimization": draw(st.sampled_from(["baseline", "localBWAware"])),
        "local-mem-bw": draw(st.sampled_from([1600, 3])),
        **{
            f"{kind}-implementation": algorithms(kind)
            for kind in ("all-reduce", "all-gather", "reduce-scatter", "all-to-all")
        },
    }


@st.composite
def draws(draw: st.DrawFn, skewed: bool) -> Draw:
    network = draw(networks())
    sizes = network["npus_count"]
    npus = prod(sizes)
    groups: dict[str, list[int]] = {}
    if skewed and npus % 2 == 0 and draw(st.booleans()):
        order = draw(st.permutations(range(npus)))
        groups = {str(place // 2 + 1): list(order[place : place + 2]) for place in range(0, npus, 2)}
    step = st.tuples(st.sampled_from(KINDS), st.sampled_from(SIZES), st.booleans())
    steps = draw(st.lists(step, min_size=1, max_size=3))
    message = st.tuples(st.integers(0, npus - 1), st.integers(1, npus - 1))
    messages = draw(st.lists(message, max_size=4)) if skewed else []
    ranks = []
    for npu in range(npus if skewed else 1):
        late = draw(st.sampled_from([0, 0, 3, 20])) if skewed else 0
        nodes = [compute_node(0, 1 + late)]
        for kind, size, grouped in steps:
            group = next((name for name, members in groups.items() if npu in members), "") if grouped else ""
            nodes.append(collective_node(len(nodes), kind, size, (len(nodes) - 1,), group=group))
        for source, distance in messages:
            destination = (source + distance) % npus
            ends = (int_attribute("comm_src", source), int_attribute("comm_dst", destination))
            for rank, what in ((source, NodeType.COMM_SEND), (destination, NodeType.COMM_RECV)):
                if rank == npu:
                    attributes = (*ends, int_attribute("comm_size", 5000))
                    nodes.append(
                        TraceNode(len(nodes), "message", what, data_deps=(len(nodes) - 1,), attributes=attributes)
                    )
        ranks.append(nodes)
    options = {
        "backend": draw(st.sampled_from(["unaware", "unaware", "aware"])),
        "num_queues": draw(st.sampled_from([1, 1, 2, 3])),
        "rendezvous": draw(st.sampled_from([False, False, True])),
    }
    return Draw(network, draw(systems(sizes)), ranks, groups, options)


def load(folder: Path, drawn: Draw) -> Case:
    cases.fresh(folder)
    (folder / "network.yml").write_text(json.dumps(drawn.network))
    (folder / "system.json").write_text(json.dumps(drawn.system))
    one = len(drawn.ranks) == 1
    workload = cases.trace(folder, drawn.ranks[0]) if one else cases.traces(folder, drawn.ranks)
    groups = cases.groups(folder, drawn.groups) if drawn.groups else None
    return astra.load(folder / "network.yml", folder / "system.json", workload, comm_groups=groups, **drawn.options)


def finish_of_everyone(case: Case) -> list[int]:
    """Return when each NPU finishes, from the machine of all NPUs."""
    planners = Planners(lambda: Planner(case.network, case.system, case.queues), shared=False)
    engine = Everyone(Machine(case.network, case.system, case.queues, case.aware, case.rendezvous), planners)
    memory = MemoryPorts(case.memory, engine.wait)
    traces = case.workload
    assert isinstance(traces, tuple)
    graphs = [NpuGraph(npu, traces[npu if len(traces) > 1 else 0], engine, memory) for npu in range(case.network.npus)]
    run_graphs(graphs, engine)
    return [graph.finish_ns for graph in graphs]


def outcome(act: Any) -> list[int] | None:
    """Return finish times, or None where the run cannot end."""
    try:
        return [int(finish) for finish in act()]
    except astra.AstraInputError:
        return None


@settings(max_examples=150)
@given(drawn=draws(skewed=False))
def test_one_npu_stands_for_all_that_do_the_same(tmp_path_factory: pytest.TempPathFactory, drawn: Draw) -> None:
    case = load(tmp_path_factory.getbasetemp() / "alike", drawn)
    assert outcome(lambda: astra.simulate(case).finish_ns_per_npu) == outcome(lambda: finish_of_everyone(case))


@settings(max_examples=150)
@given(drawn=draws(skewed=True))
def test_collectives_worked_out_one_by_one_agree_with_the_machine(
    tmp_path_factory: pytest.TempPathFactory, drawn: Draw
) -> None:
    case = load(tmp_path_factory.getbasetemp() / "skewed", drawn)
    assert outcome(lambda: astra.simulate(case).finish_ns_per_npu) == outcome(lambda: finish_of_everyone(case))


@given(
    width=st.integers(1, 5),
    bursts=st.integers(1, 9),
    reduces=st.sampled_from(ReductionTurns),
    times=st.tuples(st.integers(0, 50), st.integers(0, 20), st.integers(0, 30)),
    sequential=st.booleans(),
)
def test_closed_forms_agree_with_the_events_of_one_npu(
    width: int, bursts: int, reduces: ReductionTurns, times: tuple[int, int, int], sequential: bool
) -> None:
    delay, endpoint, reduction = times
    if sequential:  # ring: one packet after the other
        plan = PacketPlan(width * bursts, 1, width, reduces, (1,), (8,))
    else:  # direct with a full window: everyone at once, twice for an all-reduce
        halves = 2 if reduces is ReductionTurns.EVERY_OTHER_TURN else 1
        partners = tuple(range(1, width + 1))
        plan = PacketPlan(halves * width, width, width, reduces, partners, (8,), barrier=width * (halves - 1))
    closed = time_lone_phase(plan, lambda _: delay, endpoint, lambda _: reduction, alike=True)
    assert closed.duration == _time_windowed(plan, lambda _: delay, endpoint, lambda _: reduction).duration


@given(
    packets=st.integers(0, 60),
    window=st.integers(1, 4),
    reducing=st.integers(0, 5),
    reduces=st.sampled_from(ReductionTurns),
)
def test_counting_reductions_agrees_with_asking_each_packet(
    packets: int, window: int, reducing: int, reduces: ReductionTurns
) -> None:
    plan = PacketPlan(packets, window, reducing, reduces, (1,), (8,))
    assert plan.count_reduced_before(packets) == sum(plan.is_reduced(packet) for packet in range(packets))
