"""A library of collectives: its closed form, what it is asked, what a document says of it."""

from __future__ import annotations

import math
import re
from typing import Any

import pytest
from designs import dimension, npu, training

from simcore import catalog
from simcore.bounds.design import bound
from simcore.check.load import design_from
from simcore.design.library import Library
from simcore.document.problem import InputError
from simcore.metrics import METRICS
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


def test_no_switch_reduces_where_there_is_none() -> None:
    def took(topology: str, library: dict[str, Any]) -> float:
        document = one("all_reduce", "8 MB", library=library).document()
        document["cluster"]["dimensions"][0]["topology"] = topology
        return simulate(design_from(document)).iteration_time_s

    own = {"algorithm": "direct", "all_reduce": {"memory": "100 GB/s"}}
    reduced = {"algorithm": "direct", "all_reduce": {"memory": "100 GB/s", "whole_memory": "400 GB/s"}}
    assert took("switch", reduced) < took("switch", own)
    assert took("fully_connected", reduced) == took("fully_connected", own)


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


def two_levels(kind: str, library: Any, inner: str = "ring", **outer: Any) -> float:
    """Seconds of 8 MB over 4 NPUs a node and 2 nodes, whose links take nearly all of the time."""
    node = dimension("switch", 4, "1000 TB/s", "0 ns", library=library)
    design = design_from(
        {
            "workload": {"collective": kind, "size": "8 MB" if kind != "all_gather" else "1 MB"},
            "cluster": {"npu": npu(), "dimensions": [node, dimension("switch", 2, "10 GB/s", "0 ns", **outer)]},
            "system": {"chunks": 1, "collective": [inner, "ring"]},
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


@pytest.mark.parametrize("kind", ["reduce_scatter", "all_gather"])
@pytest.mark.parametrize("between", ["ring", "halving_doubling", "direct"])
@pytest.mark.parametrize("sizes", [(8, 4), (2, 16), (4, 2, 4)])
def test_rings_over_all_npus_take_as_many_steps_as_npus_less_one(
    kind: str, between: str, sizes: tuple[int, ...]
) -> None:
    """Each hop from one NPU of the ring to the next crosses the outermost dimension in which they differ."""
    latencies = [1.0, 20.0, 50.0][: len(sizes)]
    dimensions = [
        dimension("switch", n, "1000 TB/s", f"{us} us", library={"rings": True} if number == 0 else None)
        for number, (n, us) in enumerate(zip(sizes, latencies, strict=True))
    ]
    design = design_from(
        {
            "workload": {"collective": kind, "size": "1 KB"},
            "cluster": {"npu": npu(), "dimensions": dimensions},
            "system": {"chunks": 1, "collective": ["ring", *[between] * (len(sizes) - 1)]},
        }
    )
    expected = 0.0
    for rank in range(math.prod(sizes) - 1):
        here, there, crossed = rank, rank + 1, 0
        for number, n in enumerate(sizes):
            crossed = number if here % n != there % n else crossed
            here, there = here // n, there // n
        expected += latencies[crossed] * US
    fast = simulate(design).iteration_time_s
    assert fast == pytest.approx(expected, rel=1e-3)
    assert simulate(design, "reference").iteration_time_s == fast
    assert simulate(design, "reference_links").iteration_time_s == pytest.approx(fast, rel=1e-3)
    proven = bound(design)["iteration_time"]
    assert proven is not None
    assert proven <= fast


@pytest.mark.parametrize("policy", ["baseline", "themis"])
def test_no_policy_lifts_the_rings(policy: str) -> None:
    inner = dimension("switch", 4, "100 GB/s", "1 us", library={"rings": True})
    document = training(
        {"tensor": 2, "data": 4, "zero": 3}, [inner, dimension("switch", 2)], system={"inter_dimension": policy}
    )
    design = design_from(document)
    proven = bound(design)["iteration_time"]
    assert proven is not None
    assert proven <= simulate(design).iteration_time_s


@pytest.mark.parametrize("kind", ["reduce_scatter", "all_gather"])
def test_a_tree_for_all_reduces_lifts_no_rings(kind: str) -> None:
    both = {"algorithm": "ring", "algorithms": ["ring", "double_binary_tree"], "rings": True}
    assert two_levels(kind, both, "double_binary_tree") == two_levels(kind, both)
    for members in (2, 8):
        taken = [seconds(kind, "1 MB", members, library=both, collective=own) for own in both["algorithms"]]
        assert taken[0] == taken[1]


@pytest.mark.parametrize("algorithm", ["halving_doubling", "double_binary_tree", "direct", "direct[4]"])
def test_a_named_library_offers_its_own_algorithms_alone(algorithm: str) -> None:
    match = rf"an algorithm of nccl-hopper \(ring, flat_ring\), got '{re.escape(algorithm)}'"
    with pytest.raises(InputError, match=match):
        one("all_reduce", "1 MB", library="nccl-hopper", collective=algorithm)
    assert one("all_reduce", "1 MB", library=LIBRARY, collective=algorithm).algorithms == (algorithm,)
    assert one("all_reduce", "1 MB", library=None, collective=algorithm).algorithms == (algorithm,)


def of_nodes(**more: Any) -> Any:
    dimensions = [dimension("switch", 8, "450 GB/s", "801 ns", tier="node", library="nccl-hopper"), dimension("switch")]
    document = {"workload": {"collective": "all_reduce", "size": "1 MB"}, **more}
    return design_from({**document, "cluster": {"npu": "h100-80gb", "dimensions": dimensions}})


def test_a_named_library_visits_dimensions_in_order() -> None:
    with pytest.raises(InputError, match="baseline with nccl-hopper, whose collectives visit dimensions in order"):
        of_nodes(system={"inter_dimension": "themis"})


def test_kernels_of_a_named_library_run_to_their_end() -> None:
    with pytest.raises(InputError, match="order of whole chunks with nccl-hopper, whose kernels run to their end"):
        of_nodes(system={"intra_dimension": "preemptive"})
    assert of_nodes(system={"intra_dimension": "priority"}).system.intra_dimension == "priority"


def test_a_hypothetical_design_may_ask_for_what_its_library_lacks_and_says_so() -> None:
    result = simulate(of_nodes(system={"collective": ["direct", "ring"]}, hypothetical=True))
    (note,) = result.library_notes
    assert note.startswith("system.collective[0]: expected an algorithm of nccl-hopper")
    assert METRICS["orderable"].read(result) == 0.0
    assert simulate(of_nodes(hypothetical=True)).library_notes == ()
