"""Traces of designs, summarised, drawn, made anonymous and sampled."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml
from recorded_run import play, recorded

from simcore import load_design
from simcore.astra.files.chakra import CommType, NodeType, TraceNode, collective_node, compute_node, int_attribute
from simcore.document.problem import InputError
from simcore.memory.plan import program_of
from simcore.program import TO_OTHER_END, Compute, Start
from simcore.schedule import ORDERS
from simcore.schedule.base import CHUNK_MASK, CHUNK_SHIFT
from simcore.traces.anonymous import KEPT, anonymise
from simcore.traces.base import Request, TraceSet, integer_of, kind_of
from simcore.traces.design import DesignSource
from simcore.traces.draw import write_graphml, write_perfetto
from simcore.traces.files import read_traces, write_traces
from simcore.traces.generate import generate
from simcore.traces.show import summarise

DESIGN = {
    "workload": {
        "model": {"layers": 4, "hidden": 256, "heads": 4, "vocabulary": 1000},
        "global_batch": 8,
        "sequence_length": 128,
    },
    "parallelism": {"tensor": 2, "pipeline": 2, "data": 2},
    "cluster": {
        "npu": "a100-80gb",
        "dimensions": [
            {"topology": "ring", "size": 2, "bandwidth": "300 GB/s", "latency": "700 ns"},
            {"topology": "ring", "size": 4, "bandwidth": "25 GB/s", "latency": "1.7 us"},
        ],
    },
}


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("design") / "design.yaml"
    path.write_text(yaml.safe_dump(DESIGN))
    return path


@pytest.fixture(scope="module")
def traces(file: Path) -> TraceSet:
    return DesignSource().read(Request(str(file)))


def counts_of_program(file: Path) -> Counter[str]:
    """Operators of all NPUs of the design's Program, by its schedule."""
    design = load_design(file)
    program = program_of(design)
    found: Counter[str] = Counter()
    last = program.stages * program.chunks - 1
    for stage in range(program.stages):
        order = ORDERS[program.schedule].order(program.stages, program.microbatches, program.chunks)[stage].tolist()
        played = [program.final[stage]]
        for code in order:
            backward, chunk = code & 1, (code >> 1) & CHUNK_MASK
            microbatch, virtual = code >> (CHUNK_SHIFT + 1), chunk * program.stages + stage
            part = program.parts[program.part_of[virtual]]
            forward = part.forward if microbatch else part.first_pass
            later = part.last_backward if microbatch == program.microbatches - 1 else part.backward
            played.append(later if backward else forward)
            onward = -1 if backward else 1
            found["receive"] += 0 <= virtual - onward <= last
            found["send"] += 0 <= virtual + onward <= last
        for segment in (segment for segments in played for segment in segments):
            for operator in segment.operators:
                if isinstance(operator, Compute):
                    found["compute"] += segment.repeat
                elif isinstance(operator, Start) and operator.kind in TO_OTHER_END:
                    found += Counter(send=segment.repeat, receive=segment.repeat)  # the other end sends as much
                elif isinstance(operator, Start):
                    found[operator.kind] += segment.repeat
    return Counter({kind: count * design.cluster.npus // program.stages for kind, count in found.items()})


def test_the_summary_counts_what_the_program_has(traces: TraceSet, file: Path, tmp_path: Path) -> None:
    write_traces(traces, tmp_path / "run")
    summary = summarise(read_traces(tmp_path / "run"), "run")
    assert Counter(summary.operators) == counts_of_program(file)
    assert summary.anomalies == ()
    assert summary.collectives["send"].bytes == summary.collectives["receive"].bytes > 0


def test_writing_and_reading_give_the_same_traces_and_groups(traces: TraceSet, tmp_path: Path) -> None:
    write_traces(traces, tmp_path / "run")
    again = read_traces(tmp_path / "run")
    assert again.ranks == traces.ranks
    assert again.groups == traces.groups


def test_durations_and_nanoseconds_agree(traces: TraceSet) -> None:
    for trace in traces.ranks:
        exact = sum(integer_of(node, "num_ops") for node in trace)
        assert sum(node.duration_us for node in trace) == pytest.approx(exact / 1000, abs=1)


def test_what_is_drawn_has_every_operator_and_every_dependency(traces: TraceSet, tmp_path: Path) -> None:
    write_graphml(traces, tmp_path / "run.graphml")
    write_perfetto(traces, tmp_path / "run.json", "run")
    space = "{http://graphml.graphdrawing.org/xmlns}"
    graph = ElementTree.parse(tmp_path / "run.graphml").getroot().find(f"{space}graph")
    assert graph is not None
    summary = summarise(traces, "run")
    assert len(graph.findall(f"{space}node")) == sum(rank.nodes for rank in summary.ranks)
    assert len(graph.findall(f"{space}edge")) == sum(rank.dependencies for rank in summary.ranks)
    spans = [event for event in json.loads((tmp_path / "run.json").read_text())["traceEvents"] if event["ph"] == "X"]
    assert len(spans) == sum(rank.nodes for rank in summary.ranks)
    assert max(span["ts"] + span["dur"] for span in spans) == round(1e6 * max(rank.path_s for rank in summary.ranks))


def test_anonymous_traces_take_the_same_time_and_hold_no_name(traces: TraceSet, tmp_path: Path) -> None:
    plain = anonymise(traces, "run")
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    first = play(replace(traces, documents={}), tmp_path / "a", (2, 4))
    second = play(replace(plain, documents={}), tmp_path / "b", (2, 4))
    assert (first.finish_ns_per_npu == second.finish_ns_per_npu).all()
    before, after = summarise(traces, "run"), summarise(plain, "run")
    assert before.operators == after.operators
    assert before.collectives == after.collectives


def test_an_anonymous_recording_tells_nothing_of_its_program() -> None:
    plain = anonymise(recorded(), "run")
    for trace in plain.ranks:
        assert {node.name for node in trace} == {f"{kind_of(node)}_{node.id}" for node in trace}
        assert {attribute.name for node in trace for attribute in node.attributes} <= set(KEPT)
        assert not any(node.start_time_us or node.inputs or node.outputs for node in trace)


def digest(folder: Path) -> str:
    return hashlib.sha256(b"".join(path.read_bytes() for path in sorted(folder.iterdir()))).hexdigest()


DISTRIBUTION = """
traces:
  ranks: 8
  operators: 40
  compute: {median: 200 us, spread: 1.5}
  imbalance: 1.1
  collectives:
    - {collective: all_reduce, share: 0.25, size: {median: 8 MiB, spread: 2}, blocking: false}
    - {collective: all_gather, share: 0.5, size: {choice: [1 MiB, 4 MiB]}, group: 4}
"""


@pytest.mark.parametrize("kind", ["distribution", "design", "sampled"])
def test_the_same_seed_gives_the_same_bytes_and_another_does_not(kind: str, file: Path, tmp_path: Path) -> None:
    source = tmp_path / "distribution.yaml"
    source.write_text(DISTRIBUTION)
    if kind != "distribution":
        source = file
    found = []
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        (tmp_path / name).mkdir()
        write_traces(generate(str(source), seed, kind == "sampled"), tmp_path / name / "run")
        found.append(digest(tmp_path / name))
    assert found[0] == found[1]
    assert (found[0] == found[2]) is (kind == "design")  # of which nothing is drawn


def test_drawn_traces_run_to_their_end_and_agree_with_their_distribution(tmp_path: Path) -> None:
    source = tmp_path / "distribution.yaml"
    source.write_text(DISTRIBUTION)
    traces = generate(str(source), 5, sampled=False)
    summary = summarise(traces, "run")
    assert summary.anomalies == ()
    assert traces.groups == {1: (0, 1, 2, 3), 2: (4, 5, 6, 7)}
    gathered = {
        integer_of(node, "comm_size") for trace in traces.ranks for node in trace if kind_of(node) == "all_gather"
    }
    assert gathered == {1 << 20, 4 << 20}
    assert summary.operators["compute"] == 8 * 41  # and what waits for the last reductions
    assert play(traces, tmp_path, (8,), recorded_times=True).finish_ns > 40 * 100_000


def test_sampled_traces_keep_their_structure_and_their_partners(file: Path, tmp_path: Path) -> None:
    traces = DesignSource().read(Request(str(file)))
    write_traces(traces, tmp_path / "run")
    sampled = generate(str(tmp_path / "run"), 3, sampled=True)
    assert summarise(sampled, "run").anomalies == ()
    assert summarise(sampled, "run").operators == summarise(traces, "run").operators
    followed = [[[set(n.data_deps) for n in trace] for trace in found.ranks] for found in (sampled, traces)]
    assert followed[0] == followed[1]
    times = [[node.duration_us for node in trace] for trace in sampled.ranks]
    assert times != [[node.duration_us for node in trace] for trace in traces.ranks]
    play(replace(sampled, documents={}), tmp_path, (2, 4))  # deadlocks are refused


def message(kind: NodeType, source: int, target: int, size: int) -> TraceNode:
    values = {"comm_size": size, "comm_src": source, "comm_dst": target, "comm_tag": 0}
    return TraceNode(0, "m", kind, attributes=tuple(int_attribute(key, value) for key, value in values.items()))


def test_sends_without_a_receive_and_groups_that_disagree_are_named() -> None:
    reduce_one, reduce_two = (collective_node(1, CommType.ALL_REDUCE, size, group="1") for size in (64, 128))
    gather = collective_node(2, CommType.ALL_GATHER, 8, group="2")
    ranks = (
        (message(NodeType.COMM_SEND, 0, 1, 5), reduce_one),
        (message(NodeType.COMM_RECV, 0, 1, 6), reduce_two, gather),
    )
    assert summarise(TraceSet(ranks, {1: (0, 1)}), "run").anomalies == (
        "rank 0 sends 5 B (tag 0) to rank 1 1 times, which receives it 0 times",
        "rank 0 sends 6 B (tag 0) to rank 1 0 times, which receives it 1 times",
        "group 1: collective 1 is all_reduce of 64 B on rank 0, all_reduce of 128 B on rank 1",
        "group 2 is used by rank 1, and its members are listed nowhere (--groups FILE)",
    )


def test_the_longest_path_is_that_of_the_durations() -> None:
    trace = (compute_node(0, 5), compute_node(1, 7, (0,)), compute_node(2, 20), compute_node(3, 1, (1, 2)))
    (rank,) = summarise(TraceSet((trace,)), "run").ranks
    assert (rank.path_s, rank.path_nodes, rank.roots, rank.dependencies) == (pytest.approx(21e-6), 2, 2, 3)


@pytest.mark.parametrize(
    ("trace", "found"),
    [
        (
            (compute_node(0, 1, (1,)), compute_node(1, 1, (0,))),
            "expected dependencies without a circle, got nodes 0, 1",
        ),
        ((compute_node(0, 1, (9,)),), "got node 0 after node 9, which is not there"),
        ((compute_node(0, 1), compute_node(0, 1)), "expected every node id once, got one id twice"),
    ],
)
def test_dependencies_that_cannot_be_are_refused(trace: tuple[TraceNode, ...], found: str) -> None:
    with pytest.raises(InputError, match=found):
        summarise(TraceSet((trace,)), "run")
