"""A study that several drivers share: each asks its own sampler, and all learn from all results.

    ask ─▶ designs nobody has ─▶ claim them ─▶ evaluate those that are mine ─▶ store ─▶ take in what others stored

Which driver proposes what depends on timing, so the trials are not reproducible; that no design is evaluated twice and
that every driver ends with every result are. Trials carry the storage's numbers, the same for every driver.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from dse.evaluate.evaluate import Outcome
from dse.execute import Executor
from dse.search import Proposal, Sampler
from dse.search.exhaustive import Exhaustive
from dse.search.optuna_sampler import OptunaSampler
from dse.space.objective import losses
from dse.space.space import Space
from dse.study.claims import Claim, SharedStudy
from dse.study.journal import Journal

MOST_REPEATS = 100
WAIT_SECONDS = 0.5


@dataclass
class SharedSearch:
    """One driver of a shared study."""

    space: Space
    sampler: Sampler
    executor: Executor
    journal: Journal
    shared: SharedStudy
    on_trial: Callable[[int, Outcome], None]
    journalled: set[int] = field(default_factory=set)
    """Numbers of trials that the journal has."""
    _told: set[int] = field(default_factory=set)
    _trials: int = 0

    def run(self, trials: int, seconds: float | None) -> str:
        """Search until all drivers together have so many trials; the reason it ended, as of `Study.run`."""
        deadline = None if seconds is None else time.monotonic() + seconds
        while True:
            claims = self.shared.claims()
            self._take_in(claims)
            if deadline is not None and time.monotonic() >= deadline:
                return "time"
            finished_ones = sum(claim.outcome is not None for claim in claims)
            if finished_ones >= trials:
                return "trials"
            room = trials - len(claims)
            batch = self._ask(min(self.space.settings.batch, room), {claim.key for claim in claims})
            if batch:
                self._evaluate(self._claim(batch, trials))
            elif room > 0 and finished_ones == len(claims):
                return "exhausted"
            else:  # all are claimed: wait for the others, or for their claims to grow stale
                self.executor.on_wait()
                time.sleep(WAIT_SECONDS)

    def _ask(self, count: int, taken: set[str]) -> list[tuple[str, Proposal]]:
        """Proposals that nobody has claimed."""
        batch: list[tuple[str, Proposal]] = []
        repeats = 0
        while len(batch) < count and repeats < MOST_REPEATS:
            proposal = self.sampler.ask()
            if proposal is None:
                break
            key = proposal.key or self.space.key(proposal.filled)
            if key in taken:
                self.sampler.reject(proposal)
                # Where a space is gone through in order, what others have done is no sign that its end is near.
                repeats += not isinstance(self.sampler, Exhaustive)
                continue
            repeats = 0
            taken.add(key)
            batch.append((key, proposal))
        return batch

    def _claim(self, batch: list[tuple[str, Proposal]], trials: int) -> list[tuple[Claim, Proposal]]:
        """Claim a batch; what of it is this driver's."""
        for key, proposal in batch:
            trial = proposal.handle if isinstance(self.sampler, OptunaSampler) else None
            self.shared.claim(key, proposal.filled.params, self.sampler.drawn(proposal), trial)
        proposals = dict(batch)
        mine: list[tuple[Claim, Proposal]] = []
        owned = {
            claim.key: (rank, claim)
            for rank, claim in enumerate(self.shared.claims())
            if claim.driver == self.shared.driver and claim.outcome is None
        }
        for key, proposal in proposals.items():
            rank, claim = owned.get(key, (None, None))
            if claim is not None and rank is not None and rank < trials:
                mine.append((claim, proposal))
            else:
                self.sampler.reject(proposal)
        self.shared.release_repeats({claim.number for claim, _ in mine})
        return mine

    def _evaluate(self, mine: list[tuple[Claim, Proposal]]) -> None:
        outcomes = self.executor.map([proposal.filled.document for _, proposal in mine])
        for (claim, proposal), outcome in zip(mine, outcomes, strict=True):
            if not self.shared.finish(claim, outcome) or outcome.state == "failed":
                self.sampler.reject(proposal)
                continue
            self._told.add(claim.number)
            row = losses(self.space.objectives, [outcome.values])[0]
            self.sampler.tell(proposal, tuple(map(float, row)), outcome.violations)

    def _take_in(self, claims: list[Claim]) -> None:
        """Journal what is finished, and tell the sampler what others found."""
        for claim in claims:
            outcome = claim.outcome
            if outcome is None or claim.number in self.journalled:
                continue
            self.journalled.add(claim.number)
            self.journal.append(claim.number, claim.params, outcome)
            self.on_trial(self._trials, outcome)
            self._trials += 1
            if claim.number not in self._told and claim.drawn is not None and outcome.state != "failed":
                row = losses(self.space.objectives, [outcome.values])[0]
                self.sampler.learn(claim.drawn, tuple(map(float, row)), outcome.violations)
        self.journal.synchronise()


def own_seed(seed: int, others: int) -> int:
    """Seed of the driver that joins after `others`: two with one seed would propose the same."""
    return (seed + others) % 2**32
