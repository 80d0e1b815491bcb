"""What goes on, on stderr: on a terminal a line that redraws itself, elsewhere a plain line every few seconds.

Whoever works says what it does and how far it is (`Display.show`), as often as it likes: that costs next to nothing. A
thread looks at it and shows it, so nothing is silent for longer than `every`, not even what says nothing.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from simcore.kernels import compiling

if TYPE_CHECKING:
    from rich.console import RenderableType

LINE_SECONDS = 2.0
LINES = 0.02
"""Share of a phase's time between two of its lines, once that is longer: an hour of search is no thousand lines."""
SURE_SECONDS = 1.0
SURE_STEPS = 8
"""Time after which a rate is known well enough to say what is left, and steps in that time."""
SURE_SHARE = 0.1
"""Share of the work that does instead of so many steps: some is done in a few."""
BAR = 20
COMPILING = "compiling kernels, once on this machine"


def is_redrawn() -> bool:
    """Whether stderr can show a line that redraws itself: a terminal, or a notebook."""
    return sys.stderr.isatty() or "ipykernel" in sys.modules


@dataclass(slots=True)
class _Pace:
    """Since when a share of the work has grown, from what, and in how many steps."""

    began: float
    first: float = 0.0
    steps: int = 0
    compilations: int = field(default_factory=compiling.count)

    def left(self, done: float, now: float) -> float | None:
        """Seconds that the rest takes at this pace; None where that is not known yet."""
        took, gained = now - self.began, done - self.first
        if took < SURE_SECONDS or gained <= 0 or (self.steps < SURE_STEPS and gained < SURE_SHARE):
            return None
        return took * (1 - done) / gained

    @property
    def is_over(self) -> bool:
        """Whether kernels were compiled meanwhile, which says nothing of the rest."""
        return compiling.is_compiling() or self.compilations != compiling.count()


class Display:
    """Shows phases one after the other.

    `wrap` makes a larger picture of the line that is redrawn; `every` is the time between plain lines [s].
    """

    def __init__(
        self, wrap: Callable[[RenderableType], RenderableType] = lambda line: line, every: float = LINE_SECONDS
    ) -> None:
        self._wrap, self._every = wrap, every
        self._name, self._kind = "", ""
        self._text: Callable[[], str] = str
        self._done: float | None = None
        self._pace = _Pace(0.0)
        self._began = self._shown = time.monotonic()
        self._over = threading.Event()
        self._live: Any = None
        self._thread: threading.Thread | None = None

    def phase(self, name: str) -> None:
        """Something else begins."""
        self._name = name
        self._began = self._shown = time.monotonic()
        self.show(str, None)
        if self._live is None and self._thread is None:
            self._start()

    def show(self, text: Callable[[], str], done: float | None, kind: str = "") -> None:
        """What is being done; time left is that of the same `kind` of work, of which a share is done."""
        if kind != self._kind or done is None or self._done is None or done < self._done or self._pace.is_over:
            self._kind, self._pace = kind, _Pace(time.monotonic(), done or 0.0)
        elif done > self._done:
            self._pace.steps += 1
        self._text, self._done = text, done

    def describe(self) -> str:
        """The line."""
        now = time.monotonic()
        left = None if self._done is None or self._pace.is_over else self._pace.left(self._done, now)
        spent = f"{_duration(now - self._began)} so far" if left is None else f"{_duration(left)} left"
        name = f"{self._name} ({COMPILING})" if compiling.is_compiling() else self._name
        return f"{name}: {' · '.join(filter(None, (spent, self._text())))}"

    def say(self, text: str) -> None:
        """A line that stays."""
        if self._live is not None:
            self._live.console.print(text, highlight=False, markup=False)
        else:
            print(text, file=sys.stderr)

    def close(self) -> None:
        """Leave the terminal as it was."""
        self._over.set()
        if self._live is not None:
            self._live.stop()
        if self._thread is not None:
            self._thread.join(LINE_SECONDS)
        self._live = self._thread = None

    def _start(self) -> None:
        self._over.clear()
        if is_redrawn():
            from rich.console import Console
            from rich.live import Live

            self._live = Live(
                console=Console(stderr=True), transient=True, get_renderable=self._render, refresh_per_second=8
            )
            self._live.start()
        else:
            self._thread = threading.Thread(target=self._write_lines, daemon=True)
            self._thread.start()

    def _write_lines(self) -> None:
        while not self._over.wait(0.1):
            now = time.monotonic()
            if now - self._shown >= max(self._every, LINES * (now - self._began)) - 0.1:
                self._shown = now
                print(self.describe(), file=sys.stderr)

    def _render(self) -> RenderableType:
        from rich.columns import Columns
        from rich.progress_bar import ProgressBar
        from rich.text import Text

        line = Text(self.describe(), no_wrap=True, overflow="ellipsis")
        if self._done is None:
            return self._wrap(line)
        return self._wrap(Columns([ProgressBar(1.0, self._done, BAR), line]))


def _duration(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"
