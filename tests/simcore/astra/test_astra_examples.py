"""Worked examples: closed forms that can be checked by hand, on the public interface."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import astra_cases as cases
import numpy as np
import pytest

from simcore import astra
from simcore.astra.files.chakra import CommType, NodeType, TraceNode, collective_node, compute_node, int_attribute

AR = CommType.ALL_REDUCE


def finish(folder: Path, block: str, nodes: int, algorithm: str, size: int, **keys: Any) -> int:
    """Return the time of one all-reduce [ns]."""
    network, system = cases.network(folder, [block], [nodes]), cases.system(folder, algorithm)
    return astra.run(network, system, cases.one_collective(folder, AR, size), **keys).finish_ns


def test_one_mebibyte_on_a_ring_of_eight(tmp_path: Path) -> None:
    message = int(500 + 32768 / (50 * 2**30 / 1e9))
    reduction = 3 * int(32768 / 1600)
    chunk = 10 + 7 * (message + 10 + reduction) + 7 * (message + 10)
    assert (message, reduction, chunk) == (1110, 60, 16_110)
    assert finish(tmp_path, "Ring", 8, "ring", 1 << 20) == 4 * chunk == 64_440


def test_the_rendezvous_request_costs_8192_bytes_a_step(tmp_path: Path) -> None:
    assert finish(tmp_path, "Ring", 8, "ring", 1 << 20, rendezvous=True) == 64_440 + 4 * 14 * 652 == 100_952


def test_the_injection_scale_multiplies_the_endpoint_delay(tmp_path: Path) -> None:
    assert finish(tmp_path, "Ring", 8, "ring", 1 << 20, injection_scale=2) == 64_440 + 4 * 15 * 10


def test_scales_are_ignored_with_a_warning(tmp_path: Path) -> None:
    network, system = cases.network(tmp_path, ["Ring"], [8]), cases.system(tmp_path)
    result = astra.run(network, system, cases.one_collective(tmp_path), compute_scale=2, comm_scale=3)
    assert result.finish_ns == 64_440
    assert result.warnings == (
        "compute_scale is ignored, as by ASTRA-sim 2.x",
        "comm_scale is ignored, as by ASTRA-sim 2.x",
    )


def test_a_million_and_three_bytes_make_five_chunks(tmp_path: Path) -> None:
    four = finish(tmp_path, "Ring", 8, "ring", 1_000_000)
    assert finish(tmp_path, "Ring", 8, "ring", 1_000_003) * 4 == four * 5


def test_a_switch_costs_two_latencies_and_aware_two_serialisations(tmp_path: Path) -> None:
    bandwidth = 50 * 2**30 / 1e9
    rounds = [1 << 17, 1 << 16, 1 << 15]
    reductions = sum(3 * int(size / 1600) for size in (1 << 16, 1 << 15))
    unaware = 10 + sum(2 * (int(1000 + size / bandwidth) + 10) for size in rounds) + reductions
    aware = 10 + sum(2 * (2 * int(500 + size / bandwidth) + 10) for size in rounds) + reductions
    assert finish(tmp_path, "Switch", 8, "halvingDoubling", 1 << 20) == 4 * unaware
    assert finish(tmp_path, "Switch", 8, "halvingDoubling", 1 << 20, backend="aware") == 4 * aware


@pytest.mark.parametrize("levels", [1, 2, 3, 4])
def test_a_single_chunk_on_a_double_binary_tree(tmp_path: Path, levels: int) -> None:
    network = cases.network(tmp_path, ["FullyConnected"], [2**levels])
    system = cases.system(tmp_path, "doubleBinaryTree", preferred_dataset_splits=1)
    message, reduction = int(500 + (1 << 20) / (50 * 2**30 / 1e9)), 3 * int((1 << 20) / 1600)
    expected = 2 * 10 + 2 * levels * message + (2 * levels - 1) * (10 + reduction)
    assert astra.run(network, system, cases.one_collective(tmp_path)).finish_ns == expected


def test_a_group_of_sixteen_runs_one_flat_ring_at_ten_nanoseconds(tmp_path: Path) -> None:
    blocks, sizes = ["Ring", "FullyConnected", "Switch"], [2, 8, 4]
    network = cases.network(tmp_path, blocks, sizes, bandwidth=[250.0, 200.0, 50.0])
    system = cases.system(tmp_path, ["ring", "direct", "halvingDoubling"], endpoint_delay=999)
    members = {str(group + 1): list(range(16 * group, 16 * group + 16)) for group in range(4)}
    ranks = [[collective_node(0, AR, 16 << 20, group=str(npu // 16 + 1))] for npu in range(64)]
    groups = cases.groups(tmp_path, members)
    result = astra.run(network, system, cases.traces(tmp_path, ranks), comm_groups=groups)
    assert result.finish_ns == 207_700


def test_a_group_of_everyone_is_the_network(tmp_path: Path) -> None:
    network, system = cases.network(tmp_path, ["Ring", "Switch"], [2, 4]), cases.system(tmp_path, ["ring", "ring"])
    alone = astra.run(network, system, cases.one_collective(tmp_path)).finish_ns
    workload = cases.trace(tmp_path, [collective_node(0, AR, 1 << 20, group="7")])
    groups = cases.groups(tmp_path, {"7": list(range(8))})
    assert astra.run(network, system, workload, comm_groups=groups).finish_ns == alone


def test_active_chunks_are_free_bandwidth_without_congestion_only(tmp_path: Path) -> None:
    network, workload = cases.network(tmp_path, ["Ring"], [8]), cases.one_collective(tmp_path, AR, 16 << 20)
    times = {}
    for backend in ("unaware", "aware"):
        for active in (1, 2, 4, 8):
            system = cases.system(tmp_path, active_chunks_per_dimension=active, preferred_dataset_splits=16)
            times[backend, active] = astra.run(network, system, workload, backend=backend).finish_ns
    assert [times["unaware", active] for active in (1, 2, 4, 8)] == [688_400, 344_200, 172_100, 86_050]
    assert [times["aware", active] for active in (1, 2, 4, 8)] == [688_400, 547_304, 547_304, 547_304]


def test_two_queues_halve_an_all_gather_but_not_an_all_reduce(tmp_path: Path) -> None:
    network = cases.network(tmp_path, ["Ring"], [8])
    system = cases.system(tmp_path, active_chunks_per_dimension=2)
    times = {}
    for kind in (CommType.ALL_GATHER, AR):
        for queues in (1, 2):
            workload = cases.one_collective(tmp_path, kind)
            times[kind, queues] = astra.run(network, system, workload, num_queues=queues).finish_ns
    assert times[CommType.ALL_GATHER, 1] == times[CommType.ALL_GATHER, 2]  # two chunks at once either way
    assert times[AR, 2] == 2 * times[AR, 1]  # the second half of the queues waits for all-gathers of other dims


def test_an_algorithm_list_that_is_too_short_skips_dimensions(tmp_path: Path) -> None:
    blocks, sizes = ["Ring", "FullyConnected", "Switch"], [2, 8, 4]
    network = cases.network(tmp_path, blocks, sizes, bandwidth=[250.0, 200.0, 50.0])
    result = astra.run(network, cases.system(tmp_path, ["ring"]), cases.one_collective(tmp_path, AR, 16 << 20))
    assert result.finish_ns == 82_336


def test_only_one_collective_is_in_flight_and_the_lowest_id_goes_first(tmp_path: Path) -> None:
    network, system = cases.network(tmp_path, ["Ring"], [8]), cases.system(tmp_path)
    both = [collective_node(0, AR, 1 << 20), collective_node(1, AR, 1 << 20)]
    result = astra.run(network, system, cases.trace(tmp_path, both))
    assert [(row.start, row.end) for row in result.layers] == [(0, 64_440), (64_440, 128_880)]  # type: ignore[union-attr]


def test_roofline_times_are_bound_by_memory_or_peak(tmp_path: Path) -> None:
    network = cases.network(tmp_path, ["Ring"], [2])
    system = cases.system(tmp_path, roofline_enabled=1, local_mem_bw=1000, peak_perf=100)
    for work, size, expected in ((10**12, 10**9, 10_000_000), (10**9, 10**9, 1_000_000)):
        attributes = (int_attribute("num_ops", work), int_attribute("tensor_size", size, "uint64"))
        workload = cases.trace(tmp_path, [TraceNode(0, "gemm", NodeType.COMP, attributes=attributes)])
        result = astra.run(network, system, workload)
        assert (result.finish_ns, result.compute_ns, result.exposed_communication_ns) == (expected, expected, 0)


def send_and_receive(size: int) -> list[list[TraceNode]]:
    ends = (
        int_attribute("comm_src", 0, "int32"),
        int_attribute("comm_dst", 3, "int32"),
        int_attribute("comm_size", size),
    )
    return [
        [TraceNode(0, "send", NodeType.COMM_SEND, attributes=ends), compute_node(1, 1, (0,))],
        [],
        [],
        [compute_node(0, 100), TraceNode(1, "receive", NodeType.COMM_RECV, data_deps=(0,), attributes=ends)],
    ]


def test_a_send_is_done_on_delivery_and_a_late_receive_at_once(tmp_path: Path) -> None:
    network, system = cases.network(tmp_path, ["Ring"], [4]), cases.system(tmp_path)
    result = astra.run(network, system, cases.traces(tmp_path, send_and_receive(1 << 20)))
    delivered = int(500 + (1 << 20) / (50 * 2**30 / 1e9))
    assert list(result.finish_ns_per_npu) == [delivered + 1000, 0, 0, 100_000]


def test_several_dimensions_with_congestion_are_routed_one_after_the_other(tmp_path: Path) -> None:
    network = cases.network(tmp_path, ["Ring", "Switch"], [2, 2], latency=[100.0, 1000.0])
    result = astra.run(
        network, cases.system(tmp_path), cases.traces(tmp_path, send_and_receive(1 << 20)), backend="aware"
    )
    serial = (1 << 20) / (50 * 2**30 / 1e9)
    assert result.finish_ns_per_npu[0] == int(100 + serial) + 2 * int(1000 + serial) + 1000


@pytest.mark.parametrize(("kind", "finishes"), [("PER_NPU", [11, 11, 11, 11]), ("PER_NODE", [11, 21, 11, 21])])
def test_remote_memory_is_parallel_or_one_at_a_time(tmp_path: Path, kind: str, finishes: list[int]) -> None:
    memory = tmp_path / "memory.json"
    kinds = {"memory-type": f"{kind}_MEMORY_EXPANSION", "remote-mem-latency": 0, "remote-mem-bw": 100}
    memory.write_text(json.dumps({**kinds, "num-nodes": 2, "num-npus-per-node": 2}))
    load = TraceNode(0, "load", NodeType.MEM_LOAD, attributes=(int_attribute("tensor_size", 10**6, "uint64"),))
    workload = cases.trace(tmp_path, [load, compute_node(1, 1, (0,))])
    network, system = cases.network(tmp_path, ["Ring"], [4]), cases.system(tmp_path)
    result = astra.run(network, system, workload, remote_memory=memory)
    assert list(result.finish_ns_per_npu) == [1000 * finish for finish in finishes]


def tutorial(folder: Path, system: str = "", **network: object) -> tuple[Path, Path]:
    """Write the 1.0 files of the first tutorial exercise."""
    values = {
        "dimensions-count": 1,
        "topologies-per-dim": ["Ring"],
        "units-count": [8],
        "links-count": [2],
        "link-latency": [500],
        "link-bandwidth": [50],
        **network,
    }
    (folder / "net.json").write_text(json.dumps(values))
    text = "scheduling-policy: LIFO endpoint-delay: 10 active-chunks-per-dimension: 1 preferred-dataset-splits: 4 "
    text += "boost-mode: 1 collective-optimization: localBWAware all-reduce-implementation: ring "
    text += "all-gather-implementation: ring reduce-scatter-implementation: ring all-to-all-implementation: direct "
    (folder / "sys.txt").write_text(text + system)
    return folder / "net.json", folder / "sys.txt"


@pytest.mark.parametrize(("scale", "expected"), [(1, 45_681), (2, 62_761), (1024, 17_534_229)])
def test_the_first_tutorial_exercise(tmp_path: Path, scale: int, expected: int) -> None:
    workload = cases.DATA / "text_workloads" / "all_reduce.txt"
    result = astra.run(*tutorial(tmp_path), workload, comm_scale=scale)
    assert (result.finish_ns, result.exposed_communication_ns, result.compute_ns) == (expected, expected, 0)


def test_the_layer_table_of_a_text_workload_is_written_as_csv(tmp_path: Path) -> None:
    workload = cases.DATA / "text_workloads" / "vgg16.txt"
    result = astra.run(*tutorial(tmp_path), workload)
    astra.write_csv(result, tmp_path / "layers.csv")
    lines = (tmp_path / "layers.csv").read_text().splitlines()
    assert lines[0].startswith("name,fwd_compute,weight_grad_compute,input_grad_compute,exposed_fwd_comm")
    assert len(lines) == 17
    assert lines[1].split(",")[-3:] == [
        str(result.finish_ns),
        str(result.compute_ns),
        str(result.exposed_communication_ns),
    ]


def test_the_operation_table_of_a_trace_is_written_as_csv(tmp_path: Path) -> None:
    result = astra.run(cases.network(tmp_path, ["Ring"], [8]), cases.system(tmp_path), cases.one_collective(tmp_path))
    astra.write_csv(result, tmp_path / "operations.csv")
    header, row = (tmp_path / "operations.csv").read_text().splitlines()
    assert header.startswith("name,node,kind,start,end")
    sent = 2 * 7 * 2**20 // 8  # of 1 MiB over 8 NPUs
    assert row == f"ALL_REDUCE_0,0,collective,0,64440,{sent},64440,0,64440,{sent},0.530411"


def test_finish_times_are_given_for_every_npu(tmp_path: Path) -> None:
    result = astra.run(cases.network(tmp_path, ["Ring"], [8]), cases.system(tmp_path), cases.one_collective(tmp_path))
    assert np.array_equal(result.finish_ns_per_npu, np.full(8, 64_440))


LOOPS = [
    "DATA", "MODEL", "HYBRID_DATA_MODEL", "HYBRID_MODEL_DATA", "DISTRIBUTED_INFERENCE", "MICRO",
    "HYBRID_TRANSFORMER model_parallel_NPU_group: 2", "HYBRID_DLRM 0", "HYBRID_DLRM_ENHANCED 0",
    "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 4 checkpoints: 1 0 checkpoint_initiates: 1 1",
]  # fmt: skip


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("algorithm", ["ring", "doubleBinaryTree"])
def test_every_training_loop_ends_on_a_broken_ring_too(tmp_path: Path, loop: str, algorithm: str) -> None:
    network, system = tutorial(tmp_path)
    text = system.read_text().replace("all-reduce-implementation: ring", f"all-reduce-implementation: {algorithm}")
    system.write_text(text)
    layer = "-1 100 ALLREDUCE 65536 200 ALLREDUCE 32768 300 ALLREDUCE 131072 7"
    workload = tmp_path / "workload.txt"
    workload.write_text(f"{loop}\n2\nfirst {layer}\nsecond {layer}\n")
    result = astra.run(network, system, workload, num_passes=2)
    assert result.finish_ns >= result.compute_ns >= 0
