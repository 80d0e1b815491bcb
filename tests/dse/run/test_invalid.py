"""Why no design of a space may be simulated."""

from __future__ import annotations

from tiny_spaces import space, tiny

from dse.run.invalid import DRAWN, Reason, drawn_reasons, explained


def reasons_of(tensor: list[int]) -> list[Reason]:
    """Of degrees that multiply to the eight NPUs with tensor 8 and data 1 alone."""
    degrees = {"tensor": {"choice": tensor}, "data": {"choice": [1, 3]}}
    return drawn_reasons(space(tiny(parallelism=degrees)))


def test_all_designs_of_a_small_space_are_asked() -> None:
    reasons = reasons_of([8, 3, 5])
    assert [is_none for _, _, is_none in reasons] == [True] * 5
    assert explained(reasons, "designs of the space").startswith("Of 5 designs of the space that may not be simulated:")


def test_of_a_large_space_some_are_drawn() -> None:
    assert 0.95 * DRAWN < len(reasons_of([8, *range(3, 3 + 2 * DRAWN, 2)])) <= DRAWN
