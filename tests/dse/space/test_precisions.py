"""Spaces whose precision is open: a narrow one pays for its loss in tokens."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tiny_spaces import space, tiny

from dse.run.drive import optimize
from dse.run.record import load_record
from dse.run.settings import Settings
from dse.space.space import Space
from simcore.check.load import design_from
from simcore.design.design import Design
from simcore.workload.narrow import LOSSY
from simcore.workload.penalties import lost_accuracy

OPEN = ["fp8", "nvfp4"]


def opened(precision: Any, **workload: Any) -> Space:
    section = {**tiny()["workload"], "precision": precision, "training_tokens": 1e12, **workload}
    return space(
        tiny(
            workload=section,
            parallelism={"degrees": {"product": 8, "of": ["tensor", "data"]}},
            cluster={"npu": "b200", "fabric": "dgx-b200", "npus": 8},
            system={},
            objectives={"minimize": ["time_to_train"]},
        )
    )


def designed(**workload: Any) -> Design:
    section = {"model": "llama3-8b", "global_batch": 8, "training_tokens": 1e12, **workload}
    return design_from({"workload": section, "cluster": {"npu": "b200", "fabric": "dgx-b200", "npus": 8}})


def test_tokens_are_those_in_the_precision_that_costs_none() -> None:
    assert opened({"choice": OPEN}).template["workload"]["training_precision"] == "fp8"
    assert any("at least 1.5 times as many" in notice for notice in opened({"choice": OPEN}).notices)


@pytest.mark.parametrize(
    ("precision", "workload"),
    [("nvfp4", {}), ({"choice": ["bf16", "fp8"]}, {}), ({"choice": OPEN}, {"training_precision": "nvfp4"})],
)
def test_nothing_is_tied_where_one_precision_is_meant_or_it_is_said(precision: Any, workload: dict[str, Any]) -> None:
    found = opened(precision, **workload)
    assert found.template["workload"].get("training_precision") == workload.get("training_precision")
    assert not any("times as many" in notice for notice in found.notices)


def test_a_narrow_precision_needs_more_tokens_than_its_iterations_save(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    optimize(opened({"choice": OPEN}), Settings(sampler="exact", trials=100, seed=0), folder, resume=False)
    record = load_record(folder)
    best = {
        name: min(t.values["time_to_train"] for t in record.trials if t.params["workload.precision"] == name)
        for name in OPEN
    }
    assert best["fp8"] < best["nvfp4"]
    assert record.proof is not None
    assert record.proof["complete"]


def test_tokens_follow_the_precision_and_say_why() -> None:
    own, other = designed(precision="nvfp4"), designed(precision="nvfp4", training_precision="bf16")
    assert own.workload.tokens_to_train == 1e12
    assert other.workload.tokens_to_train == LOSSY["nvfp4"].factor * 1e12
    assert other.workload.tokens_needed is not None
    assert "arXiv 2509.25149" in other.workload.tokens_needed.why
    back = designed(precision="bf16", training_precision="nvfp4", training_batch=1e6)
    plain = designed(precision="bf16", training_batch=1e6)
    assert back.workload.tokens_to_train == pytest.approx(plain.workload.tokens_to_train / LOSSY["nvfp4"].factor)


def test_a_loss_that_is_counted_is_not_named_as_if_it_were_not() -> None:
    assert any("nvfp4" in text for text in lost_accuracy(designed(precision="nvfp4")))
    assert not any("nvfp4" in text for text in lost_accuracy(designed(precision="nvfp4", training_precision="bf16")))


def test_a_share_of_a_peak_that_is_open_is_said_to_favour_the_wider_precision() -> None:
    def told(precision: Any, **asked: Any) -> bool:
        section = {**tiny()["workload"], "precision": precision}
        return any(
            "mfu is a share of each precision's own peak" in s for s in space(tiny(workload=section, **asked)).notices
        )

    both = {"choice": ["fp16", "fp32"]}
    assert told(both, objectives={"maximize": ["mfu"]})
    assert told(both, constraints=["mfu >= 0.1"])
    assert not told("fp16", objectives={"maximize": ["mfu"]})
    assert not told(both)
