"""Rings that enter and leave a node by different NPUs: which groups' do, and what that costs."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import pytest
from designs import dimension, training

from simcore.check.load import parse_design
from simcore.collective import FLAT_RING
from simcore.design.design import Design
from simcore.document.problem import InputError
from simcore.simulate import simulate
from simcore.system.chunks import Chunker
from simcore.system.placement import find_crossing, place

NODE, NODES = 8, 4


def design(tensor: int, affinity: float = 0.5, pipeline: int = 1, **system: Any) -> Design:
    """A job on four nodes of eight NPUs, of which each tensor group takes `tensor`."""
    dimensions = [dimension("switch", NODE, "300 GB/s"), dimension("switch", NODES, "12 GB/s", affinity=affinity)]
    document = training({"tensor": tensor, "pipeline": pipeline, "data_overlap": False}, dimensions)
    document["workload"]["model"]["layers"] = 2
    document["workload"]["global_batch"] = 32
    document["system"] = {**document.get("system", {}), "chunks": 1, **system}
    found, problems = parse_design(document)
    assert found is not None, problems
    assert place(found)[1] == []
    return found


def served(found: Design, group: str, dimension: int) -> int:
    """How long an all-reduce of a group occupies a dimension [ps]."""
    split = Chunker(found).split_collective("all_reduce", place(found)[0][group], 1e9)
    return sum(
        phase.serialization * count
        for path, count in split.count_paths()
        for phase in path
        if phase.dimension == dimension
    )


@pytest.mark.parametrize(("tensor", "crosses"), [(1, False), (2, True), (4, True), (8, False), (16, False)])
def test_a_group_crosses_with_several_npus_of_a_node_but_not_all(tensor: int, crosses: bool) -> None:
    assert list(find_crossing(design(tensor))) == ([("data", 1)] if crosses else [])


@pytest.mark.parametrize("tensor", [1, 2, 4, 8])
def test_affinity_slows_down_what_crosses_between_nodes_and_nothing_else(tensor: int) -> None:
    slow, fast = design(tensor, 0.25), design(tensor, 1.0)
    between = 4 if tensor in (2, 4) else 1
    assert served(slow, "data", 1) == pytest.approx(between * served(fast, "data", 1), rel=1e-6)
    assert served(slow, "data", 0) == served(fast, "data", 0)
    assert (simulate(slow).iteration_time_s > simulate(fast).iteration_time_s) == (between > 1)


def test_a_flat_ring_crosses_as_well() -> None:
    slow, fast = (design(4, affinity, collective=[FLAT_RING, FLAT_RING]) for affinity in (0.25, 1.0))
    assert served(slow, "data", 1) == pytest.approx(4 * served(fast, "data", 1), rel=1e-6)


def test_what_stages_send_goes_straight() -> None:
    assert list(find_crossing(design(8, pipeline=4))) == []
    slow, fast = design(8, 0.25, pipeline=4), design(8, 1.0, pipeline=4)
    assert simulate(slow).iteration_time_s == simulate(fast).iteration_time_s


@pytest.mark.parametrize("tensor", [2, 8])
def test_the_reference_engine_agrees(tensor: int) -> None:
    found = design(tensor)
    assert asdict(simulate(found, "reference"))["iteration_time_s"] == simulate(found).iteration_time_s


def test_messages_do_not_know_whose_rings_cross() -> None:
    with pytest.raises(InputError, match="affinity"):
        simulate(design(4), "reference_links")
    assert simulate(design(8), "reference_links").iteration_time_s > 0


def test_an_affinity_of_one_goes_without_saying() -> None:
    assert "affinity" not in str(design(4, 1.0).document())
    assert design(4, 0.5).document()["cluster"]["dimensions"][1]["affinity"] == 0.5
