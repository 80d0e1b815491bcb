from __future__ import annotations

import json
import math
import pickle
from typing import Any

import numpy as np
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_spaces import space, tiny

from dse.space.draw import FixedDraw, Odometer, RandomDraw
from dse.space.fill import FilledDocument, FillError, fill_template, template_count
from dse.space.hole import label
from dse.space.template import parse_template
from simcore.document.problem import Path, Problem, Refusal
from simcore.document.quantity import SI, parse_quantity


def template(text: str) -> Any:
    problems: list[Problem] = []
    parsed = parse_template(yaml.safe_load(text), (), problems)
    assert problems == []
    return parsed


def problems_of(text: str) -> list[Problem]:
    problems: list[Problem] = []
    parse_template(yaml.safe_load(text), (), problems)
    return problems


def every(parsed: Any) -> list[FilledDocument]:
    odometer, found = Odometer(), []
    while True:
        found.append(fill_template(parsed, odometer))
        if not odometer.step():
            return found


def fill(text: str, **given: int) -> FilledDocument:
    return fill_template(template(text), FixedDraw(given))


def test_a_document_without_holes_is_filled_with_itself() -> None:
    document = {"a": 1, "b": [1, {"c": None}], "d": "12 GB/s"}
    filled = fill_template(parse_template(document, (), []), FixedDraw())
    assert filled.document == document
    assert filled.params == {}
    assert template_count(parse_template(document, (), [])) == 1


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("{choice: [a, 2, null]}", ["a", 2, None]),
        ("{range: [1, 4]}", [1, 2, 3, 4]),
        ("{range: [0, 10], step: 5}", [0, 5, 10]),
        ("{range: [0.5, 1.0], step: 0.25}", [0.5, 0.75, 1.0]),
        ("{range: [10 GB/s, 30 GB/s], step: 10 GB/s}", ["10 GB/s", "20 GB/s", "30 GB/s"]),
        ("{range: [1 us, 2 us], step: 500 ns}", ["1 us", "1.5 us", "2 us"]),
        ("{powers_of_two: [2, 16]}", [2, 4, 8, 16]),
    ],
)
def test_a_hole_takes_each_of_its_values_and_is_named_by_its_path(text: str, values: list[Any]) -> None:
    filled = every(template(f"a: {{b: {text}}}"))
    assert [entry.document["a"]["b"] for entry in filled] == values
    assert [entry.params for entry in filled] == [{"a.b": value} for value in values]
    assert template_count(template(f"a: {{b: {text}}}")) == len(values)


def test_degrees_take_the_place_of_their_product() -> None:
    filled = every(template("p: {degrees: {product: 4, of: [tensor, data]}, zero: 1}"))
    assert [entry.document["p"] for entry in filled] == [
        {"tensor": 1, "data": 4, "zero": 1},
        {"tensor": 2, "data": 2, "zero": 1},
        {"tensor": 4, "data": 1, "zero": 1},
    ]
    assert filled[1].params == {"p.tensor": 2, "p.data": 2}


def test_limits_of_a_product_hold() -> None:
    filled = every(template("{degrees: {product: 64, of: [a, b, c], limits: {a: [2, 4], c: [1, 1]}}}"))
    assert [tuple(entry.document.values()) for entry in filled] == [(2, 32, 1), (4, 16, 1)]


def test_holes_of_an_alternative_live_only_where_it_is_chosen() -> None:
    parsed = template("x: {choice: [{k: 1, v: {choice: [a, b, c]}}, {k: 2, w: {range: [1, 2]}}, 7]}")
    filled = every(parsed)
    assert [entry.document["x"] for entry in filled] == [
        {"k": 1, "v": "a"},
        {"k": 1, "v": "b"},
        {"k": 1, "v": "c"},
        {"k": 2, "w": 1},
        {"k": 2, "w": 2},
        7,
    ]
    assert [set(entry.params) for entry in filled] == [{"x", "x.v"}] * 3 + [{"x", "x.w"}] * 2 + [{"x"}]
    assert template_count(parsed) == 6


