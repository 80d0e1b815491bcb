"""What collectives cost on NPUs whose own were never measured."""

from __future__ import annotations

from typing import Any

import pytest

from simcore.catalog.preset import preset
from simcore.check.load import design_from
from simcore.design.design import Design
from simcore.design.npu import Npu
from simcore.design.usual_library import USUAL, npus_library
from simcore.simulate import simulate

CHIP = {
    "peak": {"bf16": "989 TFLOP/s"},
    "memory": {"capacity": "80 GB", "bandwidth": "3.35 TB/s"},
    "power": {"max": "700 W", "idle": "100 W"},
}
"""The data sheet of an H100."""


def designed(npu: Any, **keys: Any) -> Design:
    """Tensor parallelism over one node of eight NPUs, whose dimension has `keys`."""
    return design_from(
        {
            "workload": {"model": "llama3-8b", "global_batch": 8, "precision": "bf16"},
            "parallelism": {"tensor": 8, "sequence_parallel": True},
            "cluster": {
                "npu": npu,
                "dimensions": [{"topology": "switch", "size": 8, "bandwidth": "450 GB/s", "latency": "801 ns", **keys}],
            },
            "cost": "network-only",
        }
    )


def test_of_two_devices_with_one_data_sheet_the_one_never_measured_has_no_faster_collectives() -> None:
    measured, alone = (simulate(designed(npu)).exposed_communication_s.tensor for npu in ("h100-80gb", CHIP))
    assert alone == pytest.approx(measured, rel=0.15)
    assert simulate(designed(CHIP, library={})).exposed_communication_s.tensor < 0.85 * alone


def test_passes_are_as_fast_as_the_memory_and_between_those_of_measured_devices() -> None:
    h100, h200 = (preset(Npu, "npus", name) for name in ("h100-80gb", "h200"))
    chip = Npu.model_validate(CHIP)
    twice = chip.model_copy(update={"memory": chip.memory.model_copy(update={"bandwidth": 6.7e12})})
    one, two = npus_library(chip), npus_library(twice)
    assert one is not None
    assert two is not None
    assert one.name == two.name == USUAL
    for kind in ("all_reduce", "reduce_scatter", "all_gather", "all_to_all"):
        slow, fast = one.kernel(kind, whole=True), two.kernel(kind, whole=True)
        assert slow is not None
        assert fast is not None
        assert fast.memory == pytest.approx(2 * slow.memory)
        assert (fast.launch, fast.piece) == (slow.launch, slow.piece)
        shares = [
            getattr(npu.curve.library, kind).memory / npu.memory.bandwidth
            for npu in (preset(Npu, "npus", name) for name in ("a100-80gb", "h100-80gb", "b200"))
            if npu.curve is not None
        ]
        assert min(shares) < slow.memory / 3.35e12 < max(shares)
    assert h100.curve is not None
    assert npus_library(h100) == h100.curve.library == npus_library(h200)


@pytest.mark.parametrize(
    ("npu", "keys"),
    [
        ({**CHIP, "overhead": "0 s"}, {}),
        ({**CHIP, "fuses": True}, {}),
        (CHIP, {"efficiency": 0.8}),
        (CHIP, {"tier": "pod"}),
    ],
    ids=["ideal kernels", "a compiler of its own", "an efficiency is what a library reaches", "between nodes"],
)
def test_links_are_alone(npu: Any, keys: dict[str, Any]) -> None:
    design = designed(npu, **keys)
    library = design.library_of(design.cluster.dimensions[0])
    assert library is None or not library.adds


def test_its_source_says_that_it_is_assumed() -> None:
    assert "assumed" in simulate(designed(CHIP)).provenance["network 0"]
