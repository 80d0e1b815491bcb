"""A sampler proposes designs and is told what became of them.

    ask ──▶ Proposal ──▶ tell (an outcome)   or   reject (a repeat of a design that was already proposed)

The evaluator is never inside a sampler, and a sampler never sees the simulator.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dse.evaluate.note import Note, be_silent
from dse.space.fill import FilledDocument
from dse.space.samplers import Maker


@dataclass(frozen=True, slots=True)
class Proposal:
    """A filled document, and the sampler's own handle on it."""

    filled: FilledDocument
    handle: Any = None
    key: str | None = None
    """The design's identity, where the sampler knows it."""


@dataclass(frozen=True, slots=True)
class DrawnValues:
    """What a sampler drew for a proposal, by name: `space.fill(RecordedDraw(values, smooth))` gives it again."""

    values: Mapping[str, Any]
    smooth: bool


class Sampler(ABC):
    """A way to choose which designs to try. Same space, seed and outcomes: same proposals."""

    behind: int | None = 0
    """Trials that may have no outcome yet when it is asked for the next batch; None: outcomes teach it nothing."""

    on_note: Note = staticmethod(be_silent)
    """Told what it is doing while it proposes nothing."""

    def next_batch(self, count: int) -> int:
        """How many of `count` proposals the next batch has, at least 1.

        Fewer where only those are found at once, so that a study's first trials need not wait for a long preparation;
        or where outcomes teach more than a full batch is worth.
        """
        return count

    def state(self) -> dict[str, Any] | None:
        """What it needs to go on from here, as JSON can say it; None where a study is replayed from its seed instead.

        Only for one that learns nothing from outcomes (`behind` None): what was proposed is all that it has seen.
        """
        return None

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a `state` of a sampler of the same space. Raises what Python does where it is none."""
        raise ValueError("a sampler without a state")

    @abstractmethod
    def ask(self) -> Proposal | None:
        """The next proposal; None where the space is exhausted."""

    @abstractmethod
    def tell(self, proposal: Proposal, losses: tuple[float, ...], violations: Mapping[str, float]) -> None:
        """What became of a proposal: values to be minimised, and every constraint (<= 0: met)."""

    @abstractmethod
    def reject(self, proposal: Proposal) -> None:
        """Tells the sampler that the proposal was a repeat or failed, so that there is no outcome to learn from."""

    def drawn_values(self, proposal: Proposal) -> DrawnValues | None:
        """The values drawn for a proposal, so that other drivers' samplers can learn from it; None if they cannot."""
        return None

    def learn(  # noqa: B027  # most have nothing to learn
        self, drawn: DrawnValues, losses: tuple[float, ...], violations: Mapping[str, float]
    ) -> None:
        """Take in what became of another driver's proposal, where it is of a kind that this sampler can learn from."""


Maker.register(Sampler)  # type: ignore[type-abstract]


class Prover(Sampler):
    """A sampler that proves how good its answer is."""

    @abstractmethod
    def proof(self) -> dict[str, Any]:
        """What is proven of the whole space so far.

        `points` (combinations), `cut` (rule -> combinations it rules out), `repeats` (of a design already simulated),
        `simulated`, `open` (combinations that could still be on the front; None where not all are bounded yet),
        `failed` (simulated without an answer, of which that is not known), `complete` (none could), `bounds`
        (objective -> what no feasible design of the space is better than, or None), `corners` (rows of all objectives,
        to be minimised, of which no design that could still be on the front is better than every row in any; None where
        that is not known).
        """
