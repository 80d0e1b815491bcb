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
from typing import Any, Protocol

import numpy as np

from dse.evaluate.evaluate import Outcome
from dse.execute import Executor
from dse.search import Proposal, Prover, Sampler
from dse.space.draw import RandomDraw
from dse.space.fill import Filled
from dse.space.objective import losses
from dse.space.space import Space
from dse.study.stop import Limits, StopRules

MOST_REPEATS = 100
"""Repeats in a row after which a sampler is no longer asked, but designs are taken that it has not proposed."""
SYNCHRONISED = 1000
"""Trials after which the journal is written through to the disk, if no batch was told before."""
MOST_ENUMERATED = 20_000
"""Combinations of a space that are gone through for them; of a larger one that many are drawn at random."""


class TrialLog(Protocol):
    """Where finished trials go: `dse.study.journal.Journal`."""

    def append(self, number: int, params: Mapping[str, Any], outcome: Outcome) -> None:
        """Append a trial."""

    def synchronise(self) -> None:
        """Make sure that what was appended is kept."""


@dataclass(eq=False, slots=True)
class _Trial:
    """A proposal, and what became of it."""

    key: str
    proposal: Proposal
    outcome: Outcome | None


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
    _uncounted: deque[_Trial] = field(default_factory=deque)
    """Trials asked for and not counted yet, in order."""
    _untold: deque[list[_Trial]] = field(default_factory=deque)
    """Batches that the sampler has not been told of, in order."""
    _others: Iterator[Filled] | None = None
    _ended: str = "trials"

    def run(self, limits: Limits) -> str:
        """Search until a limit is reached; the reason it ended: `exhausted`, or that of `dse.study.stop`."""
        self._rules = StopRules(limits, self.space.objectives)
        self._ended = "trials"
        try:
            for outcome in self.executor.map(self._documents(limits)):
                self._count()  # what is known does not come
                self._uncounted[0].outcome = outcome
                self.journal.append(self.trials, self._uncounted[0].proposal.filled.params, outcome)
                self._count()
        except KeyboardInterrupt:
            self._save_held()
            raise
        self._count()
        while self._untold:
            self._tell()
        self.journal.synchronise()
        return self._ended

    def _save_held(self) -> None:
        """Journal what is evaluated and waits for trials before it, under its number."""
        held = {outcome.key: outcome for outcome in self.executor.held()}
        for number, trial in enumerate(self._uncounted, self.trials):
            if trial.outcome is None and trial.key in held:
                self.journal.append(number, trial.proposal.filled.params, held[trial.key])

    def _documents(self, limits: Limits) -> Iterator[Mapping[str, Any] | None]:
        """What is to be evaluated, batch after batch; None where the next one has to wait for outcomes.

        A batch is asked for when all but the last `Sampler.behind` trials are told, neither sooner nor later: what is
        proposed does not depend on how fast outcomes come.
        """
        asked = self.trials
        while asked < limits.trials:
            while not self._caught_up(limits):
                yield None
            if (reason := self._rules.reason()) is not None:
                self._ended = reason
                return
            batch = self._ask(min(self.space.settings.batch, limits.trials - asked))
            if not batch:
                self._ended = "exhausted"
                return
            asked += len(batch)
            trials = [_Trial(key, proposal, self.known.get(key)) for key, proposal in batch]
            self._uncounted += trials
            if self._behind(limits) is not None:
                self._untold.append(trials)
            yield from (trial.proposal.filled.document for trial in trials if trial.outcome is None)

    def _behind(self, limits: Limits) -> int | None:
        """Trials that may have no outcome when a batch is asked for; None: any number."""
        steered = limits.stagnation is not None or limits.gap is not None  # then whether to ask depends on outcomes
        return 0 if steered else self.sampler.behind

    def _caught_up(self, limits: Limits) -> bool:
        """Tell of the oldest batches until few enough are untold; whether they are."""
        self._count()
        while sum(map(len, self._untold)) > (self._behind(limits) or 0):
            if any(trial.outcome is None for trial in self._untold[0]):
                return False
            self._tell()
        return True

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

    def _count(self) -> None:
        """Count the trials that are done, in their order."""
        while self._uncounted and (outcome := self._uncounted[0].outcome) is not None:
            self._uncounted.popleft()
            self.on_trial(self.trials, outcome)
            self._rules.see(outcome)
            self.trials += 1
            if self.trials % SYNCHRONISED == 0:
                self.journal.synchronise()

    def _tell(self) -> None:
        """Tell the sampler of the oldest batch that it does not know of."""
        self.journal.synchronise()
        for trial in self._untold.popleft():
            outcome = trial.outcome
            assert outcome is not None
            if self._others is not None and not isinstance(self.sampler, Prover):
                continue  # the sampler is no longer asked, so it need not learn; but a proof counts every outcome
            if outcome.state == "failed":
                self.sampler.reject(trial.proposal)
                continue
            row = losses(self.space.objectives, [outcome.values])[0]
            self.sampler.tell(trial.proposal, tuple(map(float, row)), outcome.violations)
