"""Of every kind of space the exact front is that of brute force, and says what it proves."""

from __future__ import annotations

import pytest
from kinds_of_space import KINDS, WANTED, drawn_limit, drawn_space
from test_exact import brute_force, exact, feasible, nondominated

_CASES = [(kind, [*WANTED][number % len(WANTED)]) for number, kind in enumerate(KINDS)]


@pytest.mark.parametrize(("kind", "wanted"), [*_CASES, ("experts", "three"), ("dense", "expressions")])
def test_the_front_is_that_of_brute_force(kind: str, wanted: str) -> None:
    given_space = drawn_space(kind, wanted, seed=1)
    front, proof = exact(given_space, 8)
    assert front == brute_force(given_space)
    assert proof["complete"]
    assert proof["simulated"] + proof["repeats"] + sum(proof["cut"].values()) == proof["points"]


@pytest.mark.parametrize("kind", ["experts", "served", "recommender", "solved"])
def test_a_limit_on_an_objective_leaves_the_front_of_those_that_meet_it(kind: str) -> None:
    given_space = drawn_space(kind, "two", seed=0)
    rows = feasible(given_space)
    limit, place, most = drawn_limit(given_space, [*rows.values()], seed=0)
    assert limit
    kept = {key: row for key, row in rows.items() if row[place] <= most}
    assert 0 < len(kept) < len(rows)
    front, proof = exact(drawn_space(kind, "two", 0, limit), 8)
    assert front == nondominated(kept)
    assert proof["complete"]
