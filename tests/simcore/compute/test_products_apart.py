"""Products of a batch, each a kernel of its own, as Transformer Engine's `GroupedLinear` launches those of experts."""

from __future__ import annotations

from typing import Any

import pytest
from designs import dimension, model

from simcore.catalog.preset import preset
from simcore.check.load import design_from
from simcore.compute import Roofline
from simcore.design.npu import Npu
from simcore.program import Compute
from simcore.simulate import simulate

APART = 9e-6
SMALL, LARGE = (128.0, 64.0, 1024.0, 512.0), (8.0, 8192.0, 8192.0, 8192.0)


def seconds(shape: tuple[float, float, float, float], apart: float, device: str = "b200") -> float:
    batch, m, n, k = shape
    moved = 2 * batch * (m * k + k * n + m * n)
    return Roofline(preset(Npu, "npus", device), "bf16", settled=True).seconds(
        Compute("products", "gemm", 2 * batch * m * n * k, moved, shape=shape, apart=apart)
    )


def test_small_products_take_a_launch_each_and_one_kernel_of_them_all_does_not() -> None:
    assert seconds(SMALL, APART) == SMALL[0] * APART
    assert seconds(SMALL, 0.0) < SMALL[0] * APART / 10


def test_large_products_take_what_one_kernel_takes() -> None:
    assert seconds(LARGE, APART) == pytest.approx(seconds(LARGE, 0.0), rel=0.03)


def test_no_more_than_four_run_side_by_side() -> None:
    """So each product alone fills its waves worse than in a kernel of all, and eight take as long as two fours."""
    batch, *rest = 8.0, 512.0, 2048.0, 2048.0
    eight, four = (seconds((count, *rest), 1e-12) for count in (batch, 4.0))  # type: ignore[arg-type]
    assert eight == pytest.approx(2 * four)
    assert seconds((2.0, *rest), 1e-12) == seconds((2.0, *rest), 0.0)  # type: ignore[arg-type]


def test_without_a_curve_the_host_launches_them_likewise() -> None:
    npu = preset(Npu, "npus", "b200").model_copy(update={"curve": None})
    small = Compute("products", "gemm", 1e6, 1e3, shape=SMALL, apart=APART)
    assert Roofline(npu, "bf16").seconds(small) == SMALL[0] * APART


def design(**software: Any) -> dict[str, Any]:
    experts = {"experts": 64, "top_k": 4, "feed_forward": 256}
    return {
        "workload": {
            "model": model(bias=False, gated=True, position="rotary", mixture_of_experts=experts),
            "global_batch": 8,
            "sequence_length": 1024,
        },
        "cluster": {"npu": "b200", "dimensions": [dimension("fully_connected", 8)]},
        "parallelism": {"data": 8, "expert": 1},
        "software": {"base": "megatron-core", **software},
    }


def test_a_stack_that_launches_each_expert_is_slower_than_one_with_grouped_kernels() -> None:
    eager = {"eager": "1 us", "compiled": "1 us", "graph": "1 us"}
    each, grouped = (
        simulate(design_from(design(launch=eager, expert_launch=least))).iteration_time_s for least in ("9 us", "0 us")
    )
    layers = design_from(design()).workload.model.layers  # type: ignore[union-attr]
    assert grouped < 6 * 64 * layers * APART < each  # two products of an expert forward, four backward


def test_megatron_core_launches_each_and_others_do_not() -> None:
    assert design_from(design()).software.expert_launch == APART
    assert design_from({**design(), "software": "pytorch-fsdp"}).software.expert_launch == 0.0
