"""Bad input ends with 2 and one message, before anything is simulated or written."""

from __future__ import annotations

import shutil
import struct
import sys
from pathlib import Path

import pytest
from cli_runs import SPACE, finished_run, write_design, write_space

import simcore.simulate  # noqa: F401  # so that it can be replaced
from dse.cli import main
from dse.execute.where import MOST_JOBS


def run(*arguments: object) -> int:
    try:
        return main([str(argument) for argument in arguments])
    except SystemExit as end:
        return int(end.code or 0)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run; not to be written to."""
    return finished_run(tmp_path_factory)


HUGE = [
    ("global_batch: 16", "global_batch: 1e30"),
    ("global_batch: 16", "global_batch: .nan"),
    ("sequence_length: 128", "sequence_length: 1e3"),
    ("layers: 8", "layers: 1000000000000"),
    ("product: 8", "product: 1000000000000000000000000000000"),
    ("product: 8", "product: 8.0"),
    ("size: 4", "size: 1e30"),
    ("chunks: 4", "chunks: .inf"),
    ("chunks: 4", f"chunks: {'9' * 400}"),
    ("chunks: 4", f"chunks: {{powers_of_two: [1, {2**200}]}}"),
    ("chunks: 4", "chunks: {range: [1, .inf]}"),
    ("chunks: 4", "chunks: {expr: workload.global_batch * 1e30}"),
    ("trials: 24", "trials: 1e30"),
    ("trials: 24", "trials: 1e3"),
    ("trials: 24", "trials: 1000000000000"),
    ("batch: 8}", "batch: .inf}"),
    ("batch: 8}", "batch: 8, timeout: 1e30}"),
    ("batch: 8}", "batch: 8, reference_point: {iteration_time: .nan, cost.total: 1}}"),
]


@pytest.mark.parametrize(("old", "new"), HUGE, ids=[new[:40] for _, new in HUGE])
def test_a_number_that_no_space_can_have_is_one_message_with_its_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], old: str, new: str
) -> None:
    assert SPACE.count(old) == 1
    space = write_space(tmp_path, SPACE.replace(old, new))
    assert run("optimize", space, "--out", tmp_path / "run") == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"dse optimize: {space}: 1 problem\n  ")
    assert len(err) < 500
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("option", ["--trials", "--jobs", "--timeout", "--stagnation", "--design-timeout", "--seed"])
@pytest.mark.parametrize("value", ["1e30", "9" * 30, "inf", "nan"])
def test_a_number_that_no_run_can_have_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], option: str, value: str
) -> None:
    assert run("optimize", write_space(tmp_path), "--out", tmp_path / "run", option, value) == 2
    assert f"argument {option}: expected a" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_more_workers_than_a_machine_can_hold_are_refused_and_more_than_it_can_use_are_warned_of(
    finished: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dse.execute.where.cores", lambda: 2)
    space, folder = write_space(tmp_path), tmp_path / "run"
    assert run("optimize", space, "--out", folder, "--jobs", MOST_JOBS + 1) == 2
    assert "--jobs: expected at most 1,024 workers, got 1,025; this machine has 2 cores: --jobs 2" in read(capsys)
    assert not folder.exists()
    assert run("verify", finished, "--jobs", MOST_JOBS + 1) == 2
    assert run("optimize", space, "--out", folder, "--trials", 1, "--jobs", 4) == 0
    assert "warning" not in read(capsys)
    assert run("optimize", space, "--out", folder, "--trials", 1, "--jobs", 5, "--resume") == 0
    assert "warning: 5 workers share 2 cores" in read(capsys)


def read(capsys: pytest.CaptureFixture[str]) -> str:
    return capsys.readouterr().err


@pytest.mark.parametrize("into", ["run", "elsewhere"])
def test_a_report_on_an_empty_journal_leaves_the_files_that_are_there(
    finished: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], into: str
) -> None:
    folder = shutil.copytree(finished, tmp_path / "run")
    (folder / "journal.log").write_bytes(b"")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert run("report", folder, "--out", tmp_path / into) == 2
    assert "expected a journal with trials to report, got one without any" in read(capsys)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    assert not (tmp_path / "elsewhere").exists()


def test_a_damaged_journal_line_is_a_warning_and_the_report_is_written(
    finished: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = shutil.copytree(finished, tmp_path / "run")
    lines = (folder / "journal.log").read_text().splitlines(keepends=True)
    lines[7] = lines[7][:60] + "\n"
    (folder / "journal.log").write_text("".join(lines))
    assert run("report", folder) == 0
    assert f"warning: {folder / 'journal.log'}: line 8: " in read(capsys)
    assert run("verify", folder, "--jobs", 1, "--budget", 1) in (0, 1)
    assert "line 8" in read(capsys)
    space = write_space(tmp_path)
    assert run("optimize", space, "--out", folder, "--resume") == 0
    assert "line 8" in read(capsys)
    assert (folder / "trials.csv").read_bytes() == (finished / "trials.csv").read_bytes()
    assert run("report", folder) == 0
    assert "warning" not in read(capsys)


def test_resume_without_the_journal_ends_with_2_and_a_fix(
    finished: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = shutil.copytree(finished, tmp_path / "run")
    (folder / "journal.log").unlink()
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert run("optimize", write_space(tmp_path), "--out", folder, "--resume") == 2
    assert "put it back, or start anew: drop --resume" in read(capsys)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


@pytest.mark.parametrize(
    ("option", "place", "said"),
    [
        ("--trace", "none/trace.json", "a file in a folder that exists"),
        ("--trace", "", "a file that can be written"),
        ("--chakra-out", "file/below", "a folder that can be written"),
    ],
)
def test_where_nothing_can_be_written_nothing_is_simulated(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    option: str,
    place: str,
    said: str,
) -> None:
    def never(*_: object) -> None:
        raise AssertionError("simulated")

    for name in ("simulate", "simulate_traced"):  # by its module: the package has a function of the same name
        monkeypatch.setattr(sys.modules["simcore.simulate"], name, never)
    (tmp_path / "file").touch()
    assert run("simulate", write_design(tmp_path), option, tmp_path / place) == 2
    assert f"{option}: expected {said}" in read(capsys)


BINARY = {
    "parquet": b"PAR1\x15\x00\x15" * 50,
    "gzip": b"\x1f\x8b\x08\x00" * 50,
    "zeros": bytes(1000),
    "utf-16": "device,hidden\na,b\n".encode("utf-16"),
    "numbers": struct.pack("<20d", *range(20)),
}


@pytest.mark.parametrize("content", BINARY.values(), ids=list(BINARY))
@pytest.mark.parametrize("command", ["validate", "calibrate"])
def test_a_binary_table_is_one_message(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str, content: bytes
) -> None:
    table = tmp_path / "table.csv"
    table.write_bytes(content)
    more = ["--out", tmp_path / "device.yaml"] if command == "calibrate" else []
    assert run(command, *(["a100-80gb"] if command == "calibrate" else []), table, *more) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"dse {command}: {table}: 1 problem\n")
    assert "a table of comma-separated values in UTF-8, got a binary file (byte 0x" in err
    assert err.isprintable() or err.replace("\n", "").isprintable()
    assert not (tmp_path / "device.yaml").exists()


@pytest.mark.parametrize("command", ["validate", "calibrate"])
def test_a_document_in_the_place_of_a_table_is_one_message(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    document = tmp_path / "design.yaml"
    document.write_text("workload: {model: gpt3-175b}\n")
    more = ["--out", tmp_path / "device.yaml"] if command == "calibrate" else []
    assert run(command, *(["a100-80gb"] if command == "calibrate" else []), document, *more) == 2
    err = read(capsys)
    assert err.startswith(f"dse {command}: {document}: 1 problem\n")
    assert "expected a table of comma-separated values, got a document (.yaml)" in err
    assert not (tmp_path / "device.yaml").exists()


def test_an_unknown_sampler_and_an_unknown_engine_are_told_together(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert (
        run("optimize", write_space(tmp_path), "--sampler", "nsga", "--engine", "fst", "--out", tmp_path / "run") == 2
    )
    err = read(capsys)
    assert "--sampler: expected one of auto" in err
    assert "did you mean 'fast'?" in err
