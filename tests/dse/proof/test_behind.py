"""How far each member of a front can be from the true one: no design is better by more in all objectives at once."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from tiny_spaces import space

from dse.evaluate.pareto import dominated_mask, shares_behind
from dse.proof.certificate import certify
from dse.report import write_reports
from dse.run.drive import optimize
from dse.run.record import load_record
from dse.run.settings import Settings

THREE = {"minimize": ["iteration_time", "cost.total", "energy"]}


def test_shares_behind_is_the_best_corner_by_its_worst_objective() -> None:
    front = np.array([[10.0, 1.0], [5.0, 4.0]])
    corners = np.array([[9.0, 0.5], [5.0, 3.0], [1.0, 9.0]])
    assert shares_behind(front, corners) == pytest.approx([0.1, 0.0])
    assert shares_behind(front, np.empty((0, 2))) == pytest.approx([0.0, 0.0])
    assert shares_behind(front, np.array([[-np.inf, 3.0]])) == pytest.approx([0.0, 0.25])


def test_a_mask_of_dominated_points_is_that_of_pairs() -> None:
    rng = np.random.default_rng(0)
    front, points = rng.integers(0, 5, (30, 3)).astype(float), rng.integers(0, 6, (200, 3)).astype(float)
    no_worse = (front[None] <= points[:, None]).all(axis=2) & (front[None] < points[:, None]).any(axis=2)
    assert (dominated_mask(front, points) == no_worse.any(axis=1)).all()


@pytest.mark.parametrize("objectives", [{"minimize": ["iteration_time", "cost.total"]}, THREE])
@pytest.mark.parametrize(("sampler", "trials"), [("random", 12), ("exact", 4)])
def test_no_design_is_further_ahead_of_a_member_than_is_said(
    tmp_path: Path, objectives: dict[str, list[str]], sampler: str, trials: int
) -> None:
    given = space(objectives=objectives)
    optimize(given, Settings("exhaustive", 1000, 0, engine="fast"), tmp_path / "all", resume=False)
    optimize(given, Settings(sampler, trials, 0, engine="fast"), tmp_path / "few", resume=False)
    every, few = load_record(tmp_path / "all"), load_record(tmp_path / "few")
    assert set(every.behind) == {0.0}
    truth = shares_behind(few.losses(few.front), every.losses(every.front))
    for said, true in zip(few.behind, truth, strict=True):
        assert said is None or said >= true - 1e-12
    assert any(said is not None for said in few.behind)


def test_it_is_in_the_tables_and_nothing_is_left_once_the_proof_is_complete(tmp_path: Path) -> None:
    optimize(space(), Settings("exact", 1000, 0, engine="fast"), tmp_path / "run", resume=False)
    record = load_record(tmp_path / "run")
    write_reports(record, tmp_path / "run")
    members = json.loads((tmp_path / "run" / "pareto.json").read_text())["front"]
    rows = list(csv.DictReader((tmp_path / "run" / "pareto.csv").read_text().splitlines()))
    assert [member["behind"] for member in members] == [0.0] * len(record.front)
    assert [float(row["behind at most"]) for row in rows] == [0.0] * len(record.front)
    assert "No design is better than any of the front" in (tmp_path / "run" / "report.html").read_text()


def test_of_time_that_no_bound_holds_for_nothing_is_said() -> None:
    found = certify(space(), "packets")
    assert found.corners is not None
    assert all(corner[0] == -np.inf for corner in found.corners)
