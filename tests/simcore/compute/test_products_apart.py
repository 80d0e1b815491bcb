"""Products of experts: each a kernel of its own (Transformer Engine), or one kernel that works in tiles (megablox)."""

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
from simcore.workload.transformer.program import transformer_program

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


# One kernel that works tile by tile


def paddings(npu: str, **experts: Any) -> set[float]:
    """Paddings of the experts' products of a design on MaxText, 8 experts an NPU."""
    document = design()
    document["workload"]["precision"] = "bf16"
    document["workload"]["model"]["mixture_of_experts"].update(experts)
    cluster = {"npu": npu, "dimensions": [dimension("ring", 8)]}
    found = design_from(
        {**document, "cluster": cluster, "parallelism": {"expert": 8, "zero": 3}, "software": "maxtext"}
    )
    (part,) = transformer_program(found).parts
    products = (op for segment in (*part.forward, *part.backward) for op in segment.operators)
    return {op.padding for op in products if isinstance(op, Compute) and op.name.startswith("expert-") and op.shape}


def test_a_tile_with_rows_of_several_experts_is_computed_for_each() -> None:
    """Each expert has 1,024 x 8 x 4 / 64 = 512 rows, in 1,023 / 512 tiles of 512 on average."""
    assert paddings("tpu-v5p") == {1023 / 512}


def test_experts_that_drop_tokens_beyond_a_capacity_have_no_tiles() -> None:
    assert paddings("tpu-v5p", capacity_factor=1.25) == {1.0}


def test_padding_takes_as_long_as_the_flops_that_it_is() -> None:
    npu = preset(Npu, "npus", "tpu-v5p")
    product = Compute("products", "gemm", 1e15, 1e3, shape=LARGE)
    once, twice = (Roofline(npu, "bf16").seconds(product._replace(padding=padding)) for padding in (1.0, 2.0))
    assert twice == pytest.approx(2 * once, rel=1e-3)
