"""Certifies a space step by step, whenever there is time for one.

    search ─▶ a step or two ─▶ search ─▶ a step or two ─▶ … ─▶ all that are left

The steps are the same ones whenever they are taken, so the certificate does not depend on how much time there was for
them during the search; what is proven before the last one can be told at any time.
"""

from __future__ import annotations

from collections.abc import Generator

from dse.evaluate.note import Note
from dse.proof.bound import Step
from dse.proof.certificate import Certificate, Corners, certificate_steps, corners_of
from dse.space.space import Space


class Certifier:
    """Certifies a space for an engine (`dse.proof.certificate.certify`)."""

    def __init__(self, space: Space, engine: str) -> None:
        self._space, self._engine = space, engine
        self._steps: Generator[Step, None, Certificate] = certificate_steps(space, engine)
        self._last: Step | None = None
        self._found: Certificate | None = None

    @property
    def done(self) -> bool:
        """Whether there are no more steps."""
        return self._found is not None

    @property
    def corners(self) -> Corners | None:
        """What is proven by now of all objectives together; None where nothing is."""
        if self._found is not None:
            return self._found.corners
        return None if self._last is None else corners_of(self._space, self._engine, self._last.shapes())

    def advance(self) -> str:
        """Take the next step, if there is one; what it does. One that is interrupted is begun again with all others."""
        if self._found is not None:
            return ""
        try:
            self._last = next(self._steps)
        except StopIteration as end:
            self._found, self._last = end.value, None  # which holds all jobs
            return ""
        except BaseException:
            self._steps, self._last = certificate_steps(self._space, self._engine), None
            raise
        return self._last.text

    def finish(self, note: Note) -> Certificate:
        """The certificate, after all steps that are left; `note` is told of each."""
        while self._found is None:
            if text := self.advance():
                note(text)
        return self._found
