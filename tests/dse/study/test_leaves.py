"""A line of JSON is its shape and its leaves, whatever stands in it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dse.study.leaves import join_line, pointers, read_leaf, split_line, text_of, write_leaf

LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
DOCUMENTS = st.recursive(LEAVES, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20)


@given(st.dictionaries(st.text(), DOCUMENTS))
def test_shape_and_leaves_give_the_line_again(document: dict[str, Any]) -> None:
    line = json.dumps(document, separators=(",", ":"))
    found = split_line(line)
    assert found is not None
    shape, leaves = found
    assert join_line(shape, leaves) == line
    assert len(pointers(shape)) == len(leaves)
    for leaf in leaves:
        assert write_leaf(*read_leaf(leaf)) == leaf


def test_a_leaf_is_found_at_its_place() -> None:
    line = '{"a":{"b.c":[1,"x,\\"{]:"],"d/e":{}},"f~":null}'
    found = split_line(line)
    assert found == ('{"a":{"b.c":[\t,\t],"d/e":{}},"f~":\t}', ["1", '"x,\\"{]:"', "null"])
    assert pointers(found[0]) == ["/a/b.c/0", "/a/b.c/1", "/f~0"]


@pytest.mark.parametrize(
    ("leaf", "read"),
    [
        ("7", ("int", 7)),
        ("7.0", ("float", 7.0)),
        ("1e-05", ("float", 1e-5)),
        ("true", ("bool", True)),
        ("null", ("null", None)),
        ('"a\\u00e9"', ("text", "a\\u00e9")),
        ("1E3", ("raw", "1E3")),
        ("-0", ("raw", "-0")),
        (str(2**63), ("raw", str(2**63))),
        (" 1", ("raw", " 1")),
    ],
)
def test_a_leaf_that_would_not_be_written_so_again_is_kept_as_it_is(leaf: str, read: object) -> None:
    assert read_leaf(leaf) == read


def test_what_is_written_between_quotation_marks_is_a_text() -> None:
    assert text_of("a\\u00e9\\n") == "aé\n"


def test_a_line_that_no_json_of_ours_writes_is_no_shape() -> None:
    assert split_line('{"a\t":1}') is None
