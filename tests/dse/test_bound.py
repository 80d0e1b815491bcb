from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tiny_spaces import search, space, tiny

from dse.bound import space_bounds
from simcore.catalog import entry
from simcore.result import METRICS


def split(**dimensions: Any) -> dict[str, Any]:
    def listed(*sizes: int) -> list[dict[str, Any]]:
        return [
            {"topology": "switch", "size": n, "latency": "1 us", "tier": t} for n, t in zip(sizes, TIERS, strict=False)
        ]

    return {
        "npu": {"choice": ["a100-80gb", "v100-32gb"]},
        "bandwidth": {"split": {"choice": ["100 GB/s", "200 GB/s"]}, "step": "50 GB/s"},
        "dimensions": {"choice": [listed(4, 2), listed(8)]},
    }


TIERS = ("node", "pod")
DOCUMENTS = {
    "tiny": tiny(),
    "split": tiny(cluster=split(), system={"chunks": 4}),
    "prices": tiny(cost={"choice": ["libra", "network-only"]}),
    "memory": tiny(
        cluster={**tiny()["cluster"], "npu": "v100-32gb", "memory": {"capacity": {"choice": ["32 GiB", "64 GiB"]}}}
    ),
    "electricity": tiny(cost={**entry("prices", "libra"), "name": "own", "electricity_in_total": True}),
    "batches": tiny(workload={**tiny()["workload"], "global_batch": {"choice": [8, 16]}}),
}


@pytest.mark.parametrize("name", DOCUMENTS)
@pytest.mark.parametrize("metric", [name for name in METRICS if "_token" not in name])  # those are of serving
def test_no_design_of_a_space_is_better_than_its_bounds(tmp_path: Path, name: str, metric: str) -> None:
    direction = "minimize" if METRICS[metric].better == "lower" else "maximize"
    workload = {**DOCUMENTS[name]["workload"], "training_tokens": 1e9}
    document = {**DOCUMENTS[name], "workload": workload}
    given = space({**document, "objectives": {direction: [metric]}, "constraints": []})
    proven = space_bounds(given)[metric]
    _, outcomes = search(given, tmp_path, "random", 25, engine="fast")
    sign = given.objectives[0].sign
    for outcome in outcomes:
        if proven is not None and outcome.state == "feasible":
            assert sign * proven <= sign * outcome.values[metric] + 1e-12 * abs(proven)


def test_the_least_cost_of_a_space_is_reached_where_cost_is_all_that_counts(tmp_path: Path) -> None:
    given = space({**DOCUMENTS["tiny"], "objectives": {"minimize": ["cost.total"]}, "constraints": []})
    _, outcomes = search(given, tmp_path, "exhaustive", 200)
    assert min(outcome.values["cost.total"] for outcome in outcomes) == space_bounds(given)["cost.total"]
