"""Devices: peaks that follow from units and clocks, memory that programs see, names that measured tables use."""

from __future__ import annotations

import re
from math import prod

import pytest

from simcore import catalog
from simcore.catalog.preset import preset
from simcore.check.load import design_from
from simcore.design.npu import Npu
from simcore.simulate import simulate

CLOCKS = {
    "a100-40gb": 1.41,
    "a100-80gb": 1.41,
    "a100-pcie-80gb": 1.41,
    "a800": 1.41,
    "l40s": 2.52,
    "h100-80gb": 1.83,
    "h100-96gb-500w": 1.83,
    "h100-pcie": 1.62,
    "h200": 1.83,
    "h800": 1.83,
    "rtx-pro-6000": 2.617,
    "mi300x": 2.1,
    "mi325x": 2.1,
    "mi350x": 2.2,
    "mi355x": 2.4,
}
"""Clock to which data sheets refer their peaks of tensor or matrix cores [GHz], where it is published."""

NVLINK_AND_NICS = {
    "dgx-h200": (450, 50),
    "dgx-b300": (900, 100),
    "hgx-h800": (200, 50),
    "hgx-a800": (200, 25),
    "h200-nvl-node": (450, 50),
    "gb200-nvl72": (900, 50),
    "gb300-nvl72": (900, 100),
    "mi300x-node": (7 * 64, 50),
    "mi355x-node": (7 * 76.8, 50),
    "gaudi2-node": (21 * 12.5, 3 * 12.5),
    "dgx-1p": (4 * 20, 4 * 12.5 / 8),
    "dgx-1v": (6 * 25, 4 * 12.5 / 8),
    "dgx-2": (6 * 25, 8 * 12.5 / 16),
    "selene": (12 * 25, 25),
    "gaudi3-node": (21 * 25, 3 * 25),
}
"""Bandwidth of an NPU inside a node or domain and out of it, each direction [GB/s]."""


def device(name: str) -> Npu:
    found = preset(Npu, "npus", name)
    assert isinstance(found, Npu)
    return found


@pytest.mark.parametrize(("name", "clock"), CLOCKS.items())
def test_a_peak_is_what_the_units_do_at_the_clock_of_the_data_sheet(name: str, clock: float) -> None:
    npu = device(name)
    assert npu.multiprocessors is not None
    assert npu.flops_per_clock is not None
    assert npu.multiprocessors * npu.flops_per_clock * clock * 1e9 == pytest.approx(npu.peak["bf16"], rel=0.02)


@pytest.mark.parametrize("name", ["h100-nvl", "h200-nvl"])
def test_a_card_has_the_vector_units_of_its_boost_clock_and_a_lower_one_for_its_tensor_cores(name: str) -> None:
    npu = device(name)
    assert npu.multiprocessors is not None
    assert npu.flops_per_clock is not None
    assert npu.multiprocessors * 2 * 128 * 1.785e9 == pytest.approx(npu.peak["fp32"], rel=0.01)
    assert 1.4e9 < npu.peak["bf16"] / npu.multiprocessors / npu.flops_per_clock < 1.785e9


@pytest.mark.parametrize("name", ["b200", "b200-simumax", "b300", "gb200", "gb300"])
def test_a_blackwell_implies_a_clock_that_it_can_run_at(name: str) -> None:
    npu = device(name)
    assert npu.multiprocessors is not None
    assert npu.flops_per_clock is not None
    assert 1.8e9 < npu.peak["bf16"] / npu.multiprocessors / npu.flops_per_clock < 2.07e9


@pytest.mark.parametrize("name", catalog.section("npus"))
def test_the_source_of_what_programs_see_of_a_memory_says_how_that_is_known(name: str) -> None:
    npu = device(name)
    assert npu.memory.usable is not None
    assert re.search("PyTorch|XLA|vLLM|assumed", npu.sources["usable"])
    assert ("curve" in npu.sources) == (npu.curve is not None)
    assert ("gemm" in npu.sources) == (npu.curve is None)


