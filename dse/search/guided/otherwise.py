"""Designs that are run otherwise: the same job on the same machines, with other policies of the system.

Estimates and bounds do not tell chunks, and the order in which they are served, apart; simulations do, by up to a
tenth. A job whose first trials had policies that do not suit it looks worse than it is, and no small move leads back to
it. So what its estimates promise beyond the front is asked again with other policies.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from dse.search.guided.candidates import Candidate, Candidates
from dse.search.guided.genome import values_of_genes

DESIGNS, POLICIES = 4, 6
"""Designs that are run otherwise at a time, and policies that are drawn for each."""
SECTION = "system."
"""What the genes of policies begin with."""


@dataclass
class OtherwiseRun:
    """Makes candidates that are run otherwise, of each job and shape of the cluster in its turn."""

    candidates: Candidates
    _turns: Counter[tuple[object, ...]] = field(default_factory=Counter)
    """How often a job on a shape was run otherwise."""

    def make_of(self, missed: Sequence[Candidate]) -> Iterator[Candidate | None]:
        """Candidates of some of the designs which `missed` what their estimates promise, most first."""
        for design in sorted(missed, key=lambda one: self._turns[one.niche])[:DESIGNS]:
            self._turns[design.niche] += 1
            values = values_of_genes(design.genes)
            kept = {name: value for name, value in values.items() if not name.startswith(SECTION)}
            for _ in range(POLICIES if len(kept) < len(values) else 0):
                yield self.candidates.make(kept)
