"""Guided: screen many candidates by what is cheap and proven, simulate those that promise most.

    candidates ─▶ valid? memory, cost, constraints on inputs? ─▶ proven bounds ─▶ surrogate ─▶ batch ─▶ trials
        ▲               (what fails is ruled out, no trial)                          ▲            │
        └──── one small move from the front, mixtures of good designs, random ───────┴── tell ◀───┘

A candidate's promise is how far the front would have to give way for it: the additive epsilon indicator of its
predicted values against the front (Zitzler et al. 2003), in logarithms and in widths of the front. A batch is chosen
greedily, each choice counted as if it were on the front (the kriging believer of Ginsbourger et al. 2010), every third
one optimistically, by two standard deviations. The work for one proposal is bounded: the number of candidates, the
pool, and the points of the surrogate are.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from dse.search.base import DrawnValues, Proposal, Sampler
from dse.search.guided.across import CrossedDesigns
from dse.search.guided.budgets import BudgetCandidates
from dse.search.guided.candidates import Candidate, Candidates
from dse.search.guided.copies import CopiedDesigns
from dse.search.guided.ends import EndCandidates
from dse.search.guided.led import LedCandidates
from dse.search.guided.otherwise import OtherwiseRun
from dse.search.guided.promise import Judge
from dse.search.guided.shares import ShareCandidates
from dse.search.guided.view import ESTIMATE, View
from dse.space.space import Space
from simcore.document.problem import InputError, Problem

SMALL = 2000
"""A space of at most this many combinations is screened whole."""
OPENING, OPENING_TRIES = 4, 512
"""Random designs that are simulated before the search knows where to look, and draws that may be spent on them: they
show that all is well, and by how much estimates are off."""


@dataclass(frozen=True)
class Stage:
    """A part of the seeding, as shares of the whole, and the trials that are chosen after it."""

    random: float
    """Share of the random candidates."""
    jobs: float
    """Share of the jobs by least compute."""
    rounds: float
    """Share of the rounds of small moves."""
    trials: int


STAGES = (Stage(1 / 4, 0, 1 / 6, 4), Stage(3 / 8, 1 / 2, 1 / 3, 8), Stage(3 / 8, 1 / 2, 1 / 2, 20))
"""The first stage costs a tenth of all: a short search has trials soon, and what they come to guides the others."""
SEEDS = 128
"""Random candidates with bounds before the seeding ends."""
SPREAD_WORK = 4
"""The work of a stage before its small moves, in rounds of these."""
ROUNDS, ROUND = 20, 48
"""Most rounds of small moves over the estimates before that, and candidates of each."""
IDLE = 4
"""Rounds in a row that change nothing about the best, after which the trials of a stage are chosen."""
LINE = 2
"""With so many objectives a front is a line of a few designs, and less does: of these three the numbers below, and from
`LINE_KNOWN` trials on so many candidates per trial. With more it is a surface, and less costs hypervolume."""
LINE_ROUNDS, LINE_ROUND, LINE_IDLE = 12, 32, 3
LINE_KNOWN, LINE_EFFORT = 100, 3.0
POOL = 1024
"""Candidates that are kept for later."""
PARENTS = 24
"""Designs around which a generation looks."""
STEP = 48
"""Candidates of a step of a generation; the next step looks around what was found to promise most."""
WAYS = ("move", "move", "move", "linked", "mixture", "mixture")
"""How a candidate around a design is made: one of these."""
LED, NETWORKS = 4, 8
"""Rounds of jobs by least compute in a generation, and networks of good designs that they are looked at on."""
ACROSS = 12
"""Designs with the job of one and the network of another that are looked at in a generation."""
FIRST, LEAST, BUDGETS = 24, 3, 12
"""Where budgets are split: jobs by least compute that are looked at on all of them in the seeding, and in a generation,
beside one of a good design; candidates of each."""
ELSEWHERE = 6
"""The same where there are several kinds of NPUs: jobs of good designs on kinds where they were not looked at yet."""
NARROW, NEIGHBOURS = 12, 48
"""Of a front of so few points each is worth much: designs that differ from one of them in one gene are looked at in a
generation, so many of them, until there are no more."""
STACKS = 12
"""Where there are several stacks: designs around the best of each that are looked at in a generation."""
SHARES = 6
"""Splits of a budget that are looked at for a design."""
SHAPES = 12
"""Shapes of the cluster that are looked around in the seeding, whether they promise much or little."""
TRIES = 6
"""Candidates looked at for each one that is to be found, the repeats and those ruled out included."""


LATE, LATE_BATCHES = 500, 8
"""Trials after which thousands of them stay quick: a generation is so many batches, made while the one before is
evaluated, of small moves and mixtures of the front that may be simulated, none of them estimated or ranked. By then the
front is known, and many looks around it find more than the surrogate's choice of a few."""


