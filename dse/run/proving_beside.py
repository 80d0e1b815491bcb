"""A certificate that is proven in a process of its own, beside a search that leaves a core idle.

    search ──▶ space, engine ──▶ process: a step, a step, … ──▶ what each did ──▶ certificate

The steps are those of `dse.proof.certifier`, so the certificate is the same. The process ends when this one closes it,
or is killed.
"""

from __future__ import annotations

import contextlib
import gc
import os
import pickle
import subprocess
import sys
import threading
import time
from queue import Empty, SimpleQueue
from typing import IO

from dse.evaluate.note import Note, be_silent
from dse.execute.leash import end_with_input
from dse.proof.certificate import Certificate, Corners
from dse.proof.certifier import Certifier
from dse.space.space import Space

TELL_SECONDS = 1.0
"""Between two times that it is told what is proven of all objectives together."""
NICENESS = 5
"""The search goes first where they want the same core."""

_COMMAND = f"import gc, sys; gc.set_threshold(*{{!r}}); sys.path[:] = {{!r}}; from {__name__} import main; main()"
"""The process looks for garbage as seldom as this one does, and finds the same modules."""

Told = tuple[str, Corners | None, Certificate | None]
"""What a step did, what is proven by then if it is time to tell it, and after the last one the certificate."""


class CertifierBeside:
    """As `Certifier`, in a process of its own; `advance` only hears what it tells."""

    def __init__(self, space: Space, engine: str) -> None:
        self._space, self._engine = space, engine
        self._corners: Corners | None = None
        self._found: Certificate | None = None
        self._asked = pickle.dumps((space, engine))
        self._told: SimpleQueue[Told | None] = SimpleQueue()
        self._process = subprocess.Popen(
            [sys.executable, "-c", _COMMAND.format(gc.get_threshold(), [*map(str, sys.path)])],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,  # what goes wrong in it goes wrong here, too, and is said then
            start_new_session=True,
        )
        self._ear = threading.Thread(target=self._work, daemon=True)
        self._ear.start()

    @property
    def done(self) -> bool:
        """See `Certifier.done`."""
        return self._found is not None

    @property
    def corners(self) -> Corners | None:
        """See `Certifier.corners`; as of the last second."""
        return self._corners

    def advance(self) -> str:
        """Hear what was proven by now; what the last step did."""
        text = ""
        while True:
            try:
                told = self._told.get_nowait()
            except Empty:
                return text
            if told is None:  # `finish` goes on here
                self._told.put(None)
                return text
            text = self._hear(told)

    def finish(self, note: Note) -> Certificate:
        """See `Certifier.finish`. Proves everything here if the process ended before its time."""
        while self._found is None:
            told = self._told.get()
            if told is None:
                self._found = Certifier(self._space, self._engine).finish(note)
            elif text := self._hear(told):
                note(text)
        return self._found

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait()
        self._ear.join()
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            with contextlib.suppress(OSError):  # what was not sent has no reader
                pipe.close()

    def _hear(self, told: Told) -> str:
        text, corners, found = told
        self._corners, self._found = corners or self._corners, found
        if found is not None:
            self._corners = found.corners
        return text

    def _work(self) -> None:
        """Say what is to be proven, and pass on what is told; None in the end."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(self._asked)
            self._process.stdin.flush()
            while True:
                self._told.put(pickle.load(self._process.stdout))
        except (EOFError, OSError, pickle.UnpicklingError):  # it is over, or was killed
            return
        finally:
            self._told.put(None)


def certify_beside(space: Space, engine: str, note: Note) -> Certificate:
    """As `dse.proof.certificate.certify`, in a process of its own."""
    certifier = CertifierBeside(space, engine)
    try:
        return certifier.finish(note)
    finally:
        certifier.close()


def prove(space: Space, engine: str, out: IO[bytes]) -> None:
    """Certify a space, and tell of each step."""
    certifier, last = Certifier(space, engine), time.monotonic()
    while not certifier.done:
        text, now = certifier.advance(), time.monotonic()
        corners = None
        if now - last >= TELL_SECONDS:
            last, corners = now, certifier.corners
        pickle.dump((text, corners, certifier.finish(be_silent) if certifier.done else None), out)
        out.flush()


def main() -> None:
    """Prove what the other process asks for."""
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what is printed must not get in between
    os.nice(NICENESS)
    space, engine = pickle.load(sys.stdin.buffer)  # from the process that started this one
    end_with_input()
    prove(space, engine, out)
