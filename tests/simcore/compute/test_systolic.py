"""Cycles and utilisation of a systolic array against the published formula and SCALE-Sim's own counts."""

from __future__ import annotations

from typing import Any

import pytest
from designs import dimension, npu
from hypothesis import given
from hypothesis import strategies as st

from simcore.check.load import design_from
from simcore.compute import SystolicTimes
from simcore.compute.base import products
from simcore.compute.systolic import map_product
from simcore.design.compute import Systolic
from simcore.design.npu import Npu
from simcore.document.problem import InputError
from simcore.program import Compute
from simcore.simulate import simulate

DATAFLOWS = ("output_stationary", "weight_stationary", "input_stationary")


def array(rows: int, columns: int, dataflow: str, arrays: int = 1) -> Systolic:
    return Systolic.model_validate(
        {"rows": rows, "columns": columns, "dataflow": dataflow, "clock": "1 GHz", "arrays": arrays}
    )


@pytest.mark.parametrize(
    ("dataflow", "total", "stalls"),
    # COMPUTE_REPORT.csv of test/general in SCALE-Sim: 32 x 32 units, M 256, N 128, K 256; it counts cycles from 0.
    [
        ("output_stationary", 52447, 42272),
        ("weight_stationary", 52447, 41248),
        ("input_stationary", 19984, 5777),
    ],
)
def test_cycles_are_those_of_scale_sims_golden_reports(dataflow: str, total: int, stalls: int) -> None:
    its = array(32, 32, dataflow)
    assert map_product(its, 256, 128, 256).cycles == total - stalls + 1
    assert mapping_efficiency(its, 256, 128, 256) == 1.0  # "Mapping Efficiency %" 100.0 in all three


@pytest.mark.parametrize(
    ("dataflow", "rows", "columns", "shape", "cycles"),
    # Rows of the demand matrices that SCALE-Sim 3.0.0 builds for these products.
    [
        ("output_stationary", 8, 8, (64, 30, 17), 992),
        ("output_stationary", 4, 16, (10, 5, 7), 75),
        ("output_stationary", 32, 32, (1, 33, 70), 264),
        ("output_stationary", 8, 8, (100, 100, 100), 19266),
        ("weight_stationary", 8, 8, (64, 30, 17), 1032),
        ("weight_stationary", 4, 16, (10, 5, 7), 64),
        ("weight_stationary", 32, 32, (1, 33, 70), 570),
        ("weight_stationary", 8, 8, (100, 100, 100), 20618),
        ("input_stationary", 8, 8, (64, 30, 17), 1248),
        ("input_stationary", 4, 16, (10, 5, 7), 54),
        ("input_stationary", 32, 32, (1, 33, 70), 381),
        ("input_stationary", 8, 8, (100, 100, 100), 20618),
    ],
)
def test_cycles_are_those_that_scale_sim_counts(
    dataflow: str, rows: int, columns: int, shape: tuple[int, int, int], cycles: int
) -> None:
    assert map_product(array(rows, columns, dataflow), *shape).cycles == cycles


def utilization(its: Systolic, m: int, n: int, k: int) -> float:
    """Multiplications per unit and cycle of one product (SCALE-Sim's overall utilisation, no stalls)."""
    return m * n * k / (its.rows * its.columns * map_product(its, m, n, k).cycles)


def mapping_efficiency(its: Systolic, m: int, n: int, k: int) -> float:
    """Share of the units that a fold uses, on average."""
    kept = {"output_stationary": m * n, "weight_stationary": k * n, "input_stationary": k * m}[its.dataflow]
    return kept / (map_product(its, m, n, k).folds * its.rows * its.columns)


