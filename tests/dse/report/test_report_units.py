from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dse.report.units import (
    clean_text,
    format_brief,
    format_number,
    format_percent,
    format_with_unit,
    label,
    scale,
    shorten_text,
)


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (12.3456, "s", "12.35 s"),
        (0.0123, "s", "12.3 ms"),
        (3.2e-6, "s", "3.2 us"),
        (0.0, "s", "0 s"),
        (15_360_000.0, "$", "15.36 M$"),
        (8000.0, "$", "8 k$"),
        (80 * 2.0**30, "B", "80 GiB"),
        (4.1e5, "W", "410 kW"),
        (1.2e-8, "$/token", "0.012 $/M tokens"),
        (0.01492, "tokens/s/$", "0.01492 tokens/s/$"),
        (0.5, "", "0.5"),
        (None, "s", "–"),
        (math.nan, "s", "–"),
        (-2.5e6, "$", "-2.5 M$"),
    ],
)
def test_a_value_has_the_unit_that_suits_it(value: float | None, unit: str, text: str) -> None:
    assert format_with_unit(value, unit) == text


@pytest.mark.parametrize(
    ("text", "length", "short"),
    [
        ("12/12/12/14", 8, "12/12/…"),
        ("selective (mlp/moe_act)", 21, "selective (mlp/moe_…)"),
        ("selective (mlp/moe_act)", 20, "selective (mlp/…)"),
        ("fat_tree(64)", 10, "fat_tree(…"),
        ("a_topology(64, b(c/d)", 20, "a_topology(64,…)"),
        ("a word_of_its_own", 12, "a word_of_…"),
        ("oneverylongword", 8, "onevery…"),
        ("short", 8, "short"),
    ],
)
def test_text_is_cut_between_entries(text: str, length: int, short: str) -> None:
    assert shorten_text(text, length) == short


def test_shares_are_percent() -> None:
    assert format_with_unit(0.4237, "", "mfu") == "42.37 %"
    assert [format_percent(share) for share in (0, 0.0001, 0.034, 0.5, 1)] == [
        "0 %",
        "<0.1 %",
        "3.4 %",
        "50 %",
        "100 %",
    ]


def test_a_column_has_one_unit() -> None:
    unit = scale("s", [0.5, 12.0, None])
    assert (unit.unit, unit.number(0.5), unit.number(12.0), unit.number(None)) == ("s", "0.5000", "12.00", "–")


def test_integers_are_exact_and_floats_have_four_digits() -> None:
    assert (format_number(1234567), format_number(1234567.0), format_number(0.00001234)) == (
        "1,234,567",
        "1,234,567",
        "1.234e-05",
    )
    assert (format_brief(4.0), format_brief(100.0), format_brief(2.50)) == ("4", "100", "2.5")


def test_metrics_have_readable_names() -> None:
    assert (label("cost.total"), label("iteration_time"), label("my.own")) == ("total cost", "iteration time", "my own")


@given(st.text())
def test_clean_text_is_one_printable_line(text: str) -> None:
    assert clean_text(text).isprintable()
    assert len(shorten_text(text, 10)) <= 10


@given(st.floats(allow_nan=True, allow_infinity=True))
def test_every_float_has_a_text(value: float) -> None:
    assert format_with_unit(value, "s")
    assert "nan" not in format_number(value)
    assert "inf" not in format_number(value)
