"""Ctrl-C and SIGTERM: acknowledged at once, over in seconds, and never lost.

    signal ──▶ acknowledged ──▶ KeyboardInterrupt in the main thread ──▶ trials are saved ──▶ farewell
                    └──▶ a second signal, or `GRACE` seconds: farewell, and the process ends where it stands

A thread hears the signals: the main one may be in compiled code, which lets no Python in before it returns, or in a
library that takes the `KeyboardInterrupt` of a callback for a failure of its own.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import threading
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any

GRACE = 2.0
"""Seconds from a signal to the end; a journal has every trial as soon as it is done, so none is lost."""
STATUS = {signal.SIGINT: 130, signal.SIGTERM: 143}
"""Exit status by signal: 128 + its number."""
_FREE = (signal.default_int_handler, signal.SIG_DFL)


class Interrupt:
    """Raises `KeyboardInterrupt` on Ctrl-C or SIGTERM, and again at `raise_if_signalled` if nothing caught the first.

    A signal that is ignored from the start (`nohup`, a job in the background of a script) stays ignored.
    """

    def __init__(self) -> None:
        self.asked = False
        """Whether a signal came."""
        self.status = STATUS[signal.SIGINT]
        self.farewell: Callable[[], str] = lambda: "interrupted"
        """Makes the last message: how many trials are saved, and how to continue."""
        self._taken: dict[int, Any] = {}
        self._acknowledged, self._parted = threading.Lock(), threading.Lock()  # each taken once, by whoever is first

    def __enter__(self) -> Interrupt:
        """Take the signals that are Python's to take: they are the main thread's, and a caller's own handler stays."""
        if threading.current_thread() is not threading.main_thread():
            return self
        for number in STATUS:
            if signal.getsignal(number) in _FREE:
                self._taken[number] = signal.signal(number, self._handle)
        if self._taken:
            self._ear, self._bell = os.pipe()
            os.set_blocking(self._bell, False)
            self._before = signal.set_wakeup_fd(self._bell, warn_on_full_buffer=False)
            self._thread = threading.Thread(target=self._listen, daemon=True)
            self._thread.start()
        return self

    def _handle(self, number: int, frame: FrameType | None) -> None:
        self._note(number)
        raise KeyboardInterrupt

    def _note(self, number: int) -> None:
        if self._acknowledged.acquire(blocking=False):
            self.asked, self.status = True, STATUS[signal.Signals(number)]
            _say("interrupted: saving the finished trials; interrupt again to stop at once")

    def _listen(self) -> None:
        """Acknowledge the first signal; end the process at the second, or when the time is up."""
        while (heard := os.read(self._ear, 1)) and heard[0] not in self._taken:
            pass
        if not heard:
            return
        self._note(heard[0])
        if select.select([self._ear], [], [], GRACE)[0] and not os.read(self._ear, 1):
            return
        self.say_farewell()
        os._exit(self.status)

    def say_farewell(self) -> None:
        """Print the last message, once."""
        if self._parted.acquire(blocking=False):
            _say(self.farewell())

    def raise_if_signalled(self) -> None:
        """Raise `KeyboardInterrupt` if a signal came."""
        if self.asked:
            raise KeyboardInterrupt

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Give the signals back."""
        if not self._taken:
            return
        signal.set_wakeup_fd(self._before)
        for number, before in self._taken.items():
            signal.signal(number, before)
        os.close(self._bell)
        self._thread.join()
        os.close(self._ear)


def _say(text: str) -> None:
    """A line on stderr, where it has room: a reader that stopped reading must not keep a process that is to end."""
    with contextlib.suppress(OSError, ValueError):
        if select.select([], [2], [], 0.0)[1]:
            os.write(2, f"{text}\n".encode(errors="replace"))
