"""A study that several drivers share: each asks its own sampler, and all learn from all results.

    ask ─▶ designs nobody has ─▶ claim them ─▶ evaluate those that are mine ─▶ store ─▶ take in what others stored

Which driver proposes what depends on timing, so the trials are not reproducible; that no design is evaluated twice and
that every driver ends with every result are. Trials carry the storage's numbers, the same for every driver.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from optuna.trial import BaseTrial

from dse.evaluate.evaluate import Outcome
from dse.search import Proposal
from dse.search.base import DrawnValues
from dse.study.claims import Claim, SharedStudy
from dse.study.ledger import Finished, Ledger, Trial, TrialLog


class Shared(Ledger):
    """The study in `storage`, of which `trials` designs are to be evaluated; all results are written to `log` too.

    `logged` are the numbers of trials that the log has already.
    """

    shared = True

    def __init__(self, storage: SharedStudy, log: TrialLog, trials: int, logged: Iterable[int] = ()) -> None:
        self._storage, self._log, self._trials = storage, log, trials
        self._logged, self._told = set(logged), set[int]()
        self._owned: set[str] = set()
        self._mine: dict[str, Claim] = {}

    def is_free(self, key: str, proposed: bool) -> bool:
        """See `Ledger.is_free`: nobody has it, or whoever had it is gone."""
        return key not in self._owned

    def claim(self, trials: Sequence[Trial], drawn: Callable[[Proposal], DrawnValues | None]) -> list[Trial]:
        """See `Ledger.claim`."""
        for trial in trials:
            handle = trial.proposal.handle
            trial.drawn = drawn(trial.proposal)
            asked = handle if isinstance(handle, BaseTrial) else None
            self._storage.claim(trial.key, trial.proposal.filled.params, trial.drawn, asked)
        self._mine = {
            claim.key: claim
            for claim in self._claims()[: self._trials]
            if claim.driver == self._storage.driver and claim.outcome is None
        }
        mine = [trial for trial in trials if trial.key in self._mine]
        for trial in mine:
            trial.number = self._mine[trial.key].number
        self._storage.release_repeats({trial.number for trial in mine})
        return mine

    def keep(self, trial: Trial) -> bool:
        """See `Ledger.keep`."""
        assert trial.outcome is not None
        claim = self._mine[trial.key]
        if not self._storage.finish(claim, trial.outcome):
            return False
        self._told.add(claim.number)
        self._write(claim, trial.outcome)
        return True

    def others(self) -> Iterable[Finished]:
        """See `Ledger.others`."""
        finished = []
        for claim in self._claims():
            if claim.outcome is not None and claim.number not in self._told:
                self._told.add(claim.number)
                self._write(claim, claim.outcome)
                finished.append(Finished(claim.params, claim.outcome, claim.drawn))
        return finished

    def _claims(self) -> list[Claim]:
        claims = self._storage.claims()
        self._owned = {claim.key for claim in claims}
        self.claimed = len(claims)
        self.waits = any(claim.outcome is None for claim in claims)
        return claims

    def _write(self, claim: Claim, outcome: Outcome) -> None:
        if claim.number not in self._logged:
            self._logged.add(claim.number)
            self._log.append(claim.number, claim.params, outcome)

    def synchronise(self) -> None:
        """See `Ledger.synchronise`."""
        self._log.synchronise()