@pytest.mark.parametrize(
    ("dataflow", "rows", "columns", "shape", "overall", "used"),
    # SCALE-Sim's compute utilisation (output stationary, where it divides by all cycles) and mapping efficiency.
    [
        ("output_stationary", 32, 32, (256, 128, 256), 0.8050314465408804, 1.0),
        ("output_stationary", 8, 8, (64, 30, 17), 0.5141129032258067, 0.9375),
        ("output_stationary", 4, 16, (100, 100, 100), 0.7566585956416455, 0.8928571428571429),
    ],
)
def test_utilization_is_that_of_scale_sim(
    dataflow: str, rows: int, columns: int, shape: tuple[int, int, int], overall: float, used: float
) -> None:
    its = array(rows, columns, dataflow)
    assert utilization(its, *shape) == pytest.approx(overall)
    assert mapping_efficiency(its, *shape) == pytest.approx(used)


@given(*[st.integers(1, 300)] * 3, st.integers(1, 64), st.integers(1, 64), st.sampled_from(DATAFLOWS))
def test_no_array_does_more_than_one_multiplication_a_unit_and_cycle(
    m: int, n: int, k: int, rows: int, columns: int, dataflow: str
) -> None:
    its = array(rows, columns, dataflow)
    assert 0 < utilization(its, m, n, k) <= mapping_efficiency(its, m, n, k) <= 1


@given(*[st.integers(1, 300)] * 3, st.integers(1, 32))
def test_input_stationary_is_weight_stationary_of_the_transposed_product(m: int, n: int, k: int, size: int) -> None:
    assert map_product(array(size, size, "input_stationary"), m, n, k) == map_product(
        array(size, size, "weight_stationary"), n, m, k
    )


def gemm(m: float, n: float, k: float, times: float = 1.0) -> Compute:
    return Compute("product", "gemm", times * 2 * m * n * k, 1.0, shape=(1, m, n, k))


def test_a_backward_product_is_the_two_that_it_is() -> None:
    assert products(gemm(2, 3, 5, times=2)) == ((1, 2, 5, 3), (1, 5, 3, 2))
    assert products(gemm(2, 3, 5)) == ((1, 2, 3, 5),)
    with pytest.raises(ValueError, match=r"got 3 times its FLOPs"):
        products(gemm(2, 3, 5, times=3))
    with pytest.raises(ValueError, match=r"expected a shape .* of product 'x', got none"):
        products(Compute("x", "gemm", 1.0, 1.0))


def test_arrays_share_the_folds_of_a_product() -> None:
    its = Npu.model_validate(npu())
    one, four, many = (
        SystolicTimes(its, array(8, 8, "weight_stationary", arrays=n)).seconds(gemm(64, 32, 32)) for n in (1, 4, 99)
    )
    assert one == pytest.approx(16 * (64 + 22) * 1e-9)
    assert four == pytest.approx(one / 4)
    assert many == pytest.approx(one / 16)


def design(compute: Any, workload: Any = None, peak: str = "32.768 TFLOP/s") -> Any:
    return {
        "workload": workload or {"model": "resnet-50", "global_batch": 8},
        "cluster": {"npu": npu(peak={"fp16": peak}, compute=compute), "dimensions": [dimension(size=4)]},
    }


ARRAY = {"systolic": {"rows": 128, "columns": 128, "clock": "1 GHz"}}


def test_a_design_runs_on_arrays_and_never_beats_their_peak() -> None:
    result = simulate(design_from(design(ARRAY)))
    roofline = simulate(design_from(design(None)))
    assert result.mfu is not None
    assert roofline.mfu is not None
    assert 0 < result.mfu < roofline.mfu <= 1


def test_a_transformer_runs_on_arrays() -> None:
    model = {"hidden": 512, "layers": 4, "heads": 8, "vocabulary": 1024}
    for workload in (
        {"model": model, "global_batch": 4},
        {"model": model, "global_batch": 4, "prompt_length": 64, "output_length": 4},
        {"model": "dlrm-astra-sim", "global_batch": 64},
    ):
        assert simulate(design_from(design(ARRAY, workload))).compute_s > 0


def test_arrays_above_the_data_sheets_peak_are_refused() -> None:
    with pytest.raises(InputError, match=r"cluster\.npu\.peak\.fp16: expected at least the 32\.768 TFLOP/s of its arr"):
        design_from(design(ARRAY, peak="30 TFLOP/s"))
