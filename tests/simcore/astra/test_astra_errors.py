"""What ASTRA-sim hangs or crashes on is one clear sentence here."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import astra_cases as cases
import pytest

from simcore import astra
from simcore.astra.files.chakra import CommType, NodeType, TraceNode, collective_node, compute_node, int_attribute

AR = CommType.ALL_REDUCE
COLL, SEND = NodeType.COMM_COLL, NodeType.COMM_SEND


def node(kind: NodeType, **figures: int) -> TraceNode:
    """Return node 0 with integer attributes."""
    return TraceNode(0, "n", kind, attributes=tuple(int_attribute(name, value) for name, value in figures.items()))


@pytest.fixture
def ring(tmp_path: Path) -> dict[str, Any]:
    """Return valid arguments: one all-reduce on a ring of eight."""
    return {
        "network": cases.network(tmp_path, ["Ring"], [8]),
        "system": cases.system(tmp_path),
        "workload": cases.one_collective(tmp_path),
    }


def fails(match: str, arguments: dict[str, Any], **changes: Any) -> None:
    with pytest.raises(astra.AstraInputError, match=match) as caught:
        astra.run(**{**arguments, **changes})
    assert "\n" not in str(caught.value)
    assert isinstance(caught.value, ValueError)


def test_a_truncated_trace(ring: dict[str, Any]) -> None:
    content = ring["workload"].read_bytes()
    for length in (0, 1, 3, len(content) - 1):
        ring["workload"].write_bytes(content[:length])
        fails("empty file|cut short", ring)


def test_a_foreign_file_as_trace(ring: dict[str, Any]) -> None:
    ring["workload"].write_bytes(b"\x7fELF" + bytes(range(256)))
    fails("no Chakra trace|expected a Chakra node|got", ring)


def test_a_missing_rank_file(ring: dict[str, Any], tmp_path: Path) -> None:
    prefix = cases.traces(tmp_path, [[collective_node(0, AR, 1024)]] * 7)
    fails(r"w\.7\.et: missing; expected one trace for each of 8 NPUs", ring, workload=prefix)


def test_cyclic_dependencies(ring: dict[str, Any], tmp_path: Path) -> None:
    nodes = [compute_node(0, 5), compute_node(1, 5, (2,)), compute_node(2, 5, (1,))]
    fails("nodes 1, 2: expected no cycle", ring, workload=cases.trace(tmp_path, nodes))


def test_a_dependency_that_is_not_in_the_trace(ring: dict[str, Any], tmp_path: Path) -> None:
    workload = cases.trace(tmp_path, [compute_node(0, 5, (9,))])
    fails("node 0: depends on node 9, which is not in the trace", ring, workload=workload)


@pytest.mark.parametrize("backend", ["unaware", "aware"])
def test_collectives_in_a_different_order_name_ranks_and_nodes(
    ring: dict[str, Any], tmp_path: Path, backend: str
) -> None:
    one, other = (collective_node(0, AR, 1 << 20), collective_node(1, AR, 2 << 20))
    swapped = [collective_node(0, AR, 1 << 20, (1,)), collective_node(1, AR, 2 << 20)]
    prefix = cases.traces(tmp_path, [[one, other], swapped] * 4)
    match = r"rank 1, node 1 \(all-reduce of 2097152 B\) meets rank 0, node 0 \(all-reduce of 1048576 B\)"
    fails(match, ring, workload=prefix, backend=backend)


@pytest.mark.parametrize("backend", ["unaware", "aware"])
def test_a_collective_that_one_rank_never_joins(ring: dict[str, Any], tmp_path: Path, backend: str) -> None:
    ranks = [[collective_node(3, AR, 1 << 20)]] * 7 + [[compute_node(0, 1)]]
    match = r"7 of 8 NPUs never finish: rank 0, node 3 \(all-reduce of 1048576 B\) waits for rank 7"
    fails(match, ring, workload=cases.traces(tmp_path, ranks), backend=backend)


def test_a_receive_that_nobody_sends_to(ring: dict[str, Any], tmp_path: Path) -> None:
    source = (int_attribute("comm_src", 1, "int32"), int_attribute("comm_size", 8))
    ranks: list[list[TraceNode]] = [
        [TraceNode(4, "lost", NodeType.COMM_RECV, attributes=source)],
        *[[] for _ in range(7)],
    ]
    fails(r"NPU 0 waits in node 4 \(lost\)", ring, workload=cases.traces(tmp_path, ranks))


def test_a_group_of_one(ring: dict[str, Any], tmp_path: Path) -> None:
    workload = cases.trace(tmp_path, [collective_node(0, AR, 1 << 20, group="1")])
    fails(
        "group 1: expected at least 2 members, got 1",
        ring,
        workload=workload,
        comm_groups=cases.groups(tmp_path, {"1": [0]}),
    )


def test_a_rank_outside_its_group(ring: dict[str, Any], tmp_path: Path) -> None:
    workload = cases.trace(tmp_path, [collective_node(0, AR, 1 << 20, group="1")])
    groups = cases.groups(tmp_path, {"1": [0, 1]})
    fails("rank 2, .* is not in group 1", ring, workload=workload, comm_groups=groups)


@pytest.mark.parametrize(
    ("members", "match"),
    [
        ({"0": [0, 1]}, "above 0"),
        ({"a": [0, 1]}, "expected a number"),
        ({"1": [0, 8]}, "expected NPUs 0 to 7, got 8"),
        ({"1": [0, 0]}, "every NPU once"),
        ({"1": 3}, "a list of NPUs"),
    ],
)
def test_malformed_groups(ring: dict[str, Any], tmp_path: Path, members: dict[str, Any], match: str) -> None:
    fails(match, ring, comm_groups=cases.groups(tmp_path, members))


def test_an_unknown_group(ring: dict[str, Any], tmp_path: Path) -> None:
    workload = cases.trace(tmp_path, [collective_node(0, AR, 1 << 20, group="5")])
    fails("group 5 is not in the communicator-group file", ring, workload=workload)


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"npus_count": [1]}, "npus_count: expected at least 2"),
        ({"bandwidth": [0]}, "bandwidth: expected more than 0"),
        ({"bandwidth": [-5]}, "bandwidth: expected more than 0"),
        ({"latency": [-1]}, "latency: expected at least 0"),
        ({"latency": [1, 2]}, "latency: expected 1 values"),
        ({"topology": ["Torus"]}, "expected Ring, FullyConnected, Switch, got 'Torus'"),
        ({"topology": None}, "topology: expected a list of words"),
        ({"npus_count": ["eight"]}, "npus_count: expected a list of numbers"),
        ({"npus_count": ["1e12"]}, "expected at most"),
        ({"bandwidth": [".nan"]}, "expected a list of numbers"),
    ],
)
def test_networks_that_cannot_be(ring: dict[str, Any], tmp_path: Path, changes: dict[str, Any], match: str) -> None:
    fails(match, ring, network=cases.network(tmp_path, ["Ring"], [8], **changes))


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"model_shared_bus": 1}, "model-shared-bus: expected 0; the LogGP memory bus is not modelled"),
        ({"preferred_dataset_splits": None}, "preferred-dataset-splits: expected a number, got None"),
        ({"preferred_dataset_splits": 0}, "preferred-dataset-splits: expected a number of at least 1"),
        ({"collective_optimization": "best"}, "expected one of baseline, localBWAware"),
        ({"scheduling_policy": "RANDOM"}, "expected one of LIFO, FIFO, EXPLICIT"),
        ({"all_reduce_implementation": ["bucket"]}, "expected ring, direct, halvingDoubling or doubleBinaryTree"),
        ({"all_reduce_implementation": ["ring3"]}, "a window only after direct"),
        ({"all_reduce_implementation": ["ring", "ring"]}, "at most 1 algorithms"),
        ({"all_reduce_implementation": None}, "all-reduce-implementation: expected a list, got none"),
        ({"all_reduce_implementation_custom": ["x"]}, "custom collectives are not modelled"),
        ({"endpoint_delay": 0}, "endpoint-delay: expected more than 0"),
        ({"track_local_mem": 1}, "track-local-mem: expected an attribute inputs"),
        ({"preferred_dataset_splits": 1 << 20}, "at most 65536 chunks"),
    ],
)
def test_systems_that_cannot_be(ring: dict[str, Any], tmp_path: Path, changes: dict[str, Any], match: str) -> None:
    size = 1 << 30
    fails(match, ring, system=cases.system(tmp_path, **changes), workload=cases.one_collective(tmp_path, AR, size))


@pytest.mark.parametrize("algorithm", ["halvingDoubling", "doubleBinaryTree"])
def test_halving_and_trees_on_six_npus(ring: dict[str, Any], tmp_path: Path, algorithm: str) -> None:
    network = cases.network(tmp_path, ["Switch"], [6])
    fails(
        f"{algorithm}: expected a power of two NPUs, got 6",
        ring,
        network=network,
        system=cases.system(tmp_path, algorithm),
    )


def test_halving_doubling_of_an_all_to_all(ring: dict[str, Any], tmp_path: Path) -> None:
    workload = cases.one_collective(tmp_path, CommType.ALL_TO_ALL)
    fails("got all-to-all", ring, system=cases.system(tmp_path, "halvingDoubling"), workload=workload)


def test_trees_in_a_group(ring: dict[str, Any], tmp_path: Path) -> None:
    ranks = [[collective_node(0, AR, 1 << 20, group=str(npu // 4 + 1))] for npu in range(8)]
    groups = cases.groups(tmp_path, {"1": [0, 1, 2, 3], "2": [4, 5, 6, 7]})
    system = cases.system(tmp_path, "doubleBinaryTree")
    fails("got doubleBinaryTree", ring, system=system, workload=cases.traces(tmp_path, ranks), comm_groups=groups)


@pytest.mark.parametrize("kind", ["REDUCE", "GATHER", "SCATTER", "BARRIER", "REDUCE_SCATTER_BLOCK"])
def test_collectives_that_astra_sim_has_not(ring: dict[str, Any], tmp_path: Path, kind: str) -> None:
    workload = cases.one_collective(tmp_path, CommType[kind])
    fails(f"ASTRA-sim has no {kind}", ring, workload=workload)


@pytest.mark.parametrize(
    ("node", "match"),
    [
        (collective_node(0, AR, 64, involved=(False,)), "at least one active dimension"),
        (collective_node(0, AR, 64, involved=()), "involved_dim: expected 1 flags"),
        (collective_node(0, CommType.ALL_GATHER, 3), "chunks of 0 B"),
        (node(COLL, comm_type=0), "comm_size: expected a whole number"),
        (node(COLL, is_cpu_op=1), "is_cpu_op false"),
        (node(COLL, comm_type=0, comm_size=8, involved_dim=3), "involved_dim: expected a list of flags"),
        (node(SEND, comm_size=8, comm_dst=8), "comm_dst: expected an NPU below 8, got 8"),
        (node(SEND, comm_size=0, comm_dst=1), "at least 1 B"),
        (node(SEND, comm_size=8, comm_dst=0), "to itself"),
        (node(SEND, comm_size=8, comm_dst=0, comm_src=3), "expected its own number, got 3"),
        (node(NodeType.MEM_LOAD, tensor_size=8), "without remote memory"),
        (compute_node(0, 1 << 60), "expected a time below"),
    ],
)
def test_nodes_that_cannot_run(ring: dict[str, Any], tmp_path: Path, node: TraceNode, match: str) -> None:
    fails(match, ring, workload=cases.trace(tmp_path, [node]))


def test_two_nodes_with_one_id(ring: dict[str, Any], tmp_path: Path) -> None:
    fails("every node id once", ring, workload=cases.trace(tmp_path, [compute_node(0, 1), compute_node(0, 2)]))


def test_what_an_instant_operation_frees_never_starts(ring: dict[str, Any], tmp_path: Path) -> None:
    nodes = [TraceNode(0, "empty", NodeType.COMP), collective_node(1, AR, 64, (0,))]
    system = cases.system(tmp_path, roofline_enabled=1, peak_perf=10)
    fails(r"NPU 0 never starts node 1 \(all-reduce", ring, system=system, workload=cases.trace(tmp_path, nodes))


def test_roofline_without_a_peak(ring: dict[str, Any], tmp_path: Path) -> None:
    attributes = (int_attribute("num_ops", 8), int_attribute("tensor_size", 8))
    workload = cases.trace(tmp_path, [TraceNode(0, "c", NodeType.COMP, attributes=attributes)])
    fails("the time would be infinite", ring, system=cases.system(tmp_path, roofline_enabled=1), workload=workload)


@pytest.mark.parametrize("name", ["network", "system", "comm_groups", "remote_memory"])
@pytest.mark.parametrize("text", ["[1, 2", "{", "3", '"a"', "\x00", "a: b: c", "[" * 100_000, "1" * 10_000])
def test_malformed_documents(ring: dict[str, Any], tmp_path: Path, name: str, text: str) -> None:
    path = tmp_path / ("broken.yml" if name == "network" else "broken.json")
    path.write_text(text)
    fails("broken", ring, **{name: path})


@pytest.mark.parametrize("name", ["network", "system", "workload", "comm_groups", "remote_memory"])
def test_missing_files(ring: dict[str, Any], tmp_path: Path, name: str) -> None:
    fails("check the path|missing", ring, **{name: tmp_path / "nowhere.json"})


@pytest.mark.parametrize(
    ("option", "value"),
    [("backend", "best"), ("num_queues", 0), ("num_passes", 0), ("comm_scale", -1), ("injection_scale", float("nan"))],
)
def test_options_that_cannot_be(ring: dict[str, Any], option: str, value: object) -> None:
    fails(f"{option}: expected", ring, **{option: value})


@pytest.mark.parametrize(
    ("memory", "match"),
    [
        ({"memory-type": "DISK"}, "memory-type: expected one of"),
        ({"memory-type": "MEMORY_POOL", "remote-mem-latency": 1}, "remote-mem-bw: expected a number"),
        ({"memory-type": "PER_NODE_MEMORY_EXPANSION", "remote-mem-latency": 1, "remote-mem-bw": 1}, "num-nodes"),
    ],
)
def test_remote_memories_that_cannot_be(
    ring: dict[str, Any], tmp_path: Path, memory: dict[str, Any], match: str
) -> None:
    path = tmp_path / "memory.json"
    path.write_text(json.dumps(memory))
    fails(match, ring, remote_memory=path)


ONE_SYSTEM = (
    "scheduling-policy: LIFO\nendpoint-delay: 10\npreferred-dataset-splits: 4\ncollective-optimization: baseline\n"
    "all-reduce-implementation: ring\nall-gather-implementation: ring\n"
    "reduce-scatter-implementation: ring\nall-to-all-implementation: ring\n"
)
ONE_NETWORK = {
    "topologies-per-dim": ["Ring"],
    "units-count": [8],
    "links-count": [2],
    "link-latency": [1],
    "link-bandwidth": [1],
}
LAYER = "a -1 1 NONE 0 1 NONE 0 1 ALLREDUCE 4096 1"


@pytest.mark.parametrize(
    ("network", "system", "workload", "match"),
    [
        ({}, "", f"DATA 2 {LAYER}", "expected a layer name, got the end of the file"),
        ({}, "", "SOMETHING 1", "expected a training loop"),
        ({}, "", f"DATA one {LAYER}", "expected a whole number"),
        ({}, "", "DATA 1 a -1 1 NONE 0 1 NONE 0 1 ALLREDUCE 3 1", "layer a: all-reduce of 3 B"),
        ({}, "", "DATA 1 a -1 1 NONE 0 1 NONE 0 1 ALLREDUCEALLTOALL 8 1", "ASTRA-sim leaves on it"),
        ({}, "", f"HYBRID_TRANSFORMER group: 3 1 {LAYER}", "got 3, parts of 3 of its 8 NPUs; ASTRA-sim aborts"),
        ({}, "", f"HYBRID_TRANSFORMER_FWD_IN_BCKWD g: 2 c: 1 0 i: 1 5 1 {LAYER}", "layers below 1"),
        ({}, "", f"HYBRID_TRANSFORMER_FWD_IN_BCKWD g: 2 c: 1 0 i: 1 0 1 {LAYER}", "layers above their checkpoint"),
        ({}, "colour: red\n", f"DATA 1 {LAYER}", "colour:: expected one of 1.0's system keys"),
        ({}, "L:", f"DATA 1 {LAYER}", "expected a value after it"),
        ({"links-count": [1]}, "", f"DATA 1 {LAYER}", "enough links for Ring of 8, got 1"),
        ({"topology-name": "Mesh"}, "", f"DATA 1 {LAYER}", "expected Hierarchical"),
        ({"units-count": [0]}, "", f"DATA 1 {LAYER}", "units-count: expected at least 1"),
        ({"dimensions-count": 2}, "", f"DATA 1 {LAYER}", "dimensions-count: expected at most 1"),
    ],
)  # fmt: skip
def test_1_0_files_that_cannot_be(
    tmp_path: Path, network: dict[str, Any], system: str, workload: str, match: str
) -> None:
    (tmp_path / "n.json").write_text(json.dumps({**ONE_NETWORK, **network}))
    (tmp_path / "s.txt").write_text(ONE_SYSTEM + system)
    (tmp_path / "w.txt").write_text(workload)
    fails(match, {"network": tmp_path / "n.json", "system": tmp_path / "s.txt", "workload": tmp_path / "w.txt"})


def test_files_of_different_generations_do_not_mix(ring: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "s.txt").write_text(ONE_SYSTEM)
    fails("expected a system file of ASTRA-sim 2.x", ring, system=tmp_path / "s.txt")
    (tmp_path / "n.json").write_text(json.dumps(ONE_NETWORK))
    fails("expected a system file of ASTRA-sim 1.0", ring, network=tmp_path / "n.json")
    (tmp_path / "w.txt").write_text(f"DATA 1 {LAYER}")
    arguments = {"network": tmp_path / "n.json", "system": tmp_path / "s.txt", "workload": tmp_path / "w.txt"}
    fails("ASTRA-sim 1.0 has no other", arguments, backend="aware")


def test_names_from_a_file_stay_on_one_line(ring: dict[str, Any], tmp_path: Path) -> None:
    node = TraceNode(0, "two\nlines\x1b[31m" + "x" * 5000, NodeType.COMM_COLL)
    with pytest.raises(astra.AstraInputError) as caught:
        astra.run(**{**ring, "workload": cases.trace(tmp_path, [node])})
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) <= 1000
