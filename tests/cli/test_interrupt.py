"""Ctrl-C, also where whoever called back swallows the exception."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path
from typing import Any

import pytest

from dse.cli.interrupt import Interrupt
from dse.drive import drive
from dse.run import Settings
from dse.space import load_space
from dse.watch import Watcher

SPACE = Path(__file__).parents[2] / "spaces" / "small.yaml"


def press() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def test_ctrl_c_interrupts_at_once() -> None:
    with pytest.raises(KeyboardInterrupt), Interrupt():
        press()


def test_a_swallowed_ctrl_c_is_raised_at_the_next_look() -> None:
    with Interrupt() as interrupt:
        interrupt.look()
        try:
            press()
        except BaseException:
            swallowed = True
        assert swallowed
        with pytest.raises(KeyboardInterrupt):
            interrupt.look()


def test_ctrl_c_is_given_back_and_a_handler_of_the_caller_stays() -> None:
    with Interrupt():
        assert signal.getsignal(signal.SIGINT) is not signal.default_int_handler
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    with Interrupt() as interrupt:
        press()
        interrupt.look()
    assert signal.signal(signal.SIGINT, before) is signal.SIG_IGN


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

    monkeypatch.setattr("dse.drive.optimize", broken)
    asked = load_space(SPACE), Settings("random", 1, 0), tmp_path, False, Pressed()
    if pressed:
        assert drive(*asked) == "interrupted"
    else:
        with pytest.raises(ValueError, match="error calling"):
            drive(*asked)
