"""Progress of a study on stderr: done, rate, best value of each objective, size of the front.

On a terminal a bar that redraws itself; elsewhere a plain line every few seconds.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from types import TracebackType
from typing import Any

import numpy as np

from dse.door.interrupt import Interrupt
from dse.evaluate.evaluate import Outcome
from dse.evaluate.pareto import front_mask
from dse.execute import Executor
from dse.space.objective import losses
from dse.space.settings import MOST_TRIALS as ENDLESS
from dse.space.space import Space
from dse.study.watch import Watcher

LINE_SECONDS = 5.0
REDRAW_SECONDS = 0.1


def _limit(trials: int) -> str:
    return f"{trials} trials" if trials < ENDLESS else "as many trials as it needs"


class Progress(Watcher):
    """Shows how a study goes, from its first trial to its last."""

    def __init__(self, space: Space, trials: int, interrupt: Interrupt) -> None:
        self._space, self._trials, self._interrupt = space, trials, interrupt
        self._points = np.empty((0, len(space.objectives)))
        self.done = self._fresh = 0
        """Trials that the journal has, as far as is known here."""
        self._begun = self._shown = time.monotonic()
        self._live: Any = None
        self._task: Any = None
        self._executor: Executor | None = None

    def __enter__(self) -> Progress:
        """Nothing is shown before `start`."""
        return self

    @property
    def interrupted(self) -> bool:
        """See `Watcher.interrupted`."""
        return self._interrupt.asked

    def start(self, sampler: str, known: int) -> None:
        """The study begins; `known` trials come from the journal."""
        self._begun = time.monotonic()
        self.done = known
        resumed = f", {known} trials from the journal" if known else ""
        print(f"{self._space.name}: {sampler}, {_limit(self._trials)}{resumed}", file=sys.stderr)
        if not sys.stderr.isatty() and "ipykernel" not in sys.modules:  # which shows a bar in its notebook
            return
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as Bar

        columns = (
            BarColumn(20),
            MofNCompleteColumn(),
            TimeRemainingColumn(compact=True),
            TextColumn("{task.description}"),
        )
        self._live = Bar(*columns, console=Console(stderr=True), transient=True)
        self._task = self._live.add_task("", total=self._trials if self._trials < ENDLESS else None)
        self._live.start()

    def watch(self, executor: Executor) -> None:
        """Show how the workers of an executor are doing, while they start too."""
        self._executor = executor
        executor.on_wait = self._tick

    def trial(self, number: int, params: Mapping[str, Any], outcome: Outcome) -> None:
        """One more trial is done."""
        self._interrupt.raise_if_signalled()
        self.done = max(self.done, number + 1)
        self._fresh += 1
        if outcome.state == "feasible":
            row = losses(self._space.objectives, [outcome.values])
            points = np.concatenate([self._points, row])
            self._points = points[front_mask(points)]
        self._tick()

    def _tick(self) -> None:
        now = time.monotonic()
        if self._live is not None and (now - self._shown > REDRAW_SECONDS or self.done == self._trials):
            self._shown = now
            self._live.update(self._task, completed=self.done, description=self._state(now))
        elif self._live is None and now - self._shown > LINE_SECONDS:
            self._shown = now
            of = f"/{self._trials}" if self._trials < ENDLESS else ""
            print(f"{self.done}{of} {self._state(now)}", file=sys.stderr)

    def note(self, text: str) -> None:
        """What the sampler is doing while there are no trials."""
        self._interrupt.raise_if_signalled()
        now = time.monotonic()
        if self._live is not None and now - self._shown > REDRAW_SECONDS:
            self._shown = now
            self._live.update(self._task, description=text)
        elif self._live is None and now - self._shown > LINE_SECONDS:
            self._shown = now
            print(text, file=sys.stderr)

    def _state(self, now: float) -> str:
        from dse.report.units import format_with_unit

        rate = self._fresh / max(now - self._begun, 1e-9)
        parts = [f"{rate:.0f}/s"]
        if len(self._points):
            for column, objective in enumerate(self._space.objectives):
                best = objective.sign * float(self._points[:, column].min())
                parts.append(f"{objective.name} {format_with_unit(best, objective.unit)}")
        parts.append(f"front {len(np.unique(self._points, axis=0))}")
        status = None if self._executor is None else self._executor.status()
        if status is not None:
            parts.append(
                f"{status.nodes} nodes · {status.workers} of {status.wanted} workers · "
                f"{status.flying} in flight · {status.failed} failed"
            )
        return " · ".join(parts)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leave the terminal as it was, with one last line."""
        if self._live is not None:
            self._live.stop()
        if self.done:
            took = time.monotonic() - self._begun
            print(f"{self.done} trials in {took:.1f} s · {self._state(time.monotonic())}", file=sys.stderr)
