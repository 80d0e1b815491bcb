"""A curve fitted to kernels: found again where it is known, and written by the command."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from dse.cli import main
from dse.measured.device import read_device
from dse.measured.kernels import fit_curve, read_kernels
from dse.measured.kernels.kernel import Kernel
from simcore.catalog.preset import preset
from simcore.compute import Roofline
from simcore.design.npu import Npu
from simcore.document.problem import InputError

DATA = Path(__file__).parent / "data"
H100: Npu = preset(Npu, "npus", "h100-80gb").model_copy(update={"sustained": 1.0})


def own(kind: str) -> list[Kernel]:
    return [row for row in read_kernels(DATA / f"{kind}.csv").rows if row.device == "h100-80gb"]


def test_a_known_curve_is_found_again() -> None:
    assert H100.curve is not None
    known = H100.curve.product("bf16").model_copy(update={"limit": 0.7, "memory": 0.6, "kernel": 4e-6})
    attention = H100.curve.attention.model_copy(update={"softmax": 200.0, "kernel": 5e-6})
    update = {"products": {**H100.curve.products, "bf16": known}, "attention": attention}
    truth = H100.model_copy(update={"curve": H100.curve.model_copy(update=update)})
    rows = [row for row in own("gemm") + own("attention") if row.precision == "bf16"]
    times = Roofline(truth, "bf16")
    made = [replace(row, seconds=row.predict(times)) for row in rows]
    found = fit_curve(H100, made, folds=False)
    assert {part.name for part in found.parts} == {"bf16", "attention"}
    assert all(part.fitted < 1 for part in found.parts)
    product = found.curve.product("bf16")
    assert (product.limit, product.memory, product.kernel) == pytest.approx((0.7, 0.6, 4e-6), rel=0.1)
    assert found.curve.attention.softmax == pytest.approx(200, rel=0.1)
    assert found.curve.casts == H100.curve.casts  # nothing was measured of them


def test_few_rows_leave_a_part_as_it_was() -> None:
    rows = [row for row in own("gemm") if row.precision == "bf16"][:10]
    assert fit_curve(H100, rows, folds=False).parts == ()


def test_a_device_without_a_curve_or_without_rows_is_refused() -> None:
    with pytest.raises(InputError, match="a curve to start from"):
        fit_curve(preset(Npu, "npus", "v100-32gb"), own("gemm"))
    with pytest.raises(InputError, match="kernels of 'a100-80gb'"):
        fit_curve(preset(Npu, "npus", "a100-80gb"), own("gemm"))


def test_the_command_writes_a_device_that_it_can_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "h100.yaml"
    table = str(DATA / "casts.csv")
    assert main(["calibrate", "h100-80gb", table, "--out", str(out)]) == 0
    assert "streaming" in capsys.readouterr().out
    npu, _ = read_device(str(out))
    assert npu.name == "h100-80gb"
    assert npu.curve is not None
    assert npu.curve.memory == pytest.approx(0.93, abs=0.06)
    assert "casts.csv" in npu.curve.sources["streaming"]
