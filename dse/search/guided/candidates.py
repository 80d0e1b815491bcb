"""Candidates of the guided sampler: designs looked at without simulating them.

Each candidate is filled and checked, and its memory and cost are computed; if it passes, its proven bounds are computed
too. None of this is a trial: a trial is a design that is proposed to the study.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.search.base import Proposal
from dse.search.guided.genome import (
    GeneDraw,
    Genes,
    composite_holes,
    cross_genes,
    far_moves,
    job_of,
    link_genes,
    move_genes,
    moves,
    network_of,
    values_of_genes,
    with_value,
)
from dse.search.guided.repair import Look, repair_look
from dse.search.guided.surrogate import Encoder
from dse.search.guided.view import ESTIMATE, View
from dse.space.asked import names_in
from dse.space.constraint import Constraint
from dse.space.fill import FilledDocument
from dse.space.hole import Choice
from dse.space.screen import ScreenedDesign
from dse.space.space import Space
from simcore.check.load import parse_sound
from simcore.design.design import Design
from simcore.document.problem import Refusal
from simcore.metrics import BEFORE, METRICS, is_of

STACK, OF_STACK, OF_STACK_TRIES = "software", 4, 128
"""The hole of stacks, designs that may be simulated which are made with each, and draws that may be spent on them."""
TREND = ("iteration_time", "cost.total", "memory.peak")
"""Estimates that say something of all objectives."""


@dataclass(eq=False, slots=True)
class Candidate:
    """A design that could be proposed, and what is known of it."""

    genes: Genes
    filled: FilledDocument
    key: str
    """The design's identity. The design itself is not kept: what followed from it is large."""
    violation: float
    """0 where it may be simulated."""
    features: dict[int, float]
    known: dict[str, float | None]
    """The metrics that are looked at, exact where they do not depend on time, else estimates."""
    stack: str = ""
    """Its software, by name."""
    shape: tuple[Any, ...] = ()
    """Its NPUs and the blocks of its network, whatever their bandwidths and algorithms."""
    shares: Mapping[str, float] = field(default_factory=dict)
    """What it is looked at through tells of its time (`dse.search.guided.view`)."""
    missed: tuple[float, ...] = ()
    """Violation of each constraint on results at the estimates; -1 of those that these cannot judge."""
    losses: NDArray[np.float64] | None = None
    """What simulation found, to be minimised."""
    late: tuple[float, ...] = ()
    """Violation of each constraint on results by simulation."""
    estimates: tuple[float, ...] | None = None
    """What it is estimated to have of each objective, 0 where that is unknown; None before it is asked."""
    moves: list[tuple[str, float]] | None = None
    """Changes of one gene that have not been made yet, the next one last."""
    niche: tuple[Any, ...] = field(init=False)
    """Its job and the shape of its cluster."""
    policies: tuple[Any, ...] = field(init=False)
    """What is chosen by name in its network: algorithms, policies."""

    def __post_init__(self) -> None:
        self.niche = self.shape, *values_of_genes(job_of(self.genes)).items()
        chosen = (item for item in network_of(self.genes).items() if item[1].kind == "name")
        self.policies = tuple((name, gene.value) for name, gene in chosen if "#" not in name)

    @property
    def network(self) -> tuple[tuple[str, float], ...]:
        """What was drawn for all but its job."""
        return tuple(values_of_genes(network_of(self.genes)).items())

    @property
    def missed_violation(self) -> float:
        """Largest violation of a constraint on results at the estimates."""
        return max(self.missed, default=-1.0)

    @property
    def late_violation(self) -> float:
        """Largest violation of a constraint on results by simulation."""
        return max(self.late, default=-1.0)


