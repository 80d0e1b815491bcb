"""Products with few tiles and a long k: split where that pays, never slower for it, and as fast as published."""

from __future__ import annotations

from math import ceil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simcore.catalog.preset import preset
from simcore.check.load import design_from
from simcore.compute.matmul import LEAST_PART, PARTS, TILES, MatmulMachine, machine_of, product_seconds
from simcore.design.npu import Npu
from simcore.simulate import simulate

NPUS: dict[str, Npu] = {name: preset(Npu, "npus", name) for name in ("a100-80gb", "h100-80gb", "b200")}
MACHINES = {
    name: machine_of(npu, npu.curve.product("fp16"), npu.peak["fp16"])
    for name, npu in NPUS.items()
    if npu.curve is not None
}
A100 = MACHINES["a100-80gb"]
ANY = st.sampled_from(list(MACHINES.values()))
Shape = tuple[float, float, float, float]


def _sizes(most: int) -> st.SearchStrategy[float]:
    return st.floats(0, most).map(lambda exponent: float(int(2**exponent)))


SHAPES = st.tuples(_sizes(4), _sizes(13), _sizes(13), _sizes(23))
MOVED = st.floats(0, 1e9)


def by_parts(machine: MatmulMachine, shape: Shape, moved: float, parts: float) -> float:
    """Time with k in so many parts, of the fastest tile of which they fill the device no more than once over [s]."""
    batch, m, n, k = shape
    least = float("inf")
    for rows, columns in TILES:
        tiles = batch * ceil(m / rows) * ceil(n / columns)
        if parts > 1 and tiles * (parts - 1) >= machine.multiprocessors:
            continue
        filled = tiles * parts / machine.multiprocessors
        waves = machine.wave * ceil(filled) + (1 - machine.wave) * max(filled, 1)
        steps = (k if parts == 1 else max(k / parts, LEAST_PART)) + machine.depth
        step = max(rows * columns / machine.limit, machine.edge * (rows + columns)) / machine.rate
        computing = waves * steps * step
        computing *= 1 + machine.most * computing / (computing + machine.after)
        time = (computing**3 + (moved / machine.streaming) ** 3) ** (1 / 3)
        if parts > 1:
            time += parts * 8 * batch * m * n / machine.streaming + machine.reduce
        least = min(least, time)
    return least + machine.kernel


@given(ANY, SHAPES, MOVED)
def test_the_fastest_of_all_splits_is_taken(machine: MatmulMachine, shape: Shape, moved: float) -> None:
    """Every number of parts tried one by one; one part is one of them."""
    tried = min(by_parts(machine, shape, moved, parts) for parts in PARTS)
    assert product_seconds(machine, shape, moved) == pytest.approx(tried, rel=1e-9)


@given(ANY, SHAPES, MOVED)
def test_a_product_is_never_slower_than_in_one_part(machine: MatmulMachine, shape: Shape, moved: float) -> None:
    assert product_seconds(machine, shape, moved) <= by_parts(machine, shape, moved, 1) * (1 + 1e-9)


@given(ANY, SHAPES, MOVED, st.integers(0, 3), st.floats(0, 4))
def test_a_larger_product_takes_no_less(
    machine: MatmulMachine, shape: Shape, moved: float, axis: int, more: float
) -> None:
    larger = tuple(float(ceil(size * 2**more)) if i == axis else size for i, size in enumerate(shape))
    slower = product_seconds(machine, larger, moved)  # type: ignore[arg-type]
    assert slower >= product_seconds(machine, shape, moved) * (1 - 1e-9)


@given(ANY, SHAPES, st.floats(1, 4), st.floats(1, 4), st.floats(1, 4))
def test_a_faster_machine_is_never_slower(
    machine: MatmulMachine, shape: Shape, rate: float, streaming: float, kernel: float
) -> None:
    faster = machine._replace(
        rate=machine.rate * rate, streaming=machine.streaming * streaming, kernel=machine.kernel / kernel
    )
    assert product_seconds(faster, shape, 1e6) <= product_seconds(machine, shape, 1e6) * (1 + 1e-9)


@given(ANY, st.integers(1, 20), st.integers(8, 100_000))
def test_products_that_fill_the_device_are_not_split(machine: MatmulMachine, waves: int, k: int) -> None:
    shape = (float(waves * machine.multiprocessors), 256.0, 128.0, float(k))
    assert product_seconds(machine, shape, 0.0) == pytest.approx(by_parts(machine, shape, 0.0, 1), rel=1e-12)


def test_one_tile_of_a_long_k_is_split_over_the_device() -> None:
    """64 x 64 numbers of a million steps: 108 multiprocessors take a share each, whose sums are 108 x 16 KiB."""
    k = 2.0**20
    step = max(64 * 64 / A100.limit, A100.edge * 128) / A100.rate
    spread = (k / 108 + A100.depth) * step + 108 * 8 * 64 * 64 / A100.streaming + A100.reduce + A100.kernel
    assert product_seconds(A100, (1.0, 64.0, 64.0, k), 0.0) == pytest.approx(spread, rel=0.02)
    assert by_parts(A100, (1.0, 64.0, 64.0, k), 0.0, 1) / spread > 60


def test_a_short_k_and_a_memory_bound_product_are_not_split() -> None:
    short = (1.0, 64.0, 64.0, 256.0)
    assert product_seconds(A100, short, 0.0) == pytest.approx(by_parts(A100, short, 0.0, 1), rel=1e-12)
    moved = 1e9
    unsplit = by_parts(A100, (1.0, 8.0, 4096.0, 4096.0), moved, 1)
    assert product_seconds(A100, (1.0, 8.0, 4096.0, 4096.0), moved) == pytest.approx(unsplit, rel=1e-12)
    assert unsplit == pytest.approx(moved / A100.streaming + A100.kernel, rel=0.01)


@pytest.mark.parametrize(
    ("m", "n", "k", "whole"),
    [(147.0, 64.0, 3211264.0, 0.02), (576.0, 64.0, 802816.0, 0.06), (2048.0, 64.0, 16384.0, 0.2)],
)
def test_long_weight_gradients_reach_two_fifths_of_the_peak(m: float, n: float, k: float, whole: float) -> None:
    """Of ResNet-50's stem and a 3 x 3 convolution at batch 256, and of a narrow layer: arithmetic alone, no bytes."""
    flops, shape = 2 * m * n * k, (1.0, m, n, k)
    assert flops / by_parts(A100, shape, 0.0, 1) < whole * 312e12
    assert flops / product_seconds(A100, shape, 0.0) > 0.4 * 312e12


def test_resnet_50_on_one_a100_is_as_fast_as_published() -> None:
    """NVIDIA's Deep Learning Examples, one A100 of a DGX A100 80 GB, mixed precision, 256 images: ResNet-50 v1.5 at

    2,180 images/s (MXNet 20.12) and 2,470 (PyTorch 21.03), data loading included. Without splitting: 1,461.
    """
    alone = {"topology": "switch", "size": 1, "bandwidth": "300 GB/s", "latency": "1 us", "tier": "node"}
    design = design_from(
        {
            "workload": {"model": "resnet-50", "global_batch": 256, "precision": "fp16"},
            "cluster": {"npu": "a100-80gb", "dimensions": [alone]},
            "parallelism": {"microbatch": 256},
        }
    )
    assert 1800 < 256 / simulate(design).iteration_time_s < 3000
