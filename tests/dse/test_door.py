"""`import dse`: the same search as the command line's, its result as tables, and errors as values."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from tiny_spaces import space, tiny

import dse
from dse.cli import main
from dse.report.tables import csv_text, trials_table

ROOT = Path(__file__).parents[2]
ASKED: dict[str, Any] = {"trials": 30, "sampler": "random", "seed": 5}


@pytest.fixture(scope="module")
def run() -> dse.Run:
    return dse.optimize(tiny(), **ASKED)


def test_the_trials_and_every_file_are_those_of_the_command_line(tmp_path: Path, run: dse.Run) -> None:
    path = tmp_path / "space.yaml"
    path.write_text(yaml.safe_dump(tiny(), sort_keys=False))
    options = [f"--{name}={value}" for name, value in ASKED.items()]
    assert main(["optimize", str(path), "--out", str(tmp_path / "line"), *options]) == 0
    kept = dse.optimize(path, folder=tmp_path / "door", **ASKED)
    assert csv_text(trials_table(run._record)) == (tmp_path / "line" / "trials.csv").read_text()
    names = {file.name for file in (tmp_path / "line").iterdir()}
    assert names == {file.name for file in (tmp_path / "door").iterdir()}
    for name in names - {"journal.log"}:  # which says when each trial ended
        assert (tmp_path / "line" / name).read_bytes() == (tmp_path / "door" / name).read_bytes(), name
    assert dse.load_run(tmp_path / "line").trials.equals(run.trials)
    assert (kept.ended, dse.load_run(tmp_path / "line").ended) == ("trials", None)


def test_without_a_folder_nothing_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    dse.optimize(space(), **ASKED).plot()
    assert list(tmp_path.iterdir()) == []


def test_trials_and_front_are_tables_by_number(run: dse.Run) -> None:
    assert list(run.trials.index) == list(range(30))
    front = run.front
    assert list(front["iteration_time"]) == sorted(front["iteration_time"])
    assert list(front["cost.total"]) == sorted(front["cost.total"], reverse=True)
    assert front.equals(run.trials.loc[front.index])


def test_the_best_of_any_metric_is_in_its_own_direction(run: dse.Run) -> None:
    feasible = run.trials[run.trials["state"] == "feasible"]
    costs, shares = feasible["cost.total"].astype(float), feasible["mfu"].astype(float)
    assert costs[run.best("cost.total").number] == costs.min()  # of those that cost as much, the simplest
    assert shares[run.best("mfu").number] == shares.max()
    with pytest.raises(dse.InputError, match=r"got 'cost\.totl'; did you mean 'cost\.total'"):
        run.best("cost.totl")


def test_a_trial_gives_a_design_with_the_values_of_the_trial(run: dse.Run) -> None:
    best = run.best("iteration_time")
    assert run.design(best) == run.design(best.number)
    assert dse.simulate(run.design(best)).iteration_time_s == best.values["iteration_time"]
    with pytest.raises(dse.InputError, match="the number of a trial of this run, got 99"):
        run.design(99)


def test_bounds_and_gaps_are_of_each_objective(run: dse.Run) -> None:
    for name in ("iteration_time", "cost.total"):
        bound, best = run.bounds[name], run.best(name).values[name]
        assert bound is not None
        assert bound <= best
        assert run.gap[name] == pytest.approx((best - bound) / best)


def test_a_proof_is_there_without_a_folder() -> None:
    proven = dse.optimize(tiny(), sampler="exact")
    assert (proven.ended, proven.gap) == ("exhausted", {"iteration_time": 0.0, "cost.total": 0.0})


def test_a_callback_sees_every_trial_in_order_and_may_stop_the_search(run: dse.Run) -> None:
    seen: list[dse.Trial] = []

    def third(trial: dse.Trial) -> None:
        seen.append(trial)
        if len(seen) == 3:
            raise StopIteration

    for jobs in (1, 2):
        seen.clear()
        stopped = dse.optimize(tiny(), jobs=jobs, callback=third, **ASKED)
        assert stopped.ended == "stopped"
        assert tuple(seen) == run._record.trials[:3] == stopped._record.trials[:3]
        assert 3 <= len(stopped.trials) < (30 if jobs == 1 else 31)  # what other workers have done is kept


def test_what_else_a_callback_raises_comes_out() -> None:
    def broken(trial: dse.Trial) -> None:
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        dse.optimize(tiny(), callback=broken, **ASKED)


@pytest.mark.parametrize("folder", [None, "run"])
def test_an_interrupted_search_returns_what_was_done(tmp_path: Path, folder: str | None) -> None:
    def pressed(trial: dse.Trial) -> None:
        if trial.number == 4:
            raise KeyboardInterrupt

    place = None if folder is None else tmp_path / folder
    ended = dse.optimize(tiny(), callback=pressed, folder=place, **ASKED)
    assert (ended.ended, len(ended.trials)) == ("interrupted", 5)


def test_progress_is_told_on_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    dse.optimize(tiny(), progress=True, **ASKED)
    out, err = capsys.readouterr()
    assert (out, err.splitlines()[0]) == ("", "space: random, 30 trials")
    assert "30 trials in" in err


def test_everything_that_is_asked_for_wrongly_is_told_at_once() -> None:
    with pytest.raises(dse.InputError) as told:
        dse.optimize(tiny(), trials=0, seed=-1, jobs=0, stagnaton=3)  # type: ignore[call-arg]
    assert [problem.path for problem in told.value.problems] == [("trials",), ("seed",), ("jobs",), ("stagnaton",)]
    assert "did you mean 'stagnation'" in str(told.value)
    with pytest.raises(dse.InputError, match=r"'randm'.*did you mean 'random'"):
        dse.optimize(tiny(), sampler="randm")


def test_everything_that_is_wrong_with_a_mapping_is_told_at_once() -> None:
    cluster = {**tiny()["cluster"], "npu": "a100-80g"}
    with pytest.raises(dse.InputError) as told:
        dse.load_space(tiny(cluster=cluster, objectives={"minimize": ["tme"]}))
    assert {problem.path[0] for problem in told.value.problems} == {"cluster", "objectives"}
    assert "line" not in str(told.value)
    with pytest.raises(dse.InputError, match="expected mappings, lists, text and numbers, got a complex"):
        dse.load_space(tiny(cost=1j))


def test_a_space_from_a_mapping_leaves_the_mapping_alone() -> None:
    document = tiny()
    before = json.dumps(document)
    dse.load_space(document)
    assert json.dumps(document) == before


def test_a_run_shows_itself_in_a_notebook(run: dse.Run) -> None:
    page = run._repr_html_()
    assert "<svg" in page
    assert "<table" in page
    assert "30 trials" in page
    design = run.design(run.best("cost.total"))
    assert "global_batch: 16" in design._repr_html_()
    assert "iteration" in dse.simulate(design)._repr_html_()
    with pytest.raises(dse.InputError, match="a kind of picture, got 'pie'; kinds: front, heatmap"):
        run.plot("pie")


def test_every_public_name_is_there_and_no_other() -> None:
    assert set(dse.__all__) <= set(dir(dse))
    assert all(getattr(dse, name) for name in dse.__all__)
    with pytest.raises(AttributeError, match="no attribute 'optimise'"):
        dse.optimise  # noqa: B018


def test_importing_costs_next_to_nothing() -> None:
    code = "import dse, sys; print('numpy' in sys.modules, 'pydantic' in sys.modules, 'simcore' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False", "False"]


OUTSIDE = """\
import dse

