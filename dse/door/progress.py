"""Progress of a study on stderr: done, time left, rate, best value of each objective, size of the front.

    checking constraints ─▶ searching ─▶ bounding ─▶ asking what-ifs ─▶ drawing

`dse.door.display` shows it.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.door.display import Display
from dse.door.interrupt import Interrupt
from dse.door.live import LiveFront
from dse.evaluate.evaluate import Outcome
from dse.evaluate.pareto import front_mask, shares_behind
from dse.execute import Executor, Status
from dse.space.barred import barred_notices
from dse.space.objective import losses
from dse.space.order import ADVICE, NOTICES
from dse.space.settings import MOST_TRIALS as ENDLESS
from dse.space.space import Space
from dse.study.watch import Watcher

SEARCHING = "searching"
FIRST = "the first designs wait where workers have to compile kernels"
STATUS_SECONDS = 0.5
"""Between two looks at the workers."""


def _limit(trials: int, combinations: float) -> str:
    if combinations <= trials < ENDLESS:
        return f"at most {_say_trials(round(combinations))}, one for each combination"
    return _say_trials(trials) if trials < ENDLESS else "as many trials as it needs"


def _say_trials(trials: int) -> str:
    return f"{trials} trial{'' if trials == 1 else 's'}"


class Phases(Watcher):
    """Shows which phase a command is in, and how far that is."""

    def __init__(self, interrupt: Interrupt, display: Display | None = None) -> None:
        self._interrupt, self._display = interrupt, display or Display()

    def __enter__(self) -> Phases:
        """Nothing is shown before the first phase."""
        return self

    @property
    def interrupted(self) -> bool:
        """See `Watcher.interrupted`."""
        return self._interrupt.asked

    def phase(self, name: str) -> None:
        """See `Watcher.phase`."""
        self._interrupt.raise_if_signalled()
        self._display.phase(name)

    def note(self, text: str, done: float | None = None) -> None:
        """See `Watcher.note`."""
        self._interrupt.raise_if_signalled()
        self._display.show(lambda: text, done)

    def say(self, text: str) -> None:
        """A line that stays."""
        self._display.say(text)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leave the terminal as it was."""
        self._display.close()


