"""Slips of the pen in a space: every unknown name at once, and the nearest right spelling of a hole's keyword."""

from __future__ import annotations

from typing import Any

import pytest
from tiny_spaces import space, tiny

from simcore.check.load import design_from
from simcore.document.problem import InputError, Path, format_path

CLUSTER = tiny()["cluster"]


def problems(**changes: Any) -> dict[str, str]:
    with pytest.raises(InputError) as error:
        space(tiny(**changes))
    return {format_path(problem.path): f"{problem.found} {problem.fix}".strip() for problem in error.value.problems}


def test_unknown_names_are_told_all_at_once_wherever_they_stand() -> None:
    found = problems(
        workload={"model": {"choice": ["llama3-8", {"base": "gpt3-175"}]}, "global_batch": 16},
        cluster={"npu": {"choice": ["a100-80g", "h100-80g"]}, "fabric": {"choice": ["dgx-a10", "dgx-h10"]}, "npus": 8},
        cost="libre",
        study={"sampler": "nsga4", "tune_sampler": "tpo", "tune": "mfuu", "trials": 0},
        objectives={"minimize": ["iteration_tme", "cost.totl"]},
        constraints=["fitz", "powr <= 3 and racs <= 2"],
    )
    assert set(found) >= {
        "workload.model.choice[0]",
        "workload.model.choice[1].base",
        "cluster.npu.choice[0]",
        "cluster.npu.choice[1]",
        "cluster.fabric.choice[0]",
        "cluster.fabric.choice[1]",
        "cost",
        "study.sampler",
        "study.tune_sampler",
        "study.tune",
        "study.trials",
        "objectives.minimize[0]",
        "objectives.minimize[1]",
        "constraints[0]",
        "constraints[1]",
    }
    assert found["cluster.fabric.choice[1]"] == "'dgx-h10' did you mean 'dgx-h100'?"


def test_a_model_of_any_kind_may_be_meant() -> None:
    assert problems(workload={"model": "resnet", "global_batch": 16})["workload.model"].startswith(
        "'resnet' did you mean 'resnet"
    )


def test_a_broken_hole_does_not_hide_unknown_names() -> None:
    assert set(problems(system={"chunks": {"range": [9, 1]}}, cost="libre")) == {"system.chunks.range", "cost"}


def test_a_design_is_told_of_its_npu_though_its_fabric_is_unknown() -> None:
    document = {**tiny(), "cluster": {"npu": "h100", "fabric": "dgx-h10", "npus": 8}, "cost": "libre"}
    document = {key: document[key] for key in ("workload", "cluster", "cost")}
    with pytest.raises(InputError) as error:
        design_from(document)
    assert [format_path(problem.path) for problem in error.value.problems] == ["cluster.npu", "cluster.fabric", "cost"]


HOLES: list[tuple[Path, dict[str, Any], str]] = [
    (("parallelism", "zero"), {"choise": [0, 1]}, "choice"),
    (("parallelism", "zero"), {"choices": [0, 1]}, "choice"),
    (("parallelism", "zero"), {"Choice": [0, 1]}, "choice"),
    (("system", "chunks"), {"rnage": [1, 8]}, "range"),
    (("system", "chunks"), {"ranges": [1, 8], "step": 2}, "range"),
    (("system", "chunks"), {"powers_of_2": [1, 8]}, "powers_of_two"),
    (("system", "chunks"), {"power_of_two": [1, 8]}, "powers_of_two"),
    (("system", "chunks"), {"powers-of-two": [1, 8]}, "powers_of_two"),
    (("system", "chunks"), {"exp": "4"}, "expr"),
    (("system", "chunks"), {"expression": "4"}, "expr"),
    (("parallelism", "degrees"), {"produkt": 8, "of": ["tensor", "data"]}, "product"),
    (("parallelism", "degrees"), {"prod": 8, "of": ["tensor", "data"]}, "product"),
    (("cluster", "bandwidth"), {"splitt": "200 GB/s", "step": "25 GB/s"}, "split"),
    (("cluster", "npu"), {"choce": ["a100-80gb", "h100-80gb"]}, "choice"),
    (("cluster", "dimensions"), {"chioce": [CLUSTER["dimensions"]]}, "choice"),
    (("workload",), {"choise": [tiny()["workload"]]}, "choice"),
]


@pytest.mark.parametrize(("path", "hole", "meant"), HOLES, ids=[next(iter(hole)) for _, hole, _ in HOLES])
def test_a_misspelt_hole_is_told_its_nearest_keyword_and_nothing_else(
    path: Path, hole: dict[str, Any], meant: str
) -> None:
    document: Any = tiny()
    inner = document
    for part in path[:-1]:
        inner = inner[part]
    inner[path[-1]] = hole
    key = next(iter(hole))
    with pytest.raises(InputError) as error:
        space(document)
    found = {format_path(problem.path): f"{problem.found} {problem.fix}" for problem in error.value.problems}
    assert found[format_path((*path, key))] == f"'{key}' did you mean '{meant}'?"
    assert not [place for place in found if place.startswith(format_path(path)) and place != format_path((*path, key))]


def test_a_misspelt_hole_below_a_choice_is_told_at_its_place() -> None:
    changes = {"choice": [{"chunks": 4}, {"chunks": {"choise": [4, 8]}}]}
    assert problems(system=changes) == {"system.choice[1].chunks.choise": "'choise' did you mean 'choice'?"}


def test_keys_of_a_design_are_no_slips() -> None:
    found = problems(parallelism={**tiny()["parallelism"], "expert": 1, "zeroo": 1})
    assert set(found) == {"parallelism.zeroo"}


def test_objectives_without_the_brackets_of_a_list_are_told_once() -> None:
    found = problems(objectives={"minimize": "iteration_time", "cost.total": None})
    assert found == {"objectives.cost.total": "'cost.total' write a list: [iteration_time, cost.total]"}


def test_a_range_of_npus_that_a_fabric_cannot_have_is_told_its_step() -> None:
    cluster = {"npu": "h100-80gb", "fabric": "dgx-h100", "npus": {"range": [64, 512]}}
    found = problems(workload={"model": "llama3-8b", "global_batch": 512}, parallelism={"tensor": 8}, cluster=cluster)
    assert found["cluster.npus"].endswith("of its range give the range 'step: 8'")


def test_what_is_served_is_not_asked_how_long_it_trains() -> None:
    served = {"model": "llama3-8b", "global_batch": 8, "prompt_length": 512, "output_length": 64}
    found = problems(workload=served, objectives={"minimize": ["time_to_train"]})
    assert found["objectives.minimize"] == "'time_to_train' drop it: a model that is served is not trained"
