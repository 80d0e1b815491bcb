"""`iteration_time.p90`: an objective and a constraint that is only taken where it is named, with a bound that holds."""

from __future__ import annotations

from pathlib import Path

import pytest
from tiny_spaces import search, space, tiny

from dse.evaluate.evaluate import Outcome
from dse.proof.bound import space_bounds
from dse.run.drive import optimize
from dse.run.record import load_record
from dse.run.settings import Settings
from simcore.bounds.design import bound
from simcore.check.load import parse_design
from simcore.metrics import metrics
from simcore.simulate import simulate
from simcore.uncertainty.upper import upper_factor

P90 = "iteration_time.p90"
BY_P90 = tiny(objectives={"minimize": [P90, "cost.total"]})


def front(outcomes: list[Outcome]) -> set[tuple[float, float]]:
    found = {(o.values[P90], o.values["cost.total"]) for o in outcomes if o.state == "feasible"}
    return {a for a in found if not any(b[0] <= a[0] and b[1] <= a[1] and b != a for b in found)}


def test_exact_proves_the_front_that_all_designs_have_and_cuts_by_its_bound(tmp_path: Path) -> None:
    _, every = search(space(BY_P90), tmp_path / "all", "exhaustive", 400, engine="fast")
    _, proved = search(space(BY_P90), tmp_path / "exact", "exact", 400, engine="fast")
    assert front(proved) == front(every)
    assert sum(o.metrics is not None for o in proved) < sum(o.metrics is not None for o in every)


@pytest.mark.parametrize("sampler", ["guided", "nsga2"])
def test_a_search_goes_by_it(tmp_path: Path, sampler: str) -> None:
    _, outcomes = search(space(BY_P90), tmp_path / sampler, sampler, 30, engine="fast")
    feasible = [outcome for outcome in outcomes if outcome.state == "feasible"]
    assert feasible
    for outcome in feasible:
        design, _ = parse_design(outcome.design)
        assert design is not None
        assert outcome.metrics is not None
        assert outcome.values[P90] == pytest.approx(outcome.metrics["iteration_time_s"] * upper_factor(design))
        proven = bound(design)[P90]
        assert proven is not None
        assert 0 < proven <= outcome.values[P90]


def test_the_sampler_of_its_own_accord_finds_the_front_and_says_that_it_is_proven(tmp_path: Path) -> None:
    optimize(space(BY_P90), Settings(sampler="auto", trials=400, seed=0), tmp_path, resume=False)
    record = load_record(tmp_path)
    assert record.proof is not None
    assert record.proof["complete"]
    best = min(trial.values[P90] for trial in record.feasible_trials)
    assert record.bounds[P90] == pytest.approx(best)


def test_it_has_a_bound_over_several_machines_and_stacks(tmp_path: Path) -> None:
    several = space(tiny(objectives={"minimize": [P90]}, software={"choice": ["megatron-core", "pytorch-fsdp"]}))
    _, outcomes = search(several, tmp_path, "exhaustive", 400, engine="fast")
    proven = space_bounds(several)[P90]
    assert proven is not None
    assert 0 < proven <= min(outcome.values[P90] for outcome in outcomes if outcome.state == "feasible")


def test_it_is_a_constraint_too(tmp_path: Path) -> None:
    plain = space(tiny(objectives={"minimize": [P90]}))
    _, outcomes = search(plain, tmp_path / "plain", "exhaustive", 400, engine="fast")
    times = sorted(o.values[P90] for o in outcomes if o.state == "feasible")
    limit = (times[len(times) // 2] + times[len(times) // 2 + 1]) / 2
    limited = space(tiny(constraints=["fits", f"{P90} <= {limit!r}"]))
    _, kept = search(limited, tmp_path / "limited", "exhaustive", 400, engine="fast")
    assert sum(o.state == "feasible" for o in kept) == sum(time <= limit for time in times)


def test_it_is_only_taken_where_it_is_named(tmp_path: Path) -> None:
    _, (outcome, *_) = search(space(), tmp_path, "exhaustive", 2, engine="fast")
    assert "metrics" not in (outcome.metrics or {})
    design, _ = parse_design(outcome.design)
    assert design is not None
    assert metrics(simulate(design))[P90] is None
