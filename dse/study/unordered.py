"""A study whose driver is told of trials in the order in which they end: Ray Tune.

Trials are numbered in that order, so a study cannot be replayed from its seed: what the sampler drew is kept beside
every trial, and an earlier session is told to the sampler before it is asked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from dse.search import Proposal
from dse.search.base import DrawnValues
from dse.study.journal import StoredTrial
from dse.study.ledger import Finished, Ledger, Trial, TrialLog


class Unordered(Ledger):
    """Writes to `log`; `smooth` says how the sampler draws, and `known` are the trials of an earlier session."""

    def __init__(self, log: TrialLog, smooth: bool, known: Iterable[StoredTrial] = ()) -> None:
        self._log = log
        self._known = {stored.outcome.key: stored for stored in known}
        self._smooth = smooth
        self._number = max((stored.number for stored in self._known.values()), default=-1) + 1
        self._untold = list(self._known.values())

    def is_free(self, key: str, proposed: bool) -> bool:
        """See `Ledger.is_free`."""
        return not proposed and key not in self._known

    def claim(self, trials: Sequence[Trial], drawn: Callable[[Proposal], DrawnValues | None]) -> list[Trial]:
        """See `Ledger.claim`; a trial has its number when it ends."""
        for trial in trials:
            trial.drawn = drawn(trial.proposal)
        self.claimed += len(trials)
        return list(trials)

    def keep(self, trial: Trial) -> bool:
        """See `Ledger.keep`."""
        assert trial.outcome is not None
        trial.number = self._number
        draws = None if trial.drawn is None else trial.drawn.values
        self._log.append(trial.number, trial.proposal.filled.params, trial.outcome, draws)
        self._number += 1
        return True

    def others(self) -> Iterable[Finished]:
        """See `Ledger.others`: the trials of the earlier session, once."""
        told, self._untold = self._untold, []
        return [
            Finished(
                stored.params, stored.outcome, None if stored.draws is None else DrawnValues(stored.draws, self._smooth)
            )
            for stored in told
        ]

    def synchronise(self) -> None:
        """See `Ledger.synchronise`."""
        self._log.synchronise()
