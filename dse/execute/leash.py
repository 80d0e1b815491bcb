"""Child processes that end when their parent ends, even if the parent is killed or the child is busy.

A worker in the middle of a design does not look at its pipe, so a killed driver would leave it working for seconds. A
tied process ends at once: the kernel kills it where it can (Linux, `prctl(2)`, PR_SET_PDEATHSIG), elsewhere a thread
that waits for the parent's end does. This module imports nothing heavy, so that a process is tied before it imports.
"""

from __future__ import annotations

import contextlib
import ctypes
import multiprocessing
import os
import pickle
import signal
import sys
import threading
from collections.abc import Iterator
from multiprocessing import resource_tracker
from typing import Any

_DEATH_SIGNAL = 1
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def tie_to_parent() -> None:
    """Tie this process to its parent, and leave Ctrl-C to that one: the first thing in a process of `run_tied`."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_DEATH_SIGNAL, signal.SIGKILL)
    threading.Thread(target=_follow, daemon=True).start()  # a parent that died before is noticed here


def _follow() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def end_with_input() -> None:
    """Let this process end when its standard input does: whoever started it closed that, or was killed."""
    threading.Thread(target=_read_to_the_end, daemon=True).start()


def _read_to_the_end() -> None:
    sys.stdin.buffer.read()
    os._exit(1)


def pack_call(function: Any, argument: Any) -> bytes:
    """What `run_tied` is to call, so that it need not be imported before the process is tied."""
    return pickle.dumps((function, argument))


def run_tied(connection: Any, work: bytes) -> None:
    """The target of a process: tie it, then call what `pack_call` packed with the connection and its argument."""
    tie_to_parent()
    function, argument = pickle.loads(work)
    function(connection, argument)


@contextlib.contextmanager
def hold_signals() -> Iterator[None]:
    """Blocks signals while processes start: a signal during the start of a process would print a traceback.

    A process inherits that they wait; `tie_to_parent` ends it.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # else it is started with the first process, and lets signals through again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
