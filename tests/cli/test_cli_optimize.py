from __future__ import annotations

import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from cli_runs import (
    GATED_ENGINE,
    PATIENCE,
    SLOW_ENGINE,
    SPACE,
    dse,
    finished_run,
    start,
    until,
    write_design,
    write_space,
)

from dse.cli import main

FILES = {
    "study.yaml",
    "journal.log",
    "trials.csv",
    "trials.parquet",
    "pareto.csv",
    "pareto.json",
    "pareto.png",
    "pareto.svg",
    "report.html",
}
REPORTS = FILES - {"journal.log", "study.yaml"}
KEYS = {"space", "objectives", "front", "hypervolume", "reference_point", "bounds", "evaluated", "infeasible"}


def contents(folder: Path, names: set[str] = REPORTS | {"study.yaml"}) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in sorted(names)}


def optimize(*arguments: object) -> int:
    return main(["optimize", *map(str, arguments)])


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run; not to be written to."""
    return finished_run(tmp_path_factory)


def test_a_run_leaves_every_file_of_the_contract_and_nothing_else(finished: Path) -> None:
    assert {path.name for path in finished.iterdir()} == FILES


def test_pareto_json_holds_what_the_contract_says(finished: Path) -> None:
    pareto = json.loads((finished / "pareto.json").read_text())
    assert set(pareto) >= KEYS
    assert [(o["name"], o["direction"]) for o in pareto["objectives"]] == [
        ("iteration_time", "minimize"),
        ("cost.total", "minimize"),
    ]
    assert pareto["evaluated"] == 24
    assert set(pareto["bounds"]) == {"iteration_time", "cost.total"}
    for member in pareto["front"]:
        assert set(member) >= {"trial", "values", "params", "design", "metrics"}
        assert member["values"]["iteration_time"] == member["metrics"]["iteration_time_s"]


def test_every_front_member_is_reproduced_to_the_last_digit(
    finished: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for member in json.loads((finished / "pareto.json").read_text())["front"]:
        path = write_design(tmp_path, member["design"])
        assert main(["simulate", str(path), "--json"]) == 0
        assert json.loads(capsys.readouterr().out) == member["metrics"]


def test_two_jobs_and_a_second_run_in_processes_of_their_own_give_the_same_bytes(
    finished: Path, tmp_path: Path
) -> None:
    done = dse("optimize", write_space(tmp_path), "--out", tmp_path / "run", "--jobs", 2)
    assert done.returncode == 0, done.stderr
    assert contents(tmp_path / "run") == contents(finished)


def test_the_study_of_a_run_repeats_it_byte_for_byte_from_any_folder(finished: Path, tmp_path: Path) -> None:
    shutil.copy(finished / "study.yaml", tmp_path)
    done = dse("optimize", "study.yaml", "--out", "again", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert contents(tmp_path / "again") == contents(finished)


def test_the_default_folder_is_named_after_the_space_and_an_earlier_run_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    space = write_space(tmp_path)
    for _ in range(3):
        assert optimize(space, "--trials", 3) == 0
    assert {path.name for path in (tmp_path / "runs").iterdir()} == {"tiny", "tiny.1", "tiny.2"}
    assert "kept in runs/tiny.2" in capsys.readouterr().err


def test_json_is_one_document_on_stdout_and_everything_else_on_stderr(tmp_path: Path) -> None:
    done = dse("optimize", write_space(tmp_path), "--out", tmp_path / "run", "--json", "--trials", 4)
    assert done.returncode == 0
    assert json.loads(done.stdout) == json.loads((tmp_path / "run" / "pareto.json").read_text())
    assert "4 trials" in done.stderr


def test_without_json_stdout_has_the_front_and_stderr_the_progress(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert optimize(write_space(tmp_path), "--out", tmp_path / "run", "--trials", 4) == 0
    out, err = capsys.readouterr()
    assert "on the front" in out
    assert "trials in" in err
    assert "trials in" not in out


def test_a_live_front_without_a_terminal_is_lines_and_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert optimize(write_space(tmp_path), "--out", tmp_path / "run", "--trials", 4, "--live", "--json") == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["evaluated"] == 4
    assert "--live needs a terminal" in err
    assert "└" not in err


@pytest.mark.parametrize(
    ("constraint", "said"),
    [
        ("cost.total - parallelism.data <= 1", "misses 'cost.total - parallelism.data <= 1' by a factor of "),
        ("bubble < 0", "misses 'bubble < 0'"),
    ],
)
def test_a_space_without_a_feasible_design_ends_with_1_and_names_the_binding_constraint(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], constraint: str, said: str
) -> None:
    space = write_space(tmp_path, SPACE + f"constraints: [fits, '{constraint}']\n")
    assert optimize(space, "--out", tmp_path / "run", "--trials", 9) == 1
    err = capsys.readouterr().err
    assert f"The binding constraint is '{constraint}', broken by 9" in err
    assert said in err
    assert {path.name for path in (tmp_path / "run").iterdir()} == FILES
    assert optimize(space, "--out", tmp_path / "json", "--trials", 9, "--json") == 1
    pareto = json.loads(capsys.readouterr().out)
    assert (pareto["front"], pareto["infeasible"], pareto["hypervolume"]) == ([], 9, 0)


BAD_ARGUMENTS: list[list[object]] = [
    ["--sampler", "nsga"],
    ["--trials", "0"],
    ["--trials", "many"],
    ["--jobs", "0"],
    ["--seed", "-1"],
    ["--seed", str(2**40)],
    ["--seed", "x"],
    ["--timeout", "-1"],
    ["--timeout", "nan"],
    ["--timeout", "soon"],
    ["--engine", "fst"],
    ["--engine", "no.such.module:engine"],
    ["--engine", "json:no_such_function"],
    ["--resume"],
    ["--unknown"],
]


@pytest.mark.parametrize("arguments", BAD_ARGUMENTS, ids=lambda a: " ".join(map(str, a)))
def test_a_bad_argument_ends_with_2_and_a_message_before_a_folder_is_made(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[object]
) -> None:
    try:
        status = optimize(write_space(tmp_path), "--out", tmp_path / "run", *arguments)
    except SystemExit as error:
        status = int(error.code or 0)
    out, err = capsys.readouterr()
    assert status == 2
    assert out == ""
    assert err.startswith("dse")
    assert "Traceback" not in err
    assert not (tmp_path / "run").exists()


def test_bad_input_ends_with_2_and_every_problem_with_file_line_and_path(tmp_path: Path) -> None:
    text = SPACE.replace("700 ns", "700 GB").replace("zero:", "zeroo:").replace("sampler: nsga2", "sampler: nsga9")
    path = write_space(tmp_path, text)
    done = dse("optimize", path, "--out", tmp_path / "run")
    assert (done.returncode, done.stdout) == (2, "")
    head, *lines = done.stderr.splitlines()
    assert head.startswith(f"dse optimize: {path}: ")
    numbers = [int(line.split(":")[0].split()[1]) for line in lines]
    assert numbers == sorted(numbers)
    for part in ("line 6: parallelism.zeroo", "line 10: cluster.dimensions[0].latency", "line 13: study.sampler"):
        assert part in done.stderr


@pytest.mark.parametrize(("key", "value"), [("trials", "many"), ("seed", -1), ("sampler", None), ("name", None)])
def test_a_damaged_study_ends_with_2(
    finished: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], key: str, value: Any
) -> None:
    study = yaml.safe_load((finished / "study.yaml").read_text())
    study.pop(key)
    if value is not None:
        study[key] = value
    path = write_space(tmp_path, yaml.safe_dump(study), "study.yaml")
    assert optimize(path, "--out", tmp_path / "run") == 2
    assert key in capsys.readouterr().err


def limited() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (15, 15))


def test_a_fine_split_does_not_make_a_search_slow(finished: Path, tmp_path: Path) -> None:
    """C(6999, 2) = 24 million shares must not be listed to draw one of them; `finished`: all is compiled by now."""
    old = SPACE[SPACE.index("cluster:") : SPACE.index("system:")]
    dimensions = "".join(f"    - {{topology: switch, size: 2, latency: {n} us}}\n" for n in (1, 1, 1))
    split = "  bandwidth: {split: 700 GB/s, step: 100 MB/s}\n"
    space = write_space(tmp_path, SPACE.replace(old, f"cluster:\n  npu: b200\n{split}  dimensions:\n{dimensions}"))
    arguments = ["optimize", str(space), "--out", str(tmp_path / "run"), "--sampler", "random", "--trials", "5"]
    command = [sys.executable, "-m", "dse", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, preexec_fn=limited, check=False)
    assert done.returncode == 0, done.stderr


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = shutil.which("mount") and subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "none", str(folder)], capture_output=True, check=False
    )
    if not mounted or mounted.returncode:
        pytest.skip("mounting a small disk needs rights that this user lacks")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_full_disk_is_told_before_the_search(
    tiny_disk: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert optimize(write_space(tmp_path), "--out", tiny_disk / "run") == 2
    err = capsys.readouterr().err
    assert "expected a run folder that can be written" in err
    assert "trials in" not in err
    assert list(tiny_disk.rglob("*.*")) == []


@pytest.mark.parametrize("place", ["file", "file/below", "/proc/run", "x" * 300])
def test_an_unwritable_folder_is_told_before_the_search(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], place: str
) -> None:
    (tmp_path / "file").touch()
    assert optimize(write_space(tmp_path), "--out", tmp_path / place) == 2
    err = capsys.readouterr().err
    assert err.startswith("dse optimize: ")
    assert "trials in" not in err


def test_a_changed_space_is_not_resumed(finished: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copytree(finished, tmp_path / "run")
    space = write_space(tmp_path, SPACE.replace("25 GB/s", "50 GB/s"))
    assert optimize(space, "--out", tmp_path / "run", "--resume") == 2
    err = capsys.readouterr().err
    assert 'space.cluster.dimensions[1].bandwidth: "25 GB/s" -> "50 GB/s"' in err
    assert contents(tmp_path / "run") == contents(finished)


def test_more_trials_go_on_with_a_finished_run(finished: Path, tmp_path: Path) -> None:
    shutil.copytree(finished, tmp_path / "run")
    space = write_space(tmp_path)
    assert optimize(space, "--out", tmp_path / "run", "--resume", "--trials", 40) == 0
    assert optimize(space, "--out", tmp_path / "whole", "--trials", 40) == 0
    assert contents(tmp_path / "run") == contents(tmp_path / "whole")


def test_a_time_limit_ends_a_run_with_what_it_has(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "slow_engine.py").write_text(SLOW_ENGINE)
    space = write_space(tmp_path, SPACE.replace("batch: 8", "batch: 2"))
    with start(
        *("optimize", space, "--out", tmp_path / "run", "--timeout", "1", "--json"),
        *("--engine", "slow_engine:engine"),
        engines=tmp_path,
    ) as process:
        out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, err
    assert 0 < json.loads(out)["evaluated"] < 24


def journal_lines(folder: Path) -> int:
    journal = folder / "journal.log"
    return journal.read_bytes().count(b"\n") if journal.exists() else 0


def stopped(tmp_path: Path, number: int, lines: int, *arguments: object, group: bool = False) -> tuple[int, str, str]:
    """Starts a run that stands still after a while, and sends it a signal when its journal has some lines."""
    (tmp_path / "gated_engine.py").write_text(GATED_ENGINE)
    (tmp_path / "gate").write_text(str(lines + 4))  # two workers may hold back two designs each
    space, folder = write_space(tmp_path), tmp_path / "run"
    process = start(
        *("optimize", space, "--out", folder, "--engine", "gated_engine:engine", *arguments), engines=tmp_path
    )
    with process:
        assert until(lambda: journal_lines(folder) >= lines or process.poll() is not None)
        (os.killpg if group else os.kill)(process.pid, number)
        out, err = process.communicate(timeout=PATIENCE)
    (tmp_path / "gate").unlink()
    return process.returncode, out, err


def resumed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Resumes, and counts what is simulated; the same folder as of an uninterrupted run is the caller's to check."""
    monkeypatch.syspath_prepend(tmp_path)
    space, engine = tmp_path / "tiny.yaml", "gated_engine:engine"
    assert optimize(space, "--out", tmp_path / "run", "--engine", engine, "--resume") == 0
    trials: dict[str, Any] = yaml.safe_load((tmp_path / "run" / "study.yaml").read_text())
    return trials


