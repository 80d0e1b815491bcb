from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tiny_spaces import search, space, tiny

from dse.proof.bound import space_bounds, space_limits
from dse.space.fill import FilledDocument
from dse.space.objective import Direction, Objective
from dse.space.screen import ScreenedDesign
from dse.space.space import Space
from simcore.catalog import entry
from simcore.check.load import parse_design
from simcore.design.design import Design
from simcore.metrics import METRICS, metrics
from simcore.power.draw import nodes_peak_watts
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


CAPS = {"choice": ["150 W", "250 W", "300 W", "400 W"]}  # of which a V100 can have all but the last
SWITCH = {"topology": "switch", "latency": "1 us"}
NODES = [
    {**SWITCH, "size": 4, "bandwidth": {"choice": ["100 GB/s", "300 GB/s"]}, "tier": "node"},
    {**SWITCH, "size": 2, "bandwidth": {"choice": ["10 GB/s", "50 GB/s"]}, "tier": "pod"},
]
SIZES = [{**NODES[0], "size": 2}, {**NODES[1], "size": {"choice": [1, 2, 4]}}]
OPEN = [
    {**SWITCH, "topology": {"choice": ["ring", "switch"]}, "size": 4, "tier": "package"},
    {**SWITCH, "size": 2, "tier": "node"},
]
SHARED = {"npu": "a100-80gb", "bandwidth": {"split": {"choice": ["100 GB/s", "200 GB/s"]}, "step": "25 GB/s"}}
POLICIES = {"chunks": {"choice": [1, 64]}, "inter_dimension": {"choice": ["baseline", "themis", "bandwidth_aware"]}}
DEGREES = ["tensor", "pipeline", "data"]
SERVED = {
    "model": {**tiny()["workload"]["model"], "position": "rotary"},
    "global_batch": {"choice": [8, 32]},
    "prompt_length": 64,
    "output_length": {"choice": [1, 2, 9]},
    "precision": "fp16",
}
DOCUMENTS |= {
    "precision": tiny(workload={**tiny()["workload"], "precision": "bf16"}),  # which a V100 does not compute in
    "clusters": tiny(
        cluster={"choice": [{"npu": npu, "dimensions": NODES} for npu in ("a100-80gb", "v100-32gb")]},
    ),
    "solved": tiny(
        cluster={**SHARED, "bandwidth": {**SHARED["bandwidth"], "solve": True}, "dimensions": OPEN},
        system={"chunks": 4},
    ),
    "sizes": tiny(
        cluster={"npu": {"choice": ["a100-80gb", "h100-80gb"]}, "dimensions": SIZES},
        hypothetical=True,  # else designs of one NPU or two are all that is sold
        parallelism={"degrees": {"product": "npus", "of": DEGREES, "limits": {"tensor": [1, 2]}}},
        system={"chunks": 2},
        constraints=["fits", "npus <= 4", "cost.total <= 200000"],
    ),
    "capped": tiny(
        cluster={**tiny()["cluster"], "npu": {"choice": ["a100-80gb", "v100-32gb"]}, "power_cap": CAPS}, constraints=[]
    ),
    "unpriced": tiny(cluster={**SHARED, "dimensions": [{**OPEN[0], "tier": "chiplet"}, OPEN[1]]}, system={"chunks": 4}),
    "collective": {
        "workload": {"collective": {"choice": ["all_reduce", "all_to_all"]}, "size": {"choice": ["64 MB", "1 GB"]}},
        "cluster": {**SHARED, "dimensions": OPEN},
        "system": POLICIES,
        "constraints": ["iteration_time <= 10"],
    },
    "torus": {
        "workload": {"collective": {"choice": ["all_reduce", "all_gather"]}, "size": {"choice": ["64 MB", "1 GB"]}},
        "cluster": {
            "npu": "tpu-v4",
            "dimensions": [{**OPEN[0], "at_once": {"choice": [False, True]}}, {**OPEN[1], "at_once": True}],
            "bandwidth": SHARED["bandwidth"],
        },
        "system": POLICIES,
        "hypothetical": True,
    },
    "recommender": tiny(
        workload={"model": "dlrm-mlperf", "global_batch": {"choice": [1024, 8192]}, "precision": "fp16"},
        parallelism={"zero": {"choice": [0, 1]}, "bucket": {"choice": ["1 MB", "25 MB"]}},
        cluster={"npu": "h100-80gb", "dimensions": NODES},
        system=POLICIES,
        software={"base": "megatron-core", "transformers_alone": False},
        constraints=[],
    ),
    "layers": tiny(
        workload={"model": "resnet-50", "global_batch": {"choice": [256, 512]}, "precision": "fp16"},
        parallelism={
            "degrees": {"product": 8, "of": DEGREES, "limits": {"tensor": [1, 2]}},
            "zero": {"choice": [0, 1]},
        },
        cluster={"npu": "v100-32gb", "dimensions": NODES},
        system={"chunks": 4},
        constraints=["throughput >= 1000"],
    ),
    "serving": tiny(
        workload=SERVED,
        parallelism={
            "degrees": {"product": 8, "of": DEGREES, "limits": {"tensor": [1, 4], "pipeline": [1, 4]}},
            "microbatch": {"choice": [1, 4]},
        },
        cluster={"npu": "a100-80gb", "dimensions": NODES},
        system={"chunks": {"choice": [1, 8]}},
        constraints=["fits", "time_to_first_token <= 0.01"],
    ),
}
SHARDED = {
    "workload": {**tiny()["workload"], "global_batch": 32},
    "parallelism": {
        "degrees": {"product": 8, "of": DEGREES, "limits": {"pipeline": [1, 2]}},
        "zero": {"choice": [1, 3]},
    },
    "software": {"base": "megatron-core", "execution": "graph", "overlap": {"node": 0.2, "nodes": 0.6}},
}
DOCUMENTS |= {
    "overlap": tiny(
        **SHARDED,
        cluster={**SHARED, "dimensions": [{**OPEN[0], "topology": "switch"}, {**OPEN[1], "tier": "pod"}]},
        system=POLICIES,
    ),
    "tiers": tiny(
        **SHARDED,
        cluster={
            "npu": "a100-80gb",
            "dimensions": [NODES[0], {**NODES[1], "bandwidth": "50 GB/s", "tier": {"choice": ["pod", "node"]}}],
        },
        system={"chunks": 4},
    ),
    "libraries": tiny(
        **SHARDED,
        cluster={
            "npu": "a100-80gb",
            "dimensions": [{**NODES[0], "library": {"choice": ["nccl-ampere", "nccl-blackwell", {}]}}, NODES[1]],
        },
        system={"chunks": {"choice": [2, 8]}},
    ),
}
DOCUMENTS["stacks"] = DOCUMENTS["overlap"] | {
    "system": {"chunks": 8},
    "software": {
        "choice": [
            {"base": "megatron-core", "execution": "graph", "overlap": {"node": share, "nodes": share}}
            for share in (0.6, 0.0)
        ]
    },
}
LINKED = {"topology": "fully_connected", "size": 4, "latency": "1 us", "tier": "node"}
DOCUMENTS["parts"] = tiny(
    cost="street-2025",
    cluster={
        "choice": [
            {
                "npu": "h100-80gb",
                "dimensions": [
                    {**LINKED, "bandwidth": "450 GB/s"},
                    {**SWITCH, "size": 2, "nics": {"choice": [2, 4]}, "nic_bandwidth": "50 GB/s", "tier": "pod"},
                ],
            },
            {
                "npu": "a100-80gb",
                "dimensions": [
                    {**LINKED, "bandwidth": "300 GB/s"},
                    # no NICs give 20 GB/s; 6.25 GB/s is one NIC of 200 Gb/s
                    {**NODES[1], "bandwidth": {"choice": ["6.25 GB/s", "20 GB/s", "25 GB/s"]}},
                ],
            },
        ]
    },
    system={"chunks": 4},
    hypothetical=True,
)
GAPS = {"solved": 0.02, "sizes": 0.02, "collective": 0.1, "recommender": 0.02, "layers": 0.02, "serving": 0.05}
GAPS |= {"overlap": 0.03, "tiers": 0.03, "libraries": 0.03}
"""The most that the least times may miss what is reached, where nearly all that takes time is bounded."""


