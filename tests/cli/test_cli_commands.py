"""What all commands have in common, and the ones that only look: `space` and `report`."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]  # ships no types
import pytest
import yaml
from cli_runs import DESIGN, SPACE, dse, environment, finished_run, write_space

from dse.cli import COMMANDS, main
from simcore.check.load import design_from
from simcore.document.problem import InputError

REPORTS = ("trials.csv", "trials.parquet", "pareto.csv", "pareto.json", "pareto.png", "pareto.svg", "report.html")
HEAVY = ("numpy", "optuna", "pandas", "matplotlib", "ray", "numba", "pydantic", "rich", "scipy", "moocore")


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run; not to be written to."""
    return finished_run(tmp_path_factory)


def exits(*arguments: str) -> int:
    with pytest.raises(SystemExit) as caught:
        main(list(arguments))
    return int(caught.value.code or 0)


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_the_help_of_each_command_has_examples_of_that_command(
    capsys: pytest.CaptureFixture[str], command: str
) -> None:
    assert exits(command, "--help") == 0
    out = capsys.readouterr().out
    assert "examples:" in out
    assert f"  dse {command} " in out.partition("examples:")[2]


def test_the_help_lists_every_command_and_the_exit_status(capsys: pytest.CaptureFixture[str]) -> None:
    assert exits("--help") == 0
    out = capsys.readouterr().out
    assert all(f"    {command}" in out for command in COMMANDS)
    assert "0 done, 1 the run failed, 2 bad input, 130 interrupted" in out


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys\nfrom dse.cli import main\n"
        "try:\n    main(['--help'])\nexcept SystemExit:\n    pass\n"
        f"print('loaded:', [name for name in {HEAVY!r} if name in sys.modules])"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, env=environment(), check=True)
    assert done.stdout.splitlines()[-1] == "loaded: []"


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_the_help_of_a_command_imports_neither_what_is_heavy_nor_other_commands(command: str) -> None:
    code = (
        "import sys\nfrom dse.cli import COMMANDS, main\n"
        f"try:\n    main([{command!r}, '--help'])\nexcept SystemExit:\n    pass\n"
        "others = ['dse.cli.' + name.replace('-', '_') for name in COMMANDS]\n"
        f"print('loaded:', [name for name in [*{HEAVY!r}, *others] if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment(), check=True)
    assert done.stdout.splitlines()[-1] == f"loaded: ['dse.cli.{command.replace('-', '_')}']"


@pytest.mark.parametrize("arguments", [[], ["nothing"], ["optimize"], ["simulate"], ["space", "a", "b"], ["--nothing"]])
def test_a_command_line_that_cannot_be_read_ends_with_2_and_names_the_help(
    capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    assert exits(*arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "--help" in err


@pytest.mark.parametrize("command", ["optimize", "simulate", "space", "report"])
def test_a_missing_file_ends_with_2(tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str) -> None:
    assert main([command, str(tmp_path / "nothing.yaml")]) == 2
    assert str(tmp_path / "nothing.yaml") in capsys.readouterr().err


def test_a_reader_that_goes_away_gets_no_traceback(tmp_path: Path) -> None:
    path = write_space(tmp_path)
    command = f"'{sys.executable}' -m dse space '{path}' --sample 200 | head -n 1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, env=environment(), check=False)
    assert done.stdout == "---\n"
    assert "Traceback" not in done.stderr


def test_count_is_the_number_of_combinations(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["space", str(write_space(tmp_path)), "--count"]) == 0
    assert capsys.readouterr().out == "80\n"


def test_the_count_of_a_continuous_space_is_infinite(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = SPACE.replace("bandwidth: 25 GB/s", "bandwidth: {range: [25 GB/s, 50 GB/s]}")
    assert main(["space", str(write_space(tmp_path, text)), "--count"]) == 0
    assert capsys.readouterr().out == "infinite\n"


def test_samples_are_valid_designs_the_same_for_a_seed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(write_space(tmp_path))
    texts = []
    for seed in ("1", "1", "2"):
        assert main(["space", path, "--sample", "5", "--seed", seed]) == 0
        texts.append(capsys.readouterr().out)
    assert texts[0] == texts[1] != texts[2]
    documents = list(yaml.safe_load_all(texts[0]))
    assert len(documents) == 5
    for document in documents:
        assert design_from(document).document() == document


@pytest.mark.parametrize("arguments", [["--sample", "-1"], ["--sample", "x"], ["--sample", "1", "--seed", "-1"]])
def test_bad_arguments_of_a_sample_end_with_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    try:
        status = main(["space", str(write_space(tmp_path)), *arguments])
    except SystemExit as error:
        status = int(error.code or 0)
    assert status == 2
    assert capsys.readouterr().err.startswith("dse space: ")


def test_a_space_without_options_is_described(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["space", str(write_space(tmp_path))]) == 0
    out = capsys.readouterr().out
    assert "80 combinations" in out
    assert "minimize iteration_time, minimize cost.total" in out
    assert "cluster.npu: a100-80gb, v100-32gb" in out


@pytest.fixture(scope="module")
def schema(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    done = dse("space", write_space(tmp_path_factory.mktemp("schema")), "--schema")
    assert (done.returncode, done.stderr) == (0, "")
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def test_the_schema_is_one(schema: dict[str, Any]) -> None:
    jsonschema.Draft202012Validator.check_schema(schema)


@pytest.mark.parametrize(
    "name",
    [
        "small.yaml",
        "gpt3.yaml",
        "transformer1t.yaml",
        "resnet.yaml",
        "dlrm.yaml",
        "serving.yaml",
        "expanded_memory.yaml",
    ],
)
def test_the_schema_accepts_the_spaces_that_are_shipped(schema: dict[str, Any], name: str) -> None:
    path = Path(__file__).parents[2] / "spaces" / name
    jsonschema.validate(yaml.safe_load(path.read_text()), schema)


def test_the_schema_accepts_a_design_and_a_space_with_holes(schema: dict[str, Any]) -> None:
    jsonschema.validate(DESIGN, schema)
    jsonschema.validate(yaml.safe_load(SPACE), schema)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("zero:", "zeroo:"),
        ("topology: switch, size: 4", "topology: swich, size: 4"),
        ("chunks: 4", "chunks: four"),
        ("choice: [0, 1]", "choices: [0, 1]"),
        ("sampler: nsga2", "sampler: nsga9"),
        ("bandwidth: 25 GB/s", "bandwidth: 25"),
    ],
)
def test_the_schema_refuses_what_the_loader_refuses(schema: dict[str, Any], old: str, new: str) -> None:
    from dse.space.space import space_from
    from simcore.document.text import parse_document

    text = SPACE.replace(old, new, 1)
    with pytest.raises(InputError):
        space_from(parse_document(text), "bad")
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(yaml.safe_load(text), schema)


def test_a_report_writes_the_same_files_again(finished: Path, tmp_path: Path) -> None:
    done = dse("report", finished, "--out", tmp_path / "again")
    assert done.returncode == 0, done.stderr
    assert {path.name for path in (tmp_path / "again").iterdir()} == set(REPORTS)
    for name in REPORTS:
        assert (tmp_path / "again" / name).read_bytes() == (finished / name).read_bytes(), name


def test_a_report_needs_the_study_and_the_journal_only(
    finished: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("study.yaml", "journal.log"):
        shutil.copy(finished / name, tmp_path)
    before = (tmp_path / "journal.log").read_bytes()
    capsys.readouterr()
    assert main(["report", str(tmp_path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == json.loads((finished / "pareto.json").read_text())
    assert (tmp_path / "journal.log").read_bytes() == before


def test_a_report_never_writes_into_the_journal_of_a_run_that_may_still_go_on(finished: Path, tmp_path: Path) -> None:
    shutil.copytree(finished, tmp_path / "run")
    journal = tmp_path / "run" / "journal.log"
    torn = journal.read_bytes()[:-20]
    journal.write_bytes(torn)
    assert main(["report", str(tmp_path / "run"), "--out", str(tmp_path / "out")]) == 0
    assert journal.read_bytes() == torn


@pytest.mark.parametrize("missing", ["study.yaml", "journal.log"])
def test_a_folder_without_a_run_is_refused(
    finished: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], missing: str
) -> None:
    shutil.copytree(finished, tmp_path / "run")
    (tmp_path / "run" / missing).unlink()
    assert main(["report", str(tmp_path / "run")]) == 2
    assert missing in capsys.readouterr().err


def test_a_report_of_a_run_without_a_feasible_design_ends_with_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    space = write_space(tmp_path, SPACE + "constraints: ['parallelism.data < 0']\n")
    assert main(["optimize", str(space), "--out", str(tmp_path / "run"), "--trials", "3"]) == 1
    capsys.readouterr()
    assert main(["report", str(tmp_path / "run")]) == 1
    assert "The binding constraint is 'parallelism.data < 0'" in capsys.readouterr().err


@pytest.mark.parametrize("command", COMMANDS)
def test_help_fits_a_terminal_and_keeps_every_word(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert exits(command, "--help") == 0
    shown = capsys.readouterr().out
    assert max(map(len, shown.splitlines())) <= 80
    examples = import_module(f"dse.cli.{command.replace('-', '_')}").EXAMPLES
    assert set(examples.split()) <= set(shown.split())