def searched(folder: Path) -> dict[str, Any]:
    """`pareto.json` without what is asked or proven after the search, and what is said of it.

    Nothing is proven of times that another engine plays.
    """
    document: dict[str, Any] = json.loads((folder / "pareto.json").read_text())
    asked = ("what_if", "scenarios", "robust", "families", "decision", "bounds", "gap")
    for member in document["front"]:
        for key in (
            "steps",
            "robustness",
            "interval",
            "intervals",
            "on_front",
            "regret",
            "regret_p90",
            "ties",
            "behind",
            "kept",
        ):
            del member[key]
    return {key: value for key, value in document.items() if key not in asked}


@pytest.mark.parametrize("lines", [3, 13])
def test_a_killed_run_is_resumed_without_losing_or_repeating_a_trial(
    finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lines: int
) -> None:
    status, _, err = stopped(tmp_path, signal.SIGKILL, lines)
    assert status == -signal.SIGKILL, err
    before = (tmp_path / "run" / "journal.log").read_bytes().splitlines()
    assert lines <= len(before) < 26
    assert resumed(tmp_path, monkeypatch)["trials"] == 24
    after = (tmp_path / "run" / "journal.log").read_bytes().splitlines()
    assert after[: len(before) - 1] == before[:-1]
    numbers = [json.loads(line)["user_attrs"]["number"] for line in after if b'"user_attrs"' in line]
    assert sorted(numbers) == list(range(24))
    # The engine's name differs, so study.yaml does too, and no what-if question is asked; what was found is the same.
    assert contents(tmp_path / "run", {"trials.csv"}) == contents(finished, {"trials.csv"})
    assert searched(tmp_path / "run") == searched(finished)


