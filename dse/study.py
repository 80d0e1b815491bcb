"""A study: ask a batch, evaluate it anywhere, tell it in order, until the trials are spent.

    sampler ─ask─▶ batch of distinct designs ─▶ executor ─▶ outcomes in order ─▶ journal ─▶ sampler

A trial is a distinct design: a repeat is rejected and drawn again. Same space, seed and version give the same trials,
byte for byte, whatever the number of workers. Resuming replays the proposals from the seed and takes from the journal
what was already evaluated.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, Protocol

import numpy as np

from dse.draw import RandomDraw
from dse.evaluate import Outcome
from dse.execute import Executor
from dse.fill import Filled
from dse.objective import losses
from dse.search import Proposal, Sampler
from dse.space import Space
from dse.stop import Limits, StopRules

MOST_REPEATS = 100
"""Repeats in a row after which a sampler is no longer asked, but designs are taken that it has not proposed."""
SYNCHRONISED = 1000
"""Trials after which a long stream's journal is written through to the disk."""
MOST_ENUMERATED = 20_000
"""Combinations of a space that are gone through for them; of a larger one that many are drawn at random."""


class TrialLog(Protocol):
    """Where finished trials go: `dse.store.Journal`."""

    def append(self, number: int, params: Mapping[str, Any], outcome: Outcome) -> None:
        """Append a trial."""

    def synchronise(self) -> None:
        """Make sure that what was appended is kept."""


@dataclass
class Study:
    """A search in progress."""

    space: Space
    sampler: Sampler
    executor: Executor
    journal: TrialLog
    known: Mapping[str, Outcome] = field(default_factory=dict)
    """Outcomes of the run that is resumed, by key."""
    on_trial: Callable[[int, Outcome], None] = lambda number, outcome: None
    trials: int = 0
    _seen: set[str] = field(default_factory=set)
    _others: Iterator[Filled] | None = None
    _ended: str = "trials"

    def run(self, limits: Limits) -> str:
        """Search until a limit is reached; the reason it ended: `exhausted`, or that of `dse.stop`."""
        self._rules = StopRules(limits, self.space.objectives)
        batches = self._batches(limits)
        if self.executor.ahead and not self.sampler.learns and limits.stagnation is None and limits.gap is None:
            self._stream(batches)  # neither proposals nor the end depend on what is told: no need to wait for it
        else:
            for batch in batches:
                self._evaluate(batch)
        return self._ended

    def _batches(self, limits: Limits) -> Iterator[list[tuple[str, Proposal]]]:
        asked = self.trials
        self._ended = "trials"
        while asked < limits.trials:
            if (reason := self._rules.reason()) is not None:
                self._ended = reason
                return
            batch = self._ask(min(self.space.settings.batch, limits.trials - asked))
            if not batch:
                self._ended = "exhausted"
                return
            asked += len(batch)
            yield batch

    def _stream(self, batches: Iterator[list[tuple[str, Proposal]]]) -> None:
        """Evaluate batches as one stream, each outcome journalled as it comes in its order."""
        waiting: deque[tuple[str, Proposal]] = deque()

        def documents() -> Iterator[Mapping[str, Any]]:
            for batch in batches:
                waiting.extend(batch)
                yield from (proposal.filled.document for key, proposal in batch if key not in self.known)

        for outcome in chain(self.executor.map(documents()), [None]):  # None: what is known may come last
            while waiting and (known := self.known.get(waiting[0][0])) is not None:
                waiting.popleft()
                self._count(known)
            if outcome is not None:
                _, proposal = waiting.popleft()
                self.journal.append(self.trials, proposal.filled.params, outcome)
                self._count(outcome)
        self.journal.synchronise()

    def _count(self, outcome: Outcome) -> None:
        """One more trial is done."""
        self.on_trial(self.trials, outcome)
        self._rules.see(outcome)
        self.trials += 1
        if self.trials % SYNCHRONISED == 0:
            self.journal.synchronise()

    def _ask(self, count: int) -> list[tuple[str, Proposal]]:
        """Distinct proposals that no earlier batch held; fewer than `count` where the space is exhausted."""
        batch: list[tuple[str, Proposal]] = []
        repeats = 0
        while len(batch) < count and self._others is None:
            proposal = self.sampler.ask() if repeats < MOST_REPEATS else None
            if proposal is None:
                self._others = self._unproposed() if repeats else iter(())
                break
            if not self._new(proposal, batch):
                self.sampler.reject(proposal)
                repeats += 1
            else:
                repeats = 0
        while len(batch) < count and self._others is not None:
            filled = next(self._others, None)
            if filled is None:
                break
            self._new(Proposal(filled), batch)
        return batch

    def _new(self, proposal: Proposal, batch: list[tuple[str, Proposal]]) -> bool:
        """Add a proposal to the batch if its design was not seen before."""
        key = proposal.key or self.space.key(proposal.filled)
        if key in self._seen:
            return False
        self._seen.add(key)
        batch.append((key, proposal))
        return True

    def _unproposed(self) -> Iterator[Filled]:
        """Designs for when the sampler only repeats itself: all of a small space, random ones of a large one."""
        if self.space.count() <= MOST_ENUMERATED:
            yield from self.space.enumerate()
        else:
            generator = np.random.default_rng(len(self._seen))
            for _ in range(MOST_ENUMERATED):
                yield self.space.fill(RandomDraw(generator))

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
            self._count(outcome)
            done.append((proposal, outcome))
        self.journal.synchronise()
        for proposal, outcome in done:
            if self._others is not None:
                continue  # the sampler is no longer asked, so it need not learn
            if outcome.state == "failed":
                self.sampler.reject(proposal)
                continue
            row = losses(self.space.objectives, [outcome.values])[0]
            self.sampler.tell(proposal, tuple(map(float, row)), outcome.violations)
