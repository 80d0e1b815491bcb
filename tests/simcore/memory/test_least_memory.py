"""What a design holds at least, before there is a Program, against what it holds."""

from __future__ import annotations

import drawn_designs
import pytest
from hypothesis import given, settings

from simcore.check.load import design_from
from simcore.design.design import Design
from simcore.memory.expanded import fits, least_memory
from simcore.memory.plan import memory_needed
from simcore.result import Memory

PARTS = ("weights", "gradients", "optimizer", "activations", "peak", "reserved")


def both(design: Design) -> tuple[Memory, Memory]:
    least, needed = least_memory(design), memory_needed(design)
    assert least is not None
    assert needed is not None
    return least, needed


@settings(max_examples=200, deadline=None)
@given(drawn_designs.trainings())
def test_no_drawn_design_reserves_less(design: Design) -> None:
    if design.parallelism.solves:
        assert least_memory(design) is None
        return
    least, needed = both(design)
    assert least.peak <= needed.peak * (1 + 1e-12)
    assert least.reserved <= needed.reserved * (1 + 1e-12)


@pytest.mark.parametrize(("zero", "interleave", "recompute"), [(0, 1, "none"), (1, 3, "full"), (3, 2, "selective")])
def test_layers_are_most_of_what_a_large_model_holds(zero: int, interleave: int, recompute: str) -> None:
    design = design_from(
        {
            "workload": {"model": "gpt3-175b", "global_batch": 64},
            "parallelism": {
                "tensor": 8,
                "pipeline": 8,
                "data": 2,
                "zero": zero,
                "microbatch": 1,
                "interleave": interleave,
                "recompute": recompute,
            },
            "cluster": {"npu": "a100-80gb", "fabric": "dgx-a100", "npus": 128},
        }
    )
    least, needed = both(design)
    for part in PARTS:
        assert 0.85 * getattr(needed, part) <= getattr(least, part) <= getattr(needed, part)


def test_a_design_that_cannot_fit_by_its_layers_does_not_fit() -> None:
    design = design_from(
        {
            "workload": {"model": "gpt3-175b", "global_batch": 64},
            "parallelism": {"tensor": 8, "data": 8},
            "cluster": {"npu": "a100-80gb", "fabric": "dgx-a100", "npus": 64},
        }
    )
    least, needed = both(design)
    assert not fits(design, least)
    assert not fits(design, needed)


@pytest.mark.parametrize(
    "workload",
    [
        {"model": "resnet-50", "global_batch": 64},
        {"model": "dlrm-mlperf", "global_batch": 64},
        {"collective": "all_reduce", "size": "1 GB"},
    ],
)
def test_it_is_not_known_of_other_work(workload: dict[str, object]) -> None:
    cluster = {"npu": "a100-80gb", "fabric": "dgx-a100", "npus": 8}
    assert least_memory(design_from({"workload": workload, "cluster": cluster})) is None
