"""Steps of a phase on worn links: alone a chunk takes each as long as its own busiest link takes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sharing_designs import NPU

from simcore import simulate
from simcore.check.load import design_from
from simcore.design.design import Design
from simcore.design.dimension import block_of
from simcore.engine.flow.steps import find_worn, phase_steps
from simcore.engine.flow.wires import wires_of
from simcore.network import Slice
from simcore.system.phase_cost import phase_cost

SIZES = (4, 5, 8, 16)
KINDS = ("reduce_scatter", "all_gather", "all_to_all")


def worn(
    topology: str, size: int, algorithm: str, kind: str, between: list[int], share: float, **system: Any
) -> Design:
    dimension = {"topology": topology, "size": size, "bandwidth": "25 GB/s", "latency": "500 ns"}
    failed = [{"dimension": 0, "between": between, "share": share}]
    return design_from(
        {
            "workload": {"collective": kind, "size": "256 MiB"},
            "cluster": {"npu": NPU, "dimensions": [dimension], "failed_links": failed},
            "system": {"collective": [algorithm], "chunks": 1} | system,
        }
    )


@pytest.mark.parametrize("topology", ["mesh", "ring", "fully_connected"])
@pytest.mark.parametrize("algorithm", ["ring", "direct", "halving_doubling"])
def test_steps_add_up_to_what_a_phase_costs_on_sound_links(topology: str, algorithm: str) -> None:
    for size in (4, 8, 16) if algorithm == "halving_doubling" else SIZES:
        design = worn(topology, size, algorithm, "all_gather", [0, 1], 0.5)
        block, part = block_of(design.cluster.dimensions[0]), Slice(size, size, 1)
        sound = wires_of(block, size, (((0, 1), 1.0),))
        halved = tuple((ends, 0.5) for pool in range(len(sound.rate)) for ends in sound.ends(pool))
        for kind in KINDS:
            steps = phase_steps(algorithm, kind, size, block.shape(part))
            if steps:  # with all links at half their rate each takes twice as long, so once longer
                mine = np.array([True])
                longer, busier = find_worn(steps, part, np.array([0]), mine, wires_of(block, size, halved))
                cost = phase_cost(algorithm, block, kind, part)
                assert (longer, busier) == (pytest.approx(cost.load), pytest.approx(cost.occupied))


def test_a_sweep_whose_middle_link_has_half_its_rate_takes_11_blocks() -> None:
    design = worn("mesh", 8, "ring", "reduce_scatter", [3, 4], 0.5)
    block = 32 * 2**20 / 12.5e9
    latency = 7 * 500e-9
    assert simulate(design, "flow").iteration_time_s == pytest.approx(11 * block + latency, rel=1e-4)
    assert simulate(design, "reference_links").iteration_time_s == pytest.approx(11 * block + latency, rel=1e-4)


@pytest.mark.parametrize("algorithm", ["ring", "direct", "halving_doubling"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("between", "share"), [([0, 1], 0.25), ([3, 4], 0.5), ([1, 2], 0.5)])
def test_one_chunk_along_a_worn_line_takes_as_long_as_its_messages(
    algorithm: str, kind: str, between: list[int], share: float
) -> None:
    design = worn("mesh", 8, algorithm, kind, between, share)
    links = simulate(design, "reference_links").iteration_time_s
    assert simulate(design, "flow").iteration_time_s == pytest.approx(
        links, rel=0.05 if algorithm != "halving_doubling" else 0.07
    )


@pytest.mark.parametrize("algorithm", ["ring", "direct", "halving_doubling"])
def test_links_that_are_named_and_sound_change_nothing(algorithm: str) -> None:
    design = worn("mesh", 8, algorithm, "all_reduce", [0, 1], 0.999999, chunks=4)
    sound = design.with_("cluster.failed_links", [])
    assert simulate(design, "flow").iteration_time_s == pytest.approx(
        simulate(sound, "fast").iteration_time_s, rel=1e-5
    )


def test_a_worn_link_that_slows_nobody_is_played_all_the_same() -> None:
    design = worn("mesh", 8, "direct", "all_to_all", [0, 1], 0.999)
    result = simulate(design)
    assert (result.engine, result.engine_reason) == ("flow", "links have failed, or carry less")