TIMES = ("iteration_time", "time_to_first_token", "time_per_output_token")
DIRECTIONS: tuple[Direction, ...] = ("minimize", "maximize")


def design_of(filled: FilledDocument) -> Design:
    design, _ = parse_design(filled.document)
    assert design is not None
    return design


def brute_force(given: Space) -> dict[str, NDArray[np.float64]]:
    """Every metric of every feasible design, `[designs]`; metrics that designs lack are left out."""
    found: dict[str, dict[str, float | None]] = {}
    for filled in given.enumerate():
        design = design_of(filled)
        screened = ScreenedDesign(design, given.constraints)
        if not screened.problems and not screened.broken_constraints and design.key not in found:
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
    given = space({**DOCUMENTS[name], "objectives": {"minimize": ["iteration_time"]}})
    values = brute_force(given)
    for direction in DIRECTIONS:
        asked = of_all(given, direction)
        for objective, proven in zip(asked.objectives, space_bounds(asked).values(), strict=True):
            if proven is None or objective.name not in values:
                continue
            best = (objective.sign * values[objective.name]).min()
            assert objective.sign * proven <= best + 1e-9 * abs(best), (objective, proven)
            if name in GAPS and direction == "minimize" and objective.name in TIMES:
                assert proven >= (1 - GAPS[name]) * best, (objective, proven, best)


