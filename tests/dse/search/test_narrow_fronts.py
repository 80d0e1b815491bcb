"""Fronts of a few points: each is looked around, whatever gene it takes, before the search is content with it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from split_spaces import open_split

from dse.search.guided.candidates import Candidate, Candidates
from dse.search.guided.genome import far_moves, moves, values_of_genes
from dse.search.guided.promise import Judge
from dse.space.space import Space


def drawn(candidates: Candidates, count: int) -> list[Candidate]:
    found = [candidates.make_random() for _ in range(500)]
    return [c for c in found if c is not None and c.violation <= 0][:count]


def fresh(folder: Path) -> tuple[Space, Candidates]:
    given = open_split(folder, {})
    return given, Candidates(given, np.random.default_rng(0))


def test_all_that_differs_in_one_gene_is_made_small_moves_first(tmp_path: Path) -> None:
    _, candidates = fresh(tmp_path)
    (parent,) = drawn(candidates, 1)
    small = {*moves(parent.genes, candidates.products, np.random.default_rng(1))}
    far = {*far_moves(parent.genes, candidates.products)} - small
    assert far
    made = list(candidates.make_neighbours([parent], len(small)))
    assert {*(parent.moves or [])} - small == far
    made += candidates.make_neighbours([parent], 1000)
    assert parent.moves == []
    assert list(candidates.make_neighbours([parent], 1000)) == []
    valid = [candidate for candidate in made if candidate is not None and candidate.violation <= 0]
    assert valid
    assert parent.key not in {candidate.key for candidate in valid}


def test_designs_take_turns_and_no_more_are_made_than_asked(tmp_path: Path) -> None:
    _, candidates = fresh(tmp_path)
    parents = drawn(candidates, 3)
    assert len(list(candidates.make_neighbours(parents, 7))) == 7
    left = [len(parent.moves or []) for parent in parents]
    list(candidates.make_neighbours(parents, 3))
    assert [len(parent.moves or []) for parent in parents] == [count - 1 for count in left]


def test_designs_that_are_alike_count_as_one_point(tmp_path: Path) -> None:
    given, candidates = fresh(tmp_path)
    judge = Judge(given, candidates.encoder, 0)
    designs = drawn(candidates, 6)
    late = {constraint.name: -1.0 for constraint in given.constraints}
    for number, design in enumerate(designs):
        point = min(number, 2)  # three designs, and three more like the last
        judge.tell(design, [float(point)] + [float(-point)] * (len(given.objectives) - 1), late)
    first = judge.best_designs(3)
    assert {float(c.losses[0]) for c in first if c.losses is not None} == {0.0, 1.0, 2.0}
    assert len({c.key for c in judge.best_designs(6)}) == 6
    assert [values_of_genes(c.genes) for c in judge.narrow_front(3)] == [values_of_genes(c.genes) for c in designs[:3]]
    assert judge.narrow_front(2) == []