def test_a_choice_of_choices_is_flattened() -> None:
    parsed = template("x: {choice: [{choice: [1, 2]}, {choice: [3, {choice: [4, 5]}]}]}")
    assert [entry.document["x"] for entry in every(parsed)] == [1, 2, 3, 4, 5]
    assert template_count(parsed) == 5


def test_equal_holes_in_different_alternatives_are_drawn_apart() -> None:
    """A sampler must not mix up what it learned of one branch with the other."""

    class Names(FixedDraw):
        def index(self, name: str, count: int, ordered: bool) -> int:
            names.append(name)
            return super().index(name, count, ordered)

    seen = []
    for alternative in (0, 1):
        names: list[str] = []
        fill_template(
            template("x: {choice: [{v: {choice: [1, 2]}}, {v: {choice: [3, 4]}}]}"), Names({"x": alternative})
        )
        seen.append(names[1])
    assert seen[0] != seen[1]


@pytest.mark.parametrize(
    ("path", "place"),
    [
        (("x",), ("x", "choice", 1)),
        (("x", "v"), ("x", "choice", 1, "v", "choice", 0)),
        (("x", "v", "deep"), ("x", "choice", 1, "v", "choice", 0, "deep")),
        (("x", "k"), ("x", "choice", 1, "k")),
        (("y", "tensor"), ("y", "degrees")),
        (("z", 0, "q"), ("z", 0, "q")),
    ],
)
def test_every_path_of_the_document_leads_back_to_its_place_in_the_file(path: Path, place: Path) -> None:
    text = "{x: {choice: [1, {k: 2, v: {choice: [{deep: 3}]}}]}, y: {degrees: {product: 2, of: [tensor]}}, z: [{q: 1}]}"
    assert fill(text, x=1).source(path) == place


def test_the_shares_of_a_split_come_from_the_split() -> None:
    filled = fill("{cluster: {bandwidth: {split: 100 GB/s, step: 50 GB/s}, dimensions: [{size: 2}, {size: 4}]}}")
    assert [d["bandwidth"] for d in filled.document["cluster"]["dimensions"]] == ["50 GB/s", "50 GB/s"]
    assert "bandwidth" not in filled.document["cluster"]
    assert filled.source(("cluster", "dimensions", 1, "bandwidth")) == ("cluster", "bandwidth")


SPLIT = """\
bandwidth: {split: {choice: [100 GB/s, 150 GB/s]}, step: 25 GB/s}
dimensions:
  choice:
    - - {size: 8}
    - - {size: 4}
      - {size: 2}
    - - {size: 2}
      - {size: 2, bandwidth: 10 GB/s}
      - {size: 2}
      - {size: 1}
"""


def test_a_split_shares_each_budget_over_the_open_dimensions_of_each_shape() -> None:
    found = every(template(SPLIT))
    seen = set()
    for entry in found:
        assert "bandwidth" not in entry.document
        dimensions = entry.document["dimensions"]
        shares = [parse_quantity(d["bandwidth"], "bandwidth") for d in dimensions]
        if len(dimensions) == 4:
            assert shares.pop(1) == 10e9
        assert sum(shares) in (100e9, 150e9)
        assert all(share % 25e9 == 0 and share >= 25e9 for share in shares)
        seen.add((len(dimensions), *shares))
    # One way over one dimension, C(n - 1, 1) over two, C(n - 1, 2) over three, for n = 4 and 6 steps.
    assert len(found) == len(seen) == 2 * 1 + (3 + 5) + (3 + 10) == template_count(template(SPLIT))


def test_a_dimension_that_is_a_choice_itself_gets_its_share_too() -> None:
    parsed = template(
        "{bandwidth: {split: 100 GB/s, step: 25 GB/s}, "
        "dimensions: [{choice: [{size: 2, t: a}, {size: 2, t: b}]}, {size: 2}]}"
    )
    found = every(parsed)
    assert len(found) == 6
    assert template_count(parsed) == 6


