"""Good designs with more copies of the model on as many more NPUs, or with fewer on fewer.

What a copy does with its share of the batch it does in other numbers, too: what is served in a second and what is paid
grow together. NPUs, degrees and batch move at once there, which small moves and mixtures seldom find.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from dse.search.guided.candidates import Candidate, Candidates
from dse.search.guided.genome import values_of_genes
from dse.search.guided.repair import Look
from simcore.document.problem import format_path

NPUS, DATA, BATCH = ("cluster", "npus"), ("parallelism", "data"), ("workload", "global_batch")


@dataclass
class CopiedDesigns:
    """Makes each design's copies once, where the space leaves the number of NPUs open."""

    candidates: Candidates
    _done: set[str] = field(default_factory=set)

    def make_of(self, designs: Sequence[Candidate]) -> Iterator[Candidate | None]:
        """The candidates with other numbers of copies of `designs`."""
        for design in designs:
            sizes = next((name for name, gene in design.genes.items() if NPUS in gene.paths), None)
            if sizes is None or design.key in self._done:
                continue
            self._done.add(design.key)
            for value in range(int(design.genes[sizes].high) + 1):
                if value != design.genes[sizes].value and (look := self._copied(design, {sizes: value})) is not None:
                    yield self.candidates.make_from_look(look)

    def _copied(self, design: Candidate, size: dict[str, float]) -> Look | None:
        """A design on another number of NPUs, each with the same to do; None where there is none such."""
        kept = {name: gene for name, gene in design.genes.items() if {DATA, BATCH}.isdisjoint(gene.paths)}
        values, before = {**values_of_genes(kept), **size}, design.filled.params
        npus = self.candidates.look_at_values(values, before).screened.design.cluster.npus
        wanted = _shared_out(design, npus)
        if wanted is None:
            return None
        look = self.candidates.look_at_values(values, {**before, **wanted})
        reached = look.filled.params
        return look if all(reached.get(path, value) == value for path, value in wanted.items()) else None


def _shared_out(design: Candidate, npus: int) -> dict[str, int] | None:
    """What a design has to have on so many NPUs of what is open, by path; None where its copies cannot be so many."""
    params = design.filled.params
    before = params[format_path(NPUS)]
    shared = {path: params[path] for path in map(format_path, (DATA, BATCH)) if path in params}
    if any(value * npus % before for value in shared.values()):
        return None
    return {path: value * npus // before for path, value in shared.items()}
