"""The YAML reader: what PyYAML reads wrongly, what it overwrites, and on which line everything stands."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from simcore.document.problem import InputError, Problem
from simcore.document.text import dump_document, parse_document, read_document


def data(text: str) -> Any:
    return parse_document(text).data


def problems(text: str) -> list[Problem]:
    with pytest.raises(InputError) as error:
        parse_document(text, "some.yaml")
    return error.value.problems


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e-6", 1e-6),
        ("1e6", 1e6),
        ("1.5", 1.5),
        (".5", 0.5),
        ("-2", -2),
        ("+3", 3),
        ("1_000", 1000),
        ("0", 0),
        ("010", 10),
        ("true", True),
        ("False", False),
        ("on", "on"),
        ("off", "off"),
        ("yes", "yes"),
        ("no", "no"),
        ("null", None),
        ("~", None),
        ("", None),
        ("12:30:45", "12:30:45"),
        ("2020-01-01", "2020-01-01"),
        ("0x10", "0x10"),
        ("'5'", "5"),
        ("1.7 us", "1.7 us"),
        ("1f1b", "1f1b"),
    ],
)
def test_a_scalar_reads_as_yaml_1_2_means_it(text: str, value: object) -> None:
    read = data(f"key: {text}")["key"]
    assert read == value
    assert isinstance(read, bool) == isinstance(value, bool)
    assert isinstance(read, str) == isinstance(value, str)


def test_whole_numbers_are_integers() -> None:
    assert type(data("key: 1_024")["key"]) is int


def test_a_duplicate_key_is_refused_with_both_lines() -> None:
    (problem,) = problems("a: 1\nb:\n  c: 2\n  d: 3\n  c: 4\n")
    assert problem.path == ("b", "c")
    assert problem.line == 5
    assert "first on line 3" in problem.found
    assert str(problem) == "line 5: b.c: expected each key once, got a second 'c' (first on line 3)"


def test_all_duplicate_keys_are_reported_at_once() -> None:
    assert [problem.line for problem in problems("a: 1\na: 2\nb: [{c: 1, c: 2}]\n")] == [2, 3]


def test_the_same_key_in_two_items_of_a_list_is_no_duplicate() -> None:
    assert data("a: [{b: 1}, {b: 2}]") == {"a": [{"b": 1}, {"b": 2}]}


def test_every_path_has_its_line() -> None:
    document = parse_document("a: 1\nb:\n  - c: 2\n    d: 3\n  - 4\nlast: {x: 1,\n  y: 2}\n")
    assert document.line(("a",)) == 1
    assert document.line(("b",)) == 2
    assert document.line(("b", 0, "d")) == 4
    assert document.line(("b", 1)) == 5
    assert document.line(("last", "y")) == 7


def test_a_path_that_is_not_there_has_the_line_of_its_nearest_ancestor() -> None:
    document = parse_document("a: 1\nb:\n  c: 2\n")
    assert document.line(("b", "missing", 3)) == 2
    assert document.line(("missing",)) == 1


@pytest.mark.parametrize(
    ("text", "line"),
    [("a: [1, 2\nb: 3\n", 2), ("a: 1\n b: 2\n", 2), ("a: 1\nb: %nope\n", 2), ("a: *unknown\n", 1), ("\tb: 1", 1)],
)
def test_text_that_is_not_yaml_is_refused_with_its_line(text: str, line: int) -> None:
    (problem,) = problems(text)
    assert problem.expected == "a YAML document"
    assert problem.line == line


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", "an empty file"),
        ("# nothing\n", "an empty file"),
        ("- 1\n", "a list"),
        ("5\n", "a int"),
        ("word\n", "a str"),
    ],
)
def test_what_is_no_mapping_is_refused(text: str, found: str) -> None:
    (problem,) = problems(text)
    assert problem.expected == "a mapping of keys to values"
    assert problem.found == found


@pytest.mark.parametrize(
    "text",
    [
        "a: .inf",
        "a: .nan",
        "a: &x [*x]",
        "? [1, 2]\n: 3",
        "a: 1\n---\nb: 2\n",
        "a: !!python/object:os.system {}",
        "a: \x00",
    ],
)
def test_what_cannot_be_read_is_an_input_error_and_no_traceback(text: str) -> None:
    try:
        parse_document(text)
    except InputError as error:
        assert error.problems  # noqa: PT017


def test_an_alias_used_twice_reads_twice() -> None:
    assert data("a: &x {b: 1}\nc: *x\n") == {"a": {"b": 1}, "c": {"b": 1}}


def test_merged_keys_are_there_and_those_of_the_mapping_itself_count_most() -> None:
    text = "a: &a {x: 1, y: {z: 2}}\nb: &b {x: 3, w: 4}\nc:\n  <<: *a\n  x: 5\nd: {<<: [*b, *a]}\ne: [{<<: *a, v: 6}]\n"
    read = data(text)
    assert read["c"] == {"x": 5, "y": {"z": 2}}
    assert read["d"] == {"x": 3, "w": 4, "y": {"z": 2}}
    assert read["e"] == [{"v": 6, "x": 1, "y": {"z": 2}}]
    assert list(read) == ["a", "b", "c", "d", "e"]


def test_a_merge_of_merges_reads_as_all_of_them() -> None:
    assert data("a: &a {x: 1}\nb: &b {<<: *a, y: 2}\nc: {<<: *b, z: 3}\n")["c"] == {"z": 3, "y": 2, "x": 1}


def test_a_merged_key_has_the_line_on_which_it_stands() -> None:
    document = parse_document("a: &a\n  x: 1\n  y: {z: 2}\nb:\n  <<: *a\n  w: 3\n")
    assert [document.line(("b", *path)) for path in (("x",), ("y", "z"), ("w",))] == [2, 3, 6]


def test_a_key_beside_a_merge_is_still_given_once() -> None:
    (problem,) = problems("a: &a {x: 1}\nb: {<<: *a, x: 2, x: 3}\n")
    assert problem.path == ("b", "x")


def test_the_text_of_two_signs_is_no_merge_and_survives_being_written() -> None:
    assert data("a: {'<<': 1}") == {"a": {"<<": 1}}
    assert data(dump_document({"<<": "<<"})) == {"<<": "<<"}


LISTED = ", ".join(f"k{n}: 1" for n in range(100))
NINE = "\n".join(f"m{n}: &m{n} {{<<: [{', '.join([f'*m{n - 1}'] * 9)}]}}" for n in range(1, 60))
MANY = "\n".join(f"m{n}: {{<<: [{', '.join(['*m0'] * 9)}]}}" for n in range(1, 120))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: &a [1]\nb: {<<: *a}\n", "what is no mapping, defined on line 1"),
        ("a: 1\nb: {<<: 3}\n", "what is no mapping, defined on line 2"),
        ("a: &a {x: 1}\nb:\n  <<: *a\n  <<: *a\n", "a second '<<'"),
        ("a: &a {<<: *a}\n", "an alias that contains itself"),
        (f"m0: &m0 {{{LISTED}}}\n{MANY}\n", "more than 100,000 values"),
    ],
)
def test_a_merge_that_cannot_be_is_refused_with_a_reason(text: str, said: str) -> None:
    (problem,) = problems(text)
    assert said in problem.found


def test_merges_of_merges_of_merges_do_not_multiply() -> None:
    assert len(data(f"m0: &m0 {{{LISTED}}}\n{NINE}\n")["m59"]) == 100


def test_a_file_that_is_missing_a_folder_or_not_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "binary.yaml").write_bytes(b"\xff\xfe\x00")
    for name, found in (("none.yaml", "No such file"), (".", "directory"), ("binary.yaml", "not text")):
        with pytest.raises(InputError) as error:
            read_document(tmp_path / name)
        assert found in str(error.value)
        assert str(tmp_path) in str(error.value)


def test_an_error_lists_its_problems_by_line_under_their_source() -> None:
    error = InputError([Problem(("b",), "x", "y", line=7), Problem(("a", 0), "x", "y", "z", line=2)], "f.yaml")
    assert str(error) == "f.yaml: 2 problems\n  line 2: a[0]: expected x, got y; z\n  line 7: b: expected x, got y"


def test_the_same_problem_is_reported_once() -> None:
    assert len(InputError([Problem(("a",), "x", "y"), Problem(("a",), "x", "y")]).problems) == 1
