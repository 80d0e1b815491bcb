"""Who looks on while a study runs: the command line's progress, a test, nobody."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.evaluate.evaluate import Outcome
from dse.execute import Executor


class Watcher:
    """Told what happens in a study, in order; overrides what it wants to know. This one looks away."""

    @property
    def interrupted(self) -> bool:
        """Whether the study was asked to end, though nobody may have noticed."""
        return False

    @property
    def wants_all(self) -> bool:
        """Whether it has to be told of every trial, those of the journal, too."""
        return False

    def start(self, sampler: str, known: int) -> None:
        """The study begins with a sampler; `known` trials come from the journal."""

    def skip(self, done: int, front: NDArray[np.float64]) -> None:
        """So many trials of the journal are not gone through again; `front` has the losses of the best of them."""

    def watch(self, executor: Executor) -> None:
        """The executor is there, before its workers are."""

    def phase(self, name: str) -> None:
        """What was going on is over, and something else begins: bounding, asking what-ifs, drawing."""

    def note(self, text: str, done: float | None = None) -> None:
        """What is being done in this phase while there are no trials, and which share of that is done."""

    def certified(self, corners: Sequence[Sequence[float]] | None) -> None:
        """Of the space it is proven by now that no design is better than all of these rows in any objective.

        They are to be minimised; None: nothing is proven of all objectives together.
        """

    def trial(self, number: int, params: Mapping[str, Any], outcome: Outcome) -> None:
        """One more trial is done, with these values of its holes; `number` were done before it."""


WATCHER = Watcher()