@pytest.mark.parametrize(
    ("name", "other", "same"),
    [
        ("b200-simumax", "b200", {"peak", "memory", "power", "multiprocessors", "flops_per_clock"}),
        ("h200", "h100-80gb", {"peak", "multiprocessors", "flops_per_clock", "curve"}),
        ("h800", "h100-80gb", {"peak", "memory", "power", "curve"}),
        ("a800", "a100-80gb", {"peak", "power", "multiprocessors", "flops_per_clock", "curve", "sustained"}),
        ("h200-nvl", "h100-nvl", {"peak", "multiprocessors", "flops_per_clock", "curve"}),
        ("h100-96gb-500w", "h100-80gb", {"peak", "multiprocessors", "curve"}),
        ("mi325x", "mi300x", {"peak", "multiprocessors"}),
    ],
)
def test_variants_of_a_chip_differ_only_where_their_data_sheets_do(name: str, other: str, same: set[str]) -> None:
    one, two = device(name), device(other)
    assert all(getattr(one, key) == getattr(two, key) for key in same)


@pytest.mark.parametrize(("fabric", "rates"), NVLINK_AND_NICS.items())
def test_a_fabric_has_the_links_of_its_data_sheet(fabric: str, rates: tuple[float, float]) -> None:
    cluster = design_from(
        {
            "workload": {"collective": "all_reduce", "size": "1 GiB"},
            "cluster": {"npu": "h100-80gb", "fabric": fabric, "npus": 144},
        }
    ).cluster
    assert [d.bandwidth for d in cluster.dimensions] == pytest.approx([1e9 * rate for rate in rates])


@pytest.mark.parametrize(
    ("fabric", "npu", "npus"),
    [
        ("gb200-nvl72", "gb200", 128),
        ("gb300-nvl72", "gb300", 72),
        ("dgx-b300", "b300", 16),
        ("mi300x-node", "mi300x", 16),
        ("mi355x-node", "mi355x", 16),
        ("gaudi3-node", "gaudi3", 16),
        ("h200-nvl-node", "h200-nvl", 16),
        ("pcie-gen4-node", "l40s", 16),
        ("tpu-v5p-pod", "tpu-v5p", 64),
        ("tpu-v6e-pod", "tpu-v6e", 512),
        ("tpu-v5e-pod", "tpu-v5e", 512),
        ("tpu-v3-pod", "tpu-v3", 1024),
        ("tpu-v2-pod", "tpu-v2", 256),
        ("dgx-1p", "p100-16gb", 16),
        ("dgx-2", "v100-32gb", 32),
        ("selene", "a100-80gb", 2240),
    ],
)
def test_a_collective_on_a_fabric_is_no_faster_than_its_slowest_part(fabric: str, npu: str, npus: int) -> None:
    design = design_from(
        {
            "workload": {"collective": "all_reduce", "size": "1 GiB"},
            "cluster": {"npu": npu, "fabric": fabric, "npus": npus},
        }
    )
    first, *others = design.cluster.dimensions
    used = [first, *(d for d in others if d.at_once and first.at_once)]
    size, bandwidth = prod(d.size for d in used), sum(d.bandwidth for d in used)
    least = 2 * 2**30 * (size - 1) / size / bandwidth
    assert least < simulate(design).iteration_time_s < 1.0


@pytest.mark.parametrize(
    ("section", "names"),
    [
        (
            "npus",
            "a100-40gb a100-80gb a100-pcie-80gb h100-80gb h100-96gb-500w h100-pcie h200 h800 b200 b200-simumax b300 "
            "gb200 gb300 l40s rtx-pro-6000 mi300x mi325x mi350x mi355x tpu-v4 tpu-v5p tpu-v6e tpu-v7 gaudi2 gaudi3",
        ),
        (
            "fabrics",
            "dgx-a100 dgx-a100-hdr dgx-a100-hdr-8 dgx-h100 dgx-b200 dgx-b300 gb200-nvl72 gb300-nvl72 mi300x-node "
            "mi350x-node mi355x-node tpu-v5p-pod tpu-v6e-pod tpu-v7-pod",
        ),
        (
            "models",
            "llama2-7b llama2-70b llama3-8b llama3-70b llama3-405b gpt3-175b grok1-314b nemotron4-15b nemotron4-340b "
            "qwen3-30b-a3b qwen3-235b-a22b gpt-oss-120b deepseek-v2 deepseek-v3 kimi-k2 llama4-scout-109b "
            "llama4-maverick-400b",
        ),
    ],
)
def test_names_that_tables_of_measured_runs_use_are_known(section: str, names: str) -> None:
    assert not set(names.split()) - set(catalog.section(section))
