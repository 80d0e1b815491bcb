"""The cluster of a row, and others that it may mean."""

from __future__ import annotations

from typing import Any

from dse.measured.table.cluster import cluster_section, other_clusters
from simcore.catalog.preset import preset
from simcore.design.npu import Npu

NPU: Npu = preset(Npu, "npus", "tpu-v4")


def sizes(cluster: dict[str, Any]) -> list[int]:
    return [dimension["size"] for dimension in cluster["dimensions"]]


def test_a_fabric_without_domains_is_told_none() -> None:
    values = {"device": NPU, "fabric": "dgx-h100", "npus": 16, "gpus_per_nvlink_domain": 8}
    assert cluster_section(values) == {"npu": NPU, "fabric": "dgx-h100", "npus": 16}
    assert list(other_clusters(cluster_section(values))) == []


def test_directions_of_a_torus_are_counted_in_any_order() -> None:
    cluster = cluster_section({"device": NPU, "fabric": "tpu-v4-pod", "npus": 1536})
    assert [sizes(other) for other in other_clusters(cluster)] == [
        [8, 16, 12], [12, 8, 16], [12, 16, 8], [16, 8, 12], [16, 12, 8],
    ]  # fmt: skip
    cube = cluster_section({"device": NPU, "fabric": "tpu-v4-pod", "npus": 512})
    assert list(other_clusters(cube)) == []
