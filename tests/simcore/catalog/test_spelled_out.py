"""NPUs that are spelled out by their data sheets, against the same ones as the catalogue knows them."""

from __future__ import annotations

from statistics import geometric_mean
from typing import Any

import pytest

from simcore import simulate
from simcore.check.load import design_from

SHEETS: dict[str, dict[str, Any]] = {
    "a100-80gb": {
        "peak": {"bf16": "312 TFLOP/s"},
        "memory": {"capacity": "80 GiB", "bandwidth": "2039 GB/s"},
    },
    "h100-80gb": {
        "peak": {"bf16": "989.4 TFLOP/s", "fp8": "1978.9 TFLOP/s"},
        "memory": {"capacity": "80 GiB", "bandwidth": "3352 GB/s"},
    },
    "b200": {
        "peak": {"bf16": "2250 TFLOP/s", "fp8": "4500 TFLOP/s"},
        "memory": {"capacity": "180 GiB", "bandwidth": "7700 GB/s"},
    },
    "mi300x": {
        "peak": {"bf16": "1307 TFLOP/s", "fp8": "2614 TFLOP/s"},
        "memory": {"capacity": "192 GiB", "bandwidth": "5300 GB/s"},
    },
}
POWER = {"max": "1000 W", "idle": "120 W"}


def design(npu: Any, precision: str, model: str) -> dict[str, Any]:
    return {
        "workload": {"model": model, "global_batch": 512, "sequence_length": 8192, "precision": precision},
        "parallelism": {"tensor": 4, "zero": 1, "recompute": "full", "sequence_parallel": True},
        "cluster": {
            "npu": npu,
            "dimensions": [{"topology": "switch", "size": 8, "bandwidth": "450 GB/s", "latency": "1 us"}],
        },
    }


def seconds(npu: Any, precision: str, model: str) -> float:
    return simulate(design_from(design(npu, precision, model))).iteration_time_s


def ratio(name: str, precision: str, model: str = "llama3-8b") -> float:
    """Time of the spelled-out NPU over that of the catalogue's."""
    spelled_out = {"name": "own", "power": POWER, "price": "30000 $", **SHEETS[name]}
    return seconds(spelled_out, precision, model) / seconds(name, precision, model)


def test_a_data_sheet_is_in_the_middle_of_what_was_measured() -> None:
    ratios = [ratio(name, precision) for name, sheet in SHEETS.items() for precision in sheet["peak"]]
    assert 0.93 < geometric_mean(ratios) < 1.05


@pytest.mark.parametrize("name", SHEETS)
def test_no_data_sheet_flatters_by_more_than_a_fifth(name: str) -> None:
    assert all(0.8 < ratio(name, precision) < 1.25 for precision in SHEETS[name]["peak"])


def test_what_its_own_compiler_fuses_is_one_pass() -> None:
    sheet = {"name": "own", "power": POWER, "price": "30000 $", **SHEETS["h100-80gb"]}
    assert seconds({**sheet, "fuses": True}, "bf16", "llama3-8b") < seconds(sheet, "bf16", "llama3-8b")


@pytest.mark.parametrize(
    ("memory", "usable"),
    [
        ({"capacity": "160 GiB"}, 2 * 79.18),
        ({"bandwidth": "2 TB/s"}, 79.18),
        ({"capacity": "160 GiB", "usable": "150 GiB"}, 150.0),
    ],
)
def test_of_a_larger_memory_as_large_a_share_is_usable(memory: dict[str, str], usable: float) -> None:
    npu = design_from(design({"base": "h100-80gb", "memory": memory}, "bf16", "llama3-8b")).cluster.npu
    assert npu.memory.usable == pytest.approx(usable * 2**30, rel=1e-3)
