"""Good jobs on the networks of every shape, with every budget: what mixtures find by chance, one after the other.

Which job is best depends little on the network, and which network little on the job. So the jobs of good designs, with
their policies, which no estimate knows, are put on the most promising network of each shape, and where that splits a
budget, on each budget; which shares suit them is another question (`dse.search.guided.shares`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from dse.search.guided.candidates import Candidate, Candidates
from dse.search.guided.genome import Gene, Genes, values_of_genes
from dse.search.guided.repair import Look
from dse.space.hole import is_share


@dataclass
class CrossedDesigns:
    """Puts jobs on networks, each pair once."""

    candidates: Candidates
    _seen: set[tuple[tuple[str, float], ...]] = field(default_factory=set)

    def look_at_pairs(self, designs: Sequence[Candidate], networks: Sequence[Candidate], count: int) -> Iterator[Look]:
        """Up to `count` designs that may be simulated, with the job of one and the network of another."""
        for design in designs:
            job = {name: gene.value for name, gene in design.genes.items() if not _is_of_cluster(gene)}
            for network in networks:
                for values in _budgets(network.genes):
                    key = tuple({**values, **job}.items())
                    if key in self._seen:
                        continue
                    self._seen.add(key)
                    look = self.candidates.look_at_values({**values, **job}, network.filled.params)
                    if look.screened.violation <= 0:
                        yield look
                        count -= 1
                    if count <= 0:
                        return


def _is_of_cluster(gene: Gene) -> bool:
    return bool(gene.paths) and gene.paths[0][0] == "cluster"


def _budgets(genes: Genes) -> Iterator[Mapping[str, float]]:
    """What a network draws, the shares of a budget left open; once for each budget."""
    network = values_of_genes({name: gene for name, gene in genes.items() if _is_of_cluster(gene)})
    shares = [name for name in network if is_share(name)]
    fixed = {name: value for name, value in network.items() if name not in shares}
    budgets = [f"{name.partition('#')[0]}.split" for name in shares]
    varied = next((name for name in budgets if name in fixed), None)
    if varied is None:
        yield fixed
        return
    for index in range(int(genes[varied].high) + 1):
        yield {**fixed, varied: index}
