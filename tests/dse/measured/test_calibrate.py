"""Fitting a curve: it is found again where it is known, few rows are refused, rows left out are not seen."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dse.cli import main
from dse.measured.calibrate import (
    fit,
    predict_held_out,
    read_parameter,
    samples,
    start_values,
    with_values,
)
from dse.measured.calibrate.baseline import predict_by_regression
from dse.measured.calibrate.quantiles import intervals
from dse.measured.device import read_device
from dse.measured.measured import MeasuredIteration, read_measured
from simcore.catalog.preset import preset
from simcore.check.load import design_from, load_design
from simcore.design.npu import Npu
from simcore.document.problem import InputError
from simcore.document.text import dump_document
from simcore.simulate import simulate

DATA = Path(__file__).parent / "data"
B200 = Path(__file__).parents[2] / "simcore" / "data" / "b200.csv"


@pytest.fixture(scope="module")
def rows() -> Sequence[MeasuredIteration]:
    return [*read_measured(DATA / "a100_single_node_part.csv"), *read_measured(DATA / "megatron_recompute.csv")]


def a100() -> Npu:
    found: Npu = preset(Npu, "npus", "a100-80gb")
    return found


def test_known_numbers_are_found_again(rows: Sequence[MeasuredIteration]) -> None:
    known = {"sustained": 0.8, "memory": 0.5, "launch.eager": 40e-6}
    made = [replace(row, seconds=samples(rows, 3)[i].seconds(known)) for i, row in enumerate(rows)]
    chosen = samples(made, 3)
    found = fit(chosen, start_values(chosen, list(known)))
    for name, value in found.values.items():
        assert value == pytest.approx(known[name], rel=0.05), name
        assert read_parameter(with_values(rows[0].design, known), name) == known[name]


def test_rows_left_out_are_predicted_without_them(rows: Sequence[MeasuredIteration]) -> None:
    """One job is measured three times slower than it is: left out, it does not pull its own prediction."""
    truth = [sample.seconds({}) for sample in samples(rows, 1)]
    slow = rows[0].job
    made = [replace(row, seconds=time * (3 if row.job == slow else 1)) for row, time in zip(rows, truth, strict=True)]
    chosen = samples(made, 1)
    start = start_values(chosen, ["memory"])
    whole = fit(chosen, start)
    fold = predict_held_out(chosen, whole, start, "job")
    own = [i for i, row in enumerate(rows) if row.job == slow]
    assert np.allclose(fold.predicted[own], np.array(truth)[own], rtol=0.01)
    assert not np.isnan(fold.predicted).any()
    assert predict_held_out(chosen, whole, start, "device").held == ()
    assert predict_by_regression(chosen, "job").shape == (len(rows),)


def test_too_few_rows_are_refused(rows: Sequence[MeasuredIteration]) -> None:
    with pytest.raises(InputError, match="at least 12 rows for 3 parameters"):
        samples(rows[-8:], 3)


def test_an_npu_without_a_curve_is_refused(rows: Sequence[MeasuredIteration]) -> None:
    document = rows[0].design.document()
    document["cluster"]["npu"] = {"base": "v100-32gb"}
    other = [replace(rows[0], design=design_from(document))] * 4
    with pytest.raises(InputError, match="a curve to start from"):
        samples(other, 1)


def test_the_command_writes_a_curve_that_a_design_can_use(
    tmp_path: Path, rows: Sequence[MeasuredIteration], capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "mine.yaml"
    table = str(DATA / "a100_single_node_part.csv")
    assert main(["calibrate", "a100-80gb", table, "--fit", "memory", "--out", str(out)]) == 0
    assert "leave job out" in capsys.readouterr().out

    document = rows[0].design.document()
    document["cluster"]["npu"] = "mine.yaml"
    (tmp_path / "design.yaml").write_text(dump_document(document))
    design = load_design(tmp_path / "design.yaml")
    assert design.cluster.npu.curve != a100().curve
    assert design.cluster.npu.name == "a100-80gb"  # the price list knows it by this name
    result = simulate(design)
    low, high = result.iteration_time_interval_s or (0.0, 0.0)
    assert low < high
    document["cluster"]["npu"] = {"choice": ["a100-80gb", "mine.yaml"]}
    space = {**document, "objectives": {"minimize": ["iteration_time"]}}
    (tmp_path / "space.yaml").write_text(dump_document(space))
    assert main(["space", str(tmp_path / "space.yaml"), "--count"]) == 0
    capsys.readouterr()

    assert main(["validate", table, "--device", str(out), "--json"]) == 0
    first = json.loads(capsys.readouterr().out)["per_row"][0]["predicted_s"]
    row = read_measured(table, design.cluster.npu)[0]
    assert first == simulate(row.design).iteration_time_s
    again = tmp_path / "again.yaml"  # a device file can be calibrated on
    assert main(["calibrate", str(out), table, "--fit", "sustained", "--out", str(again)]) == 0
    assert read_device(str(again))[0].curve.memory == design.cluster.npu.curve.memory  # type: ignore[union-attr]


def test_rows_of_other_devices_are_predicted_from_and_not_fitted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tables = [str(DATA / "a100_single_node_part.csv"), str(B200)]
    alone, both = tmp_path / "alone.yaml", tmp_path / "both.yaml"
    assert main(["calibrate", "b200-simumax", tables[1], "--fit", "memory", "--out", str(alone)]) == 0
    assert "leave device out" not in capsys.readouterr().out
    assert main(["calibrate", "b200-simumax", *tables, "--fit", "memory", "--out", str(both), "--baseline"]) == 0
    said = capsys.readouterr()
    assert "leave device out" in said.out
    assert "other rows not fitted" in said.err
    assert read_device(str(alone))[0].curve.memory == read_device(str(both))[0].curve.memory  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["table.csv", "table.csv", "--out", "x.yaml"], "expected an NPU of the catalogue, or a .yaml file with one"),
        (["a100-80g", "table.csv", "--out", "x.yaml"], "did you mean 'a100-80gb'?"),
        (["bad.yaml", "table.csv", "--out", "x.yaml"], "line 2: DEVICE.curvy"),
        (["a100-80gb", "table.csv", "--out", "x.csv"], "--out: expected a .yaml file"),
        (["a100-80gb", "table.csv", "--out", "nowhere/x.yaml"], "--out: expected a file in a folder that exists"),
        (
            ["b200", "table.csv", "--out", "x.yaml"],
            "table.csv: 1 problem\n  document: expected at least 8 rows of b200",
        ),
        (["v100-32gb", "v.csv", "--out", "x.yaml"], "a curve to start from, got 'v100-32gb'"),
    ],
)
def test_a_call_that_is_none_is_refused(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    said: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    text = (DATA / "a100_single_node_part.csv").read_text()
    Path("table.csv").write_text(text)
    Path("v.csv").write_text(text.replace("a100-80gb", "v100-32gb"))
    Path("bad.yaml").write_text("base: a100-80gb\ncurvy: 3\n")
    assert main(["calibrate", *arguments]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("mine.yaml", "base: a100-80g\n", "did you mean 'a100-80gb'?"),
        ("mine.yaml", "[1, 2]\n", "in 'mine.yaml'"),
        ("../mine.yaml", "base: a100-80gb\n", "outside its folder"),
        ("other.yaml", "base: a100-80gb\n", "which is not there"),
    ],
)
def test_a_device_file_that_is_none_is_refused_where_a_design_names_it(
    tmp_path: Path, rows: Sequence[MeasuredIteration], name: str, text: str, said: str
) -> None:
    (tmp_path / "mine.yaml").write_text(text)
    document = rows[0].design.document()
    document["cluster"]["npu"] = name
    (tmp_path / "design.yaml").write_text(dump_document(document))
    with pytest.raises(InputError, match="npu") as caught:
        load_design(tmp_path / "design.yaml")
    assert said in str(caught.value)


def test_parameters_that_do_not_exist_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = str(DATA / "a100_single_node_part.csv")
    assert (
        main(["calibrate", "a100-80gb", table, "--fit", "sustaned,memory,memory", "--out", str(tmp_path / "x.yaml")])
        == 2
    )
    message = capsys.readouterr().err
    assert "did you mean 'sustained'" in message
    assert "each parameter once" in message


def test_an_interval_holds_nine_rows_of_ten(rows: Sequence[MeasuredIteration]) -> None:
    chosen = samples(rows, 1)
    times = np.array([sample.row.seconds for sample in chosen])
    ratios = np.linspace(0.9, 1.1, len(rows))
    for low, high in intervals(chosen, times / ratios).values():
        assert 0.9 < low < 1 < high < 1.1
