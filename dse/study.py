"""A study: ask a batch, evaluate it anywhere, tell it in order, until the trials are spent.

    sampler ─ask─▶ batch of distinct designs ─▶ executor ─▶ outcomes in order ─▶ journal ─▶ sampler

A trial is a distinct design: a repeat is rejected and drawn again. Same space, seed and version give the same trials,
byte for byte, whatever the number of workers. Resuming replays the proposals from the seed and takes from the journal
what was already evaluated.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from dse.evaluate import Outcome
from dse.execute import Executor
from dse.objective import losses
from dse.search import Proposal, Sampler
from dse.space import Space
from dse.store import Journal
from simcore.load import parse_design

MOST_REPEATS = 2000
"""Repeats in a row after which a space counts as exhausted for its sampler."""


@dataclass(frozen=True)
class Limits:
    """When to stop: distinct designs, and seconds (None: no limit)."""

    trials: int
    seconds: float | None = None


@dataclass
class Study:
    """A search in progress."""

    space: Space
    sampler: Sampler
    executor: Executor
    journal: Journal
    known: Mapping[str, Outcome] = field(default_factory=dict)
    """Outcomes of the run that is resumed, by key."""
    on_trial: Callable[[int, Outcome], None] = lambda number, outcome: None
    trials: int = 0
    _seen: set[str] = field(default_factory=set)

    def run(self, limits: Limits) -> str:
        """Search until a limit is reached; the reason it ended: `trials`, `time` or `exhausted`."""
        deadline = None if limits.seconds is None else time.monotonic() + limits.seconds
        while self.trials < limits.trials:
            if deadline is not None and time.monotonic() >= deadline:
                return "time"
            batch = self._ask(min(self.space.settings.batch, limits.trials - self.trials))
            if not batch:
                return "exhausted"
            self._evaluate(batch)
        return "trials"

    def _ask(self, count: int) -> list[tuple[str, Proposal]]:
        """Distinct proposals that no earlier batch held."""
        batch: list[tuple[str, Proposal]] = []
        repeats = 0
        while len(batch) < count and repeats < MOST_REPEATS:
            proposal = self.sampler.ask()
            if proposal is None:
                break
            design, problems = parse_design(proposal.filled.document)
            if design is None:
                raise ValueError(f"space '{self.space.name}' gave a document of unsound form: {problems[0]}")
            if design.key in self._seen:
                self.sampler.reject(proposal)
                repeats += 1
                continue
            repeats = 0
            self._seen.add(design.key)
            batch.append((design.key, proposal))
        return batch

    def _evaluate(self, batch: list[tuple[str, Proposal]]) -> None:
        """Evaluate a batch, journal each outcome as it comes, then tell the sampler in order."""
        new = [proposal.filled.document for key, proposal in batch if key not in self.known]
        outcomes: Iterator[Outcome] = self.executor.map(new)
        done: list[tuple[Proposal, Outcome]] = []
        for key, proposal in batch:
            outcome = self.known.get(key)
            if outcome is None:
                outcome = next(outcomes)
                self.journal.append(self.trials, proposal.filled.params, outcome)
            self.on_trial(self.trials, outcome)
            self.trials += 1
            done.append((proposal, outcome))
        self.journal.synchronise()
        for proposal, outcome in done:
            if outcome.state == "failed":
                self.sampler.reject(proposal)
                continue
            row = losses(self.space.objectives, [outcome.values])[0]
            self.sampler.tell(proposal, tuple(map(float, row)), outcome.violations)
