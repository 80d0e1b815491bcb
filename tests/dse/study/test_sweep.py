"""`studies/million/sweep.py`: the driver of each workload, as the command line has it."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading
from collections.abc import Iterator
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

from dse.space.space import load_space

SCRIPT = Path(__file__).parents[3] / "studies" / "million" / "sweep.py"


@pytest.fixture
def sweep() -> ModuleType:
    spec = spec_from_file_location("sweep", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def signals() -> Iterator[None]:
    """Sets back the handlers of signals that a sweep takes over."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def _given(out: Path, address: str | None = None, resume: bool = False) -> argparse.Namespace:
    return argparse.Namespace(address=address, jobs=12, at_once=4, trials=7, out=out, resume=resume)


def _begun(folder: Path, journal: str) -> Path:
    folder.mkdir()
    (folder / "study.yaml").write_text("trials: 7\n", encoding="utf-8")
    (folder / "journal.log").write_text(journal, encoding="utf-8")
    return folder


def test_a_study_that_has_not_begun_is_not_resumed(sweep: ModuleType, tmp_path: Path) -> None:
    _begun(tmp_path / "gpt3-175b", "{}\n")
    assert "--resume" in sweep.command("gpt3-175b", _given(tmp_path, resume=True))
    assert "--resume" not in sweep.command("llama3-8b", _given(tmp_path, resume=True))
    assert "--resume" not in sweep.command("gpt3-175b", _given(tmp_path))


def test_a_study_that_was_stopped_before_its_first_line_begins_anew(sweep: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "gpt3-175b").mkdir()
    stopped = _begun(tmp_path / "llama3-8b", "")
    for name in ("gpt3-175b", "llama3-8b"):
        assert "--resume" not in sweep.command(name, _given(tmp_path, resume=True))
    assert not (stopped / "journal.log").exists()  # with one, dse optimize takes the folder for that of a study


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_reaches_each_driver_once_and_ends_the_sweep(
    number: signal.Signals, code: int, sweep: ModuleType, signals: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ready = tmp_path / "ready"
    driver = (
        "import pathlib, signal, sys, time\n"
        f"signal.signal({int(number)}, lambda *_: print('saved', flush=True) or sys.exit({code}))\n"
        f"pathlib.Path({str(ready)!r} + sys.argv[1]).touch()\n"
        "time.sleep(60)\n"
    )
    monkeypatch.setattr(sweep, "command", lambda name, given: [sys.executable, "-c", driver, name])

    def interrupt() -> None:
        while not all(Path(f"{ready}{name}").exists() for name in ("a", "b")):
            threading.Event().wait(0.02)
        os.kill(os.getpid(), number)

    thread = threading.Thread(target=interrupt)
    thread.start()
    ended, interrupted = sweep.run(["a", "b"], _given(tmp_path))
    thread.join()
    assert (ended, interrupted) == ({"a": code, "b": code}, True)
    assert (tmp_path / "a.log").read_text(encoding="utf-8") == "saved\n"


def test_a_driver_that_a_signal_ended_before_it_was_ready_has_been_interrupted(
    sweep: ModuleType, signals: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    killed = "import os, signal; os.kill(os.getpid(), signal.SIGTERM)"
    monkeypatch.setattr(sweep, "command", lambda name, given: [sys.executable, "-c", killed])
    assert sweep.run(["a"], _given(tmp_path)) == ({"a": -signal.SIGTERM}, True)


def test_ray_is_asked_for_only_with_an_address(sweep: ModuleType, tmp_path: Path) -> None:
    assert "ray" not in sweep.command("llama3-8b", _given(tmp_path))
    words = sweep.command("llama3-8b", _given(tmp_path, "head:6379"))
    assert words[-4:] == ["--executor", "ray", "--address", "head:6379"]


def test_workers_are_shared_out_among_the_drivers_at_work(sweep: ModuleType, tmp_path: Path) -> None:
    words = sweep.command("llama3-8b", _given(tmp_path))
    assert words[words.index("--jobs") + 1] == "3"


def test_every_workload_of_the_sweep_is_a_space_of_more_designs_than_it_tries(
    sweep: ModuleType, tmp_path: Path
) -> None:
    for name in sweep.WORKLOADS:
        assert load_space(sweep.space(name, tmp_path)).count() > 12_000_000