def test_shapes_may_be_choices_of_choices() -> None:
    shapes = "{choice: [{choice: [[{size: 8}], [{size: 4}, {size: 2}]]}]}"
    text = f"{{bandwidth: {{split: 100 GB/s, step: 25 GB/s}}, dimensions: {shapes}}}"
    assert len(every(template(text))) == 4
    assert template_count(template(text)) == 4


def test_the_budget_of_a_split_may_be_a_range() -> None:
    text = (
        "{bandwidth: {split: {range: [50 GB/s, 100 GB/s], step: 25 GB/s}, step: 25 GB/s}, dimensions: [{a: 1}, {b: 1}]}"
    )
    assert len(every(template(text))) == template_count(template(text)) == 1 + 2 + 3


def test_a_budget_too_small_for_its_dimensions_is_an_error_with_both_sizes() -> None:
    with pytest.raises(ValueError, match="at least 3 steps of 25 GB/s, got 50 GB/s"):
        fill("{bandwidth: {split: 50 GB/s, step: 25 GB/s}, dimensions: [{a: 1}, {a: 1}, {a: 1}]}")


def test_a_split_without_open_dimensions_is_an_error() -> None:
    with pytest.raises(ValueError, match="expected 'dimensions' without a bandwidth"):
        fill("{bandwidth: {split: 50 GB/s, step: 25 GB/s}, dimensions: [{bandwidth: 1 GB/s}]}")


def test_an_expression_follows_the_values_of_other_holes() -> None:
    filled = every(template("{a: {choice: [2, 4]}, b: {expr: 'a * 3 - 1'}, c: [{expr: 'max(a, 3)'}]}"))
    assert [entry.document for entry in filled] == [{"a": 2, "b": 5, "c": [3]}, {"a": 4, "b": 11, "c": [4]}]
    assert filled[0].params == {"a": 2, "b": 5, "c[0]": 3}


def test_an_expression_over_quantities_is_a_number_in_si_units() -> None:
    filled = fill("{a: {choice: [200 GB/s]}, b: {expr: 'a / 4'}, c: {expr: '2 * 3'}}")
    assert filled.document["b"] == 50e9
    assert isinstance(filled.document["b"], SI)
    assert not isinstance(filled.document["c"], SI)


@pytest.mark.parametrize(
    "text", ["{a: {expr: b + 1}, b: {expr: c * 2}, c: 3}", "{c: 3, b: {expr: c * 2}, a: {expr: b + 1}}"]
)
def test_an_expression_may_use_another_wherever_that_stands(text: str) -> None:
    assert fill(text).document == {"a": 7, "b": 6, "c": 3}


def test_expressions_that_wait_for_each_other_are_an_error() -> None:
    with pytest.raises(ValueError, match="expected"):
        fill("{a: {expr: b + 1}, b: {expr: a + 1}}")


def test_an_expression_over_what_the_document_lacks_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"expected a path of the document, got 'b\.c'"):
        fill("{a: {expr: b.c + 1}, b: {d: 1}}")


def test_an_expression_may_use_a_share_of_a_split() -> None:
    dimensions = "dimensions: [{a: 1}, {a: 1}], half: {expr: 'dimensions[0].bandwidth / 2'}"
    text = f"{{bandwidth: {{split: 100 GB/s, step: 50 GB/s}}, {dimensions}}}"
    assert fill(text).document["half"] == 25e9


