from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tiny_spaces import search, space, tiny

from dse.bound import space_bounds
from dse.objective import Direction, Objective
from dse.screen import Screened
from dse.space import Space
from simcore.catalog import entry
from simcore.load import parse_design
from simcore.result import METRICS, metrics
from simcore.simulate import simulate


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
    "batches": tiny(
        workload={**tiny()["workload"], "global_batch": {"choice": [8, 16]}, "training_tokens": 1e9}, constraints=[]
    ),
}


DIRECTIONS: tuple[Direction, ...] = ("minimize", "maximize")


def brute_force(given: Space) -> dict[str, NDArray[np.float64]]:
    """Every metric of every feasible design, `[designs]`; metrics that designs lack are left out."""
    found: dict[str, dict[str, float | None]] = {}
    for filled in given.enumerate():
        design, _ = parse_design(filled.document)
        assert design is not None
        screened = Screened(design, given.constraints)
        if not screened.problems and not screened.broken and design.key not in found:
            values = metrics(simulate(design))
            if all(c.violation(values, screened.document) <= 0 for c in given.constraints):
                found[design.key] = values
    assert found
    rows = list(found.values())
    return {name: np.array([row[name] for row in rows], float) for name in METRICS if rows[0][name] is not None}


def of_all(given: Space, direction: Direction) -> Space:
    """The space with every metric as an objective, all in one direction."""
    return replace(given, objectives=tuple(Objective(name, direction, m.unit) for name, m in METRICS.items()))


@pytest.mark.parametrize("name", DOCUMENTS)
def test_no_design_of_a_space_is_better_than_its_bounds_in_either_direction(name: str) -> None:
    given = space(DOCUMENTS[name])
    values = brute_force(given)
    for direction in DIRECTIONS:
        asked = of_all(given, direction)
        for objective, proven in zip(asked.objectives, space_bounds(asked).values(), strict=True):
            if proven is not None and objective.name in values:
                best = (objective.sign * values[objective.name]).min()
                assert objective.sign * proven <= best + 1e-9 * abs(best), (objective, proven)


def test_the_least_cost_of_a_space_is_reached_where_cost_is_all_that_counts(tmp_path: Path) -> None:
    given = space({**DOCUMENTS["tiny"], "objectives": {"minimize": ["cost.total"]}, "constraints": []})
    _, outcomes = search(given, tmp_path, "exhaustive", 200)
    assert min(outcome.values["cost.total"] for outcome in outcomes) == space_bounds(given)["cost.total"]
