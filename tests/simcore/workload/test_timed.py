"""Layers with given times: sums that can be done by hand, and tables that are refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from simcore.check.load import design_from, load_design
from simcore.document.problem import InputError
from simcore.simulate import simulate

ROW = {
    "name": "layer",
    "forward": "1 ms",
    "forward_collective": "all_reduce",
    "forward_size": "4 MB",
    "input_gradient": "2 ms",
    "weight_gradient": "3 ms",
    "weight_gradient_collective": "all_reduce",
    "weight_gradient_size": "8 MB",
}
DIMENSIONS = [
    {"topology": "ring", "size": 4, "bandwidth": "100 GB/s", "latency": "0 s", "tier": "node"},
    {"topology": "switch", "size": 8, "bandwidth": "10 GB/s", "latency": "0 s", "tier": "pod"},
]
TENSOR, DATA = 2 * 4e6 * 3 / 4 / 100e9, 2 * 8e6 * 7 / 8 / 10e9
"""Seconds of the two all-reduces."""


def document(rows: Any = (ROW,), degree: int = 4, **parallelism: Any) -> dict[str, Any]:
    table = rows if isinstance(rows, str) else list(rows)
    return {
        "workload": {"timed_layers": table, "tensor": degree, "data": 32 // degree, "recorded_on": "a100-80gb"},
        "parallelism": {"tensor": degree, "data_overlap": False, **parallelism},
        "cluster": {
            "npu": "a100-80gb",
            "dimensions": DIMENSIONS,
            "placement": ["tensor", "context", "data", "pipeline"],
        },
        "system": {"chunks": 1},
        "cost": "network-only",
    }


def seconds(**changes: Any) -> float:
    return simulate(design_from(document(**changes))).iteration_time_s


def test_without_overlap_an_iteration_is_the_sum_of_its_times_and_its_collectives() -> None:
    assert seconds() == pytest.approx(6e-3 + TENSOR + DATA, rel=1e-9)
    assert seconds(rows=[{**ROW, "repeat": 3}]) == pytest.approx(3 * (6e-3 + TENSOR + DATA), rel=1e-9)


def test_with_overlap_the_gradients_of_all_layers_but_the_first_hide_beside_the_next_ones() -> None:
    whole = document(rows=[{**ROW, "repeat": 3}], data_overlap=True)
    whole["software"] = {"base": "megatron-core", "overlap": {"node": 0.0, "nodes": 0.0}}
    assert simulate(design_from(whole)).iteration_time_s == pytest.approx(18e-3 + 3 * TENSOR + DATA, rel=1e-9)


def test_a_table_holds_for_no_other_npu_than_its_own() -> None:
    other = document()
    other["cluster"] = {**other["cluster"], "npu": "h100-80gb"}
    with pytest.raises(
        InputError, match=r"cluster\.npu: expected a100-80gb, which the table's times are of, got h100-80gb"
    ):
        design_from(other)


def test_a_group_of_one_npu_sends_nothing() -> None:
    alone = document(degree=1)
    assert simulate(design_from(alone)).exposed_communication_s.tensor == 0.0


def test_nobody_knows_what_given_times_hold_in_memory() -> None:
    result = simulate(design_from(document()))
    assert (result.fits, result.memory_bytes, result.mfu, result.iteration_time_interval_s) == (None,) * 4
    assert any("memory" in said for said in result.not_modelled)


def test_a_table_may_be_a_file_beside_the_design(tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_text(",".join(ROW) + "\n" + ",".join(ROW.values()) + "\n")
    (tmp_path / "design.yaml").write_text(str(document(rows="table.csv")))
    assert simulate(load_design(tmp_path / "design.yaml")).iteration_time_s == seconds()


def test_a_collective_without_a_size_is_refused() -> None:
    lacking = {key: value for key, value in ROW.items() if key != "forward_size"}
    with pytest.raises(InputError, match="a collective with its size, or neither in row 'layer', got 'forward_coll"):
        design_from(document(rows=[lacking]))


def test_a_table_holds_for_no_other_degrees_than_its_own() -> None:
    with pytest.raises(InputError, match="tensor: expected 4, which the table's times and sizes are of, got 8"):
        design_from(document(tensor=8))
    fewer = document()
    fewer["cluster"] = {**fewer["cluster"], "dimensions": [DIMENSIONS[0]]}
    with pytest.raises(InputError, match="data: expected 8, which the table's times and sizes are of, got 1"):
        design_from(fewer)


def test_keys_of_parallelism_that_a_table_cannot_follow_are_refused() -> None:
    with pytest.raises(InputError, match="pipeline: expected 1"):
        design_from(document(pipeline=2))
    with pytest.raises(InputError, match="zero: expected 0"):
        design_from(document(zero=1))


@pytest.mark.parametrize(
    ("table", "told"),
    [([], "timed_layers: expected at least 1 entry, got none"), (3, "timed_layers: expected a list, got 3")],
)
def test_a_table_without_rows_is_told_in_the_words_of_documents(table: Any, told: str) -> None:
    wrong = document()
    wrong["workload"]["timed_layers"] = table
    with pytest.raises(InputError, match=told):
        design_from(wrong)
