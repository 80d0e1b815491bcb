"""Ctrl-C and SIGTERM, also where whoever called back swallows the exception, or where nobody comes back."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cli_runs import GATED_ENGINE, PATIENCE, running, start, until, write_space

from dse.cli import main
from dse.door.interrupt import Interrupt
from dse.run.drive import optimize
from dse.run.settings import Settings
from dse.space.space import load_space
from dse.study.watch import Watcher

SPACE = Path(__file__).parents[2] / "spaces" / "small.yaml"


@pytest.fixture(autouse=True)
def usual_signals() -> Iterator[None]:
    """As in a process in the foreground; in the background Ctrl-C is ignored from the start."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def press(number: int = signal.SIGINT) -> None:
    os.kill(os.getpid(), number)


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_interrupts_at_once_and_gives_its_exit_status(number: int, status: int) -> None:
    interrupt = Interrupt()
    with pytest.raises(KeyboardInterrupt), interrupt:
        press(number)
    assert (interrupt.asked, interrupt.status) == (True, status)


def test_ctrl_c_before_a_command_has_begun_is_no_traceback(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("dse.cli.make_parser", lambda arguments: press())
    assert main(["optimize", "--help"]) == 130
    assert "interrupted" in capfd.readouterr().err


def test_a_swallowed_ctrl_c_is_raised_at_the_next_look() -> None:
    with Interrupt() as interrupt:
        interrupt.raise_if_signalled()
        try:
            press()
        except BaseException:
            swallowed = True
        assert swallowed
        with pytest.raises(KeyboardInterrupt):
            interrupt.raise_if_signalled()


def test_signals_are_given_back_and_a_handler_of_the_caller_stays() -> None:
    with Interrupt():
        assert signal.getsignal(signal.SIGINT) is not signal.default_int_handler
        assert signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_a_signal_that_is_ignored_from_the_start_stays_ignored() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with Interrupt() as interrupt:
        press()
        interrupt.raise_if_signalled()
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN


def test_other_threads_leave_signals_alone() -> None:
    seen: list[object] = []

    def elsewhere() -> None:
        with Interrupt():
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert seen == [signal.default_int_handler]


@pytest.mark.parametrize("pressed", [True, False])
def test_an_error_that_a_library_made_of_ctrl_c_is_ctrl_c(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pressed: bool
) -> None:
    class Pressed(Watcher):
        interrupted = pressed

    def broken(*args: Any) -> str:
        raise ValueError("error calling function: KeyboardInterrupt")

    monkeypatch.setattr("dse.run.drive.check_constraints", broken)
    asked = load_space(SPACE), Settings("random", 1, 0), tmp_path, False, Pressed()
    if pressed:
        assert optimize(*asked) == "interrupted"
    else:
        with pytest.raises(ValueError, match="error calling"):
            optimize(*asked)


DEAF = """
import time

def engine(design):
    open({mark!r}, "w").close()
    while True:
        try:
            time.sleep(1000)
        except BaseException:
            pass
"""


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.parametrize("times", [1, 2])
def test_a_run_ends_though_what_it_runs_never_comes_back(tmp_path: Path, number: int, status: int, times: int) -> None:
    mark = tmp_path / "mark"
    (tmp_path / "deaf_engine.py").write_text(DEAF.format(mark=str(mark)))
    arguments = ("optimize", write_space(tmp_path), "--out", tmp_path / "run", "--engine", "deaf_engine:engine")
    with start(*arguments, engines=tmp_path) as process:
        assert until(lambda: mark.exists() or process.poll() is not None)
        for _ in range(times):
            process.send_signal(number)
        _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == status
    assert "interrupted: saving the finished trials" in err
    assert "interrupted before the first trial was done" in err


STUCK = """
import time
from pathlib import Path
{imports}

def stuck(*args, **more):
    Path({mark!r}).touch()
    time.sleep(1000)

{patch} = stuck
from dse.cli import entry
entry()
"""


@pytest.mark.parametrize(
    ("patch", "arguments"),
    [
        ("dse.proof.certificate.certify", ["optimize", "SPACE", "--out", "RUN", "--trials", "2"]),
        ("dse.whatif.ask.answers_about", ["optimize", "SPACE", "--out", "RUN", "--trials", "2"]),
        ("dse.report.write_reports", ["optimize", "SPACE", "--out", "RUN", "--trials", "2"]),
    ],
)
def test_every_phase_of_a_search_can_be_interrupted(tmp_path: Path, patch: str, arguments: list[str]) -> None:
    mark = tmp_path / "mark"
    module = patch.rpartition(".")[0]
    script = STUCK.format(imports=f"import dse.run.record, {module}", mark=str(mark), patch=patch)
    if module == "dse.proof.certificate":
        script = script.replace(
            "from dse.cli import entry", "dse.run.record.certify = stuck\nfrom dse.cli import entry"
        )
    (tmp_path / "stuck.py").write_text(script)
    names = {"SPACE": str(write_space(tmp_path)), "RUN": str(tmp_path / "run")}
    given = [names.get(argument, argument) for argument in arguments]
    with start(*given, engines=tmp_path, program=[str(tmp_path / "stuck.py")]) as process:
        assert until(lambda: mark.exists() or process.poll() is not None)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130, err
    assert "Traceback" not in err
    assert (
        f"interrupted after the search, its 2 trials all saved; write the reports: dse report {tmp_path / 'run'}" in err
    )
    assert (tmp_path / "run" / "journal.log").exists()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_workers_end_with_their_driver_whatever_they_are_doing(tmp_path: Path, number: int) -> None:
    (tmp_path / "gated_engine.py").write_text(GATED_ENGINE)
    (tmp_path / "gate").write_text("0")
    arguments = ("--engine", "gated_engine:engine", "--jobs", "3")
    with start("optimize", write_space(tmp_path), "--out", tmp_path / "run", *arguments, engines=tmp_path) as process:
        assert until(lambda: len(pids(tmp_path)) == 3 or process.poll() is not None)
        workers = pids(tmp_path)
        assert all(map(running, workers))
        process.send_signal(number)
        process.communicate(timeout=PATIENCE)
    assert process.returncode in (-number, 143)
    assert until(lambda: not any(map(running, workers)))


def pids(folder: Path) -> list[int]:
    return [int(path.name) for path in (folder / "pids").iterdir()] if (folder / "pids").exists() else []
