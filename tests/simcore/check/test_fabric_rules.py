"""What a dimension must say of its fabric: one message for each mistake."""

from __future__ import annotations

from typing import Any

import pytest

from simcore import load_design
from simcore.document.problem import InputError

STAR = [{"between": [npu, "hub"], "bandwidth": "100 GB/s"} for npu in range(4)]


def problems(**dimension: Any) -> list[str]:
    usual = {"size": 8, "bandwidth": "100 GB/s", "latency": "1 us"}
    document = {
        "workload": {"collective": "all_reduce", "size": "1 MiB"},
        "cluster": {"npu": "a100-80gb", "dimensions": [usual | dimension]},
    }
    try:
        load_design(document)
    except InputError as error:
        return [str(problem).removeprefix("cluster.dimensions[0].") for problem in error.problems]
    return []


@pytest.mark.parametrize(
    "dimension",
    [
        {"topology": "clos", "leaf": 2, "pod": 4, "oversubscription": [1, 2], "routing": "ecmp", "connections": 4},
        {"topology": "clos", "leaf": 32},  # one leaf that is not full
        {"topology": "dragonfly", "leaf": 2, "routers": 2, "global_links": 1, "routing": "valiant"},
        {"topology": "torus", "sides": [2, 4], "twisted": True},
        {"topology": "torus", "sides": [2, 2, 2], "wrap": [True, False, True]},
        {"topology": "hypercube", "routing": "adaptive"},
        {"topology": "dgx1"},
        {"topology": "graph", "size": 4, "graph": {"switches": ["hub"], "links": STAR}},
    ],
    ids=str,
)
def test_a_fabric_that_fits_is_accepted(dimension: dict[str, Any]) -> None:
    assert problems(**dimension) == []


@pytest.mark.parametrize(
    ("dimension", "message"),
    [
        (
            {"topology": "graph", "size": 4, "graph": {"switches": ["hub"], "links": STAR[:3]}},
            "graph: expected a way from NPU 0 to every other one, got none to NPU 3; join its parts",
        ),
        (
            {"topology": "graph", "size": 4, "graph": {"links": STAR}},
            "graph: expected ends of link 0 among NPUs 0 to 3, got 'hub'; name it in 'switches'",
        ),
        (
            {"topology": "graph", "size": 4, "bandwidth": "50 GB/s", "graph": {"switches": ["hub"], "links": STAR}},
            "bandwidth: expected a bandwidth of the dimension that is at least what each NPU's links carry together, "
            "got 0.5 of that of NPU 0",
        ),
        (
            {"topology": "graph"},
            "graph: expected the links between the NPUs, got none; add 'graph: {switches: […], links: […]}'",
        ),
        (
            {"topology": "clos", "leaf": 2, "routing": "valiant"},
            "routing: expected a routing of a clos (adaptive, ecmp, shortest), got 'valiant'",
        ),
        ({"topology": "ring", "routing": "ecmp"}, "routing: expected none on a ring, got 'ecmp'; drop it"),
        (
            {"topology": "clos", "leaf": 2, "routing_seed": 3},
            "routing_seed: expected 'routing: ecmp' beside routing_seed, got none; drop it, or give the routing",
        ),
        ({"topology": "clos", "leaf": 3}, "leaf: expected leaves that divide the dimension (8 NPUs), got 3"),
        ({"topology": "clos", "leaf": 4, "pod": 2}, "pod: expected pods of whole leaves of 4 NPUs, got 2"),
        (
            {"topology": "clos", "leaf": 2, "oversubscription": [1, 2]},
            "oversubscription: expected one ratio, that of leaves, got 1, 2; add 'pod', the NPUs of a pod",
        ),
        (
            {"topology": "clos", "leaf": 2, "oversubscription": 0.5},
            "oversubscription: expected a ratio of at least 1, or a list of them from the leaves up, got 0.5",
        ),
        ({"topology": "switch", "pod": 2}, "pod: expected no pod on what is no clos, got one of a switch; drop it"),
        (
            {"topology": "torus", "sides": [3, 3]},
            "sides: expected sides whose product is the size of the dimension, 8, got 3 x 3",
        ),
        (
            {"topology": "torus", "size": 9, "sides": [3, 3], "twisted": True},
            "twisted: expected sides of k and 2 k, got 3 x 3; e.g. 'sides: [4, 4, 8]'",
        ),
        (
            {"topology": "dragonfly", "size": 64, "leaf": 2, "routers": 2, "global_links": 1},
            "global_links: expected a link between any two of 16 groups, got links for 3",
        ),
    ],
    ids=str,
)
def test_each_mistake_has_one_message(dimension: dict[str, Any], message: str) -> None:
    assert problems(**dimension) == [message]
