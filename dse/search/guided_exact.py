"""Guided, then exact: a good front after few trials, and the proof if there are more.

`exact` simulates what its bounds leave open, in an order that serves the proof; with several objectives hundreds of
trials pass before its front is a good one. `guided` finds that front first, and each of its designs rules out others
before the proof has to look at them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dse.search.base import Proposal, Prover
from dse.search.exact import Exact
from dse.search.guided.sampler import SMALL, Guided
from dse.space.space import Space

LEAD, LONG_LEAD = 100, 400
"""Proposals of `guided`: with two objectives, and with more, whose fronts have hundreds of members."""


def exact(space: Space, seed: int) -> Prover:
    """`exact`: in a space that takes long to bound, after the designs with which `guided` opens."""
    return Exact(space, seed) if space.count() <= SMALL else GuidedExact(space, seed, led=False)


class GuidedExact(Prover):
    """Raises `InputError` where `exact` does. Without `led` the opening of `guided` is all that it proposes."""

    def __init__(self, space: Space, seed: int, led: bool = True) -> None:
        self._exact, self._guided = Exact(space, seed), Guided(space, seed)
        lead = LEAD if len(space.objectives) <= 2 else LONG_LEAD
        self._left = lead if led else self._guided.open_search()
        self._known: set[str | None] = set()
        self._told: set[str | None] = set()
        self._failed: set[str | None] = set()
        """Designs of `guided` that were proposed, and those of them that were answered, and that failed."""

    def next_batch(self, count: int) -> int:
        """See `Sampler.next_batch`."""
        return self._guided.next_batch(min(count, self._left)) if self._left else count

    def ask(self) -> Proposal | None:
        """See `Sampler.ask`."""
        self._exact.on_note = self._guided.on_note = self.on_note
        if self._left:
            self._left -= 1
            if (proposal := self._guided.ask()) is not None:
                self._known.add(proposal.key)
                return proposal
            self._left = 0
        while (proposal := self._exact.ask()) is not None and proposal.key in self._known:
            if proposal.key in self._told:
                self._exact.settle(proposal)
            elif proposal.key in self._failed:
                self._exact.reject(proposal)
        return proposal

    def tell(self, proposal: Proposal, losses: tuple[float, ...], violations: Mapping[str, float]) -> None:
        """See `Sampler.tell`."""
        if proposal.handle is not None:
            self._guided.tell(proposal, losses, violations)
            self._told.add(proposal.key)
        self._failed.discard(proposal.key)
        self._exact.tell(proposal, losses, violations)

    def reject(self, proposal: Proposal) -> None:
        """See `Sampler.reject`."""
        if proposal.handle is not None:
            self._failed.add(proposal.key)
            self._guided.reject(proposal)
        self._exact.reject(proposal)

    def proof(self) -> dict[str, Any]:
        """See `Prover.proof`."""
        return self._exact.proof()
