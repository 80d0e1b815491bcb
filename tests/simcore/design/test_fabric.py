"""Fabrics with domains: NVLink domains of up to 72, slices of TPUs, equal ones of which the last dimension connects."""

from __future__ import annotations

from typing import Any

import pytest

from simcore import simulate
from simcore.check.load import design_from
from simcore.design.fabric import fabric_dimensions


def sizes(fabric: str, npus: int, domain: int | list[int] | None = None) -> list[int]:
    return [dimension["size"] for dimension in fabric_dimensions(fabric, npus, domain)]


@pytest.mark.parametrize(
    ("npus", "expected"),
    [(1, [1]), (8, [8]), (72, [72]), (128, [64, 2]), (144, [72, 2]), (512, [64, 8]), (2496, [64, 39]), (80, [40, 2])],
)
def test_a_domain_is_the_largest_that_divides_the_npus(npus: int, expected: list[int]) -> None:
    assert sizes("gb200-nvl72", npus) == expected


@pytest.mark.parametrize(("npus", "domain", "expected"), [(512, 8, [8, 64]), (576, 36, [36, 16]), (64, 64, [64])])
def test_a_document_may_choose_a_smaller_domain(npus: int, domain: int, expected: list[int]) -> None:
    assert sizes("gb300-nvl72", npus, domain) == expected
    cluster = {"npu": "gb300", "fabric": "gb300-nvl72", "npus": npus, "domain": domain}
    design = design_from({"workload": {"collective": "all_reduce", "size": "1 MiB"}, "cluster": cluster})
    assert [d.size for d in design.cluster.dimensions] == expected


def test_slices_are_as_even_as_they_can_be_and_pods_connect_them() -> None:
    assert sizes("tpu-v5p-pod", 512) == [8, 8, 8]
    assert sizes("tpu-v5p-pod", 12288) == [16, 16, 24, 2]
    assert sizes("tpu-v5p-pod", 512, 128) == [4, 4, 8, 4]
    assert sizes("tpu-v6e-pod", 1024) == [16, 16, 4]
    assert sizes("tpu-v7-pod", 4) == [2, 2]


def test_a_slice_may_have_the_sides_that_are_given() -> None:
    assert sizes("tpu-v5p-pod", 4096) == [16, 16, 16]
    assert sizes("tpu-v5p-pod", 4096, [8, 16, 16]) == [8, 16, 16, 2]
    assert sizes("tpu-v6e-pod", 256, [8, 32]) == [8, 32]


@pytest.mark.parametrize(
    ("fabric", "npus", "topologies"),
    [
        ("tpu-v6e-pod", 64, ["mesh", "mesh"]),  # 8 x 8
        ("tpu-v6e-pod", 128, ["mesh", "ring"]),  # 8 x 16
        ("tpu-v5e-pod", 1024, ["ring", "ring", "switch"]),
        ("tpu-v5p-pod", 32, ["mesh", "mesh", "mesh"]),  # 2 x 4 x 4: no whole cube
        ("tpu-v5p-pod", 4, ["mesh", "mesh"]),
        ("tpu-v5p-pod", 64, ["ring", "ring", "ring"]),
        ("tpu-v7-pod", 512, ["ring", "ring", "ring"]),
    ],
)
def test_slices_are_closed_where_links_lead_back(fabric: str, npus: int, topologies: list[str]) -> None:
    assert [dimension["topology"] for dimension in fabric_dimensions(fabric, npus)] == topologies
    workload = {"collective": "all_reduce", "size": "64 MiB"}
    document = {"workload": workload, "cluster": {"npu": fabric.removesuffix("-pod"), "fabric": fabric, "npus": npus}}
    assert simulate(design_from(document)).iteration_time_s > 0


@pytest.mark.parametrize(
    ("fabric", "npus", "domain", "message"),
    [
        ("gb200-nvl72", 146, None, "fills equal domains of 36 to 72, got 146; .* or give 'domain: 2'"),
        ("gb200-nvl72", 512, 128, "a 'domain' of at most 72 NPUs that divides 512, got 128"),
        ("gb200-nvl72", 512, 48, "that divides 512, got 48"),
        ("gb200-nvl72", 512, "8", "that divides 512, got '8'"),
        ("dgx-h100", 512, 8, "no 'domain' on a fabric without one, got 8"),
        ("tpu-v5p-pod", 4096, [16, 16], r"a 'domain' of 3 sides whose product is at most 6144 .* 4096, got \(16, 16\)"),
        ("tpu-v5p-pod", 4096, [16, 16, 12], "divides 4096, got"),
        ("tpu-v5p-pod", 4096, [16, 16, "8"], "divides 4096, got"),
        ({"domain": 0, "dimensions": [{}, {}]}, 8, None, "'domain', a number of NPUs, of a fabric of two dimensions"),
        ({"wraps": 4, "dimensions": [{"topology": "ring"}]}, 8, None, "'wraps' of a fabric with 'at', .*, got 4"),
        ({"domain": 8, "dimensions": [{}]}, 8, None, "of a fabric of two dimensions or more, got 8"),
    ],
)
def test_a_domain_that_cannot_be_is_refused(fabric: Any, npus: int, domain: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        fabric_dimensions(fabric, npus, domain)


@pytest.mark.parametrize(("npus", "whole"), [(2, False), (4, False), (8, True), (16, True)])
def test_a_part_of_a_node_is_not_reduced_in_the_nodes_switch(npus: int, whole: bool) -> None:
    cluster = {"npu": "h100-80gb", "fabric": "dgx-h100", "npus": npus}
    design = design_from({"workload": {"collective": "all_reduce", "size": "512 MiB"}, "cluster": cluster})
    library = design.cluster.dimensions[0].library
    assert library is not None
    assert library.name == "nccl-hopper"
    known, part = library.kernel("all_reduce", True), library.kernel("all_reduce", False)
    assert known is not None
    assert (known != part) is whole


def test_a_part_of_a_node_takes_as_long_as_a_group_of_that_size_in_a_whole_one() -> None:
    own = {"all_reduce": {"memory": "100 GB/s", "whole_memory": "400 GB/s"}}
    dimension = {"topology": "switch", "bandwidth": "450 GB/s", "latency": "1 us", "library": own}
    fabric = {"dimensions": [{**dimension, "size": 8, "tier": "node"}]}
    workload = {"collective": "all_reduce", "size": "64 MiB"}
    part = design_from({"workload": workload, "cluster": {"npu": "h100-80gb", "fabric": fabric, "npus": 4}})
    known = {"all_reduce": {"memory": "100 GB/s"}}
    alone = {"npu": "h100-80gb", "dimensions": [{**dimension, "library": known, "size": 4, "tier": "node"}]}
    assert (
        simulate(part).iteration_time_s
        == simulate(design_from({"workload": workload, "cluster": alone})).iteration_time_s
    )