space: dse.Space = dse.load_space({"workload": {}})
run: dse.Run = dse.optimize(space, trials=3, sampler="random", timeout=1.5, callback=lambda trial: print(trial.number))
best: dse.Trial = run.best("cost.total")
design: dse.Design = run.design(best).with_("parallelism.zero", 1)
seconds: float = dse.simulate(design).iteration_time_s
columns: list[str] = list(run.front.columns)
if run.knee is not None:
    run.design(run.knee)
shares: float = dse.optimal_split([[1.0, 2.0]], 3.0).sum()
try:
    dse.load_run("runs/mine").plot().savefig("front.png")
except dse.InputError as error:
    print(error.problems[0].expected)
"""
WRONG = """\
import dse

dse.optimise({})
dse.optimize({}, trails=3)
dse.optimize({}, trials="3")
x: int = dse.load_run("r").best("mfu").state
"""


def test_a_program_outside_is_type_checked_against_the_door(tmp_path: Path) -> None:
    for package in ("dse", "simcore"):
        assert (ROOT / package / "py.typed").is_file()
    (tmp_path / "outside.py").write_text(OUTSIDE)
    (tmp_path / "wrong.py").write_text(WRONG)
    options = ("--strict", "--follow-imports=silent", "--config-file=", "--cache-dir", str(tmp_path / "cache"))
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *options, "outside.py", "wrong.py"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={"MYPYPATH": str(ROOT), "PATH": ""},
        check=False,
    )
    assert [line.split(" error:")[0] for line in done.stdout.splitlines() if " error:" in line] == [
        f"wrong.py:{line}:" for line in (3, 4, 5, 6)
    ], done.stdout + done.stderr
