"""Buying and tuning gives what simulating every combination of cluster and software gives."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import bought
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dse.evaluate.record import StudyRecord


def same_as_brute_force(document: Mapping[str, Any], record: StudyRecord, engine: str = "auto") -> int:
    """Compare every cluster and the front; how many designs brute force simulated or cut."""
    best = bought.brute_force(document, engine)
    weights = [entry.get("weight", 1.0) for entry in document["workloads"]]
    assert len(record.trials) == len(best)
    points = {}
    for trial in record.trials:
        assert trial.design is not None
        expected = best[bought.hardware_of(trial.design)]
        states = [outcome.state for outcome in expected]
        assert [workload.state for workload in trial.workloads] == states
        if set(states) != {"feasible"}:
            assert trial.state != "feasible"
            continue
        assert trial.state == "feasible"
        assert [workload.values for workload in trial.workloads] == [outcome.values for outcome in expected]
        times = [outcome.values["iteration_time"] for outcome in expected]
        if document["study"].get("aggregate") == "worst":
            time = max(t * w * len(weights) / sum(weights) for t, w in zip(times, weights, strict=True))
        else:
            time = sum(t * w for t, w in zip(times, weights, strict=True)) / sum(weights)
        assert trial.values["iteration_time"] == pytest.approx(time, rel=1e-12)
        assert trial.values["cost.total"] == expected[0].values["cost.total"]
        points[trial.number] = tuple(trial.values.values())
    listed = list(points.values())
    front = {number for number, point in points.items() if not bought.dominated(point, listed)}
    assert {trial.number for trial in record.front} == front
    return len(best)


def test_software_is_tuned_without_the_bounds_where_an_engine_does_not_keep_them(tmp_path: Path) -> None:
    document = bought.two(study={"decide": ["cluster"], "tune_sampler": "exact", "batch": 3})
    engine = "bought:backwards"
    record = bought.run(bought.space(document), tmp_path / "run", engine=engine)
    assert same_as_brute_force(document, record, engine) == 8


@pytest.mark.parametrize("aggregate", ["weighted", "worst"])
def test_the_front_over_clusters_is_that_of_nested_brute_force(aggregate: str, tmp_path: Path) -> None:
    document = bought.two(study={"decide": ["cluster"], "aggregate": aggregate, "batch": 3})
    assert same_as_brute_force(document, bought.run(bought.space(document), tmp_path / "run")) == 8


_BANDWIDTHS = st.lists(st.sampled_from([1, 3, 10, 40, 200]), min_size=1, max_size=2, unique=True)
_MODELS = st.fixed_dictionaries(
    {
        "hidden": st.sampled_from([64, 512, 4096]),
        "layers": st.sampled_from([2, 6]),
        "heads": st.sampled_from([2, 8]),
        "vocabulary": st.just(1000),
        "sequence_length": st.sampled_from([64, 1024]),
    }
)


@st.composite
def entries(draw: st.DrawFn, name: str) -> dict[str, Any]:
    choices: dict[str, Any] = {
        "zero": st.sampled_from([0, {"choice": [0, 3]}]),
        "recompute": st.sampled_from(["none", {"choice": ["none", "full"]}]),
        "microbatch": st.sampled_from([1, {"choice": [1, 4]}]),
    }
    parallelism = {key: draw(strategy) for key, strategy in choices.items()}
    parallelism["degrees"] = {"product": 4, "of": draw(st.sampled_from([["tensor", "data"], ["pipeline", "data"]]))}
    workload = {"model": draw(_MODELS), "global_batch": draw(st.sampled_from([4, 16]))}
    system = {"chunks": 2, "inter_dimension": draw(st.sampled_from(["baseline", {"choice": ["baseline", "themis"]}]))}
    weight = draw(st.sampled_from([1, 0.3, 7]))
    return {"name": name, "weight": weight, "workload": workload, "parallelism": parallelism, "system": system}


@st.composite
def documents(draw: st.DrawFn) -> dict[str, Any]:
    dimensions = [
        {
            "topology": draw(st.sampled_from(["switch", "ring"])),
            "size": 2,
            "bandwidth": {"choice": [f"{b} GB/s" for b in draw(_BANDWIDTHS)]},
            "latency": draw(st.sampled_from(["1 us", {"choice": ["1 us", "50 us"]}])),
            "tier": tier,
        }
        for tier in ("node", "pod")
    ]
    dimensions[0]["collective"] = {"choice": ["ring", "direct"]}
    cluster: dict[str, Any] = {"dimensions": dimensions}
    # A memory in which some software fits and some does not.
    npu = {
        "name": "a100-80gb",
        "peak": {"fp16": "312 TFLOP/s"},
        "memory": {"capacity": draw(st.sampled_from(["200 MB", "2 GB"])), "bandwidth": "2039 GB/s"},
        "power": {"max": "400 W", "idle": "60 W"},
    }
    cluster["npu"] = draw(st.sampled_from(["a100-80gb", npu, {"choice": ["a100-80gb", npu]}]))
    orders = [["tensor", "context", "data", "pipeline"], ["data", "context", "tensor", "pipeline"]]
    cluster["placement"] = draw(st.sampled_from([{"choice": orders}, orders[0]]))
    study = {"decide": ["cluster"], "aggregate": draw(st.sampled_from(["weighted", "worst"])), "batch": 3}
    return {
        "workloads": [draw(entries("one")), draw(entries("two"))],
        "cluster": cluster,
        "system": {"chunks": 2},
        "cost": "libra",
        "objectives": {"minimize": ["iteration_time", "cost.total"]},
        "constraints": ["fits"],
        "study": study,
    }


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(documents())
def test_any_small_space_is_answered_as_by_nested_brute_force(document: dict[str, Any]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        same_as_brute_force(document, bought.run(bought.space(document), Path(folder) / "run"))
