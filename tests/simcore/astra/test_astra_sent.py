"""What a run sends over each dimension, and its timeline."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from astra_cases import groups, network, system, trace, traces

from simcore import astra
from simcore.astra.files.chakra import CommType, collective_node, compute_node
from simcore.astra.files.result import LayerTimes

MIB = 1 << 20


def _run(tmp_path: Path, algorithm: str, **keys: object) -> astra.AstraResult:
    nodes = [compute_node(0, 5), collective_node(1, CommType.ALL_REDUCE, 64 * MIB, (0,))]
    net = network(tmp_path, ["Ring", "FullyConnected"], [4, 8])
    settings = system(tmp_path, [algorithm, algorithm], **keys)
    return astra.run(net, settings, trace(tmp_path, nodes))


@pytest.mark.parametrize("algorithm", ["ring", "direct", "halvingDoubling"])
def test_each_dimension_carries_what_its_scatter_and_gather_leave(tmp_path: Path, algorithm: str) -> None:
    result = _run(tmp_path, algorithm)
    sent = [dimension.sent for dimension in result.dimensions]
    assert sent == [2 * 48 * MIB, 2 * 14 * MIB]
    assert all(dimension.utilization > 0 for dimension in result.dimensions)


def test_a_double_binary_tree_sends_along_its_edges_up_and_down(tmp_path: Path) -> None:
    nodes = [collective_node(0, CommType.ALL_REDUCE, 64 * MIB)]
    files = network(tmp_path, ["Switch"], [8]), system(tmp_path, "doubleBinaryTree"), trace(tmp_path, nodes)
    assert astra.run(*files).dimensions[0].sent == 2 * 7 * 64 * MIB // 8


def test_a_group_sends_where_its_ring_is_charged(tmp_path: Path) -> None:
    nodes = [collective_node(0, CommType.ALL_REDUCE, 8 * MIB, group="1")]
    net = network(tmp_path, ["Ring", "Switch"], [2, 4])
    ranks = traces(tmp_path, [nodes if rank % 2 == 0 else [compute_node(0, 1)] for rank in range(8)])
    members = groups(tmp_path, {"1": [0, 2, 4, 6]})
    result = astra.run(net, system(tmp_path, ["ring", "ring"]), ranks, comm_groups=members)
    assert [dimension.sent for dimension in result.dimensions] == [0, 2 * 6 * MIB]


def test_the_table_has_bytes_of_each_node_and_their_share_of_the_bandwidth(tmp_path: Path) -> None:
    result = _run(tmp_path, "ring")
    astra.write_csv(result, tmp_path / "nodes.csv")
    with (tmp_path / "nodes.csv").open() as file:
        first, second = csv.DictReader(file)
    assert [first["bytes_dim0"], second["bytes_dim0"]] == ["0", str(2 * 48 * MIB)]
    assert int(first["total_bytes_dim1"]) == int(second["bytes_dim1"])
    used = float(first["utilization_dim0"]) * result.finish_ns * 50 * 2**30 / 1e9
    assert used == pytest.approx(2 * 48 * MIB, rel=1e-5)


def test_a_timeline_has_the_nodes_in_microseconds(tmp_path: Path) -> None:
    result = _run(tmp_path, "ring")
    astra.write_timeline(result, tmp_path / "timeline.json")
    computed, reduced = json.loads((tmp_path / "timeline.json").read_text())["traceEvents"]
    assert (computed["ts"], computed["dur"], computed["tid"]) == (0.0, 5.0, "computation")
    assert (reduced["ts"], reduced["tid"]) == (5.0, "communication")
    assert reduced["ts"] + reduced["dur"] == result.finish_ns / 1000


def test_layers_of_a_text_workload_have_no_timeline(tmp_path: Path) -> None:
    result = astra.AstraResult(1, np.ones(1, np.int64), 0, 1, layers=(LayerTimes("layer"),))
    with pytest.raises(astra.AstraInputError, match=r"expected a 2\.x trace"):
        astra.write_timeline(result, tmp_path / "timeline.json")
    assert not (tmp_path / "timeline.json").exists()