def test_the_least_cost_of_a_space_is_reached_where_cost_is_all_that_counts(tmp_path: Path) -> None:
    given = space({**DOCUMENTS["tiny"], "objectives": {"minimize": ["cost.total"]}, "constraints": []})
    _, outcomes = search(given, tmp_path, "exhaustive", 200)
    assert min(outcome.values["cost.total"] for outcome in outcomes) == space_bounds(given)["cost.total"]


@pytest.mark.parametrize("name", ["tiny", "split", "sizes", "capped"])
def test_the_least_energy_of_a_space_counts_what_its_npus_compute(name: str) -> None:
    given = space({**DOCUMENTS[name], "objectives": {"minimize": ["energy"]}})
    least, proven = float(brute_force(given)["energy"].min()), space_bounds(given)["energy"]
    assert proven is not None
    assert 0.85 * least <= proven <= least


@pytest.mark.parametrize("name", ["tiny", "sizes", "clusters", "parts"])
def test_the_least_peak_power_of_a_space_counts_its_network(name: str) -> None:
    given = space({**DOCUMENTS[name], "objectives": {"minimize": ["power.peak"]}})
    assert space_bounds(given)["power.peak"] == pytest.approx(brute_force(given)["power.peak"].min(), rel=1e-12)


def test_a_limit_of_power_that_a_machine_breaks_by_its_network_leaves_it_out_of_the_bounds() -> None:
    asked = {**DOCUMENTS["clusters"], "objectives": {"minimize": ["cost.total"]}}
    a100, v100 = (space({**asked, "cluster": cluster}) for cluster in asked["cluster"]["choice"])
    limit = float(brute_force(v100)["power.peak"].min()) * (1 - 1e-6)
    assert nodes_peak_watts(next(design_of(filled) for filled in v100.enumerate())) < limit
    limited = space({**asked, "constraints": ["fits", f"power.peak <= {limit} W"]})
    assert space_bounds(space(asked)) != space_bounds(a100) == space_bounds(limited)


def test_a_bound_names_the_job_that_it_comes_from() -> None:
    given = space({**DOCUMENTS["tiny"], "objectives": {"minimize": ["iteration_time"]}})
    limit = space_limits(given)["iteration_time"]
    assert limit.value == space_bounds(given)["iteration_time"]
    assert limit.design is not None
    design, _ = parse_design(limit.design)
    assert design is not None
    assert simulate(design).iteration_time_s >= limit.value


def test_a_shape_that_cannot_be_bought_is_left_out_of_the_bounds_and_its_designs_are_cut(tmp_path: Path) -> None:
    given = space(DOCUMENTS["unpriced"])  # LIBRA has no price for a switch between chiplets
    _, outcomes = search(given, tmp_path, "exhaustive", 200)
    unpriced = [outcome for outcome in outcomes if topology(outcome.design) == "switch"]
    assert unpriced
    assert all(outcome.state == "cut" and "a price for a switch" in str(outcome.error) for outcome in unpriced)
    least = min(outcome.values["cost.total"] for outcome in outcomes if outcome.state == "feasible")
    assert space_bounds(given)["cost.total"] == least


def topology(design: dict[str, Any]) -> str:
    found: str = design["cluster"]["dimensions"][0]["topology"]
    return found


def test_an_error_of_the_program_is_none_of_the_space(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> None:
        raise ValueError("operands could not be broadcast together")

    monkeypatch.setattr("dse.proof.bound._shapes_of", broken)
    with pytest.raises(ValueError, match="broadcast"):
        space_limits(space())
