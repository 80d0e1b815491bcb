"""What is proven while a search runs: beside it where a core is free, else in a share of its time, between two batches.

How many steps there was time for is seen in the progress line alone. Whoever reports takes all that are left, so that
no file depends on the clock (`dse.proof.certifier`).
"""

from __future__ import annotations

import time
from collections.abc import Callable

from dse.evaluate.note import Note
from dse.execute.ahead import is_compiled
from dse.execute.where import cores
from dse.proof.certificate import Certificate, certify
from dse.proof.certifier import Certifier
from dse.proof.parts import is_proven_of
from dse.run.proving_beside import TELL_SECONDS, CertifierBeside
from dse.space.space import Space
from dse.study.watch import WATCHER, Watcher

SHARE = 0.2
"""Most of a search's time that its certificate takes, but for the last step."""


class Proving:
    """The certificate of one run: begun while it searches, ended by its report.

    `beside`: another process may prove it, for which a core must be free. It knows what is installed, and not what the
    caller of a library has changed or added.
    """

    def __init__(self, beside: bool = False) -> None:
        self._beside = beside
        self._certifier: Certifier | CertifierBeside | None = None
        self._watcher = WATCHER
        self._read: Callable[[], Space] | None = None
        self._engine = ""
        self._begun = self._told = self._spent = 0.0

    def begin(self, read: Callable[[], Space], engine: str, watcher: Watcher) -> None:
        """A search begins; `read` gives its space as the report will read it."""
        self._read, self._engine, self._watcher = read, engine, watcher
        self._begun = time.monotonic()

    def __enter__(self) -> Proving:
        return self

    def __exit__(self, *_: object) -> None:
        if isinstance(self._certifier, CertifierBeside):
            self._certifier.close()

    def between(self) -> None:
        """Two batches of the search: take the steps that there is time for, or hear of those of the other process."""
        if self._read is None:
            return
        while (now := time.monotonic()) - self._begun >= max(TELL_SECONDS, self._spent / SHARE):
            if self._certifier is None:
                self._certifier = self._begin_certifier(self._read())
            elif self._certifier.done:
                return
            self._certifier.advance()
            self._tell(now)
            if isinstance(self._certifier, CertifierBeside):
                return
            self._spent += time.monotonic() - now

    def _begin_certifier(self, space: Space) -> Certifier | CertifierBeside:
        """The certifier of a space; none beside while a new machine's second core compiles."""
        if self._beside and cores() > 1 and is_compiled():
            return CertifierBeside(space, self._engine)
        return Certifier(space, self._engine)

    def _tell(self, now: float) -> None:
        assert self._certifier is not None
        if now - self._told >= TELL_SECONDS or self._certifier.done:
            self._told = now
            self._watcher.certified(self._certifier.corners)

    def certify(self, space: Space, engine: str, note: Note) -> Certificate:
        """The whole certificate of the run, which is of `space` and `engine`; `note` is told of the steps left."""
        return certify(space, engine, note) if self._certifier is None else self._certifier.finish(note)


def is_worth_proving(space: Space, engine: str) -> bool:
    """Whether something may be proven of all objectives together, in steps."""
    return not space.jobs and any(is_proven_of(engine, objective.names) for objective in space.objectives)
