"""Three and four objectives at once, with limits on results: front, hypervolume, plots and page of a real study."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from page_data import read_data
from tiny_spaces import search, space, tiny

from dse.report.plots import plot_bytes
from dse.report.summary import summarize
from dse.report.write import report_files
from dse.run.drive import optimize
from dse.run.record import load_record
from dse.run.settings import Settings

NAMES = ["time_to_train", "cost_to_train", "cost.total", "energy_per_token"]


def by_cells(points: np.ndarray[Any, Any], reference: np.ndarray[Any, Any]) -> float:
    """Hypervolume the slow way: the cells of the grid through all points, counted where a point dominates them."""
    edges = [np.unique(np.append(points[:, k], reference[k])) for k in range(points.shape[1])]
    widths = [np.diff(edge) for edge in edges]
    grid = np.stack(np.meshgrid(*(edge[:-1] for edge in edges), indexing="ij"), axis=-1)
    dominated = np.zeros(grid.shape[:-1], bool)
    for point in points:
        dominated |= (grid >= point).all(axis=-1)
    volume = widths[0]
    for width in widths[1:]:
        volume = volume[..., None] * width
    return float((volume * dominated).sum())


@pytest.mark.parametrize("count", [3, 4])
def test_many_objectives_and_limits_reach_every_report(count: int, tmp_path: Path) -> None:
    document = tiny(objectives={"minimize": NAMES[:count]}, constraints=["fits", "power <= 6000", "racks <= 1"])
    document["workload"]["training_tokens"] = 1e9
    given = space(document)
    optimize(given, Settings("random", 40, 0), tmp_path, resume=False)
    record = load_record(tmp_path)
    assert {trial.state for trial in record.trials} == {"feasible", "infeasible"}
    losses = record.losses(record.feasible_trials)
    kept = {trial.number for trial in record.front}
    for row, trial in zip(losses, record.feasible_trials, strict=True):
        beaten = ((losses <= row).all(axis=1) & (losses < row).any(axis=1)).any()
        assert (trial.number in kept) == (not beaten)
    assert record.reference is not None
    scaled = record.losses(record.front) / record.reference
    unit = np.ones(count)
    expected = by_cells(scaled, unit) * float(np.prod(record.reference))
    assert record.hypervolume == pytest.approx(expected, rel=1e-9)
    files = report_files(record)
    pareto = json.loads(files["pareto.json"])
    assert [o["name"] for o in pareto["objectives"]] == NAMES[:count]
    assert all(bound is not None and bound > 0 for bound in pareto["bounds"].values())
    data = read_data(files["report.html"].decode())
    assert [found["key"] for found in data["columns"] if found["role"] == "objective"] == NAMES[:count]
    assert plot_bytes(record, summarize(record))["png"].startswith(b"\x89PNG")


@pytest.mark.parametrize("sampler", ["nsga2", "nsga3", "tpe"])
def test_samplers_take_four_objectives(sampler: str, tmp_path: Path) -> None:
    document = tiny(objectives={"minimize": ["iteration_time", "energy_per_token", "cost.total"], "maximize": ["mfu"]})
    _, outcomes = search(space(document), tmp_path, sampler, 24, engine="fast")
    assert len(outcomes) == 24


def test_an_objective_about_the_whole_training_needs_its_length() -> None:
    with pytest.raises(ValueError, match="'time_to_train'; give the workload training_tokens"):
        space(tiny(objectives={"minimize": ["time_to_train"]}))
