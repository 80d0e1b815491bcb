from __future__ import annotations

import contextlib
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dse.space.expression import MAX_LENGTH, Expression, make_lookup
from simcore.document.problem import Path, Refusal

DOCUMENT: dict[str, Any] = {
    "a": 6,
    "b": 4,
    "zero": 0,
    "half": 0.5,
    "yes": True,
    "text": "word",
    "deep": {"er": {"est": 7}},
    "rows": [{"size": 8}, {"size": 128}],
}


def value(text: str) -> Any:
    return Expression(text).value(make_lookup(DOCUMENT))


def violation(text: str) -> float:
    return Expression(text).violation(make_lookup(DOCUMENT))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1 + 2 * 3", 7),
        ("(1 + 2) * 3", 9),
        ("a / b", 1.5),
        ("a // b", 1),
        ("a % b", 2),
        ("-a + +b", -2),
        ("a - b - 1", 1),
        ("40e6", 4e7),
        ("min(a, b, 5)", 4),
        ("max(a, b)", 6),
        ("deep.er.est", 7),
        ("rows[1].size // rows[0].size", 16),
        ("  a  ", 6),
        ("a <= b", False),
        ("a >= b", True),
        ("a != b", True),
        ("a == 6", True),
        ("text == 'word'", True),
        ("1 < b < a", True),
        ("1 < a < b", False),
        ("yes and a > b", True),
        ("yes and a < b", False),
        ("not yes", False),
        ("half * 2", 1.0),
    ],
)
def test_an_expression_has_the_value_of_its_arithmetic(text: str, expected: Any) -> None:
    assert value(text) == expected


def arithmetic(depth: int = 4) -> st.SearchStrategy[str]:
    leaves = st.integers(0, 20).map(str) | st.sampled_from(["a", "b"])

    def extend(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        pairs = st.tuples(inner, st.sampled_from(["+", "-", "*", "/", "//", "%"]), inner)
        calls = st.tuples(st.sampled_from(["min", "max"]), inner, inner)
        return pairs.map(lambda t: f"({t[0]} {t[1]} {t[2]})") | calls.map(lambda t: f"{t[0]}({t[1]}, {t[2]})")

    return st.recursive(leaves, extend, max_leaves=2**depth)


@given(arithmetic())
def test_arithmetic_agrees_with_python(text: str) -> None:
    try:
        expected = eval(text, {"a": 6, "b": 4, "min": min, "max": max})
    except ZeroDivisionError:
        with pytest.raises(ValueError, match="expected a divisor other than 0"):
            value(text)
    else:
        assert value(text) == expected


@given(st.floats(-1e9, 1e9), st.floats(-1e9, 1e9), st.sampled_from(["<", "<=", ">", ">=", "==", "!="]))
def test_a_comparison_holds_exactly_where_its_violation_is_not_positive(left: float, right: float, op: str) -> None:
    look = make_lookup({"left": left, "right": right})
    expression = Expression(f"left {op} right")
    holds = {
        "<": left < right,
        "<=": left <= right,
        ">": left > right,
        ">=": left >= right,
        "==": left == right,
        "!=": left != right,
    }
    assert (expression.violation(look) <= 0) == holds[op]
    assert expression.value(look) == holds[op]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a <= b", (6 - 4) / 6),
        ("b <= a", (4 - 6) / 6),
        ("b >= a", (6 - 4) / 6),
        ("a <= a", 0.0),
        ("a <= zero", 1.0),
        ("zero <= zero", 0.0),
        ("a == b", 1.0),
        ("a == 6", 0.0),
        ("not yes", 1.0),
        ("yes", 0.0),
        ("a <= b and b <= 2", 0.5),
        ("8 <= b <= 3", 0.5),
        ("text == 'other'", 1.0),
    ],
)
def test_a_violation_is_what_is_missed_relative_to_the_larger_side(text: str, expected: float) -> None:
    assert violation(text) == pytest.approx(expected)


def test_a_strict_comparison_of_equal_numbers_is_violated() -> None:
    assert violation("a < 6") > 0


@given(st.floats(1.0, 1e12), st.floats(1.0, 1e12), st.floats(1e-6, 1e6))
def test_a_violation_does_not_depend_on_the_unit(left: float, right: float, unit: float) -> None:
    expression = Expression("left <= right")
    plain = expression.violation(make_lookup({"left": left, "right": right}))
    scaled = expression.violation(make_lookup({"left": left * unit, "right": right * unit}))
    assert scaled == pytest.approx(plain, abs=1e-9)


def test_the_paths_of_an_expression_are_named_once_each_and_functions_are_none() -> None:
    paths: tuple[Path, ...] = (("a",), ("rows", 1, "size"), ("deep", "er", "est"))
    assert Expression("min(a, rows[1].size) <= deep.er.est + a").paths == paths