@pytest.mark.parametrize(("jobs", "group"), [(1, False), (2, True)])
def test_ctrl_c_ends_with_130_saves_what_was_evaluated_and_can_be_resumed(
    finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, jobs: int, group: bool
) -> None:
    status, _, err = stopped(tmp_path, signal.SIGINT, 10, "--jobs", jobs, group=group)
    assert status == 130, err
    assert "Traceback" not in err
    assert err.count("interrupted: saving the finished trials; interrupt again to stop at once") == 1
    assert "all saved; continue with --resume, or write the reports: dse report" in err
    assert {path.name for path in (tmp_path / "run").iterdir()} == {"journal.log", "study.yaml"}
    assert main(["report", str(tmp_path / "run")]) == 0
    assert 8 <= json.loads((tmp_path / "run" / "pareto.json").read_text())["evaluated"] < 24
    resumed(tmp_path, monkeypatch)
    assert (tmp_path / "run" / "trials.csv").read_bytes() == (finished / "trials.csv").read_bytes()


IMPOSSIBLE = """
workload: {model: llama3-8b, global_batch: 30}
parallelism: {degrees: {product: 64, of: [tensor, pipeline, data]}, microbatch: 7}
cluster: {npu: h100-80gb, fabric: dgx-h100, npus: 64}
objectives: {minimize: [iteration_time, cost.total]}
"""


