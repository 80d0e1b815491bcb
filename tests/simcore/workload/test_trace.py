"""Traces as workloads: two engines that agree, bounds that hold, and input that is refused."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from trace_files import compute, document, drawn_ranks, example, host, load, message, write_ranks

from dse.space.space import load_space
from simcore.astra.files.chakra import Attribute, CommType, TraceNode, collective_node, write_trace
from simcore.bounds.design import bound
from simcore.check.load import design_from
from simcore.document.problem import InputError
from simcore.engine.graph.run import play_graph
from simcore.engine.graph.tables import ENDED
from simcore.engine.reference.graph import play_graph as play_reference
from simcore.engine.trace import write_trace as write_trace_of
from simcore.memory.plan import program_of
from simcore.simulate import simulate
from simcore.uncertainty.draws import Scenarios
from simcore.uncertainty.iteration import estimate_times
from simcore.workload.trace.files import read_ranks
from simcore.workload.trace.read import read_trace

SHIPPED = Path(__file__).parents[3] / "spaces" / "traces" / "transformer.et"


def traced(folder: Path, ranks: Sequence[Sequence[TraceNode]], sizes: Sequence[int], **sections: Any) -> Any:
    """A design of ranks that are written to a folder."""
    name = write_ranks(folder, ranks)
    return load(folder, document({"trace": name, "ranks": list(sizes)}, sizes, **sections))


@pytest.mark.parametrize("seed", range(24))
def test_one_npu_of_each_class_does_what_every_npu_does_and_no_sooner_than_the_bound(tmp_path: Path, seed: int) -> None:
    draw = random.Random(seed)
    sizes = draw.choice([(2, 2), (4, 2), (2, 4)])
    ranks = drawn_ranks(draw, sizes, stages=seed % 2 == 1)
    system: dict[str, Any] = {
        "chunks": draw.choice([1, 2, 5]),
        "intra_dimension": draw.choice(["fifo", "lifo", "scf"]),
        "inter_dimension": draw.choice(["baseline", "themis"]),
    }
    if seed % 5 == 0:
        system["active_chunks"] = draw.choice([1, 2])
    design = traced(tmp_path, ranks, sizes, system=system)
    graph = program_of(design).graph
    assert graph is not None
    assert len(graph.classes) == (sizes[1] if seed % 2 else 1)
    fast, states = play_graph(design, graph)
    slow, ends = play_reference(design, graph)
    assert fast == replace(slow, stage=fast.stage, sent=fast.sent)
    assert fast.sent == pytest.approx(slow.sent, rel=1e-12)
    for npu, its in enumerate(ends):
        number = graph.class_of[npu]
        nodes = states[graph.firsts[number] : graph.firsts[number + 1], ENDED].tolist()
        assert nodes == [its[node] for node in range(len(nodes))]
    least = bound(design)["iteration_time"]
    assert least is not None
    assert 0 < least * 1e12 <= fast.total * (1 + 1e-12)


def test_more_collectives_at_a_time_than_there_is_room_for_at_first_are_played(tmp_path: Path) -> None:
    nodes = [collective_node(id, CommType.ALL_REDUCE, 10**6 + id) for id in range(40)]
    design = traced(tmp_path, [nodes] * 4, (2, 2), system={"chunks": 3, "intra_dimension": "lifo"})
    assert simulate(design).iteration_time_s == simulate(design, "reference").iteration_time_s


def test_nodes_of_one_npu_follow_one_another_and_its_host_goes_on_beside_it(tmp_path: Path) -> None:
    nodes = [compute(0, 0, 10**8), compute(1, 0, 10**8), host(2, 10**6), host(3, 10**6)]
    result = simulate(traced(tmp_path, [nodes] * 2, (2,)))
    alone = simulate(traced(tmp_path, [[compute(0, 0, 10**8)]] * 2, (2,)))
    assert result.compute_s == pytest.approx(2 * alone.compute_s, rel=1e-9)
    assert result.iteration_time_s == pytest.approx(2.0, rel=1e-9)
    assert result.other_s == pytest.approx(2.0 - result.compute_s, rel=1e-9)


def test_what_a_trace_does_not_say_is_not_claimed(tmp_path: Path) -> None:
    result = simulate(traced(tmp_path, [example()] * 4, (2, 2)))
    assert result.fits is None
    assert result.memory_bytes is None
    assert result.mfu is None
    assert result.throughput_tokens_per_s is None
    assert any("memory" in text for text in result.not_modelled)
    told = result.exposed_communication_s.ungrouped + result.compute_s + result.other_s
    assert told == pytest.approx(result.iteration_time_s, rel=1e-12)


def test_groups_of_a_trace_keep_their_ranks_on_every_cluster(tmp_path: Path) -> None:
    write_trace(tmp_path / "t.et", example())
    found = {}
    for sizes in ((16,), (2, 8), (4, 4), (8, 2)):
        design = load(tmp_path, document({"trace": "t.et", "ranks": [4, 4]}, sizes))
        sent = sum(use.bytes_per_npu for use in simulate(design).network)
        found[sizes] = sent
    assert len({round(sent) for sent in found.values()}) == 1


def test_dimensions_that_involved_dim_does_not_reach_take_no_part(tmp_path: Path) -> None:
    times = {}
    for flags in ((True,), (True, False), (True, True)):
        nodes = [collective_node(0, CommType.ALL_REDUCE, 10**6, involved=flags)]
        times[flags] = simulate(traced(tmp_path, [nodes] * 16, (4, 4))).iteration_time_s
    assert times[True,] == times[True, False] < times[True, True]


def test_a_size_that_is_not_whole_is_refused(tmp_path: Path) -> None:
    node = collective_node(0, CommType.ALL_REDUCE, 1)
    rest = tuple(attribute for attribute in node.attributes if attribute.name != "comm_size")
    nodes = [replace(node, attributes=(*rest, Attribute("comm_size", 1.5, "double")))]
    with pytest.raises(InputError, match="a whole number of at least 0 as comm_size"):
        traced(tmp_path, [nodes] * 2, (2,))


def test_recorded_times_hold_on_the_npu_on_which_they_were_recorded(tmp_path: Path) -> None:
    nodes = [replace(compute(0, 0, 0), duration_us=1234)]
    write_ranks(tmp_path, [nodes] * 2)
    workload = {"trace": "t", "recorded_on": "a100-80gb"}
    design = load(tmp_path, document(workload, (2,)))
    assert simulate(design).iteration_time_s == pytest.approx(1.234e-3, rel=1e-9)
    with pytest.raises(InputError, match="recorded_on: NAME"):
        load(tmp_path, document({"trace": "t"}, (2,)))
    with pytest.raises(InputError, match="they hold on no other"):
        load(tmp_path, document({**workload, "recorded_on": "h100-80gb"}, (2,)))


def test_the_shipped_trace_is_what_its_text_says(tmp_path: Path) -> None:
    write_trace(tmp_path / "t.et", example())
    assert (tmp_path / "t.et").read_bytes() == SHIPPED.read_bytes()


def test_a_trace_that_changed_since_the_study_is_refused(tmp_path: Path) -> None:
    first = traced(tmp_path, [example()] * 4, (2, 2))
    stored = first.document()
    assert design_from(stored).key == first.key
    write_ranks(tmp_path, [example()[:-1]] * 4)
    read_trace.cache_clear()
    read_ranks.cache_clear()
    with pytest.raises(InputError, match="when the study was made"):
        design_from(stored)


def _cyclic(nodes: list[TraceNode]) -> list[TraceNode]:
    return [replace(nodes[0], data_deps=(2,)), *nodes[1:]]


def _unknown(nodes: list[TraceNode]) -> list[TraceNode]:
    return [*nodes, collective_node(99, CommType.BARRIER, 8)]


def _foreign(nodes: list[TraceNode]) -> list[TraceNode]:
    return [*nodes, collective_node(99, CommType.ALL_REDUCE, 8, group="7")]


def _lonely(nodes: list[TraceNode]) -> list[TraceNode]:
    return [*nodes, message(99, True, 1, 8)]


BROKEN: list[tuple[Callable[[list[TraceNode]], list[TraceNode]], str]] = [
    (_cyclic, "dependencies without a cycle"),
    (_unknown, "barrier"),
    (_foreign, "a known group"),
    (_lonely, "as many receives as sends|messages to another"),
]


@pytest.mark.parametrize(("change", "told"), BROKEN)
def test_a_trace_that_cannot_be_played_is_one_message(
    tmp_path: Path, change: Callable[[list[TraceNode]], list[TraceNode]], told: str
) -> None:
    with pytest.raises(InputError, match=told) as caught:
        traced(tmp_path, [change(example())] * 4, (2, 2))
    assert len(caught.value.problems) == 1


@pytest.mark.parametrize(("named", "found"), [(7, "7"), ([], "a list"), ({}, "required key")])
def test_a_trace_that_is_no_path_is_told(tmp_path: Path, named: object, found: str) -> None:
    with pytest.raises(InputError, match=found):
        load(tmp_path, document({"trace": named}, (2,)))


def test_ranks_that_wait_for_each_other_are_refused(tmp_path: Path) -> None:
    ranks = [[message(0, False, 1 - rank, 8), message(1, True, 1 - rank, 8, (0,))] for rank in range(2)]
    with pytest.raises(InputError, match="waits for itself"):
        traced(tmp_path, ranks, (2,))


def test_files_that_are_missing_cut_short_or_elsewhere_are_refused(tmp_path: Path) -> None:
    write_ranks(tmp_path, [example()] * 4)
    inside = tmp_path / "inside"
    inside.mkdir()
    for name, told in (
        ("../t", "outside its folder"),
        (str(tmp_path / "t"), "outside its folder"),
        ("u", "none of 'u'"),
    ):
        with pytest.raises(InputError, match=told):
            load(inside, document({"trace": name}, (4,)))
    whole = (tmp_path / "t.2.et").read_bytes()
    (tmp_path / "t.2.et").write_bytes(whole[:-3])
    with pytest.raises(InputError, match="cut short"):
        load(tmp_path, document({"trace": "t", "ranks": [2, 2]}, (2, 2)))
    (tmp_path / "t.2.et").unlink()
    with pytest.raises(InputError, match=r"without rank 2 \('t.2.et'\)"):
        load(tmp_path, document({"trace": "t", "ranks": [2, 2]}, (2, 2)))


def test_keys_that_a_trace_cannot_have_are_refused(tmp_path: Path) -> None:
    write_trace(tmp_path / "t.et", example())
    with pytest.raises(InputError, match="'ranks' beside one file"):
        load(tmp_path, document({"trace": "t.et"}, (2, 2)))
    with pytest.raises(InputError, match="sizes of 2 dimensions"):
        load(tmp_path, document({"trace": "t.et", "ranks": 4}, (2, 2)))
    with pytest.raises(InputError, match="one for each rank"):
        load(tmp_path, document({"trace": "t.et", "ranks": [2, 4]}, (2, 2)))
    with pytest.raises(InputError, match="who does what"):
        load(tmp_path, document({"trace": "t.et", "ranks": [2, 2]}, (2, 2), parallelism={"tensor": 2}))
    with pytest.raises(InputError, match="regular parts"):
        load(tmp_path, document({"trace": "t.et", "ranks": [2, 3]}, (3, 2)))


def test_engines_without_graphs_say_so(tmp_path: Path) -> None:
    design = traced(tmp_path, [example()] * 4, (2, 2))
    for engine in ("flow", "packets", "reference_links"):
        with pytest.raises(InputError, match="use engine 'fast' or 'reference'"):
            simulate(design, engine)


def test_a_group_of_ranks_that_differ_is_left_to_the_reference(tmp_path: Path) -> None:
    ranks = [
        [compute(0, 0, 10**6 * (1 + rank)), collective_node(1, CommType.ALL_REDUCE, 10**6, (0,))] for rank in range(2)
    ]
    design = traced(tmp_path, ranks, (2,))
    with pytest.raises(InputError, match="use engine 'reference'"):
        simulate(design)
    slow = simulate(design, "reference")
    last = simulate(traced(tmp_path, [ranks[1]] * 2, (2,)))
    assert slow.iteration_time_s == last.iteration_time_s


def test_a_timeline_has_every_node_of_a_rank_of_each_class(tmp_path: Path) -> None:
    design = traced(tmp_path, drawn_ranks(random.Random(3), (2, 2), stages=True), (2, 2))
    write_trace_of(design, simulate(design), None, tmp_path / "timeline.json")
    spans = [span for span in json.loads((tmp_path / "timeline.json").read_text())["traceEvents"] if span["ph"] == "X"]
    assert {span["pid"] for span in spans} == {0, 1}
    last = max(span["ts"] + span["dur"] for span in spans)
    assert last == pytest.approx(simulate(design).iteration_time_s * 1e6, rel=1e-9)


def test_a_space_of_a_trace_makes_no_condition_on_memory(tmp_path: Path) -> None:
    write_trace(tmp_path / "t.et", example())
    space = {**document({"trace": "t.et", "ranks": [2, 2]}, (2, 2)), "system": {"chunks": {"choice": [1, 4]}}}
    path = tmp_path / "space.yaml"
    path.write_text(yaml.safe_dump(space))
    assert load_space(path).constraints == ()
    path.write_text(yaml.safe_dump({**space, "constraints": ["fits"]}))
    with pytest.raises(InputError, match="no condition on memory"):
        load_space(path)
    path.write_text(yaml.safe_dump({**space, "parallelism": {"tensor": {"choice": [1, 2]}}}))
    with pytest.raises(InputError, match="who does what"):
        load_space(path)


def test_scenarios_begin_at_the_bound_and_move_with_what_is_unknown(tmp_path: Path) -> None:
    design = traced(tmp_path, drawn_ranks(random.Random(5), (2, 4), stages=True), (2, 4))
    times = estimate_times(design, Scenarios(8)) / 1e12
    assert times.shape == (9,)
    assert times[0] == pytest.approx(bound(design)["iteration_time"], rel=1e-9)
    assert np.ptp(times) > 0
