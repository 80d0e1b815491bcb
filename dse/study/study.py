"""A study: ask a batch, evaluate it anywhere, tell it in order, until the trials are spent.

    sampler ─ask─▶ distinct designs ─claim─▶ executor ─▶ outcomes in order ─keep─▶ ledger, sampler

A trial is a distinct design: a repeat is rejected and drawn again. Where the trials live, and who else works on them,
is the ledger's (`dse.study.ledger`). With one driver, same space, seed and version give the same trials, byte for byte,
whatever the number of workers: resuming replays the proposals from the seed, and takes from the journal what was
already evaluated.

`Study.run` is the loop. Who has a loop of its own (Ray Tune) takes its steps: `begin`, `learn_others`, `ask`, `finish`.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.evaluate.evaluate import Outcome
from dse.execute import Executor
from dse.search import Proposal, Prover, Sampler
from dse.search.base import DrawnValues
from dse.space.draw import RandomDraw
from dse.space.fill import FilledDocument
from dse.space.objective import Objective, losses
from dse.space.space import Space
from dse.study.keys import Digests, key_digest
from dse.study.ledger import Ledger, Trial
from dse.study.stop import Limits, StopRules
from dse.study.watch import WATCHER

MOST_REPEATS = 100
"""Repeats in a row after which a sampler is no longer asked, but designs are taken that it has not proposed."""
SYNCHRONISED = 1000
"""Trials after which the journal is written through to the disk, if no batch was told before."""
MOST_ENUMERATED = 20_000
"""Combinations of a space that are gone through for them; of a larger one that many are drawn at random."""
WAIT_SECONDS = 0.5
"""Between two looks at what other drivers are doing, while there is nothing else to do."""


def do_nothing() -> None:
    """Nothing is called between two batches; a study is pickled with what is."""


@dataclass
class Study:
    """A search in progress."""

    space: Space
    sampler: Sampler
    ledger: Ledger
    on_trial: Callable[[int, Mapping[str, Any], Outcome], None] = WATCHER.trial
    """Told of every trial (`dse.study.watch.Watcher.trial`)."""
    between: Callable[[], None] = do_nothing
    """Called between two batches."""
    trials: int = 0
    _proposed: Digests = field(default_factory=Digests)
    _uncounted: deque[Trial] = field(default_factory=deque)
    """Trials asked for and not counted yet, in order."""
    _untold: deque[list[Trial]] = field(default_factory=deque)
    """Batches that the sampler has not been told of, in order."""
    _others: Iterator[FilledDocument] | None = None
    """Designs for when the sampler is no longer asked."""
    _rules: StopRules | None = None
    _ended: str = "trials"

    def run(self, limits: Limits, executor: Executor) -> str:
        """Search until a limit is reached; the reason it ended: `exhausted`, or that of `dse.study.stop`."""
        self.begin(limits)
        self._ended = "trials"
        try:
            for outcome in executor.map(self._documents(limits, executor)):
                self._count()  # trials whose outcome is known are not evaluated, so none of theirs comes
                self._keep(self._uncounted[0], outcome)
                self._count()
        except BaseException:  # also where the executor gives up
            self._keep_held(executor)
            raise
        self._count()
        while self._untold:
            self._tell_batch()
        self.learn_others()
        return self._ended

    def begin(self, limits: Limits) -> None:
        """Watch the limits from now on."""
        self._rules = StopRules(limits, self.space.objectives, self.trials)

    def skip(self, trials: int, digests: NDArray[np.bytes_]) -> None:
        """Go on after the first `trials` trials, which are those with these keys (`dse.study.keys`).

        The sampler is as it was before the next one (`dse.study.checkpoint`).
        """
        self.trials = self.ledger.claimed = trials
        self._proposed.update(digests)

    def reason(self) -> str | None:
        """Why the study stops now (see `dse.study.stop`); None where it goes on."""
        return None if self._rules is None else self._rules.reason()

    def ask(self, count: int) -> list[Trial]:
        """Up to `count` designs that are this driver's to evaluate; none where the space is exhausted."""
        batch = self._propose(count)
        mine = self.ledger.claim(batch, self._drawn) if batch else []
        for trial in batch if len(mine) < len(batch) and self._others is None else ():
            if trial not in mine:
                self.sampler.reject(trial.proposal)
        return mine

    def finish(self, trial: Trial, outcome: Outcome) -> None:
        """Keep, count and tell one trial at once."""
        self._keep(trial, outcome)
        self._see_own(trial)
        self._tell(trial)

    def learn_others(self) -> None:
        """Count what others have evaluated, and tell the sampler."""
        for finished in self.ledger.others():
            outcome = finished.outcome
            self._see(finished.params, outcome)
            if finished.drawn is not None and outcome.state != "failed":
                self.sampler.learn(finished.drawn, _losses(self.space.objectives, outcome), outcome.violations)
        self.ledger.synchronise()

    def _documents(self, limits: Limits, executor: Executor) -> Iterator[Mapping[str, Any] | None]:
        """What is to be evaluated, batch after batch; None where the next one has to wait for outcomes.

        A batch is asked for when all but the last `Sampler.behind` trials are told, neither sooner nor later: what is
        proposed does not depend on how fast outcomes come.
        """
        while self.ledger.claimed < limits.trials or self.ledger.waits:
            while not self._caught_up(limits):
                yield None
            if self.ledger.shared:
                self.learn_others()
            if (reason := self.reason()) is not None:
                self._ended = reason
                return
            self.between()
            self._remember()
            count = min(self.space.settings.batch, limits.trials - self.ledger.claimed)
            batch = self.ask(self.sampler.next_batch(count))
            if not batch and not self.ledger.waits:
                self._ended = "exhausted"
                return
            if not batch:  # all are claimed: wait for the others, or for their claims to grow stale
                executor.on_wait()
                time.sleep(WAIT_SECONDS)
                continue
            self._uncounted += batch
            if self._behind(limits) is not None:
                self._untold.append(batch)
            yield from (trial.proposal.filled.document for trial in batch if trial.outcome is None)

    def _remember(self) -> None:
        """Tell the ledger where the sampler is, if it can go on from there."""
        state = self.sampler.state() if self._others is None else None
        if state is not None:
            self.ledger.remember(state)

    def _drawn(self, proposal: Proposal) -> DrawnValues | None:
        """What the sampler drew; nothing for a design that it has not proposed."""
        return None if proposal.handle is None else self.sampler.drawn_values(proposal)

    def _behind(self, limits: Limits) -> int | None:
        """Trials that may have no outcome when a batch is asked for; None: any number."""
        steered = limits.stagnation is not None or limits.gap is not None  # then whether to ask depends on outcomes
        return 0 if steered or self.ledger.shared else self.sampler.behind

    def _caught_up(self, limits: Limits) -> bool:
        """Tell of the oldest batches until few enough are untold; whether they are."""
        self._count()
        while sum(map(len, self._untold)) > (self._behind(limits) or 0):
            if any(trial.outcome is None for trial in self._untold[0]):
                return False
            self._tell_batch()
        return True

    def _propose(self, count: int) -> list[Trial]:
        """Free designs, each once; fewer than `count` where the space is exhausted."""
        batch: dict[str, Trial] = {}
        repeats = 0
        while len(batch) < count and self._others is None:
            proposal = self.sampler.ask() if repeats < MOST_REPEATS else None
            if proposal is None:
                self._others = self._unproposed() if repeats else iter(())
                break
            own, added = self._add(proposal, batch)
            if added:
                repeats = 0
            else:
                self.sampler.reject(proposal)
                repeats += own  # what another driver was first to propose is no sign that the space is at its end
        while len(batch) < count and self._others is not None:
            filled = next(self._others, None)
            if filled is None:
                break
            self._add(Proposal(filled), batch)
        return list(batch.values())

    def _add(self, proposal: Proposal, batch: dict[str, Trial]) -> tuple[bool, bool]:
        """Add a proposal to the batch if its design is free; whether it repeats an own one, and whether it was."""
        key = proposal.key or self.space.key(proposal.filled)
        own = not self._proposed.add(key_digest(key))
        free = key not in batch and self.ledger.is_free(key, own)
        if free:
            batch[key] = Trial(key, proposal)
        return own, free

    def _unproposed(self) -> Iterator[FilledDocument]:
        """Designs for when the sampler only repeats itself: all of a small space, random ones of a large one."""
        if self.space.count() <= MOST_ENUMERATED:
            yield from self.space.enumerate()
        else:
            generator = np.random.default_rng(len(self._proposed))
            for _ in range(MOST_ENUMERATED):
                yield self.space.fill(RandomDraw(generator))

    def _keep(self, trial: Trial, outcome: Outcome) -> None:
        trial.outcome = outcome
        trial.kept = self.ledger.keep(trial)

    def _keep_held(self, executor: Executor) -> None:
        """Keep what is evaluated and waits for trials before it, under its number."""
        held = {outcome.key: outcome for outcome in executor.waiting_outcomes()}
        for trial in self._uncounted:
            if trial.outcome is None and trial.key in held:
                self._keep(trial, held[trial.key])

    def _count(self) -> None:
        """Count the trials that are done, in their order."""
        while self._uncounted and self._uncounted[0].outcome is not None:
            self._see_own(self._uncounted.popleft())

    def _see_own(self, trial: Trial) -> None:
        if trial.kept and trial.outcome is not None:
            self._see(trial.proposal.filled.params, trial.outcome)

    def _see(self, params: Mapping[str, Any], outcome: Outcome) -> None:
        """One more trial is done."""
        self.on_trial(self.trials, params, outcome)
        if self._rules is not None:
            self._rules.see(outcome)
        self.trials += 1
        if self.trials % SYNCHRONISED == 0:
            self.ledger.synchronise()

    def _tell_batch(self) -> None:
        """Tell the sampler of the oldest batch that it does not know of."""
        self.ledger.synchronise()
        for trial in self._untold.popleft():
            self._tell(trial)

    def _tell(self, trial: Trial) -> None:
        outcome = trial.outcome
        assert outcome is not None
        if self._others is not None and not isinstance(self.sampler, Prover):
            return  # the sampler is no longer asked, so it need not learn; but a proof counts every outcome
        if outcome.state == "failed" or not trial.kept:
            self.sampler.reject(trial.proposal)
        else:
            self.sampler.tell(trial.proposal, _losses(self.space.objectives, outcome), outcome.violations)


def _losses(objectives: tuple[Objective, ...], outcome: Outcome) -> tuple[float, ...]:
    return tuple(map(float, losses(objectives, [outcome.values])[0]))
