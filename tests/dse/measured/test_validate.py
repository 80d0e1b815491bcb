"""Tables of measured iterations, and what `dse validate` makes of them."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from dse.cli import main
from dse.measured.measured import read_measured, read_tables
from dse.measured.validate import Prediction, accuracy, group_by_job, merge_repeats, pairwise_order, predict, regret
from simcore.catalog.preset import preset
from simcore.design.npu import Npu
from simcore.document.problem import InputError
from simcore.workload.transformer.document import TransformerWorkload

DATA = Path(__file__).parent / "data"
H100: Npu = preset(Npu, "npus", "h100-80gb")
B200 = Path(__file__).parents[2] / "simcore" / "data" / "b200.csv"


def predictions(*pairs: tuple[float, float]) -> list[Prediction]:
    return [Prediction(str(i), ("job",), measured, predicted) for i, (measured, predicted) in enumerate(pairs)]


def test_figures_by_hand() -> None:
    rows = predictions((1.0, 1.1), (2.0, 1.5), (2.05, 3.0), (4.0, 1.05))
    figures = accuracy(rows)
    assert figures.mape == pytest.approx((0.1 + 0.25 + 0.95 / 2.05 + 2.95 / 4) / 4)
    assert figures.worst == pytest.approx(2.95 / 4)
    assert figures.pairwise_order == pytest.approx(2 / 5)  # 2.0 and 2.05 are equal; 4.0 is predicted the fastest
    assert figures.regret_mean == pytest.approx(3.0)
    assert figures.memory_mape is None


def test_coverage_and_width_are_those_of_intervals() -> None:
    inside, outside = (Prediction("", ("job",), 1.0, 2.0, interval=(low, 3.0)) for low in (1.0, 1.5))
    figures = accuracy([inside, outside, *predictions((1.0, 1.0))])
    assert (figures.coverage, figures.width) == (0.5, 0.875)
    assert figures.bias == pytest.approx(2 / 3)
    assert accuracy(predictions((1.0, 1.0))).coverage is None


def test_a_design_measured_several_times_counts_once_with_its_median() -> None:
    often = [Prediction("", ("job",), measured, 1.0, design="a") for measured in (1.0, 1.4, 9.0)]
    other = Prediction("", ("job",), 1.2, 2.0, design="b")
    assert [p.measured for p in merge_repeats([*often, other])] == [1.4, 1.2]
    assert pairwise_order([[*often, other]]) == 0.0
    assert regret([*often, other]) == pytest.approx(1.4 / 1.2 - 1)


def test_ties_have_no_order_and_one_row_no_regret() -> None:
    assert pairwise_order([predictions((1.0, 1.0), (1.04, 0.5))]) is None
    assert pairwise_order([predictions((1.0, 2.0), (2.0, 2.0))]) == 0.0
    assert regret(predictions((3.0, 9.0))) == 0.0


def test_rows_are_designs() -> None:
    rows = read_measured(DATA / "megatron_recompute.csv")
    full, selective = rows[2].design, rows[3].design
    assert isinstance(full.workload, TransformerWorkload)
    assert (full.workload.model.hidden, full.parallelism.interleave, full.cluster.npus) == (12288, 3, 64)
    assert (selective.parallelism.recompute, selective.parallelism.sequence_parallel) == ("selective", True)
    assert rows[2].job == rows[3].job
    assert len(group_by_job(list(predict(rows)))) == 4


def test_a_table_with_models_by_name_context_experts_and_memory() -> None:
    rows = read_measured(B200)
    figures = accuracy(list(predict(rows)))
    assert figures.mape < 0.05
    assert figures.memory_mape is not None
    assert figures.memory_mape < 0.01
    mixture = next(row for row in rows if row.design.parallelism.expert > 1).design.workload
    assert isinstance(mixture, TransformerWorkload)
    assert mixture.model.dense_layers == 1


def test_published_iterations_of_megatron_are_predicted() -> None:
    figures = accuracy(list(predict(read_measured(DATA / "megatron_recompute.csv"))))
    assert figures.mape < 0.035
    assert figures.worst < 0.09
    assert figures.pairwise_order == 1.0


def test_every_problem_of_a_table_is_reported_with_its_line_and_column(tmp_path: Path) -> None:
    lines = (DATA / "megatron_recompute.csv").read_text().splitlines()
    lines[1] = lines[1].replace(",full,", ",some,")
    lines[2] = lines[2].replace("a100-80gb", "a100-80g")
    lines[3] = lines[3].replace(",18.13", ",-1")
    lines[4] = lines[4].replace(",8,8,1,3,", ",8,7,1,3,")
    lines[5] += ",extra"
    table = tmp_path / "bad.csv"
    table.write_text("\n".join(lines))
    with pytest.raises(InputError) as caught:
        read_measured(table)
    text = str(caught.value)
    for part in ("line 2: recompute", "line 3: device", "did you mean 'a100-80gb'", "line 4: measured_s", "line 5:"):
        assert part in text
    assert "line 6: document: expected 18 values, got 19" in text


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("device,measured_sec\n", "measured_sec: expected a known column, .* did you mean 'measured_s'"),
        ("", "this column"),
        ("\x00", "expected"),
        ((DATA / "megatron_recompute.csv").read_text().splitlines()[0], "a header alone"),
    ],
)
def test_a_table_that_is_none_is_refused(tmp_path: Path, content: str, message: str) -> None:
    table = tmp_path / "bad.csv"
    table.write_text(content)
    with pytest.raises(InputError, match=message):
        read_measured(table)


def test_the_command_prints_one_json_document(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", str(DATA / "megatron_recompute.csv"), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    keys = [
        "kind",
        "rows",
        "mape",
        "median_ape",
        "max_ape",
        "bias",
        "pairwise_order",
        "regret_mean",
        "memory_mape",
        "coverage",
    ]
    keys += ["median_width", "groups", "jobs", "per_row", "not_expressed", "software", "ignored_columns"]
    assert list(document) == keys
    assert document["software"] == {"megatron-lm-2021": {"given": 0, "assumed": 8}}
    assert document["rows"] == len(document["per_row"]) == 8
    assert list(document["per_row"][0])[:4] == ["case", "measured_s", "predicted_s", "error_pct"]
    assert document["not_expressed"] == []
    (group,) = document["groups"]
    assert group["by"] == {"device": "a100-80gb", "software": "megatron-lm-2021", "kind": "dense", "precision": "fp16"}
    assert (group["rows"], group["mape"], group["coverage"]) == (8, document["mape"], document["coverage"])
    covered = [row["interval_s"][0] <= row["measured_s"] <= row["interval_s"][1] for row in document["per_row"]]
    assert [row["covered"] for row in document["per_row"]] == covered
    mean = sum(abs(row["error_pct"]) for row in document["per_row"]) / 8
    assert document["mape"] == pytest.approx(mean)


def test_the_command_prints_a_table_and_refuses_a_bad_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", str(B200)]) == 0
    assert "memory MAPE" in capsys.readouterr().out
    bad = tmp_path / "bad.csv"
    bad.write_text("device\n")
    assert main(["validate", str(bad)]) == 2
    assert "measured_s" in capsys.readouterr().err


def test_groups_first_then_the_worst_rows_then_what_is_not_expressed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    strange = tmp_path / "strange.csv"
    lines = (DATA / "megatron_recompute.csv").read_text().splitlines()
    strange.write_text("\n".join([*lines, *(line.replace("a100-80gb", "abacus-9") for line in lines[1:4])]))
    assert main(["validate", str(strange), str(B200)]) == 0
    text = capsys.readouterr().out
    assert all(len(line) <= 80 for line in text.splitlines())
    places = [
        text.index(part) for part in ("device, software, kind", "the 10 worst of 30 rows", "3 rows that no design")
    ]
    assert places == sorted(places)
    assert "device: expected a device of the catalogue, got 'abacus-9' (first:" in text
    assert main(["validate", str(strange), str(B200), "--rows"]) == 0
    assert "worst of" not in capsys.readouterr().out
    assert main(["validate", str(strange), str(B200), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["rows"] == sum(group["rows"] for group in document["groups"]) == 30
    assert [row["case"] for row in document["not_expressed"]] == [line.split(",")[0] for line in lines[1:4]]


def test_another_device_may_stand_for_the_tables(capsys: pytest.CaptureFixture[str]) -> None:
    table = DATA / "megatron_recompute.csv"
    slow, fast = (next(iter(predict(read_measured(table, npu)))).predicted for npu in (None, H100))
    assert fast < slow


def rewritten(tmp_path: Path, source_table: Path, **cells: str | None) -> Path:
    """The table with columns changed or added, or left out (None)."""
    with source_table.open(newline="") as stream:
        rows = [{**row, **cells} for row in csv.DictReader(stream)]
    columns = [name for name in rows[0] if cells.get(name, "") is not None]
    out = tmp_path / "rewritten.csv"
    with out.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, columns, extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows)
    return out


@pytest.mark.parametrize("cell", ["", None])
def test_a_devices_software_does_not_depend_on_a_column_that_says_nothing(tmp_path: Path, cell: str | None) -> None:
    given, blank = (read_measured(table) for table in (B200, rewritten(tmp_path, B200, gradient_precision=cell)))
    assert [row.design for row in blank] == [row.design for row in given]
    assert {(row.software, row.assumed) for row in blank} == {("megatron-core", True)}


def test_gradients_in_fp32_do_not_switch_flash_attention_on(tmp_path: Path) -> None:
    rows = read_measured(rewritten(tmp_path, DATA / "megatron_recompute.csv", gradient_precision="fp32"))
    assert not any(row.design.parallelism.flash_attention for row in rows)
    assert accuracy(list(predict(rows))).mape < 0.06
    fused = read_measured(rewritten(tmp_path, DATA / "megatron_recompute.csv", software="megatron-core"))
    assert all(row.design.parallelism.flash_attention and not row.assumed for row in fused)


def test_a_newer_device_in_place_of_the_tables_runs_the_software_of_its_time() -> None:
    rows = read_measured(DATA / "megatron_recompute.csv", H100)
    assert {row.software for row in rows} == {"megatron-core"}


@pytest.mark.parametrize(("tensor", "form"), [(4, "all_to_all"), (8, "ring")])
def test_context_parallelism_takes_the_form_that_the_heads_allow(tmp_path: Path, tensor: int, form: str) -> None:
    cells = {"model": "llama3-8b", "layers": "4", "npus": str(2 * tensor), "global_batch": "8", "microbatch": "1"}
    cells |= {"tensor": str(tensor), "pipeline": "1", "data": "1", "context": "2", "expert": "1"}
    for row in read_measured(rewritten(tmp_path, B200, **cells)):
        assert row.design.parallelism.context_communication == form


@pytest.mark.parametrize(
    ("layers", "pipeline", "interleave", "ends"),
    [
        (126, 16, 8, (7, 7)),
        (126, 8, 8, (15, 15)),
        (127, 8, 8, (None, 15)),
        (126, 16, 1, (7, 7)),
        (126, 7, 2, (None, None)),
        (61, 8, 4, (7, 6)),
    ],
)
def test_layers_that_do_not_divide_count_the_embedding_and_the_loss(
    tmp_path: Path, layers: int, pipeline: int, interleave: int, ends: tuple[int | None, int | None]
) -> None:
    cells = {"device": "h100-80gb", "fabric": "dgx-h100", "model": "llama3-405b", "layers": layers}
    cells |= {
        "npus": 8 * pipeline,
        "tensor": 8,
        "context": 1,
        "pipeline": pipeline,
        "data": 1,
        "expert": 1,
        "interleave": interleave,
        "microbatch": 1,
    }
    table = rewritten(tmp_path, B200, global_batch=str(pipeline), **{key: str(value) for key, value in cells.items()})
    for row in read_measured(table):
        p = row.design.parallelism
        assert (p.first_stage_layers, p.last_stage_layers) == ends


def test_cells_that_can_only_mean_one_thing_are_read_as_it(tmp_path: Path) -> None:
    plain = read_measured(B200)
    for yes in ("1", "True", "yes", "TRUE"):
        said = {"sequence_parallel": yes, "interleave": "", "recompute": "", "zero": "1.0"}
        assert [row.design for row in read_measured(rewritten(tmp_path, B200, **said))] == [r.design for r in plain]
    left_out = read_measured(rewritten(tmp_path, B200, interleave=None, recompute=None, seq="4096.0"))
    assert [row.design.parallelism.recompute for row in left_out] == ["none"] * len(plain)
    table = rewritten(tmp_path, DATA / "megatron_recompute.csv", pipeline="1", tensor="8", npus="8", data="1", zero="")
    assert {row.design.parallelism.interleave for row in read_measured(table)} == {1}


def test_a_device_without_fp16_trains_in_bf16(tmp_path: Path) -> None:
    cells = {"device": "tpu-v4", "fabric": "tpu-v4-pod", "pipeline": "1", "data": "1", "tensor": "8", "npus": "8"}
    rows = read_measured(rewritten(tmp_path, DATA / "megatron_recompute.csv", interleave="1", **cells))
    assert {row.design.workload.precision for row in rows} == {"bf16"}  # type: ignore[union-attr]


def test_columns_of_no_meaning_are_ignored_and_listed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = rewritten(tmp_path, DATA / "megatron_recompute.csv", source="a paper", year="2022")
    assert main(["validate", str(table), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["ignored_columns"] == ["source", "year"]
    assert main(["validate", str(table)]) == 0
    assert "ignored columns: source, year" in capsys.readouterr().out
    for slip in ("gradient_precison", "Zero", "seq_parallel"):
        with pytest.raises(InputError, match=f"{slip}: expected a known column"):
            read_measured(rewritten(tmp_path, DATA / "megatron_recompute.csv", **{slip: "1"}))


def test_a_wrong_cell_does_not_hide_what_is_wrong_with_the_row_whatever_it_says(tmp_path: Path) -> None:
    cells = {"measured_s": "-1", "recompute": "some", "heads": "7", "tensor": "8"}
    with pytest.raises(InputError) as caught:
        read_measured(rewritten(tmp_path, DATA / "megatron_recompute.csv", **cells))
    text = str(caught.value)
    assert "line 2: measured_s" in text
    assert "line 2: recompute" in text
    assert "line 2: parallelism.tensor: expected a degree that divides the attention heads (7), got 8" in text


def test_what_follows_from_a_wrong_cell_alone_is_not_told(tmp_path: Path) -> None:
    for column in ("tensor", "npus", "layers", "hidden", "heads", "device", "fabric", "global_batch", "microbatch"):
        with pytest.raises(InputError) as caught:
            read_measured(rewritten(tmp_path, DATA / "megatron_recompute.csv", **{column: "x"}))
        assert {problem.path for problem in caught.value.problems} == {(column,)}


@pytest.mark.parametrize("arguments", [["validate"], ["calibrate", "a100-80gb", "--out", "x.yaml"]])
def test_a_table_that_cannot_be_read_is_bad_input(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*arguments, "nowhere.csv"]) == 2
    assert "nowhere.csv: 1 problem" in capsys.readouterr().err


def test_the_problems_of_all_tables_are_told_at_once(tmp_path: Path) -> None:
    names = []
    for name in ("one.csv", "two.csv"):
        names.append(tmp_path / name)
        names[-1].write_bytes(rewritten(tmp_path, B200, seq="0").read_bytes())
    with pytest.raises(InputError) as caught:
        read_tables(names)
    assert all(f"{name}: 22 problems" in str(caught.value) for name in names)
