"""A metric is added in one place, and is there wherever metrics are: nothing in the project knows its name."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from added_metrics import install
from dse_example.carbon import KG_PER_JOULE
from rich.console import Console
from tiny_spaces import search, space, tiny

import simcore
from dse.cli.result_table import print_result
from dse.proof.bound import space_bounds
from dse.report import print_front, write_reports
from dse.run.drive import optimize
from dse.run.record import load_record
from dse.run.settings import Settings
from dse.search import make_sampler
from dse.space.schema import space_schema
from dse.space.space import Space
from simcore.bounds.design import bound
from simcore.check.load import parse_design
from simcore.design.design import Design
from simcore.document.problem import InputError

BY_CARBON: dict[str, Any] = tiny(
    objectives={"minimize": ["carbon", "cost.total"]}, constraints=["fits", "carbon <= 1", "carbon / npus >= 0"]
)


def reported(given: Space, folder: Path, trials: int) -> None:
    optimize(given, Settings(sampler="guided", trials=trials, seed=0), folder, False)
    write_reports(load_record(folder), folder)


def first_design() -> Design:
    filled = next(space().enumerate())
    design, _ = parse_design(filled.document)
    assert design is not None
    return design


def test_it_is_in_the_result_in_its_document_and_on_the_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    design = first_design()
    assert "metrics" not in simcore.simulate(design).document()
    install(monkeypatch, carbon="CARBON", floor="FLOOR")
    result = simcore.simulate(design)
    assert result.document()["metrics"] == {"carbon": result.energy_j * KG_PER_JOULE, "floor": 0.3}
    print_result(result)
    assert "carbon dioxide" in capsys.readouterr().out


def test_it_is_in_the_schema_and_in_what_a_slip_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="carbon"):
        space(BY_CARBON)
    install(monkeypatch, carbon="CARBON")
    assert "carbon" in json.dumps(space_schema())
    with pytest.raises(InputError, match="did you mean 'carbon'"):
        space({**BY_CARBON, "objectives": {"minimize": ["carbom"]}})


def test_an_engine_from_elsewhere_need_not_know_it(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, carbon="CARBON")
    result = simcore.simulate(first_design(), lambda design: simcore.simulate(design))
    assert result.metrics["carbon"] == result.energy_j * KG_PER_JOULE


@pytest.mark.parametrize("proven", [True, False])
def test_it_is_an_objective_and_a_constraint_with_its_bound_in_every_file_of_a_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, proven: bool
) -> None:
    install(monkeypatch, carbon="CARBON" if proven else "UNPROVEN")
    given = space(BY_CARBON)
    reported(given, tmp_path, 12)
    rows = list(csv.DictReader((tmp_path / "trials.csv").read_text(encoding="utf-8").splitlines()))
    assert any(float(row["carbon"]) > 0 for row in rows if row["state"] == "feasible")
    assert "violation: carbon <= 1" in rows[0]
    document = json.loads((tmp_path / "pareto.json").read_text(encoding="utf-8"))
    best = min(member["values"]["carbon"] for member in document["front"])
    if proven:
        assert 0 < document["bounds"]["carbon"] <= best
    else:
        assert document["bounds"]["carbon"] is None
    assert document["front"][0]["metrics"]["metrics"]["carbon"] == document["front"][0]["values"]["carbon"]
    assert "carbon dioxide" in (tmp_path / "report.html").read_text(encoding="utf-8")
    console = Console(width=200, record=True, file=io.StringIO())
    print_front(load_record(tmp_path), console)
    assert "Carbon dioxide: best" in console.export_text()


def test_tables_of_fronts_show_it_where_it_is_no_objective(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    install(monkeypatch, carbon="CARBON")
    reported(space(), tmp_path, 6)
    assert "carbon dioxide" in (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "carbon" in (tmp_path / "trials.csv").read_text(encoding="utf-8").partition("\n")[0]


def test_known_before_simulation_it_cuts_designs_that_are_never_simulated(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    install(monkeypatch, floor="FLOOR")
    _, outcomes = search(space(tiny(constraints=["floor <= 0.2"])), tmp_path, "exhaustive", 4)
    assert {(outcome.state, outcome.cut_by) for outcome in outcomes} == {("cut", "floor <= 0.2")}
    assert space_bounds(space(tiny(objectives={"maximize": ["floor"]})))["floor"] == 0.3


@pytest.mark.parametrize("metric", ["CARBON", "UNPROVEN"])
def test_exact_search_finds_the_whole_front_by_it_and_cuts_only_by_what_is_proven(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, metric: str
) -> None:
    install(monkeypatch, carbon=metric)
    given = space({**BY_CARBON, "constraints": ["fits"]})
    fronts, simulated = [], []
    for sampler in ("exact", "exhaustive"):
        _, outcomes = search(given, tmp_path / sampler, sampler, 400, engine="fast")
        found = {(o.values["carbon"], o.values["cost.total"]) for o in outcomes if o.state == "feasible"}
        fronts.append({a for a in found if not any(b[0] <= a[0] and b[1] <= a[1] and b != a for b in found)})
        simulated.append(sum(outcome.metrics is not None for outcome in outcomes))
    assert fronts[0] == fronts[1]
    assert (simulated[0] < simulated[1]) == (metric == "CARBON")


def test_without_a_bound_nothing_is_proven_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, carbon="UNPROVEN")
    assert bound(first_design())["carbon"] is None
    assert make_sampler("exact", space(BY_CARBON), 0)


def test_a_row_that_gives_no_value_is_refused() -> None:
    with pytest.raises(ValueError, match="'read' or 'measure'"):
        simcore.metrics.Metric(unit="kg")
    with pytest.raises(ValueError, match="'before' of a metric of scope 'npus'"):
        simcore.metrics.Metric(unit="m2", scope="npus")
