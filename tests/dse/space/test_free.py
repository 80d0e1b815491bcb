"""Holes that would be filled for nothing are refused."""

from __future__ import annotations

from typing import Any

import pytest
from tiny_spaces import tiny

from dse.space.space import load_space
from simcore.document.problem import InputError

SERVER = {"servers": 2, "memory_bandwidth": "100 GB/s", "price": "20 k$", "power": "800 W"}


def space_with(server: Any) -> Any:
    degrees = {"product": 8, "of": ["tensor", "data"]}
    return tiny(parallelism={"degrees": degrees, "gradients": {"parameter_server": server}})


@pytest.mark.parametrize("key", ["nics", "memory_bandwidth"])
def test_parts_of_a_server_are_not_varied_beside_one_price(key: str) -> None:
    with pytest.raises(InputError, match="list whole servers"):
        load_space(space_with({**SERVER, key: {"choice": [1, 2] if key == "nics" else ["100 GB/s", "1 TB/s"]}}))


def test_whole_servers_are_varied() -> None:
    dear = {**SERVER, "nics": 2, "price": "30 k$"}
    assert load_space(space_with({"choice": [SERVER, dear]})).count() > 1


def test_the_npu_on_which_a_trace_was_recorded_is_no_hole() -> None:
    workload = {"trace": "t", "recorded_on": {"choice": ["a100-80gb", "h100-80gb"]}}
    with pytest.raises(InputError, match="the NPU on which the trace was recorded"):
        load_space(tiny(workload=workload))


@pytest.mark.parametrize(
    ("key", "values"), [("recorded_on", ["a100-80gb", "h100-80gb"]), ("tensor", [1, 4]), ("data", [1, 4])]
)
def test_what_layers_were_timed_for_is_no_hole(key: str, values: list[Any]) -> None:
    rows = [{"name": "layer", "forward": "1 ms"}]
    workload = {"timed_layers": rows, "tensor": 4, "data": 2, "recorded_on": "a100-80gb", key: {"choice": values}}
    with pytest.raises(InputError, match="that for which the layers were timed"):
        load_space(tiny(workload=workload))


@pytest.mark.parametrize(
    ("key", "values", "told"),
    [
        ("updates", [True, False], "it has no price"),
        ("in_network", [True, False], "it has no price"),
        ("fabric", [[], [{"topology": "switch", "size": 8, "bandwidth": "100 GB/s"}]], "without one nothing limits"),
    ],
)
def test_what_an_expanded_memory_has_for_nothing_is_no_hole(key: str, values: list[Any], told: str) -> None:
    expanded = {"capacity": "1 TB", "bandwidth": "1 TB/s", "shared_by": 8, "place": ["weights", "optimizer"]}
    document = tiny()
    document["cluster"]["memory"] = {"expanded": {**expanded, key: {"choice": values}}}
    with pytest.raises(InputError, match=told):
        load_space(document)
