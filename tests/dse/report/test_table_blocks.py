"""Cells of columns are written as Python's `csv` writes those of rows."""

from __future__ import annotations

import csv
import io
import math
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dse.evaluate.cells import EMPTY
from dse.report.table_blocks import csv_rows, kinds_of, quoted, texts_of
from dse.report.tables import format_text, one_line
from dse.report.values import to_plain


def as_csv(texts: list[str]) -> list[str]:
    out = io.StringIO()
    for text in texts:
        csv.writer(out, lineterminator="|").writerow(["", text])
    return [line[1:] for line in out.getvalue().split("|")[:-1]]


@given(st.text(st.characters(exclude_characters="|")))
def test_a_text_is_quoted_as_csv_quotes_it(text: str) -> None:
    text = one_line(text)
    assert quoted(text) == as_csv([text])[0]


VALUES = st.lists(st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(["a", "", "x,y", 'q"']))


@given(VALUES)
def test_a_column_of_values_has_the_cells_of_its_rows(values: list[Any]) -> None:
    column = [*values, EMPTY]
    expected = [*as_csv([format_text(to_plain(value)) for value in values]), ""]
    assert texts_of(column) == expected


@given(st.lists(st.floats(allow_infinity=False) | st.sampled_from([0.0, -0.0, 1.0])))
def test_a_column_of_floats_has_their_shortest_form(values: list[float]) -> None:
    expected = ["" if math.isnan(value) else repr(value) for value in values]
    assert texts_of(np.array(values)) == expected
    assert texts_of(np.array(values * 5)) == expected * 5


def test_the_kinds_of_a_column_are_those_of_its_values() -> None:
    assert kinds_of([1, None, EMPTY]) == ({int}, False)
    assert kinds_of([2**63]) == ({int}, True)
    assert kinds_of([True, "a", 1.0]) == ({bool, str, float}, False)
    assert kinds_of(np.array([np.nan])) == (set(), False)
    assert kinds_of(np.array([1.0, np.nan])) == ({float}, False)


def test_a_column_that_a_block_lacks_is_empty() -> None:
    block = {"number": [3, 4], "b": np.array([0.5, np.nan])}
    assert csv_rows(("number", "a", "b"), block) == "3,,0.5\n4,,\n"