@dataclass
class Candidates:
    """Makes candidates of a space, each design once."""

    space: Space
    generator: np.random.Generator
    view: View = ESTIMATE
    seen: set[str] = field(default_factory=set)
    """Keys of all designs looked at."""
    _drawn: set[tuple[tuple[str, float], ...]] = field(default_factory=set)
    """What was drawn for them: the same again needs no design to be known."""
    encoder: Encoder = field(default_factory=Encoder)

    def __post_init__(self) -> None:
        self.products = composite_holes(self.space.template)
        self._late = [constraint for constraint in self.space.constraints if not constraint.is_early]
        self._expressions = [o for o in self.space.objectives if o.expression is not None]
        spoken = names_in(self.space.objectives, self._late)
        named = [name for name in dict.fromkeys([*TREND, *spoken]) if name in METRICS]
        self._exact = [name for name in named if is_of(name, BEFORE)]
        self._estimated = [name for name in named if not is_of(name, BEFORE)]
        self._bounded = bool(self._late) or any(not is_of(o.name, BEFORE) for o in self.space.objectives)

    def make(
        self,
        values: Mapping[str, float],
        estimated: bool = True,
        like: Mapping[str, Any] | None = None,
        kept: frozenset[str] = frozenset(),
    ) -> Candidate | None:
        """The candidate of some genes' values; None where it was seen before.

        Holes they do not name are drawn near `like` (path -> value), at random without it. Where genes were changed on
        purpose (`kept`) others follow, if rules ask for that (`dse.search.guided.repair`).
        """
        if values and tuple(values.items()) in self._drawn:
            return None
        look = self.look_at_values(values, like or {})
        drawn = values_of_genes(look.genes)
        if tuple(drawn.items()) in self._drawn:
            return None
        self._drawn.add(tuple(drawn.items()))
        if kept and look.screened.problems:
            look = repair_look(
                look,
                kept,
                lambda genes: self.look_at_values(values_of_genes(genes), look.filled.params),
                self.products,
                self.generator,
            )
            self._drawn.add(tuple(values_of_genes(look.genes).items()))
        return self.make_from_look(look, estimated)

    def look_at_values(self, values: Mapping[str, float], like: Mapping[str, Any]) -> Look:
        """The design of some genes' values, the others drawn near `like`, and what is wrong with it.

        Splits that are to be solved have equal shares: they are solved when the design is proposed.
        """
        draw = GeneDraw(self.generator, values, like)
        return self.look_at_document(self.space.fill(draw, solve=False), draw.genes)

    def look_at_document(self, filled: FilledDocument, genes: Genes) -> Look:
        """A filled document, and what is wrong with its design."""
        return Look(genes, filled, ScreenedDesign(parse_sound(filled.document), self.space.constraints))

    def propose(self, candidate: Candidate) -> Proposal:
        """The proposal of a candidate, its splits solved."""
        if not candidate.filled.solved:
            return Proposal(candidate.filled, candidate, candidate.key)
        filled = self.space.fill(GeneDraw(self.generator, values_of_genes(candidate.genes)))
        return Proposal(filled, candidate, self.space.key(filled))

    def make_from_look(self, look: Look, estimated: bool = True) -> Candidate | None:
        """The candidate of a design that was looked at; None where it was seen before."""
        screened, filled = look.screened, look.filled
        design = screened.design
        key = screened.key
        if key in self.seen:
            return None
        self.seen.add(key)
        violation = screened.violation
        known: dict[str, float | None] = {}
        shares: Mapping[str, float] = {}
        missed: tuple[float, ...] = ()
        if violation <= 0 and estimated:
            if self._bounded:
                viewed, shares = self.view.look(design, self._estimated)
                known.update(viewed)
            known |= {name: screened.metrics[name] for name in self._exact}
            missed = tuple(_missed_violation(constraint, known, screened) for constraint in self._late)
            for objective in self._expressions:
                with suppress(Refusal):  # without a value at the estimates: only a simulation can judge it
                    known[objective.name] = objective.value(known, screened.document)
        features, stack = self.encoder.encode(filled.params), design.software.name
        return Candidate(look.genes, filled, key, violation, features, known, stack, _shape(design), shares, missed)

    def make_random(self) -> Candidate | None:
        """A candidate drawn at random."""
        return self.make({})

    def make_of_stacks(self) -> Iterator[Candidate | None]:
        """Designs drawn at random with each stack in turn: one that runs few of all ways to train is seldom drawn."""
        hole = self.space.template.get(STACK)
        for value in range(hole.count if isinstance(hole, Choice) else 0):
            found = 0
            for _ in range(OF_STACK_TRIES):
                candidate = self.make({STACK: value}, kept=frozenset({STACK}))
                found += candidate is not None and candidate.violation <= 0
                yield candidate
                if found == OF_STACK:
                    break

    def make_moved(self, parent: Candidate, estimated: bool = True) -> Candidate | None:
        """The next of the designs that differ in one gene, in random order; after the last a linked move."""
        if not self._moves_left(parent):
            return self.make_linked(parent, estimated)
        return self._make_next_move(parent, estimated)

    def make_neighbours(self, designs: Sequence[Candidate], count: int) -> Iterator[Candidate | None]:
        """Up to `count` designs that differ in one gene from one of `designs`, which take turns."""
        while count > 0 and (left := [design for design in designs if self._moves_left(design)]):
            yield from (self._make_next_move(design, True) for design in left[:count])
            count -= len(left)

    def _moves_left(self, parent: Candidate) -> list[tuple[str, float]]:
        """What is not made yet of a design's neighbours, the last one first: small moves before others."""
        if parent.moves is None:
            found = (moves(parent.genes, self.products, self.generator), far_moves(parent.genes, self.products))
            near, far = ([some[i] for i in self.generator.permutation(len(some))] for some in found)
            parent.moves = far + near
        return parent.moves

    def _make_next_move(self, parent: Candidate, estimated: bool) -> Candidate | None:
        return self.make_changed(parent, with_value(parent.genes, *self._moves_left(parent).pop()), estimated)

    def make_linked(self, parent: Candidate, estimated: bool = True) -> Candidate | None:
        """A design a few small moves away, all in the job or all in the network."""
        return self.make_changed(parent, link_genes(parent.genes, self.products, self.generator), estimated)

    def make_changed(self, parent: Candidate, genes: Genes, estimated: bool = True) -> Candidate | None:
        """A design with some genes of `parent` changed, and what rules need with them."""
        kept = frozenset(name for name, gene in genes.items() if gene.value != parent.genes[name].value)
        return self.make(values_of_genes(genes), estimated, parent.filled.params, kept)

    def make_offspring(self, one: Genes, other: Genes, estimated: bool = True) -> Candidate | None:
        """A mixture of two parents, moved a step or two."""
        genes = cross_genes(one, other, self.generator)
        for _ in range(int(self.generator.integers(3))):
            genes = move_genes(genes, self.products, self.generator)
        return self.make(values_of_genes(genes), estimated)


def _missed_violation(constraint: Constraint, known: Mapping[str, float | None], screened: ScreenedDesign) -> float:
    """Violation of a constraint on results at the estimates; -1 where these cannot judge it."""
    if all(known.get(name) is not None for name in constraint.metrics):
        with suppress(Refusal):  # it divides by an estimate of 0, say: only a simulation can judge it
            return max(-1.0, constraint.measure_violation(known, screened.document))
    return -1.0


def _shape(design: Design) -> tuple[Any, ...]:
    cluster = design.cluster
    return cluster.npu.name, *((dimension.topology, dimension.size) for dimension in cluster.dimensions)