@pytest.mark.parametrize(
    ("text", "where", "expected", "found"),
    [
        ("{a: {choice: []}}", "a.choice", "at least one alternative", "[]"),
        ("{a: {choice: 3}}", "a.choice", "a list of at least one alternative", "3"),
        ("{a: {choice: [1], chioce: 2}}", "a.chioce", "a key of a choice hole", "'chioce'"),
        ("{a: {range: [1]}}", "a.range", "two ends", "[1]"),
        ("{a: {range: [5, 1]}}", "a.range", "the least end first", "[5, 1]"),
        ("{a: {range: [a, b]}}", "a.range", "a number or a quantity", "'a'"),
        ("{a: {range: [1, 5], step: 0}}", "a.range", "a step above 0", "0"),
        ("{a: {range: [1, 5], step: x}}", "a.range", "a step", "'x'"),
        ("{a: {range: [0, 5], log: true}}", "a.range", "ends above 0 for log", "[0, 5]"),
        ("{a: {range: [1, 5], log: 2}}", "a.range", "log: true or false", "2"),
        ("{a: {range: [1, 5], stepp: 2}}", "a.stepp", "a key of a range hole", "'stepp'"),
        ("{a: {range: [1 us, 5 GB/s]}}", "a.range", "one kind", "5 GB/s"),
        ("{a: {range: [25 GB/s, 50 GB/s], step: 5}}", "a.range", "unit", "5"),
        ("{a: {range: [25 GB/s, 50 GB/s], step: 5 us}}", "a.range", "bandwidth", "5 us"),
        ("{a: {range: [1, .inf]}}", "a.range", "finite", "inf"),
        ("{a: {range: [.nan, 1]}}", "a.range", "finite", "nan"),
        ("{a: {powers_of_two: [3, 8]}}", "a.powers_of_two", "powers of two", "[3, 8]"),
        ("{a: {powers_of_two: [8, 2]}}", "a.powers_of_two", "the least first", "[8, 2]"),
        ("{a: {powers_of_two: [0, 8]}}", "a.powers_of_two", "powers of two", "0"),
        ("{a: {powers_of_two: 8}}", "a.powers_of_two", "two ends", "8"),
        ("{a: {product: 0, of: [x]}}", "a.product", "a positive number", "0"),
        ("{a: {product: 8}}", "a.product", "'of'", "None"),
        ("{a: {product: 8, of: [x, x]}}", "a.product", "'of'", "['x', 'x']"),
        ("{a: {product: 8, of: [x], limits: {y: [1, 2]}}}", "a.product", "limits", "y"),
        ("{a: {product: 8, of: [x, y], limits: {x: 2}}}", "a.product", "limits [least, most] for x", "2"),
        ("{a: {product: 7, of: [x, y], limits: {x: [2, 6]}}}", "a.product", "some factorisation of 7", "[2, 6]"),
        (
            "{parallelism: {degrees: {product: 8, of: [tensor, expert]}}}",
            "parallelism.degrees.product",
            "degrees that multiply to the NPUs",
            "'expert'; give it a hole of its own",
        ),
        ("{a: {split: 100 GB/s}}", "a.split", "'step'", "None"),
        ("{a: {split: 100 GB/s, step: 0 GB/s}}", "a.split", "a step above 0", "0 GB/s"),
        ("{a: {split: 100 GB/s, step: 5 us}}", "a.split", "a bandwidth", "5 us"),
        ("{a: {split: 100 us, step: 5 GB/s}}", "a.split", "a bandwidth", "100 us"),
        ("{a: {split: 100, step: 5 GB/s}}", "a.split", "a bandwidth", "100"),
        ("{a: {split: {choice: [100 GB/s, 5]}, step: 5 GB/s}}", "a.split", "a bandwidth", "5"),
        ("{a: {split: {range: [1 us, 2 us]}, step: 5 GB/s}}", "a.split", "a bandwidth", "1 us"),
        ("{a: {expr: 3}}", "a.expr", "an expression in text", "3"),
        ("{a: {expr: 'f(x)'}}", "a.expr", "+ - * / // % min max", "f(x)"),
    ],
)
def test_a_malformed_hole_is_reported_with_its_place(text: str, where: str, expected: str, found: str) -> None:
    yaml_text = text.replace(".inf", "1.0e+999")
    (problem,) = problems_of(yaml_text)
    told = str(problem)
    assert told.startswith(f"{where}: expected ")
    assert expected in told
    assert found in told


