"""A refusal: fields that a problem takes over, and the sentence they make."""

import pickle

import pytest

from simcore.document.problem import Problem, Refusal
from simcore.document.quantity import parse_quantity


@pytest.mark.parametrize(
    ("refusal", "sentence"),
    [
        (Refusal("a size", "'7'"), "expected a size, got '7'"),
        (Refusal("a size", "'7'", "e.g. 7 GiB"), "expected a size, got '7'; e.g. 7 GiB"),
        (Refusal("a size", "'7'", where="memory"), "memory: expected a size, got '7'"),
    ],
)
def test_a_refusal_reads_as_one_sentence(refusal: Refusal, sentence: str) -> None:
    assert str(refusal) == sentence


def test_a_refusal_becomes_a_problem_at_the_place_of_the_value() -> None:
    place = ("cluster", "npu")
    assert Refusal("a size", "'7'", "add a unit").at(place) == Problem(place, "a size", "'7'", "add a unit")


def test_a_refusal_survives_the_way_back_from_a_worker() -> None:
    assert str(pickle.loads(pickle.dumps(Refusal("a", "b", "c", "d")))) == "d: expected a, got b; c"


def test_fixes_and_findings_with_the_words_of_a_sentence_are_not_cut() -> None:
    with pytest.raises(Refusal) as caught:
        parse_quantity("a, got b; c", "size")
    assert (caught.value.found, caught.value.fix) == ("'a, got b; c'", "")


def test_a_quantity_of_more_digits_than_python_reads_is_refused() -> None:
    with pytest.raises(Refusal, match="which is too large"):
        parse_quantity("1" * 5000 + " GB", "size")
