"""A study: ask a batch, evaluate it anywhere, tell it in order, until the trials are spent.

    sampler ─ask─▶ batch of distinct designs ─▶ executor ─▶ outcomes in order ─▶ journal ─▶ sampler

A trial is a distinct design: a repeat is rejected and drawn again. Same space, seed and version give the same trials,
byte for byte, whatever the number of workers. Resuming replays the proposals from the seed and takes from the journal
what was already evaluated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from dse.draw import RandomDraw
from dse.evaluate import Outcome
from dse.execute import Executor
from dse.fill import Filled
from dse.objective import losses
from dse.search import Proposal, Sampler
from dse.space import Space
from dse.stop import Limits, StopRules
from dse.store import Journal
from simcore.load import parse_design

MOST_REPEATS = 100
"""Repeats in a row after which a sampler is no longer asked, but designs are taken that it has not proposed."""
MOST_ENUMERATED = 20_000
"""Combinations of a space that are gone through for them; of a larger one that many are drawn at random."""


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
    _others: Iterator[Filled] | None = None

    def run(self, limits: Limits) -> str:
        """Search until a limit is reached; the reason it ended: `exhausted`, or that of `dse.stop`."""
        rules = StopRules(limits, self.space.objectives)
        while (reason := rules.reason()) is None:
            batch = self._ask(min(self.space.settings.batch, limits.trials - self.trials))
            if not batch:
                return "exhausted"
            self._evaluate(batch, rules)
        return reason

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
        design = proposal.design
        if design is None:
            design, problems = parse_design(proposal.filled.document)
            if design is None:
                raise ValueError(f"space '{self.space.name}' gave a document of unsound form: {problems[0]}")
        if design.key in self._seen:
            return False
        self._seen.add(design.key)
        batch.append((design.key, proposal))
        return True

    def _unproposed(self) -> Iterator[Filled]:
        """Designs for when the sampler only repeats itself: all of a small space, random ones of a large one."""
        if self.space.count() <= MOST_ENUMERATED:
            yield from self.space.enumerate()
        else:
            generator = np.random.default_rng(len(self._seen))
            for _ in range(MOST_ENUMERATED):
                yield self.space.fill(RandomDraw(generator))

    def _evaluate(self, batch: list[tuple[str, Proposal]], rules: StopRules) -> None:
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
            rules.see(outcome)
            self.trials += 1
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
