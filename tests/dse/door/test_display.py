"""What goes on is shown as lines where there is no terminal, with time left, and never silent for long."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from dse.door import display
from dse.door.display import Display
from simcore.kernels import compiling


class Clock:
    """A clock that is set by hand."""

    now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(display.time, "monotonic", clock.monotonic)
    return clock


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> Display:
    monkeypatch.setattr(Display, "_start", lambda self: None)
    return Display()


def text(words: str) -> Callable[[], str]:
    return lambda: words


def test_time_left_is_what_the_rest_takes_at_the_pace_so_far(clock: Clock, shown: Display) -> None:
    shown.phase("drawing")
    shown.show(text("page"), 0.0)
    clock.now += 30.0
    shown.show(text("page"), 0.75)
    assert shown.describe() == "drawing: 10 s left · page"


def test_what_was_done_before_the_pace_began_does_not_count(clock: Clock, shown: Display) -> None:
    shown.phase("searching")
    shown.show(text("4/400 trials"), 0.01, "trials")
    clock.now += 20.0
    shown.show(text("100 candidates"), 0.5)
    clock.now += 20.0
    shown.show(text("4/400 trials"), 0.01, "trials")
    clock.now += 10.0
    shown.show(text("103/400 trials"), 0.2575, "trials")
    assert shown.describe() == "searching: 30 s left · 103/400 trials"


def test_what_begins_again_has_a_pace_of_its_own(clock: Clock, shown: Display) -> None:
    shown.phase("asking what-ifs")
    shown.show(text("steps"), 0.0)
    clock.now += 100.0
    shown.show(text("steps"), 0.99)
    shown.show(text("scenarios"), 0.0)
    clock.now += 4.0
    shown.show(text("scenarios"), 0.5)
    assert shown.describe() == "asking what-ifs: 4 s left · scenarios"


@pytest.mark.parametrize(("seconds", "said"), [(5.0, "5 s"), (600.0, "10 min"), (7200.0, "2.0 h")])
def test_without_a_share_it_says_how_long_it_has_taken(clock: Clock, shown: Display, seconds: float, said: str) -> None:
    shown.phase("bounding")
    shown.show(text("iteration_time, step 3"), None)
    clock.now += seconds
    assert shown.describe() == f"bounding: {said} so far · iteration_time, step 3"


def test_a_phase_that_says_nothing_is_not_silent(capsys: pytest.CaptureFixture[str]) -> None:
    shown = Display(every=0.2)
    shown.phase("drawing")
    time.sleep(1.0)
    shown.close()
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) >= 2
    assert all(line.startswith("drawing: ") and line.endswith(" s so far") for line in lines)
    time.sleep(0.5)
    assert capsys.readouterr().err == ""


def test_a_phase_in_which_kernels_are_compiled_says_so(clock: Clock, shown: Display) -> None:
    shown.phase("searching")
    clock.now += 5.0
    compiling.begin()
    try:
        assert shown.describe() == "searching (compiling kernels, once on this machine): 5 s so far"
    finally:
        compiling.end()
    assert shown.describe() == "searching: 5 s so far"


def search(clock: Clock, shown: Display, trials: range, seconds: float) -> None:
    """Trials of 400 that take so long each."""
    for trial in trials:
        clock.now += seconds
        shown.show(text(f"{trial}/400 trials"), trial / 400, "trials")


def test_a_few_trials_say_nothing_of_the_time_left(clock: Clock, shown: Display) -> None:
    shown.phase("searching")
    search(clock, shown, range(8), 1.0)
    assert shown.describe() == "searching: 8 s so far · 7/400 trials"
    search(clock, shown, range(8, 11), 1.0)
    assert shown.describe() == "searching: 6 min left · 10/400 trials"


def test_time_in_which_kernels_were_compiled_is_not_taken_for_the_pace(clock: Clock, shown: Display) -> None:
    shown.phase("searching")
    search(clock, shown, range(1, 3), 1.0)
    compiling.begin()
    try:
        clock.now += 60.0
        assert "left" not in shown.describe()
    finally:
        compiling.end()
    assert "left" not in shown.describe()
    search(clock, shown, range(3, 20), 0.5)
    assert shown.describe() == "searching: 3 min left · 19/400 trials"


def test_a_kernel_that_is_compiled_is_noticed_while_it_is() -> None:
    from numba import njit
    from numba.core import event

    from simcore import compiled  # what tells of compilations

    class Looker(event.Listener):
        def on_start(self, event: Any) -> None:
            seen.append(compiling.is_compiling())

        def on_end(self, event: Any) -> None:
            pass

    seen: list[bool] = []
    with event.install_listener("numba:compile", Looker()):
        assert njit(lambda x: x + 1)(1) == 2
    assert compiled.HAVE_NUMBA
    assert seen
    assert all(seen)
    assert not compiling.is_compiling()
