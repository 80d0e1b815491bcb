"""Operator times on a calibrated curve: shape, waves and launches matter, and no peak is beaten."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simcore.catalog.preset import preset
from simcore.compute import Roofline
from simcore.compute.matmul import machine_of, product_seconds
from simcore.design.npu import Npu
from simcore.program import Compute

A100: Npu = preset(Npu, "npus", "a100-80gb")
MACHINE = machine_of(A100, A100.peak["fp16"])
SIZES = st.integers(1, 20000)
SHAPES = st.tuples(st.integers(1, 512), SIZES, SIZES, SIZES).map(lambda shape: tuple(float(size) for size in shape))
Shape = tuple[float, float, float, float]


def product(shape: Shape) -> Compute:
    batch, m, n, k = shape
    return Compute("product", "gemm", 2 * batch * m * n * k, 2 * batch * (m * k + k * n + m * n), shape=shape)


def seconds(shape: Shape, npu: Npu = A100) -> float:
    return Roofline(npu, "fp16").seconds(product(shape))


@given(SHAPES)
def test_no_product_beats_the_limit(shape: Shape) -> None:
    times = Roofline(A100, "fp16")
    assert seconds(shape) >= times.least(product(shape).flops)


@given(SHAPES, st.floats(1, 8), st.floats(1, 8))
def test_a_faster_npu_is_never_slower(shape: Shape, peak: float, memory: float) -> None:
    faster = A100.model_copy(
        update={
            "peak": {name: rate * peak for name, rate in A100.peak.items()},
            "memory": A100.memory.model_copy(update={"bandwidth": A100.memory.bandwidth * memory}),
        }
    )
    assert seconds(shape, faster) <= seconds(shape)


@given(SHAPES, st.integers(0, 3))
def test_a_larger_product_takes_no_less(shape: Shape, axis: int) -> None:
    larger = tuple(2 * size if i == axis else size for i, size in enumerate(shape))
    assert seconds(larger) >= seconds(shape)  # type: ignore[arg-type]


@given(SHAPES)
def test_transposed_products_are_equal(shape: Shape) -> None:
    batch, m, n, k = shape
    assert product_seconds(MACHINE, (batch, m, n, k), 0.0) == product_seconds(MACHINE, (batch, n, m, k), 0.0)


def test_one_tile_more_than_a_wave_holds_costs_part_of_a_wave() -> None:
    """A single 64 x 64 tile on each of 108 multiprocessors, then one more of them."""

    def time(wave: float, tiles: float) -> float:
        return product_seconds(MACHINE._replace(wave=wave), (tiles, 64.0, 64.0, 4096.0), 0.0)

    assert time(1.0, 109.0) == pytest.approx(2 * time(1.0, 108.0))
    assert time(0.0, 109.0) == pytest.approx(time(0.0, 108.0) * 109 / 108)


def test_operands_cost_more_where_a_multiprocessor_computes_more_in_a_clock() -> None:
    large = (1.0, 16384.0, 16384.0, 16384.0)
    reached = []
    for name in ("a100-80gb", "h100-80gb", "b200"):
        npu: Npu = preset(Npu, "npus", name).model_copy(update={"curve": A100.curve})
        reached.append(product(large).flops / seconds(large, npu) / npu.peak["fp16"])
    assert reached == sorted(reached, reverse=True)
    assert reached[0] == pytest.approx(0.79, abs=0.02)
    assert reached[1] == pytest.approx(0.68, abs=0.02)


def test_small_operators_take_what_their_launch_takes() -> None:
    assert A100.curve is not None
    assert seconds((1.0, 8.0, 8.0, 8.0)) == A100.curve.launch
    assert Roofline(A100, "fp16").seconds(Compute("norm", "memory", 0.0, 1e3)) == A100.curve.launch
    assert Roofline(A100, "fp16").seconds(Compute("norm", "memory", 0.0, 1e3, pieces=4)) == A100.curve.launch / 4


def test_a_curve_needs_its_multiprocessors() -> None:
    document = A100.model_dump(mode="json", exclude_defaults=True)
    del document["multiprocessors"]
    with pytest.raises(ValueError, match="expected 'multiprocessors' and 'flops_per_clock' with a 'curve'"):
        Npu.model_validate(document)
