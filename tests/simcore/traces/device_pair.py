"""An execution trace and a timeline as a GPU would give them, made by hand after the documented formats.

The formats are those of PyTorch's `execution_trace_observer.cpp` and of Kineto's `output_json.cpp`: a `kernel` and its
`cuda_runtime` call share `correlation`, the call and its operator `External id`, the operator and the execution trace
the record function's id. Nothing here was recorded.

A product, its all-reduce on a stream of its own, beside it an independent product, then a sum of both that the host
waits for.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

ELEMENTS = 1024
"""Of every tensor, 2 bytes each."""


def tensor(storage: int) -> list[Any]:
    return [storage + 500, storage, 0, ELEMENTS, 2, "cuda:0"]


def node(number: int, name: str, parent: int, record: int, takes: list[int], gives: list[int], **more: Any) -> Any:
    attributes = [{"name": "rf_id", "type": "uint64", "value": record}]
    attributes += [{"name": key, "type": "string", "value": value} for key, value in more.items()]
    sides = [
        {"values": [tensor(s) for s in side], "types": ["Tensor(c10::BFloat16)"] * len(side)} for side in (takes, gives)
    ]
    return {
        "id": number,
        "name": name,
        "ctrl_deps": parent,
        "inputs": sides[0],
        "outputs": sides[1],
        "attrs": attributes,
    }


def all_reduce(number: int, record: int, storage: int, group: str) -> list[Any]:
    """The call, its record and NCCL's, as PyTorch nests them."""
    schema = (
        "c10d::allreduce_(Tensor[] tensors, __torch__.torch.classes.c10d.ProcessGroup process_group, "
        "__torch__.torch.classes.c10d.ReduceOp reduce_op, Tensor? sparse_indices, bool async_op=True, int timeout=-1) "
        "-> (Tensor[], __torch__.torch.classes.c10d.Work)"
    )
    call = node(number, "c10d::allreduce_", 2, record, [], [], op_schema=schema)
    call["inputs"]["values"] = [[tensor(storage)], "<Object>", "<Object>", "<None>", False, -1]
    call["inputs"]["types"] = ["GenericList[Tensor(c10::BFloat16)]", "Object", "Object", "None", "Bool", "Int"]
    call["outputs"]["values"] = [[tensor(storage)], "<Object>"]
    named = node(number + 1, "record_param_comms", number, record + 1, [storage], [storage], pg_name=group)
    return [call, named, node(number + 2, "nccl:all_reduce", number + 1, record + 2, [storage], [])]


def host_trace(group: str = "7") -> dict[str, Any]:
    groups = [{"pg_name": "0", "ranks": [], "group_size": 2}, {"pg_name": "7", "ranks": [1, 0], "group_size": 2}]
    listed = node(3, "## process_group:init ##", 2, 1, [], [])
    listed["inputs"]["values"] = [json.dumps(groups)]
    nodes = [
        node(1, "[pytorch|profiler|execution_trace|process]", 1, 0, [], []),
        node(2, "[pytorch|profiler|execution_trace|thread]", 1, 0, [], []),
        listed,
        node(10, "aten::mm", 2, 5, [100, 101], [102]),
        *all_reduce(11, 6, 102, group),
        node(20, "aten::mul", 2, 9, [103], [104]),
        node(21, "aten::add", 2, 10, [102, 104], [105]),
        node(22, "aten::_local_scalar_dense", 2, 11, [105], []),
        node(23, "aten::sub", 2, 12, [103], [106]),
    ]
    return {"schema": "1.1.1-chakra.0.0.4", "pid": 1, "time": "", "start_ts": 0, "nodes": nodes, "finish_ts": 1}


def event(category: str, name: str, start: float, duration: float, thread: int, **arguments: Any) -> dict[str, Any]:
    named = {key.replace("_", " "): value for key, value in arguments.items()}
    return {"ph": "X", "cat": category, "name": name, "ts": start, "dur": duration, "tid": thread, "args": named}


def operator(name: str, start: float, duration: float, record: int) -> dict[str, Any]:
    return event("cpu_op", name, start, duration, 1, External_id=record + 1000, Record_function_id=record)


def launch(start: float, record: int, number: int, name: str = "cudaLaunchKernel") -> dict[str, Any]:
    return event("cuda_runtime", name, start, 2, 1, External_id=record + 1000, correlation=number)


def kernel(name: str, start: float, duration: float, stream: int, number: int, kind: str = "kernel") -> dict[str, Any]:
    return event(kind, name, start, duration, stream, stream=stream, correlation=number)


NCCL = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevComm*, unsigned long, ncclWork*)"


def timeline(rank: int = 0) -> dict[str, Any]:
    events = [
        operator("aten::mm", 0, 10, 5), launch(4, 5, 1), kernel("gemm", 10, 100, 7, 1),
        operator("c10d::allreduce_", 12, 20, 6), operator("record_param_comms", 14, 16, 7), launch(20, 7, 2),
        kernel(NCCL, 112, 300, 20, 2),
        operator("aten::mul", 34, 6, 9), launch(36, 9, 3), kernel("mul", 110, 50, 7, 3),
        operator("aten::add", 42, 6, 10), launch(44, 10, 4), kernel("add", 414, 20, 7, 4),
        operator("aten::_local_scalar_dense", 50, 400, 11), launch(52, 11, 5, "cudaMemcpyAsync"),
        kernel("Memcpy DtoH", 436, 2, 7, 5, "gpu_memcpy"),
        event("cuda_runtime", "cudaStreamSynchronize", 58, 385, 1, External_id=1011, correlation=6),
        operator("aten::sub", 452, 6, 12), launch(454, 12, 7), kernel("sub", 460, 30, 7, 7),
    ]  # fmt: skip
    flows = [{"ph": "s", "cat": "ac2g", "name": "ac2g", "id": 1, "ts": 4, "tid": 1}]
    return {"distributedInfo": {"backend": "nccl", "rank": rank, "world_size": 2}, "traceEvents": [*flows, *events]}


def write_pair(
    folder: Path, rank: int, host: dict[str, Any] | None = None, times: dict[str, Any] | None = None
) -> None:
    (folder / f"host.{rank}.json").write_text(json.dumps(host or host_trace()))
    (folder / f"kineto.{rank}.json").write_text(json.dumps(times or timeline(rank)))
