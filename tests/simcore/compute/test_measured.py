"""Tables of measured products: exact where measured, between neighbours elsewhere, refused outside."""

from __future__ import annotations

from typing import Any

import pytest
from designs import dimension, npu
from hypothesis import given
from hypothesis import strategies as st

from simcore.check.load import design_from
from simcore.compute import OutsideTableError, ProductTable
from simcore.design.compute import MeasuredProduct
from simcore.document.problem import InputError
from simcore.document.quantity import SI
from simcore.simulate import simulate

SIZES = (16, 64, 1024)


def rows(law: Any = lambda m, n, k: 1e-6 + m * n * k * 1e-12) -> list[MeasuredProduct]:
    return [MeasuredProduct(m=m, n=n, k=k, time=SI(law(m, n, k))) for m in SIZES for n in SIZES for k in SIZES]


def test_a_measured_shape_takes_the_measured_time() -> None:
    table = ProductTable(rows())
    for row in rows():
        assert table.seconds((1, row.m, row.n, row.k)) == pytest.approx(row.time, rel=1e-12)


@given(*[st.floats(16, 1024)] * 3)
def test_a_power_law_is_met_everywhere_inside(m: float, n: float, k: float) -> None:
    def law(m: float, n: float, k: float) -> float:
        return 3e-9 * m**0.9 * n**0.5 * k

    assert ProductTable(rows(law)).seconds((1, m, n, k)) == pytest.approx(law(m, n, k), rel=1e-9)


@given(*[st.floats(16, 1024)] * 3, st.floats(1, 2))
def test_a_larger_product_never_takes_less(m: float, n: float, k: float, more: float) -> None:
    table = ProductTable(rows())
    assert table.seconds((1, min(1024.0, m * more), n, k)) >= table.seconds((1, m, n, k)) * (1 - 1e-12)


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ((1, 8, 64, 64), "expected m of 16 to 1024, got 8"),
        ((1, 64, 64, 1025), "expected k of 16 to 1024, got 1025"),
        ((2, 64, 64, 64), "expected batch of 1 to 1, got 2"),
    ],
)
def test_nothing_is_extrapolated(shape: tuple[float, float, float, float], message: str) -> None:
    with pytest.raises(OutsideTableError, match=message):
        ProductTable(rows()).seconds(shape)


def design(table: list[dict[str, Any]], **more: Any) -> Any:
    return {
        "workload": {"layers": [{"name": "fc", "m": 1, "n": 64, "k": 32}], "global_batch": 32},
        "cluster": {"npu": npu(compute={"table": table, **more}), "dimensions": [dimension(size=1)]},
    }


def grid(*sizes: int) -> list[dict[str, Any]]:
    return [{"m": m, "n": n, "k": k, "time": "5 us"} for m in sizes for n in sizes for k in sizes]


def test_a_design_takes_the_measured_times_forward_and_twice_backward() -> None:
    result = simulate(design_from(design(grid(16, 64))))
    assert result.compute_s == pytest.approx(3 * 5e-6)


def test_a_design_outside_its_table_is_refused_or_takes_the_roofline_if_it_says_so() -> None:
    with pytest.raises(InputError, match=r"'fc' \(batch 1, m 32, n 64, k 32\): expected n of 16 to 48, got 64.*beyond"):
        design_from(design(grid(16, 48)))
    result = simulate(design_from(design(grid(16, 48), beyond="roofline")))
    assert 0 < result.compute_s < 5e-6


def test_a_grid_with_a_hole_or_a_shape_twice_is_refused() -> None:
    with pytest.raises(InputError, match=r"got no row for batch 1, m 64, n 64, k 64; measure it"):
        design_from(design(grid(16, 64)[:-1]))
    with pytest.raises(InputError, match=r"expected each shape once"):
        design_from(design([*grid(16, 64), grid(16, 64)[0]]))


def test_one_model_of_times_is_named() -> None:
    with pytest.raises(InputError, match=r"cluster\.npu\.compute: expected one of systolic and table, got none"):
        design_from({**design([]), "cluster": {"npu": npu(compute={}), "dimensions": [dimension(size=1)]}})
