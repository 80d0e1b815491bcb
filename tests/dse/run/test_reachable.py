"""Constraints that nothing meets are refused; those that a design meets are not bounded first."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from tiny_spaces import TINY, space

from dse.run.reachable import check_constraints
from dse.space.space import load_space
from simcore.document.problem import InputError


def test_a_design_that_meets_them_all_spares_the_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dse.run.reachable.check_reachable", lambda *given: pytest.fail("bounded"))
    check_constraints(space(constraints=["fits", "iteration_time <= 10"]), "fast")
    check_constraints(space(constraints=["fits"]), "fast")


def test_what_no_design_meets_is_asked_of_the_bounds() -> None:
    with pytest.raises(InputError, match="iteration_time is proven to be at least"):
        check_constraints(space(constraints=["iteration_time <= 1e-9"]), "fast")


def test_a_share_in_percent_and_a_price_without_its_unit_are_named_so_beside_the_file(tmp_path: Path) -> None:
    file = tmp_path / "ours.yaml"
    file.write_text(yaml.safe_dump({**yaml.safe_load(TINY), "constraints": ["fits", "mfu >= 55", "cost.total <= 20"]}))
    with pytest.raises(InputError) as refused:
        check_constraints(load_space(file), "fast")
    said = str(refused.value)
    assert said.startswith(f"{file}: 2 problems")
    assert "mfu is a share, at most 1: 55 % is 0.55" in said
    assert "got 'cost.total <= 20' in $; loosen it" in said


def test_limits_that_exclude_each_other_are_named_together() -> None:
    limits = ["iteration_time <= 1 s", "2 s <= iteration_time", "cost.total >= 1", "cost.total <= 1e12"]
    with pytest.raises(InputError) as refused:
        check_constraints(space(constraints=limits), "fast")
    (problem,) = refused.value.problems
    assert problem.path == ("constraints", 1)
    assert problem.expected == "a limit that leaves something beside 'iteration_time <= 1 s'"
    with pytest.raises(InputError, match="a limit that leaves something, got '16 <= npus <= 8'; drop one"):
        check_constraints(space(constraints=["16 <= npus <= 8"]), "fast")


def test_what_no_design_meets_and_no_bound_excludes_is_no_error() -> None:
    check_constraints(
        space(constraints=["parallelism.tensor == 8", "parallelism.zero == 1", "parallelism.data > 1"]), "fast"
    )


def test_a_cluster_without_a_price_is_refused_before_the_search() -> None:
    own = {"name": "ours", "peak": {"fp16": "100 TFLOP/s"}, "memory": {"capacity": "64 GB", "bandwidth": "2 TB/s"}}
    watts = {"power": {"max": "500 W", "idle": "100 W"}}
    cluster = {**yaml.safe_load(TINY)["cluster"], "npu": {**own, **watts}}
    with pytest.raises(InputError, match="an NPU priced in 'libra', got 'ours'"):
        check_constraints(space(cluster=cluster), "fast")
    check_constraints(space(cluster={**cluster, "npu": {**own, **watts, "price": "9000 $"}}), "fast")


def test_experts_that_a_model_has_not_are_refused_before_the_search() -> None:
    parallelism = {**yaml.safe_load(TINY)["parallelism"], "expert": 2}
    with pytest.raises(InputError, match="expected 1 for a model without experts, got 2"):
        check_constraints(space(parallelism=parallelism), "fast")
    check_constraints(space(parallelism={**parallelism, "expert": {"choice": [1, 2]}}), "fast")


def test_of_an_engine_from_outside_only_the_cluster_counts() -> None:
    check_constraints(space(constraints=["iteration_time <= 1e-9"]), "reference_links")
    with pytest.raises(InputError, match=r"cost\.total is proven"):
        check_constraints(space(constraints=["cost.total <= 10"]), "reference_links")


def test_what_takes_too_many_steps_is_searched_without_the_question(monkeypatch: pytest.MonkeyPatch) -> None:
    impossible = space(constraints=["iteration_time <= 1e-9"])
    monkeypatch.setattr("dse.proof.certificate.MOST_STEPS", 1)
    told: list[str] = []
    check_constraints(impossible, "fast", lambda text, done=None: told.append(text))
    assert told[-1].startswith("iteration_time, step")
    monkeypatch.setattr("dse.proof.certificate.MOST_STEPS", 2000)
    with pytest.raises(InputError, match="iteration_time is proven to be at least"):
        check_constraints(impossible, "fast")
