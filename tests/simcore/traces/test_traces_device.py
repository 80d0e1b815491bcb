"""Kernels are merged with the operators that launched them; see `device_pair` for what is merged."""

from __future__ import annotations

from pathlib import Path

import pytest
from device_pair import NCCL, host_trace, kernel, launch, timeline, write_pair
from recorded_run import play

from simcore.astra.files.chakra import CommType, NodeType, TraceNode
from simcore.document.problem import InputError
from simcore.traces.base import Request, TraceSet, integer_of, kind_of
from simcore.traces.pytorch.source import PyTorch


def read(folder: Path) -> TraceSet:
    return PyTorch().read(Request(str(folder / "host.{rank}.json"), str(folder / "kineto.{rank}.json")))


@pytest.fixture
def traces(tmp_path: Path) -> TraceSet:
    for rank in (0, 1):
        write_pair(tmp_path, rank)
    return read(tmp_path)


def find(traces: TraceSet, name: str) -> TraceNode:
    return next(node for node in traces.ranks[0] if node.name == name)


def before(traces: TraceSet, name: str) -> set[str]:
    names = {node.id: node.name for node in traces.ranks[0]}
    return {names[id] for id in find(traces, name).data_deps}


def test_a_kernel_follows_its_launcher_its_stream_and_what_wrote_its_tensors(traces: TraceSet) -> None:
    assert before(traces, "gemm") == {"aten::mm"}
    assert before(traces, "mul") == {"aten::mul", "gemm"}
    assert before(traces, NCCL) == {"record_param_comms", "gemm"}
    assert before(traces, "add") == {"aten::add", "mul", NCCL}


def test_an_nccl_kernel_is_the_collective_its_operator_asked_for(traces: TraceSet) -> None:
    collective = find(traces, NCCL)
    assert collective.type is NodeType.COMM_COLL
    assert integer_of(collective, "comm_type") == CommType.ALL_REDUCE
    assert integer_of(collective, "comm_size") == 2048
    assert collective.get("comm_dtype") == "c10::BFloat16"
    assert collective.duration_us == 300


def test_its_process_group_keeps_its_number_and_the_order_of_its_members(traces: TraceSet) -> None:
    assert find(traces, NCCL).get("pg_name") == "7"
    assert traces.groups == {7: (1, 0)}


def test_the_wait_of_the_host_is_a_dependency_and_no_time(traces: TraceSet) -> None:
    item = find(traces, "aten::_local_scalar_dense")
    assert item.duration_us == 400 - 385
    assert before(traces, "aten::sub") == {"aten::_local_scalar_dense", "Memcpy DtoH"}


def test_host_and_device_are_told_apart(traces: TraceSet) -> None:
    kinds = [kind_of(node) for node in traces.ranks[0]]
    assert {kind: kinds.count(kind) for kind in set(kinds)} == {"host": 7, "compute": 5, "all_reduce": 1}


def test_the_merged_trace_runs_with_the_collective_beside_the_independent_kernel(
    traces: TraceSet, tmp_path: Path
) -> None:
    result = play(traces, tmp_path, (2,), recorded_times=True)
    spans = {layer.name: (layer.start, layer.end) for layer in result.layers}
    assert spans["mul"][0] == spans["gemm"][1]
    assert spans[NCCL][0] == spans["gemm"][1]
    assert spans["add"][0] >= max(spans["mul"][1], spans[NCCL][1])
    assert spans["aten::sub"][0] >= spans["Memcpy DtoH"][1]


def test_a_kernel_without_an_external_id_belongs_to_the_operator_that_runs_at_its_launch(tmp_path: Path) -> None:
    times = timeline()
    for entry in times["traceEvents"]:
        if entry.get("cat") == "cuda_runtime":
            del entry["args"]["External id"]
    write_pair(tmp_path, 0, times=times)
    write_pair(tmp_path, 1)
    assert before(read(tmp_path), "mul") == {"aten::mul", "gemm"}


def test_a_kernel_whose_launch_is_missing_keeps_its_time_and_is_counted(tmp_path: Path) -> None:
    times = timeline()
    times["traceEvents"].append(kernel("lost", 500, 40, 7, 99))
    write_pair(tmp_path, 0, times=times)
    write_pair(tmp_path, 1)
    traces = read(tmp_path)
    assert before(traces, "lost") == {"sub"}
    assert any("1 kernels whose launch" in note for note in traces.notes)


def test_a_collective_of_an_unlisted_group_is_refused(tmp_path: Path) -> None:
    for rank in (0, 1):
        write_pair(tmp_path, rank, host_trace(group="8"))
    with pytest.raises(InputError, match=r"expected a process group that the trace lists \(0, 7\), got '8'"):
        read(tmp_path)


def test_ranks_that_disagree_about_a_group_are_refused(tmp_path: Path) -> None:
    other = host_trace()
    other["nodes"][2]["inputs"]["values"] = ['[{"pg_name": "0", "ranks": [], "group_size": 2}]']
    write_pair(tmp_path, 0)
    write_pair(tmp_path, 1, other)
    with pytest.raises(InputError, match=r"process group 7: expected members \[1, 0\] \(rank 0\), got rank 1: none"):
        read(tmp_path)


def test_a_collective_whose_kernel_is_missing_is_refused_and_not_free(tmp_path: Path) -> None:
    times = timeline()
    times["traceEvents"] = [entry for entry in times["traceEvents"] if entry["name"] != NCCL]
    write_pair(tmp_path, 0, times=times)
    write_pair(tmp_path, 1)
    with pytest.raises(InputError, match="expected the kernel of every collective, got none"):
        read(tmp_path)


def test_a_communicating_kernel_that_nothing_describes_is_refused(tmp_path: Path) -> None:
    times = timeline()
    times["traceEvents"] += [launch(30, 9, 50), kernel("ncclDevKernel_Mystery", 420, 5, 20, 50)]
    write_pair(tmp_path, 0, times=times)
    write_pair(tmp_path, 1)
    with pytest.raises(InputError, match="expected a collective that is known, got the unknown collective"):
        read(tmp_path)