class Progress(Watcher):
    """Shows how a study goes, from its first trial to its reports; with `live` its front, too."""

    def __init__(self, space: Space, trials: int, interrupt: Interrupt, live: bool = False) -> None:
        self._space, self._asked, self._combinations = space, trials, space.count()
        self._trials = trials if trials >= ENDLESS else int(min(trials, self._combinations))
        self._front = LiveFront(space.objectives)
        self._display = Display(self._front.draw) if live else Display()
        self._phases = Phases(interrupt, self._display)
        self.done = self._fresh = 0
        """Trials that the journal has, as far as is known here."""
        self._points = np.empty((0, len(space.objectives)))
        self._corners: NDArray[np.float64] | None = None
        self._begun, self._looked, self._searching = time.monotonic(), 0.0, False
        self._over = False
        self._executor: Executor | None = None
        self._status: Status | None = None

    def __enter__(self) -> Progress:
        """Nothing is shown before `start`."""
        return self

    @property
    def interrupted(self) -> bool:
        """See `Watcher.interrupted`."""
        return self._phases.interrupted

    @property
    def has_searched(self) -> bool:
        """Whether the search is over."""
        return self._over

    def start(self, sampler: str, known: int) -> None:
        """The study begins; `known` trials come from the journal."""
        self._begun = time.monotonic()
        self.done, self._searching = known, True
        resumed = f", {_say_trials(known)} from the journal" if known else ""
        self._display.say(f"{self._space.name}: {sampler}, {_limit(self._asked, self._combinations)}{resumed}")
        if self._space.hypothetical not in ("", "said"):
            self._display.say(f"{NOTICES[self._space.hypothetical]} To settle it {ADVICE}.")
        for notice in (*self._space.notices, *barred_notices(self._space)):
            self._display.say(f"note: {notice}")
        self._phases.phase(SEARCHING)

    def skip(self, done: int, front: NDArray[np.float64]) -> None:
        """See `Watcher.skip`."""
        self.done, self._points = done, front
        for row in front:
            self._front.add(row, front)

    def watch(self, executor: Executor) -> None:
        """Show how the workers of an executor are doing, while they start too."""
        self._executor = executor
        executor.on_wait = self._look_at_workers

    def phase(self, name: str) -> None:
        """See `Watcher.phase`."""
        if self._searching:
            self._over = True
            self._end_search()
        self._phases.phase(name)

    def note(self, text: str, done: float | None = None) -> None:
        """See `Watcher.note`; while a study searches it is the sampler's."""
        self._phases.note(f"{self._counted()}, then {text}" if self._searching else text, done)

    def certified(self, corners: Sequence[Sequence[float]] | None) -> None:
        """See `Watcher.certified`."""
        if corners is not None:
            rows = np.array(corners, float).reshape(-1, self._points.shape[1])
            self._corners = rows[front_mask(rows)]

    def trial(self, number: int, params: Mapping[str, Any], outcome: Outcome) -> None:
        """One more trial is done."""
        self.done = max(self.done, number + 1)
        self._fresh += 1
        if outcome.state == "feasible":
            if not len(self._points):
                self._show_units_of(outcome)
            row = losses(self._space.objectives, [outcome.values])
            points = np.concatenate([self._points, row])
            self._points = points[front_mask(points)]
            self._front.add(row[0], self._points)
        self._look_at_workers()
        self._display.show(self._describe, self.done / self._trials if self._trials < ENDLESS else None, "trials")
        if self.interrupted:
            raise KeyboardInterrupt

    def _show_units_of(self, outcome: Outcome) -> None:
        """Show objectives in what the first feasible design counts: tokens, or samples."""
        from dse.report.counted import in_samples

        if (outcome.metrics or {}).get("throughput_counts") == "samples":
            self._front.objectives = tuple(map(in_samples, self._space.objectives))

    def _look_at_workers(self) -> None:
        now = time.monotonic()
        if self._executor is not None and now - self._looked > STATUS_SECONDS:
            self._looked, self._status = now, self._executor.status()
            if not self.done and self._status is not None:
                self._display.show(self._describe, None)

    def _counted(self) -> str:
        return f"{self.done}/{_say_trials(self._trials)}" if self._trials < ENDLESS else _say_trials(self.done)

    def _describe(self) -> str:
        return f"{self._counted()} · {self._state()}"

    def _state(self) -> str:
        from dse.report.units import format_with_unit

        points = self._points
        rate = self._fresh / max(time.monotonic() - self._begun, 1e-9)
        parts = [f"{rate:.0f}/s" if rate >= 1 else f"{60 * rate:.0f}/min"]
        if len(points):
            for column, objective in enumerate(self._front.objectives):
                best = objective.sign * float(points[:, column].min())
                parts.append(f"{objective.name} {format_with_unit(best, objective.unit)}")
        parts.append(f"front {len(np.unique(points, axis=0))}{self._proven()}")
        if self._status is not None:
            nodes = f"{self._status.nodes} node{'' if self._status.nodes == 1 else 's'}"
            parts.append(
                f"{nodes} · {self._status.workers} of {self._status.wanted} workers · "
                f"{self._status.flying} in flight · {self._status.failed} failed"
            )
            if not self._fresh and self._status.flying:
                parts.append(FIRST)
        return " · ".join(parts)

    def _proven(self) -> str:
        """How far the front can be from the true one, as far as that is proven by now."""
        from dse.report.units import format_percent

        if self._corners is None or not len(self._points):
            return ""
        behind = float(shares_behind(self._points, self._corners).max())
        return f", at most {format_percent(behind)} behind" if np.isfinite(behind) else ""

    def _end_search(self) -> None:
        """One last line of the search."""
        if self._searching and self.done:
            took = time.monotonic() - self._begun
            self._display.say(f"{_say_trials(self.done)} in {took:.1f} s · {self._state()}")
        self._searching = False

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leave the terminal as it was."""
        self._display.close()
        self._end_search()
