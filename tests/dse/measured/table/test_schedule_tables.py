"""Tables of pipeline schedules: times over that of 1F1B."""

from __future__ import annotations

from pathlib import Path

import pytest

from dse.measured.measured import read_table, read_tables
from dse.measured.table.schedules import MICROBATCHES, rewrite_schedule
from dse.measured.validate import predict
from simcore.document.problem import Problem

ROW = {
    "device": "h100-80gb", "gpus": "8", "model": "llama2-7b", "tensor": "1", "pipeline": "8", "expert": "1",
    "chunks": "2", "schedule": "1f1b-interleaved", "speed_over_1f1b": "1.09", "fabric": "dgx-h100",
}  # fmt: skip


def test_a_speed_is_a_time_over_that_of_1f1b_and_the_batch_is_assumed() -> None:
    found = rewrite_schedule(ROW)
    assert not isinstance(found, Problem)
    assert float(found["measured_s"]) == pytest.approx(1 / 1.09)
    assert (found["schedule"], found["interleave"], found["global_batch"]) == ("1f1b", "2", str(MICROBATCHES))
    assert found["seq"] == "4096"


def test_zero_bubble_runs_one_chunk() -> None:
    found = rewrite_schedule({**ROW, "schedule": "zbb"})
    assert not isinstance(found, Problem)
    assert (found["schedule"], found["interleave"]) == ("zero_bubble", "1")


def test_rows_are_compared_as_multiples_and_take_no_part_in_a_fit(tmp_path: Path) -> None:
    rows = [ROW, {**ROW, "chunks": "1", "schedule": "1f1b", "speed_over_1f1b": "1"}, {**ROW, "schedule": "tea"}]
    table = tmp_path / "schedules.csv"
    table.write_text("\n".join([",".join(ROW), *(",".join(row.values()) for row in rows)]))
    read = read_table(table)
    assert [row.case for row in read.rows] == ["schedules:2"]
    assert [row.line for row in read.not_expressed] == [3, 4]
    assert "relative to" in read.not_expressed[0].why
    (prediction,) = predict(read.rows)
    assert 0.85 < prediction.predicted < 1.0
    assert read_tables([table]) == []
