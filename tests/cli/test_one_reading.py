"""Commands about a run read its study once, and say what takes long in the way all commands do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from cli_runs import write_space

from dse.cli import main
from dse.door.display import Display
from dse.run import document


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("once")
    assert main(["optimize", str(write_space(folder)), "--out", str(folder / "run"), "--trials", "12"]) == 0
    return folder / "run"


@pytest.mark.parametrize(
    "command",
    [
        ["report", "RUN", "--simulations", "0"],
        ["show", "RUN", "--design", "OUT/design.yaml"],
        ["plot", "front", "RUN", "--out", "OUT/front.svg"],
    ],
    ids=lambda command: command[0],
)
def test_study_yaml_is_read_once(
    command: list[str], run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []
    plain = document.read_document

    def counted(path: Any) -> Any:
        read.append(Path(path).name)
        return plain(path)

    monkeypatch.setattr(document, "read_document", counted)
    assert main([part.replace("RUN", str(run)).replace("OUT", str(tmp_path)) for part in command]) == 0
    assert read == ["study.yaml"]


@pytest.mark.parametrize(("command", "phase"), [("show", "asking what-ifs"), ("explain", "simulating changes")])
def test_show_and_explain_say_what_takes_long_as_all_commands_do(
    command: str, phase: str, run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    phases: list[str] = []
    monkeypatch.setattr(Display, "phase", lambda self, name: phases.append(name))
    subject = run
    if command == "explain":
        assert main(["show", str(run), "--design", str(tmp_path / "design.yaml")]) == 0
        subject = tmp_path / "design.yaml"
        assert yaml.safe_load(subject.read_text())
        phases.clear()
    assert main([command, str(subject)]) == 0
    assert phases == [phase]


def test_a_search_of_a_space_with_fewer_designs_than_trials_says_how_many_there_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    space = yaml.safe_load(write_space(tmp_path).read_text())
    space["parallelism"] = {"data": 8}
    (tmp_path / "few.yaml").write_text(yaml.safe_dump(space))
    assert main(["space", str(tmp_path / "few.yaml"), "--count"]) == 0
    count = int(capsys.readouterr().out)
    assert count < 40
    for trials, said in ((40, f"at most {count} trials, one for each combination"), (1, "1 trial")):
        out = str(tmp_path / f"run{trials}")
        assert main(["optimize", str(tmp_path / "few.yaml"), "--trials", str(trials), "--out", out]) == 0
        assert said in capsys.readouterr().err.splitlines()[0]
