"""A run that PyTorch recorded on this kind of machine: two processes, CPUs, gloo."""

from __future__ import annotations

from pathlib import Path

import pytest
from recorded_run import play, recorded, unpacked

from simcore.astra.files.chakra import NodeType
from simcore.traces.base import COMMUNICATION, TraceSet, integer_of, kind_of
from simcore.traces.show import summarise

ASKED = [
    ("all_gather", 8192), ("reduce_scatter", 16384), ("all_reduce", 265728), ("all_reduce", 134144), ("all_reduce", 4),
]  # fmt: skip
"""What `record.py` asks for: 2048 floats a rank gathered, 4096 scattered, two buckets of 99,968 parameters, a loss."""


@pytest.fixture(scope="module")
def traces() -> TraceSet:
    return recorded()


def test_the_collectives_of_each_rank_are_those_the_program_asked_for_in_their_order(traces: TraceSet) -> None:
    for trace in traces.ranks:
        found = [(kind_of(n), integer_of(n, "comm_size")) for n in trace if n.type is NodeType.COMM_COLL]
        assert found == ASKED
    assert sum(size for _, size in ASKED[2:4]) == 4 * (2 * (12 * 64 * 64 + 13 * 64))


def test_the_order_is_that_in_which_pytorch_recorded_the_calls() -> None:
    names = [node["name"] for node in sorted(unpacked("host.0.json.gz")["nodes"], key=lambda node: node["id"])]
    calls = [name for name in names if name.startswith("c10d::")]
    assert calls == ["c10d::_allgather_base_", "c10d::_reduce_scatter_base_", *["c10d::allreduce_"] * 3, "c10d::send"]


def test_what_is_simulated_is_what_was_recorded_in_the_same_order(traces: TraceSet, tmp_path: Path) -> None:
    result = play(traces, tmp_path, (2,), recorded_times=True)
    last = int(result.finish_ns_per_npu.argmax())
    by_id = {node.id: node for node in traces.ranks[last]}
    ran = sorted((layer.start, by_id[layer.node]) for layer in result.layers if by_id[layer.node].type in COMMUNICATION)
    collectives = [node for _, node in ran if node.type is NodeType.COMM_COLL]
    assert [(kind_of(node), integer_of(node, "comm_size")) for node in collectives] == ASKED
    assert len(ran) == len(ASKED) + 1
    compute = sum(node.duration_us for node in traces.ranks[last] if node.type is NodeType.COMP)
    assert 0 <= result.finish_ns - compute * 1000 < 50_000  # on such a network little but computation is left


def test_the_time_of_operators_is_that_in_which_threads_ran_them(traces: TraceSet) -> None:
    events = [e for e in unpacked("kineto.1.json.gz")["traceEvents"] if e["cat"] == "cpu_op"]
    main = max({e["tid"] for e in events}, key=lambda tid: sum(e["tid"] == tid for e in events))
    spans = sorted((e["ts"], e["ts"] + e["dur"]) for e in events if e["tid"] == main)
    covered, until = 0.0, 0.0
    for start, end in spans:
        covered += max(0.0, end - max(start, until))
        until = max(until, end)
    compute = sum(node.duration_us for node in traces.ranks[1] if node.type is NodeType.COMP)
    assert compute == pytest.approx(covered, abs=1)


def test_what_reads_a_reduced_bucket_follows_its_all_reduce(traces: TraceSet) -> None:
    for trace in traces.ranks:
        buckets = [node for node in trace if integer_of(node, "comm_size") in (265728, 134144)]
        for bucket in buckets:
            issue = max(bucket.data_deps)
            first = min(node.id for node in trace if bucket.id in node.data_deps)
            assert first > issue + 1  # the backward pass goes on meanwhile
    assert len(buckets) == 2


def test_a_call_that_blocks_is_followed_by_nothing_before_it_is_done(traces: TraceSet) -> None:
    for trace in traces.ranks:
        loss = next(node for node in trace if node.type is NodeType.COMM_COLL and integer_of(node, "comm_size") == 4)
        call = max(loss.data_deps)
        after = next(n for n in trace if n.id > call and n.type is NodeType.COMP)
        assert loss.id in after.data_deps


def test_the_message_has_its_ends_and_the_summary_finds_nothing_odd(traces: TraceSet) -> None:
    (send,) = (node for node in traces.ranks[0] if node.type is NodeType.COMM_SEND)
    (receive,) = (node for node in traces.ranks[1] if node.type is NodeType.COMM_RECV)
    ends = [(integer_of(n, "comm_src"), integer_of(n, "comm_dst"), integer_of(n, "comm_size")) for n in (send, receive)]
    assert ends == [(0, 1, 1024)] * 2
    assert summarise(traces, "run").anomalies == ()
