"""Of every kind of space the exact front is that of brute force, and says what it proves."""

from __future__ import annotations

import pytest
from kinds_of_space import KINDS, WANTED, drawn_space
from test_exact import brute_force, exact

_CASES = [(kind, [*WANTED][number % len(WANTED)]) for number, kind in enumerate(KINDS)]


@pytest.mark.parametrize(("kind", "wanted"), [*_CASES, ("experts", "three"), ("dense", "expressions")])
def test_the_front_is_that_of_brute_force(kind: str, wanted: str) -> None:
    given_space = drawn_space(kind, wanted, seed=1)
    front, proof = exact(given_space, 8)
    assert front == brute_force(given_space)
    assert proof["complete"]
    assert proof["simulated"] + proof["repeats"] + sum(proof["cut"].values()) == proof["points"]
