"""A library of collectives: its closed form, what it is asked, what a document says of it."""

from __future__ import annotations

import math
from typing import Any

import pytest
from designs import dimension, npu, training

from simcore import catalog
from simcore.bounds.design import bound
from simcore.check.load import design_from
from simcore.design.library import Library
from simcore.document.problem import InputError
from simcore.simulate import simulate

GB, US = 1e9, 1e-6
KERNEL = {"launch": "5 us", "memory": "500 GB/s", "piece": "3 us"}
LIBRARY = {"algorithm": "ring", "all_reduce": KERNEL, "all_gather": KERNEL, "reduce_scatter": KERNEL}


def one(kind: str, size: str, npus: int = 8, chunks: int = 1, library: Any = LIBRARY, **its: Any) -> Any:
    dimensions = [dimension("switch", npus, "100 GB/s", "1 us", library=library, **its)]
    return design_from(
        {
            "workload": {"collective": kind, "size": size},
            "cluster": {"npu": npu(), "dimensions": dimensions},
            "system": {"chunks": chunks},
        }
    )


def seconds(*args: Any, **its: Any) -> float:
    return simulate(one(*args, **its)).iteration_time_s


def closed_form(size: float, members: int, turns: int) -> float:
    busy = turns * size * (members - 1) / members / (100 * GB) + size / (500 * GB)
    return 5 * US + turns * (members - 1) * US + busy + 2 * math.sqrt(3 * US * busy)


@pytest.mark.parametrize("chunks", [1, 7, 64])
@pytest.mark.parametrize("members", [2, 8])
def test_a_collective_takes_the_same_whatever_its_chunks(members: int, chunks: int) -> None:
    assert seconds("all_reduce", "8 MB", members, chunks) == pytest.approx(closed_form(8e6, members, 2), rel=1e-6)
    gathered = f"{8 / members} MB"  # what each has; the buffer that results is 8 MB
    assert seconds("all_gather", gathered, members, chunks) == pytest.approx(closed_form(8e6, members, 1), rel=1e-6)


def test_a_whole_dimension_may_have_a_memory_rate_of_its_own() -> None:
    own = {"all_reduce": {"memory": "100 GB/s", "whole_memory": "400 GB/s"}}
    library = Library.model_validate(own)
    whole, part = library.kernel("all_reduce", True), library.kernel("all_reduce", False)
    assert whole is not None
    assert part is not None
    assert (whole.memory, part.memory) == (400 * GB, 100 * GB)
    assert seconds("all_reduce", "8 MB", library=own) < seconds(
        "all_reduce", "8 MB", library={"all_reduce": {"memory": "100 GB/s"}}
    )


def test_sends_go_as_an_all_to_all_does_and_what_is_not_known_costs_its_links() -> None:
    library = Library.model_validate({"all_to_all": KERNEL})
    assert library.kernel("send_recv", False) == library.kernel("shift", True) == library.kernel("all_to_all", False)
    assert library.kernel("all_reduce", False) is None
    assert seconds(
        "all_reduce", "8 MB", library=library.model_dump(mode="json", exclude_defaults=True)
    ) == pytest.approx(seconds("all_reduce", "8 MB", library=None))


@pytest.mark.parametrize("kind", ["all_reduce", "all_gather", "all_to_all", "send_recv"])
@pytest.mark.parametrize("topology", ["switch", "ring"])
def test_all_engines_agree_on_one_chunk(kind: str, topology: str) -> None:
    library = {**LIBRARY, "all_to_all": KERNEL}
    document = one(kind, "300 KB", library=library).document()
    document["cluster"]["dimensions"][0]["topology"] = topology
    design = design_from(document)
    fast = simulate(design).iteration_time_s
    assert simulate(design, "reference").iteration_time_s == fast
    assert simulate(design, "reference_links").iteration_time_s == pytest.approx(fast, abs=1e-9)


def test_a_training_iteration_takes_the_same_on_both_engines_and_no_less_than_its_bound() -> None:
    inner = dimension("switch", 4, "100 GB/s", "1 us", library={**LIBRARY, "all_to_all": KERNEL})
    design = design_from(training({"tensor": 2, "pipeline": 2}, [inner, dimension("switch", 4)]))
    fast = simulate(design).iteration_time_s
    assert simulate(design, "reference").iteration_time_s == fast
    proven = bound(design)["iteration_time"]
    assert proven is not None
    assert proven <= fast


def test_its_algorithm_is_the_usual_one_of_its_dimension() -> None:
    assert one("all_reduce", "1 MB").algorithms == ("ring",)
    assert one("all_reduce", "1 MB", collective="direct").algorithms == ("direct",)
    assert one("all_reduce", "1 MB", library={"all_reduce": KERNEL}).algorithms == ("halving_doubling",)


@pytest.mark.parametrize("name", catalog.section("libraries"))
def test_a_name_of_the_catalogue_stays_a_name(name: str) -> None:
    design = one("all_reduce", "1 MB", library=name)
    assert design.document()["cluster"]["dimensions"][0]["library"] == name
    assert design_from(design.document()).key == design.key
    spelled = one("all_reduce", "1 MB", library=catalog.entry("libraries", name))
    assert spelled.key == design.key


def test_what_is_wrong_with_one_is_said() -> None:
    with pytest.raises(
        InputError, match="a library of collectives of the catalogue or one spelled out, got 'nccl-hoper'; did"
    ):
        one("all_reduce", "1 MB", library="nccl-hoper")
    with pytest.raises(InputError, match=r"library\.all_reduce\.memory"):
        one("all_reduce", "1 MB", library={"all_reduce": {"memory": "3 us"}})
    with pytest.raises(InputError, match=r"library\.al_reduce"):
        one("all_reduce", "1 MB", library={"al_reduce": KERNEL})


def two_levels(kind: str, library: Any, **outer: Any) -> float:
    """Seconds of 8 MB over 4 NPUs a node and 2 nodes, whose links take nearly all of the time."""
    inner = dimension("switch", 4, "1000 TB/s", "0 ns", library=library)
    design = design_from(
        {
            "workload": {"collective": kind, "size": "8 MB" if kind != "all_gather" else "1 MB"},
            "cluster": {"npu": npu(), "dimensions": [inner, dimension("switch", 2, "10 GB/s", "0 ns", **outer)]},
            "system": {"chunks": 1, "collective": ["ring", "ring"]},
        }
    )
    return simulate(design).iteration_time_s


@pytest.mark.parametrize("kind", ["reduce_scatter", "all_gather"])
def test_rings_over_all_npus_carry_more_between_nodes_than_a_hierarchy(kind: str) -> None:
    ring = 8e6 / 4 * 7 / 8 / (10 * GB)  # 4 rings of 8 members, each over the NIC of another NPU
    hierarchy = 8e6 / 4 * 1 / 2 / (10 * GB)
    assert two_levels(kind, {"rings": True}) == pytest.approx(ring, rel=1e-3)
    assert two_levels(kind, {}) == pytest.approx(hierarchy, rel=1e-3)


def test_all_reduces_and_switches_that_reduce_need_no_ring_over_all_npus() -> None:
    assert two_levels("all_reduce", {"rings": True}) == two_levels("all_reduce", {})
    reduced = [two_levels("reduce_scatter", library, in_network=True) for library in ({"rings": True}, {})]
    assert reduced[0] == reduced[1]