def effort(told: int) -> float:
    """Candidates with estimates per trial: many while trials are few."""
    return 6.0 if told < 400 else 1.0


class Guided(Sampler):
    """See the module. Proposes each design once; ends where the space has no other that may be simulated.

    Raises `InputError` for clusters that are to be bought: a candidate is a design.
    """

    def __init__(self, space: Space, seed: int, view: View = ESTIMATE) -> None:
        if space.jobs:
            fix = "use exhaustive or nsga2; study.tune_sampler can be guided"
            raise InputError([Problem(("study", "sampler"), "one workload for guided", f"{len(space.jobs)}", fix)])
        self._space = space
        self._generator = np.random.default_rng(seed)
        self._view = view
        self._candidates = Candidates(space, self._generator, view)
        self._led, self._shares = LedCandidates(space, self._candidates), ShareCandidates(self._candidates)
        self._ends, self._across = EndCandidates(self._candidates), CrossedDesigns(self._candidates)
        self._copies, self._otherwise = CopiedDesigns(self._candidates), OtherwiseRun(self._candidates)
        self._budgets = BudgetCandidates(self._candidates, self._led)
        self._judge = Judge(space, self._candidates.encoder, seed, view)
        self._pool: list[Candidate] = []
        self._shape_best: dict[tuple[object, ...], Candidate] = {}
        self._stack_best: dict[str, Candidate] = {}
        self._forbidden: list[Candidate] = []
        self._queue: deque[Candidate] = deque()
        self._asked = 0
        self._opened = False
        self._stage = 0
        """Stages of the seeding that are done."""
        self._turn = -1
        """Whose turn it is to be looked at, of the kinds of jobs (`kind_of_jobs`)."""
        self._whole = space.count() <= SMALL

    @property
    def behind(self) -> int:  # type: ignore[override]
        """See `Sampler.behind`."""
        return self._space.settings.batch * LATE_BATCHES if self._is_late else 0

    @property
    def _is_late(self) -> bool:
        """Whether candidates are proposed as they come (see `LATE`)."""
        return self._view.candidates is None and self._asked >= LATE

    def next_batch(self, count: int) -> int:
        """See `Sampler.next_batch`."""
        return min(count, self.open_search() or self._generation_size(count))

    def open_search(self) -> int:
        """Find the designs that are simulated before any is chosen; how many are still to be proposed."""
        if not self._opened:
            self._opened = True
            self._keep_until(OPENING, (self._candidates.make_random() for _ in range(OPENING_TRIES)))
            self._queue.extend(self._pool)
            self._pool.clear()
        return len(self._queue)

    def ask(self) -> Proposal | None:
        """See `Sampler.ask`."""
        if not self._opened:
            self.open_search()
        if not self._queue and self._is_late and not self._whole:
            self._queue.extend(self._unranked_candidates(self._space.settings.batch * LATE_BATCHES))
        if not self._queue:
            count = self._generation_size(self._space.settings.batch)
            self._seed() if self._stage < len(STAGES) else self._widen()
            self._queue.extend(self._generation(count))
        if not self._queue:
            return None
        self._asked += 1
        return self._candidates.propose(self._queue.popleft())

    def tell(self, proposal: Proposal, losses: tuple[float, ...], violations: Mapping[str, float]) -> None:
        """See `Sampler.tell`."""
        self._judge.tell(proposal.handle, losses, violations)

    def reject(self, proposal: Proposal) -> None:
        """A design that fails is not proposed again, and teaches nothing."""

    def drawn_values(self, proposal: Proposal) -> DrawnValues | None:
        """See `Sampler.drawn_values`."""
        return DrawnValues({name: gene.value for name, gene in proposal.handle.genes.items()}, smooth=False)

    def learn(self, drawn: DrawnValues, losses: tuple[float, ...], violations: Mapping[str, float]) -> None:
        """See `Sampler.learn`."""
        if drawn.smooth:
            return
        look = self._candidates.look_at_values(drawn.values, {})
        candidate = self._candidates.make_from_look(look)
        if candidate is None:  # seen here as well: if it waits to be proposed, it need not
            key = look.screened.key
            candidate = next((other for other in self._pool if other.key == key), None)
            if candidate is None:
                return
            self._pool.remove(candidate)
        self._judge.tell(candidate, losses, violations)

    def _generation(self, count: int) -> list[Candidate]:
        """The best of the pool; what is forbidden only where nothing else was found, the nearest to allowed first."""
        if self._pool:
            hopeful = self._judge.choose_hopeful(self._pool, count // self._view.hopeful if self._view.hopeful else 0)
            taken = {*hopeful}
            left = [candidate for candidate in self._pool if candidate not in taken]
            ranked, count = self._judge.rank(left, count - len(hopeful)), count - len(hopeful)
            self._pool = ranked[count:] if self._whole else ranked[count : count + POOL]
            return hopeful + ranked[:count]
        if self._judge.simulated and self._whole:
            return []
        self._forbidden.sort(key=lambda candidate: candidate.violation)
        chosen, self._forbidden = self._forbidden[:count], self._forbidden[count : count + POOL]
        return chosen

    def _unranked_candidates(self, count: int) -> list[Candidate]:
        """Small moves and mixtures of the front that may be simulated, as they come."""
        found: list[Candidate] = []
        for candidate in self._make_around(self._judge.best_designs(PARENTS), TRIES * count, estimated=False):
            if candidate is not None and candidate.violation <= 0:
                found.append(candidate)
            if len(found) == count:
                break
        return found

    def _keep(self, candidate: Candidate | None) -> int:
        """Add a candidate to those that may be proposed; how many that is."""
        if candidate is None:
            return 0
        (self._pool if candidate.violation <= 0 else self._forbidden).append(candidate)
        return int(candidate.violation <= 0)

    def _keep_all(self, candidates: Iterable[Candidate | None]) -> None:
        for candidate in candidates:
            self._keep(candidate)

    def _generation_size(self, batch: int) -> int:
        """How many designs are chosen at once, of a study with such batches: few after each stage of the seeding."""
        size = self._view.batch(self._asked, batch)
        return size if self._whole or self._stage >= len(STAGES) else min(size, STAGES[self._stage].trials)

    def _seed(self) -> None:
        """The next stage of candidates before the usual generations; all of a small space at once.

        The first stage is cheap: random ones and what lies around the best. With few outcomes the bounds stand for the
        values, so the front that is looked around is that of the bounds. Then come jobs by least compute, and splits.
        """
        if self._whole:
            self._stage = len(STAGES)
            self._look_at_all()
            return
        number, stage = self._stage, STAGES[self._stage]
        self._note_seeding(number, 0)
        count = round(SEEDS * stage.random)
        self._keep_until(count, (self._candidates.make_random() for _ in range(count * TRIES)))
        if number == 0:
            self._keep_all(self._candidates.make_of_stacks())
        if stage.jobs:
            self._look_at_jobs(self._best_of_shapes(SHAPES), round(FIRST * stage.jobs), round(4 * LED * stage.jobs))
            self._keep_all(self._shares.make_other_splits(self._best_of_shapes(SHAPES), SHARES))
        most, count, patience = self._round_sizes
        idle, known = 0, None
        for round_ in range(max(1, round(most * stage.rounds)) if most else 0):
            self._note_seeding(number, SPREAD_WORK + round_)
            best = self._judge.rank(self._pool, PARENTS)[:PARENTS]
            apart = [*self._best_of_shapes(SHAPES), *self._best_of_stacks()]
            self._keep_until(count, self._make_around(apart, TRIES * count))
            idle = idle + 1 if known == {*best[:8]} else 0
            known = {*best[:8]}
            if idle == patience:
                break
            best = self._judge.best_designs(PARENTS) + best
            if len(best) < PARENTS:
                best += sorted(self._forbidden, key=lambda candidate: candidate.violation)[: PARENTS - len(best)]
            self._keep_until(count, self._make_around(best, TRIES * count))
            if stage.jobs:
                self._keep_all(self._ends.make_beyond([*self._pool, *self._judge.spread_designs(NETWORKS)]))
                self._look_across(best)
        self._stage += 1

    def _look_at_all(self) -> None:
        """Every design of a small space."""
        combinations = self._space.count()
        for number, filled in enumerate(self._space.enumerate()):
            self.on_note(f"estimated {number:,} of {combinations:,} candidates", number / combinations)
            self._keep(self._candidates.make_from_look(self._candidates.look_at_document(filled, {})))

    @property
    def _round_sizes(self) -> tuple[int, int, int]:
        """Most rounds of small moves in the seeding, candidates of each, idle ones that end them in a stage."""
        if len(self._space.objectives) <= LINE:
            return min(ROUNDS, LINE_ROUNDS), min(ROUND, LINE_ROUND), min(IDLE, LINE_IDLE)
        return ROUNDS, ROUND, IDLE

    def _note_seeding(self, stage: int, done: float) -> None:
        """Tell how far the seeding is: the stage, and of it the rounds of small moves."""
        share = done / (SPREAD_WORK + self._round_sizes[0] * STAGES[stage].rounds)
        self.on_note(f"estimated {len(self._candidates.seen):,} candidates", (stage + share) / len(STAGES))

    def _widen(self) -> None:
        """More candidates: around the front, mixtures of what is good, and random ones."""
        if self._whole:
            return
        each = effort(self._asked)
        if len(self._space.objectives) <= LINE and self._asked >= LINE_KNOWN:
            each = min(each, LINE_EFFORT)
        count = round(self._space.settings.batch * (self._view.candidates or each))
        self._keep_until(max(1, count // 8), (self._candidates.make_random() for _ in range(count // 4)))
        apart = self._judge.spread_designs(NETWORKS) + self._best_of_shapes(NETWORKS)
        self._keep_until(STACKS, self._make_around(self._best_of_stacks(), TRIES * STACKS))
        self._look_at_jobs(apart, LEAST, LED)
        self._keep_all(self._shares.make_other_splits(apart, SHARES))
        self._keep_all(self._ends.make_beyond(apart))
        self._look_across(apart)
        self._keep_all(self._otherwise.make_of(self._judge.missed_promises()))
        self._keep_all(self._candidates.make_neighbours(self._judge.narrow_front(NARROW), NEIGHBOURS))
        self._keep_all(self._copies.make_of(self._judge.spread_designs(POOL)))
        steps = max(1, count // STEP)
        for _ in range(steps):
            best = self._judge.best_designs(PARENTS)
            if steps > 1:
                self._pool = self._judge.rank(self._pool, PARENTS)
            best += self._pool[:PARENTS]
            if not best:
                best = sorted(self._forbidden, key=lambda candidate: candidate.violation)[:PARENTS]
            self._keep_until(count // steps, self._make_around(best))

    def _best_of_shapes(self, count: int) -> list[Candidate]:
        """The best design of each shape of the cluster by estimates, of all that were looked at."""
        found = self._judge.best_of_kinds([*self._pool, *self._shape_best.values()], lambda one: one.shape, SHAPES)
        self._shape_best |= {candidate.shape: candidate for candidate in found}
        return found[:count]

    def _best_of_stacks(self) -> list[Candidate]:
        """The same of each stack, where there are several."""
        found = self._judge.best_of_kinds([*self._pool, *self._stack_best.values()], lambda one: one.stack, SHAPES)
        self._stack_best |= {candidate.stack: candidate for candidate in found}
        return found if len(found) > 1 else []

    def _look_at_jobs(self, designs: list[Candidate], jobs: int, rounds: int) -> None:
        """Keep candidates of jobs by least compute: on the budgets that suit them, or on the networks of `designs`."""
        if self._budgets.suits(designs):
            kinds = self._budgets.one_of_each_kind(designs)
            if self._stage < len(STAGES):
                for beside in kinds:  # what policies are worth that no bound looks at is not known yet: drawn
                    self._keep_all(self._budgets.make_next(beside, -(-jobs // len(kinds)), BUDGETS, alike=False))
            else:
                self._turn += 1
                beside = kinds[self._turn % len(kinds)]
                self._keep_all(self._budgets.make_next(beside, jobs, BUDGETS, alike=True))
        else:
            for place, candidate in enumerate(self._led.make_on(designs, rounds)):
                self._keep(candidate)
                if self._stage < len(STAGES):  # nearly all is done in the first round, which orders the jobs of a shape
                    self._note_seeding(self._stage, SPREAD_WORK * min(1.0, place / len(designs)))

    def _look_across(self, designs: list[Candidate]) -> None:
        """Keep candidates with the jobs of `designs` on the networks of other shapes, and the shares that suit them."""
        if self._budgets.suits(designs):
            kinds = self._budgets.one_of_each_kind(self._best_of_shapes(SHAPES))
            jobs = ELSEWHERE if len(kinds) > 1 else 1
            front = self._judge.spread_designs(POOL) if len(kinds) > 1 else []  # all of it, after the designs
            self._keep_all(self._budgets.make_of([*designs, *front], kinds, jobs, BUDGETS))
            return
        looks = list(self._across.look_at_pairs(designs, self._best_of_shapes(SHAPES), ACROSS))
        self._keep_all(map(self._candidates.make_from_look, looks))
        self._keep_all(self._shares.make_other_splits(looks, SHARES))

    def _keep_until(self, count: int, candidates: Iterable[Candidate | None]) -> None:
        """Keep candidates until `count` of them may be proposed, or there are no more."""
        found = 0
        for candidate in candidates:
            found += self._keep(candidate)
            if found >= count:
                return

    def _make_around(
        self, parents: list[Candidate], tries: int = TRIES * ROUND, estimated: bool = True
    ) -> Iterator[Candidate | None]:
        """Around each parent in turn small moves, linked moves and mixtures of two; a bounded number."""
        for number in range(tries if parents else 0):
            parent = parents[number % len(parents)]
            way = WAYS[int(self._generator.integers(len(WAYS)))]
            if way == "move":
                yield self._candidates.make_moved(parent, estimated)
            elif way == "linked":
                yield self._candidates.make_linked(parent, estimated)
            else:
                other = parents[int(self._generator.integers(len(parents)))]
                yield self._candidates.make_offspring(parent.genes, other.genes, estimated)
