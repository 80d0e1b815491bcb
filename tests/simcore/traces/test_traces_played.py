"""What `dse trace convert` makes, played on native clusters (`workload: {trace: …}`)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from recorded_run import recorded

from simcore import InputError, load_design, simulate
from simcore.astra.files.chakra import NodeType
from simcore.traces.base import Request
from simcore.traces.design import DesignSource
from simcore.traces.files import write_traces

MODEL = {
    "model": {"layers": 4, "hidden": 256, "heads": 8, "vocabulary": 1000},
    "global_batch": 8,
    "sequence_length": 128,
}


def cluster_of(sizes: tuple[int, ...]) -> dict[str, Any]:
    dimensions = [
        {"topology": "switch", "size": size, "bandwidth": f"{300 / 4**place} GB/s", "latency": "700 ns"}
        for place, size in enumerate(sizes)
    ]
    return {"npu": "a100-80gb", "dimensions": dimensions}


def write(path: Path, document: dict[str, Any]) -> Path:
    path.write_text(yaml.safe_dump(document))
    return path


@pytest.mark.parametrize(
    ("degrees", "sizes", "chunks"),
    [
        ({"tensor": 2, "data": 4}, (2, 4), 4),
        ({"tensor": 8}, (2, 4), 2),
        ({"tensor": 2, "pipeline": 2, "data": 2}, (2, 2, 2), 1),
    ],
)
def test_a_design_and_its_own_trace_take_the_same_time_to_the_picosecond(
    degrees: dict[str, int], sizes: tuple[int, ...], chunks: int, tmp_path: Path
) -> None:
    common = {"cluster": cluster_of(sizes), "system": {"chunks": chunks}}
    design = write(tmp_path / "design.yaml", {"workload": MODEL, "parallelism": degrees, **common})
    write_traces(DesignSource().read(Request(str(design))), tmp_path / "run")
    trace: dict[str, Any] = {"trace": "run", "recorded_on": "a100-80gb", "ranks": list(sizes)}
    if (tmp_path / "run.comm_groups.json").exists():
        trace["comm_groups"] = "run.comm_groups.json"
    played = load_design(write(tmp_path / "trace.yaml", {"workload": trace, "hypothetical": True, **common}))
    assert simulate(played).iteration_time_s == simulate(load_design(design)).iteration_time_s


def test_times_in_nanoseconds_are_not_taken_for_flops(tmp_path: Path) -> None:
    common = {"cluster": cluster_of((2,))}
    design = write(tmp_path / "design.yaml", {"workload": MODEL, **common})
    write_traces(DesignSource().read(Request(str(design))), tmp_path / "run")
    document = {"workload": {"trace": "run", "ranks": [2]}, "hypothetical": True, **common}
    with pytest.raises(InputError, match="num_ops or tensor_size of a computing node, got a recorded time alone"):
        load_design(write(tmp_path / "trace.yaml", document))


def test_the_recorded_run_sends_the_bytes_of_its_collectives_and_computes_its_times(tmp_path: Path) -> None:
    traces = recorded()
    write_traces(traces, tmp_path / "run")
    workload = {"trace": "run", "recorded_on": "a100-80gb"}
    document = {"workload": workload, "system": {"chunks": 1}, "cluster": cluster_of((2,)), "hypothetical": True}
    result = simulate(load_design(write(tmp_path / "trace.yaml", document)), "reference")
    reduced = 265728 + 134144 + 4  # an all-reduce of two ranks sends its size, a gather its own, a scatter half
    assert [dimension.bytes_per_npu for dimension in result.network] == [8192 + 16384 / 2 + reduced]
    compute = max(sum(n.duration_us for n in trace if n.type is NodeType.COMP) for trace in traces.ranks)
    assert 0 <= result.iteration_time_s - compute / 1e6 < 1e-3
