"""Watts against nameplates and against what was measured."""

from __future__ import annotations

from typing import Any

import pytest

from simcore import catalog
from simcore.catalog.preset import preset
from simcore.check.load import design_from
from simcore.design.node import Node
from simcore.design.npu import Npu
from simcore.design.part import Part
from simcore.result import Draw
from simcore.simulate import simulate

WITHIN = 0.1
KNOWN = [name for name in catalog.section("nodes") if catalog.entry("nodes", name)["power"].get("full")]


def nics_watts(node: Node) -> float:
    """The most that the NICs of the usual order of a node draw, with a module of 9 W each [W]."""
    usual = node.nics[0]
    parts = (preset(Part, "parts", name) for name in catalog.section("parts"))
    each = next(part.power.max for part in parts if part.kind == "nic" and part.rate == usual.rate)
    return max(usual.count) * (each + 9.0)


@pytest.mark.parametrize("name", KNOWN)
def test_the_parts_of_a_node_at_full_load_are_its_nameplate(name: str) -> None:
    node = preset(Node, "nodes", name)
    npu = preset(Npu, "npus", node.npu[0])
    parts = node.size * npu.power.max + sum(node.power.full.values()) + nics_watts(node)
    assert parts == pytest.approx(node.power.nameplate, rel=WITHIN)


@pytest.mark.parametrize("name", catalog.section("nodes"))
def test_a_node_in_a_job_stays_below_its_nameplate_and_idles_below_that(name: str) -> None:
    node = preset(Node, "nodes", name)
    for npu in node.npu:
        assert node.size * preset(Npu, "npus", npu).power.max + node.power.host < node.power.nameplate
    assert node.power.idle < node.power.host


def test_every_node_whose_nameplate_is_published_says_what_draws_it() -> None:
    published = [n for n in catalog.section("nodes") if "nameplate:" in catalog.entry("nodes", n)["sources"]["power"]]
    assert set(published) == set(KNOWN)
    assert len(KNOWN) >= 8


def drawn(document: dict[str, Any]) -> tuple[Draw, float]:
    """What a design draws, and its PUE."""
    design = design_from(document)
    result = simulate(design)
    assert result.power is not None
    return result.power, design.cost.pue


def test_a_node_of_h100s_trains_llama2_13b_at_what_latif_et_al_measured() -> None:
    """Their median is 7.92 kW, their most 8.4 kW, of a nameplate of 10.2 kW (2024, arXiv 2412.08602)."""
    power, pue = drawn(
        {
            "workload": {"model": "llama2-13b", "global_batch": 128, "sequence_length": 4096, "precision": "bf16"},
            "parallelism": {"zero": 3, "recompute": "full"},
            "software": "pytorch-fsdp",
            "cluster": {"npu": "h100-80gb", "fabric": "dgx-h100", "npus": 8},
        }
    )
    assert power.mean / pue == pytest.approx(7920, rel=WITHIN)
    node = preset(Node, "nodes", "dgx-h100")
    most = 8 * preset(Npu, "npus", "h100-80gb").power.draws.tensor + node.power.host
    assert most == pytest.approx(8400, rel=WITHIN)
    assert power.peak / pue == pytest.approx(10200)


def test_a_tpu_v4_that_trains_draws_what_they_draw_in_production() -> None:
    """170 W, of 121 to 192 W (Jouppi et al. 2023, arXiv 2304.01433, table 4)."""
    power, pue = drawn(
        {
            "workload": {"model": "gpt3-175b", "global_batch": 1024, "sequence_length": 2048, "precision": "bf16"},
            "parallelism": {"tensor": 8, "pipeline": 8, "zero": 1, "sequence_parallel": True},
            "software": "maxtext",
            "cluster": {"npu": "tpu-v4", "fabric": "tpu-v4-pod", "npus": 512},
        }
    )
    assert power.npus / pue / 512 == pytest.approx(170, rel=WITHIN)


def test_a_dgx_a100_at_full_load_draws_what_one_did_in_linpack() -> None:
    """Selene: 280 nodes, 27.58 PFLOP/s at 20.5 GFLOP/s/W (Green500, June 2020): 4.8 kW a node, network included."""
    node = preset(Node, "nodes", "dgx-a100")
    parts = {name: preset(Part, "parts", name).power.typical for name in ("connectx-6", "qm8790")}
    network = 8 * (parts["connectx-6"] + 3 * parts["qm8790"] / 40)  # three ports of a NIC's way up and across
    full = 8 * preset(Npu, "npus", "a100-80gb").power.draws.tensor + node.power.host + network
    assert full == pytest.approx(27.58e6 / 20.5 / 280, rel=WITHIN)
