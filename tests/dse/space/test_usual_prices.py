"""Spaces of sold machines that name no prices."""

from __future__ import annotations

from typing import Any

import pytest
from tiny_spaces import space, tiny

A100 = {"npu": "a100-80gb", "fabric": {"choice": ["dgx-a100", "dgx-a100-hdr"]}, "npus": 64}
H100 = {"npu": "h100-80gb", "fabric": "dgx-h100", "npus": 64}
OWN = {
    "npu": "h100-80gb",
    "dimensions": [{"topology": "switch", "size": 64, "bandwidth": "450 GB/s", "latency": "1 us"}],
}


def told(**changes: Any) -> list[str]:
    document = tiny(parallelism={"data": 64}, system={}, **changes)
    document = {key: value for key, value in document.items() if key != "cost" or "cost" in changes}
    return [text for text in space(document).notices if text.startswith("cost is not given")]


@pytest.mark.parametrize("cluster", [A100, H100, {"choice": [A100, H100]}])
def test_sold_machines_without_prices_are_told_where_theirs_are(cluster: Any) -> None:
    (said,) = told(cluster=cluster, objectives={"minimize": ["iteration_time", "cost.total"]})
    assert said.endswith("say 'cost: street-2025'.")
    assert told(cluster=cluster, objectives={"maximize": ["perf_per_cost"]})
    assert told(cluster=cluster, objectives={"minimize": ["iteration_time"]}, constraints=["cost.total <= 9 M$"])


@pytest.mark.parametrize(
    "changes",
    [
        {"cost": "libra"},
        {"cost": "street-2025"},
        {"hypothetical": True},
        {"objectives": {"minimize": ["iteration_time"]}},
        {"cluster": OWN, "hypothetical": True},
        {"cluster": {**H100, "npu": "a100-80gb"}},  # which nobody sells
        {"cluster": {"choice": [H100, OWN]}},
    ],
)
def test_nothing_is_said_where_prices_are_named_or_do_not_matter_or_a_machine_is_one_of_its_own(
    changes: dict[str, Any],
) -> None:
    usual = {"cluster": H100, "objectives": {"minimize": ["iteration_time", "cost.total"]}}
    assert told(**{**usual, **changes}) == []
