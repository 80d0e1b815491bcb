"""Numbers that no job has are refused with one message, at once, where they stand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from designs import dimension, training

from simcore.check.load import design_from, load_design
from simcore.document.problem import InputError

COUNTS: list[tuple[str | int, ...]] = [
    ("workload", "global_batch"),
    ("workload", "sequence_length"),
    ("workload", "model", "layers"),
    ("parallelism", "tensor"),
    ("parallelism", "microbatch"),
    ("parallelism", "interleave"),
    ("cluster", "dimensions", 0, "size"),
    ("system", "chunks"),
    ("system", "active_chunks"),
]


def refused(path: tuple[str | int, ...], value: Any) -> InputError:
    document: Any = training({}, [dimension(size=8)])
    inner = document
    for part in path[:-1]:
        inner = inner[part]
    inner[path[-1]] = value
    with pytest.raises(InputError) as error:
        design_from(document)
    return error.value


@pytest.mark.parametrize("path", COUNTS, ids=lambda path: str(path[-1]))
@pytest.mark.parametrize("value", [1e30, 1e3, float("inf"), float("nan"), 10**30, 10**400], ids=lambda v: str(v)[:12])
def test_a_count_that_is_none_or_too_large_is_one_problem_at_its_place(
    path: tuple[str | int, ...], value: float | int
) -> None:
    error = refused(path, value)
    assert [problem.path for problem in error.problems] == [path]
    assert len(str(error)) < 300


def test_a_float_where_a_count_is_meant_is_told_how_to_write_it() -> None:
    assert "expected a whole number, got 1000.0; write 1000" in str(refused(("workload", "global_batch"), 1e3))


@pytest.mark.parametrize("fabric", ["tpu-v4-pod", "dgx-h100"])
@pytest.mark.parametrize("npus", [10**30, 1e30, 10**10])
def test_a_fabric_of_more_npus_than_there_can_be_is_refused_at_once(fabric: str, npus: float) -> None:
    document = training({}, [dimension(size=8)])
    document["cluster"] = {"npu": "h100-80gb", "fabric": fabric, "npus": npus}
    with pytest.raises(InputError, match="from 1 to 1,000,000,000, got 1"):
        design_from(document)


def test_a_cluster_of_more_npus_than_there_can_be_is_refused() -> None:
    with pytest.raises(InputError, match=r"cluster.dimensions: expected at most 1,000,000,000 NPUs"):
        design_from(training({}, [dimension(size=10**6), dimension(size=10**6)]))


def test_a_number_of_thousands_of_digits_is_refused_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "design.yaml"
    path.write_text(f"workload:\n  global_batch: {'9' * 5000}\n")
    with pytest.raises(InputError, match="a number of 5000 digits on line 2"):
        load_design(path)
