"""Fitting a curve: it is found again where it is known, few rows are refused, rows left out are not seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dse.calibrate import fit, held_out, samples
from dse.calibrate.baseline import regressed
from dse.calibrate.fit import read, with_values
from dse.calibrate.interval import intervals
from dse.cli import main
from dse.measured import Measured, read_measured
from simcore.load import design_from
from simcore.problem import InputError
from simcore.simulate import simulate
from simcore.spec import Curve, preset

DATA = Path(__file__).parent / "data"


@pytest.fixture(scope="module")
def rows() -> Sequence[Measured]:
    return [*read_measured(DATA / "a100_single_node_part.csv"), *read_measured(DATA / "megatron_recompute.csv")]


def curve() -> Curve:
    found = preset("npus", "a100-80gb").curve
    assert isinstance(found, Curve)
    return found


def test_a_known_curve_is_found_again(rows: Sequence[Measured]) -> None:
    known = with_values(curve(), {"limit": 0.8, "memory": 0.5, "launch": 40e-6})
    made = [replace(row, seconds=samples(rows, 3)[i].seconds(known)) for i, row in enumerate(rows)]
    found = fit(samples(made, 3), curve(), ["limit", "memory", "launch"])
    for name, value in found.values().items():
        assert value == pytest.approx(read(known, name), rel=0.03), name


def test_rows_left_out_are_predicted_without_them(rows: Sequence[Measured]) -> None:
    """One job is measured three times slower than it is: left out, it does not pull its own prediction."""
    truth = [sample.seconds(curve()) for sample in samples(rows, 1)]
    slow = rows[0].job
    made = [replace(row, seconds=time * (3 if row.job == slow else 1)) for row, time in zip(rows, truth, strict=True)]
    chosen = samples(made, 1)
    whole = fit(chosen, curve(), ["launch"])
    fold = held_out(chosen, whole, curve(), "job")
    own = [i for i, row in enumerate(rows) if row.job == slow]
    assert np.allclose(fold.predicted[own], np.array(truth)[own], rtol=0.01)
    assert not np.isnan(fold.predicted).any()
    assert held_out(chosen, whole, curve(), "device").held == ()
    assert regressed(chosen, "job").shape == (len(rows),)


def test_too_few_rows_are_refused(rows: Sequence[Measured]) -> None:
    with pytest.raises(InputError, match="at least 12 rows for 3 parameters"):
        samples(rows[-8:], 3)


def test_an_npu_without_a_curve_is_refused(rows: Sequence[Measured]) -> None:
    document = rows[0].design.document()
    document["cluster"]["npu"] = {"base": "v100-32gb"}
    other = [replace(rows[0], design=design_from(document))] * 4
    with pytest.raises(InputError, match="a curve to start from"):
        samples(other, 1)


def test_the_command_writes_a_curve_that_a_design_can_use(
    tmp_path: Path, rows: Sequence[Measured], capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "mine.yaml"
    table = str(DATA / "a100_single_node_part.csv")
    assert main(["calibrate", table, "--fit", "launch", "--out", str(out)]) == 0
    assert "leave job out" in capsys.readouterr().out
    from simcore.document import read_document

    document = rows[0].design.document()
    entry = read_document(out).data["mine"]
    document["cluster"]["npu"] = {"base": "a100-80gb", "curve": entry}
    result = simulate(design_from(document))
    low, high = result.iteration_time_interval_s or (0.0, 0.0)
    assert low < high
    assert entry["interval"].keys() == {"node", "nodes"}


def test_parameters_that_do_not_exist_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = str(DATA / "a100_single_node_part.csv")
    assert main(["calibrate", table, "--fit", "limt,memory,memory", "--out", str(tmp_path / "x")]) == 2
    message = capsys.readouterr().err
    assert "did you mean 'limit'" in message
    assert "each parameter once" in message


def test_an_interval_holds_nine_rows_of_ten(rows: Sequence[Measured]) -> None:
    chosen = samples(rows, 1)
    times = np.array([sample.row.seconds for sample in chosen])
    ratios = np.linspace(0.9, 1.1, len(rows))
    for low, high in intervals(chosen, times / ratios).values():
        assert 0.9 < low < 1 < high < 1.1