@pytest.mark.parametrize("sampler", ["exact", "random"])
def test_a_space_without_a_valid_design_is_bad_input_and_says_which_rules_rule_it_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], sampler: str
) -> None:
    path = tmp_path / "space.yaml"
    path.write_text(IMPOSSIBLE)
    assert main(["optimize", str(path), "--sampler", sampler, "--trials", "60", "--out", str(tmp_path / "run")]) == 2
    said = capsys.readouterr().err
    assert "break 'microbatches fill the batch', such as: parallelism.microbatch: expected data x microbatch" in said


@pytest.mark.parametrize("sampler", ["exact", "random"])
def test_a_space_of_valid_designs_that_all_break_a_constraint_is_a_failed_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], sampler: str
) -> None:
    path = tmp_path / "space.yaml"
    path.write_text(IMPOSSIBLE.replace("30", "64").replace(", microbatch: 7", "") + "constraints: [bubble >= 1e6]\n")
    assert main(["optimize", str(path), "--sampler", sampler, "--trials", "60", "--out", str(tmp_path / "run")]) == 1
    assert "it misses 'bubble >= 1e6' by 1" in capsys.readouterr().err


@pytest.mark.parametrize("sampler", ["exact", "random"])
def test_a_space_in_which_nothing_fits_says_how_many_gib_the_nearest_design_is_over_and_what_would_help(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], sampler: str
) -> None:
    path = tmp_path / "space.yaml"
    path.write_text(
        "workload: {model: llama3-8b, global_batch: 16, precision: fp16}\n"
        "parallelism: {degrees: {product: 8, of: [tensor, data], limits: {tensor: [1, 1]}}, zero: {choice: [0, 1]}}\n"
        "cluster: {npu: v100-32gb, fabric: dgx-a100, npus: 8}\nconstraints: [fits]\n"
    )
    assert main(["optimize", str(path), "--sampler", sampler, "--trials", "20", "--out", str(tmp_path / "run")]) == 1
    said = capsys.readouterr().err
    assert re.search(r"(by|missed by) [\d.]+ GiB an NPU: it needs [\d.]+ GiB of [\d.]+ GiB; ", said)
    assert "(most saves " in said or "what would do: " in said
