"""The best of a study that has evaluated all designs is their bound."""

from __future__ import annotations

from pathlib import Path

import pytest
from tiny_spaces import simulated_with_a_pipeline, space, tiny

from dse.proof.bound import space_bounds
from dse.run.drive import optimize
from dse.run.record import load_record
from dse.run.settings import Settings
from dse.space.space import Space


def studied(given: Space, folder: Path, sampler: str, trials: int) -> dict[str, float | None]:
    optimize(given, Settings(sampler, trials, 0, jobs=1), folder, resume=False)
    record = load_record(folder)
    assert record.feasible_trials
    best = {o.name: o.sign * min(o.sign * t.values[o.name] for t in record.feasible_trials) for o in record.objectives}
    return {name: None if (bound := record.bounds[name]) is None else best[name] - bound for name in best}


@pytest.mark.parametrize("sampler", ["exhaustive", "random"])
def test_a_study_of_all_designs_has_no_gap(tmp_path: Path, sampler: str) -> None:
    given = space(tiny(objectives={"minimize": ["iteration_time"], "maximize": ["memory.peak"]}))
    assert space_bounds(given)["memory.peak"] is None
    assert studied(given, tmp_path, sampler, 1000) == {"iteration_time": 0.0, "memory.peak": 0.0}


def test_several_combinations_can_be_one_design(tmp_path: Path) -> None:
    cluster = tiny()["cluster"]
    cluster["dimensions"][1]["bandwidth"] = {"choice": ["25 GB/s", "0.025 TB/s"]}
    given = space(cluster=cluster)
    assert studied(given, tmp_path, "exhaustive", 1000) == {"iteration_time": 0.0, "cost.total": 0.0}


def test_a_study_of_some_designs_has_the_bounds_of_its_space(tmp_path: Path) -> None:
    gaps = studied(space(), tmp_path, "exhaustive", 119)
    assert gaps["iteration_time"] is not None
    assert gaps["iteration_time"] > 0


def test_a_design_that_failed_could_be_better(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dse.evaluate.evaluate.simulate", simulated_with_a_pipeline)
    assert studied(space(), tmp_path, "exhaustive", 1000)["iteration_time"] != 0.0
