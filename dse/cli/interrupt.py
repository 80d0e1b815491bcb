"""Ctrl-C that cannot get lost."""

from __future__ import annotations

import signal
import threading
from types import FrameType, TracebackType


class Interrupt:
    """`KeyboardInterrupt` on Ctrl-C, and once more at the next `look` where nobody got it.

    Compiled libraries that call back into Python (a serialiser, a solver) may take any exception of the callback for a
    failure of its own, and go on or raise an error of theirs; a Ctrl-C that falls into such a moment would do nothing,
    or look like that error.
    """

    def __init__(self) -> None:
        self.asked = False
        """Whether Ctrl-C was pressed."""

    def __enter__(self) -> Interrupt:
        """Take Ctrl-C where it is Python's to take: signals are the main thread's, and a caller's own handler stays."""
        free = signal.getsignal(signal.SIGINT) is signal.default_int_handler
        if free and threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, self._handle)
        return self

    def _handle(self, number: int, frame: FrameType | None) -> None:
        self.asked = True
        raise KeyboardInterrupt

    def look(self) -> None:
        """Raise `KeyboardInterrupt` if Ctrl-C was pressed."""
        if self.asked:
            raise KeyboardInterrupt

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Give Ctrl-C back."""
        if signal.getsignal(signal.SIGINT) == self._handle:
            signal.signal(signal.SIGINT, signal.default_int_handler)