@pytest.mark.parametrize(
    "text",
    [
        "print(a)",
        "__import__('os').system('true')",
        "a.bit_length()",
        "a()",
        "(1).real",
        "'x'.upper",
        "().__class__",
        "[].__class__.__bases__",
        "lambda: 1",
        "[x for x in rows]",
        "{1: 2}",
        "[1, 2]",
        "(1, 2)",
        "{1}",
        "a if yes else b",
        "a ** b",
        "a << 40",
        "a | b",
        "~a",
        "a @ b",
        "(n := 1)",
        "f'{a}'",
        "a[b]",
        "rows[0:1]",
        "rows['size']",
        "a in rows",
        "a is b",
        "min(a, b, key=a)",
        "min()",
        "max(*rows)",
        "None",
        "...",
        "b'x'",
        "1j",
        "a = 1",
        "a; b",
        "import os",
        "await a",
        "yield a",
        "",
        "   ",
        "a <=",
        "memory.peak <= 80 Gigs",
        "memory.peak <= 80 GiB GiB",
        "80 GiB(1, 2)",
        "a\x00b",
    ],
)
def test_what_is_no_arithmetic_on_paths_is_refused_before_it_is_used(text: str) -> None:
    with pytest.raises(ValueError, match=r"expected .*, got "):
        Expression(text).validate()


@pytest.mark.parametrize("text", ["a.__class__", "text.upper", "deep.__len__", "rows.append", "text[0].x", "a[0]"])
def test_paths_reach_into_mappings_and_lists_and_never_into_objects(text: str) -> None:
    with pytest.raises(ValueError, match="expected a path of the document"):
        value(text)


@pytest.mark.parametrize("text", ["missing", "deep.missing", "rows[2].size", "deep[0]", "rows.size"])
def test_a_path_that_the_document_lacks_is_named(text: str) -> None:
    with pytest.raises(ValueError, match="expected a path of the document, got '"):
        value(text)


@pytest.mark.parametrize("text", ["a / zero", "a // zero", "a % zero", "a / 0.0", "1 <= a / zero"])
def test_a_division_by_zero_is_an_error_that_says_so(text: str) -> None:
    with pytest.raises(ValueError, match="expected a divisor other than 0"):
        value(text)
    with pytest.raises(ValueError, match="expected a divisor other than 0"):
        violation(text)


@pytest.mark.parametrize("text", ["a + text", "text <= a", "-text", "deep * 2.5", "rows <= a", "min(a, text)"])
def test_arithmetic_on_what_is_no_number_is_an_error_that_says_so(text: str) -> None:
    with pytest.raises(ValueError, match="expected numbers"):
        value(text)


@pytest.mark.parametrize(
    "text", ["'ab' * 3", "text * 3", "'%05d' % 3", "rows * 2", "'a' + 'b'", "rows + rows", "3 * text"]
)
def test_text_and_lists_are_not_multiplied_or_formatted(text: str) -> None:
    """`'a' * 9000000000` in a file must not fill the memory."""
    with pytest.raises(ValueError, match="expected numbers"):
        value(text)


def test_an_expression_longer_than_the_limit_is_refused() -> None:
    assert Expression("1" + "+1" * ((MAX_LENGTH - 1) // 2)).validate()
    with pytest.raises(ValueError, match=f"at most {MAX_LENGTH} characters, got {MAX_LENGTH + 1}"):
        Expression("1" + "+1" * (MAX_LENGTH // 2)).validate()


@pytest.mark.parametrize(
    "text",
    ["9" * 400 + " * 1.5", "9" * 400 + " / 7", "1.5 + " + "9" * 400, "9" * 400 + " <= 1.5"],
)
def test_numbers_too_large_for_a_float_are_an_error_of_the_expression(text: str) -> None:
    with pytest.raises(ValueError, match="expected"):
        Expression(text).validate().violation(make_lookup({}))


@pytest.mark.parametrize("text", ["-" * (MAX_LENGTH - 1) + "1", "(" * 499 + "1" + ")" * 499, "a" + ".a" * 499])
def test_a_deeply_nested_expression_is_refused_or_read_but_never_overflows_the_stack(text: str) -> None:
    try:
        with contextlib.suppress(ValueError):
            assert value(text) in (1, -1)
    except RecursionError:
        pytest.fail("the stack overflows", pytrace=False)


@pytest.mark.parametrize("text", ["a <= 1e400", "1e400 >= a", "a <= 1e400 - 1e400", "1e400 <= a"])
def test_a_violation_is_never_nan(text: str) -> None:
    assert not math.isnan(violation(text))


@pytest.mark.parametrize("text", ["a\0 < 1", "(" * 900])
def test_an_expression_that_python_cannot_read_is_refused(text: str) -> None:
    with pytest.raises(Refusal, match="an expression such as"):
        Expression(text).validate()
