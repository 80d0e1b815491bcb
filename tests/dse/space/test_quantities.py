"""Units in conditions and objectives: one number in SI, held against what it stands beside."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest
from tiny_spaces import cheap, search, space

from dse.space.constraint import Constraint
from dse.space.expression import Expression, make_lookup
from simcore.document.problem import InputError
from simcore.document.quantity import parse_quantity

DOCUMENT = {
    "cost": {"total": 30e6},
    "power": 2e6,
    "iteration_time": 20.0,
    "memory": {"peak": 70 * 2**30, "capacity": 80e9},
    "throughput": 1e5,
    "energy": 7.2e9,
    "npus": 1024,
    "perf_per_cost": 2.0,
    "cluster": {"dimensions": [{"bandwidth": 2e11}]},
    "workload": {"name": "4 GB/s"},
}


def value(text: str) -> object:
    return Expression(text).validate().value(make_lookup(DOCUMENT))


@pytest.mark.parametrize(
    ("written", "plain"),
    [
        ("cost.total <= 30 M$", "cost.total <= 30e6"),
        ("cost.total<=30M$", "cost.total <= 30e6"),
        ("power < 2 MW", "power < 2e6"),
        ("iteration_time <= 20 s", "iteration_time <= 20"),
        ("iteration_time >= 0.5 min", "iteration_time >= 30"),
        ("memory.peak <= 70 GiB", f"memory.peak <= {70 * 2**30}"),
        ("energy <= 2 MWh and npus <= 1e3", "energy <= 7.2e9 and npus <= 1000"),
        ("cluster.dimensions[0].bandwidth >= 1600 Gb/s", "cluster.dimensions[0].bandwidth >= 2e11"),
        ("300e9 / throughput <= 35 d", "300e9 / throughput <= 35 * 86400"),
        ("npus * 20 k$ <= cost.total", "npus * 20000 <= cost.total"),
        ("min(iteration_time, 1 h) <= 20 s + 5", "min(iteration_time, 3600) <= 25"),
        ("energy / iteration_time <= 400 MW", "energy / iteration_time <= 4e8"),
        ("perf_per_cost >= 1e6 / 1 s / 1 M$", "perf_per_cost >= 1"),
        ("memory.peak / 1 GB < npus % 7", "memory.peak / 1e9 < npus % 7"),
        ("-1.5 us <= iteration_time", "-1.5e-6 <= iteration_time"),
    ],
)
def test_a_quantity_is_its_number_in_si(written: str, plain: str) -> None:
    one, other = Expression(written).validate(), Expression(plain).validate()
    assert one.violation(make_lookup(DOCUMENT)) == other.violation(make_lookup(DOCUMENT))
    assert one.paths == other.paths
    assert one.text == written


def test_a_quantity_is_read_as_exactly_as_in_a_document() -> None:
    assert value("1.7 us") == parse_quantity("1.7 us", "time")
    assert value("400 Gb/s + 0") == parse_quantity("400 Gb/s", "bandwidth")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("cost.total <= 30 GB", r"'cost.total' and '30 GB' in units of one kind, got \$ and B; e.g. '1 \$' in place"),
        ("power <= 2 s", "got W and s; e.g. '1 kW' in place of '2 s'"),
        ("iteration_time <= 2 GB/s", "got s and B/s"),
        ("npus <= 4 GB", "got a pure number and B"),
        ("npus * 20e3 <= 30 M$", r"got a pure number and \$"),
        ("2 * iteration_time <= 5 GB", "got s and B"),
        ("iteration_time + 2 GiB <= 3", "got s and B"),
        ("max(power, 3 GB) <= 3", "got W and B"),
        ("fits and memory.peak <= 3 $", r"got B and \$"),
        ("energy / iteration_time <= 4 J", "got W and J"),
        ("power <= 2 MW <= 3 s", "got W and s"),
    ],
)
def test_a_unit_of_another_kind_is_refused_with_both_units(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=f"expected .*{said}"):
        Expression(text).validate()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("cost.total <= 30 MUSD", "got '30 MUSD'; e.g. 30 M"),
        ("memory.peak <= 70 gib", "got '70 gib'; did you mean 'GiB'"),
        ("iteration_time <= 20 sec", "got '20 sec'; did you mean"),
        ("mfu >= 40 %", "got '40 %'; write '0.4'"),
        ("throughput >= 5 tokens/fortnight", "got '5 tokens/fortnight'; e.g. 30 M"),
        ("time_to_train <= 3 weeks", "got '3 weeks'; write '21 d'"),
        ("iteration_time <= 1.5 minutes", "got '1.5 minutes'; write '90 s'"),
    ],
)
def test_an_unknown_unit_is_told_the_nearest_known_one(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=f"expected a number, or one with a known unit, {said}"):
        Expression(text).validate()


@pytest.mark.parametrize("text", ["iteration_time + power <= 3 * npus", "cost.total / memory.peak >= iteration_time"])
def test_expressions_without_units_are_plain_numbers_as_ever(text: str) -> None:
    assert Expression(text).validate().violation(make_lookup(DOCUMENT)) > 0


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1e6 tokens/s", 1e6),
        ("86400 tokens/day", 1.0),
        ("3600 samples/h + 0", 1.0),
        ("2 $/Mtoken", 2e-6),
        ("0.5 J/token", 0.5),
        ("3 k$/Mtokens", 3e-3),
    ],
)
def test_tokens_are_pure_numbers(text: str, number: float) -> None:
    assert value(text) == pytest.approx(number)
    Expression(f"throughput >= {text}").validate()


def test_text_in_quotes_is_no_quantity() -> None:
    assert value("workload.name == '4 GB/s'") is True


def test_an_expression_with_units_goes_to_other_processes() -> None:
    expression = Expression("cost.total <= 30 M$").validate()
    assert pickle.loads(pickle.dumps(expression)).violation(make_lookup(DOCUMENT)) == 0.0


def test_a_deeply_nested_quantity_is_refused_or_read_but_never_overflows_the_stack() -> None:
    for text in ("-" * 990 + "1 s", "(" * 490 + "1 s" + ")" * 490, "1 s" + " + 1 s" * 160):
        try:
            Expression(text).validate()
        except ValueError as error:
            assert "expected" in str(error)  # noqa: PT017


def test_a_constraint_with_a_unit_cuts_as_its_plain_form_does(tmp_path: Path) -> None:
    found = []
    for name, text in (("unit", "cost.total <= 100 k$"), ("plain", "cost.total <= 1e5")):
        _, outcomes = search(space(constraints=["fits", text]), tmp_path / name, "exhaustive", 60, engine=cheap)
        found.append([(outcome.state, outcome.cut_by == text, outcome.violations[text]) for outcome in outcomes])
    assert found[0] == found[1]
    assert {state for state, _, _ in found[0]} == {"feasible", "cut"}


def test_a_constraint_with_units_is_known_before_simulation_or_refused_with_the_space() -> None:
    assert Constraint(Expression("cost.total <= 1 $")).is_early
    with pytest.raises(InputError, match="units of one kind"):
        space(constraints=["fits", "cost.total <= 30 GB"])


def test_an_objective_may_hold_units() -> None:
    given = space(objectives={"minimize": ["cost.total", "max(iteration_time - 1 ms, 0 s)"]})
    assert [objective.name for objective in given.objectives] == ["cost.total", "max(iteration_time - 1 ms, 0 s)"]