def test_every_malformed_hole_is_reported_at_once() -> None:
    problems = problems_of("{a: {choice: []}, b: [{range: [1]}, {choice: [{powers_of_two: 3}]}]}")
    assert [problem.path for problem in problems] == [
        ("a", "choice"),
        ("b", 0, "range"),
        ("b", 1, "choice", 0, "powers_of_two"),
    ]


@pytest.mark.parametrize(
    ("alternative", "shown"),
    [
        (3, 3),
        ("ring", "ring"),
        (None, None),
        (["ring", "direct"], "ring, direct"),
        ([{"topology": "switch", "size": 8}, {"topology": "ring", "size": 4}], "switch(8)_ring(4)"),
        ({"name": "mine", "x": 1}, "mine"),
        ({"x": 1}, "#5"),
        ([8, 16, 32], "8/16/32"),
        ([1, "ring"], "#5"),
    ],
)
def test_an_alternative_is_shown_as_itself_its_shape_its_name_or_its_number(alternative: Any, shown: Any) -> None:
    assert label(alternative, 5) == shown


def holes(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    choice = st.lists(inner, min_size=1, max_size=3).map(lambda entries: {"choice": entries})
    mapping = st.dictionaries(st.sampled_from("abc"), inner, max_size=2)
    return choice | mapping | st.lists(inner, max_size=2)


LEAVES = (
    st.sampled_from([1, "x", None])
    | st.tuples(st.integers(1, 3), st.integers(0, 2)).map(lambda t: {"range": [t[0], t[0] + t[1]]})
    | st.integers(0, 2).map(lambda e: {"powers_of_two": [1, 2**e]})
    | st.sampled_from([4, 6, 8]).map(lambda n: {"degrees": {"product": n, "of": ["t", "d"]}})
)


@given(st.recursive(LEAVES, holes, max_leaves=5))
@settings(max_examples=80)
def test_the_count_of_a_template_is_the_number_of_its_combinations(document: Any) -> None:
    parsed = parse_template({"root": document}, (), [])
    assert template_count(parsed) == len(every(parsed))


@given(st.recursive(LEAVES, holes, max_leaves=5), st.integers(0, 100))
@settings(max_examples=80)
def test_whatever_is_drawn_at_random_is_one_of_the_combinations(document: Any, seed: int) -> None:
    parsed = parse_template({"root": document}, (), [])
    drawn = fill_template(parsed, RandomDraw(np.random.default_rng(seed)))
    known = {json.dumps(entry.document, sort_keys=True) for entry in every(parsed)}
    assert json.dumps(drawn.document, sort_keys=True) in known


def test_a_continuous_hole_makes_the_count_infinite() -> None:
    assert template_count(template("{a: {choice: [1, {b: {range: [0.5, 2.5]}}]}}")) == math.inf


def test_a_space_counts_what_it_enumerates_and_no_combination_comes_twice() -> None:
    given = space()
    params = [json.dumps(filled.params) for filled in given.enumerate()]
    # 10 factorisations of 8 into three, 2 ZeRO stages, 3 NPUs, 2 bandwidths
    assert len(params) == len(set(params)) == given.count() == 10 * 2 * 3 * 2


def test_filling_a_space_leaves_it_as_it_was() -> None:
    given = space(
        tiny(
            cluster={
                "npu": "b200",
                "bandwidth": {"split": "100 GB/s", "step": "25 GB/s"},
                "dimensions": [
                    {"topology": "switch", "size": 4, "latency": "1 us"},
                    {"topology": "switch", "size": 2, "latency": "1 us"},
                ],
            }
        )
    )
    first = [filled.document for filled in given.enumerate()]
    assert [filled.document for filled in given.enumerate()] == first


def test_a_hole_that_cannot_be_filled_keeps_its_place_on_the_way_back_from_a_worker() -> None:
    error = pickle.loads(pickle.dumps(FillError.of(Refusal("a", "b", "c"), ("cluster", 0))))
    assert (str(error), error.path) == ("expected a, got b; c", ("cluster", 0))
