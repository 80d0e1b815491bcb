"""Several jobs in a design: which NPUs each has, the design of each alone, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simcore.check.load import load_design
from simcore.design.job import Job
from simcore.design.jobs import JobShare, job_designs, shares_of
from simcore.design.placing import Placing
from simcore.document.problem import InputError

REDUCE = {"workload": {"collective": "all_reduce", "size": "1 MiB"}}
TRAINING = {"workload": {"model": "llama3-8b", "global_batch": 32, "sequence_length": 2048}}
NODES = {"topology": "switch", "size": 4, "bandwidth": "300 GB/s", "latency": "1 us"}
CLOS = {"topology": "clos", "size": 8, "leaf": 4, "oversubscription": 4, "bandwidth": "25 GB/s", "latency": "2 us"}


def document(*jobs: dict[str, Any], outer: dict[str, Any] = CLOS, **more: Any) -> dict[str, Any]:
    return {"jobs": list(jobs), "cluster": {"npu": "a100-80gb", "dimensions": [NODES, outer]}, **more}


def shares(*jobs: dict[str, Any], outer: dict[str, Any] = CLOS, **more: Any) -> tuple[JobShare, ...]:
    return shares_of(load_design(document(*jobs, outer=outer, **more)))[0]


def problems(*jobs: dict[str, Any], outer: dict[str, Any] = CLOS, **more: Any) -> str:
    with pytest.raises(InputError) as caught:
        load_design(document(*jobs, outer=outer, **more))
    return str(caught.value)


def test_packed_jobs_have_nodes_that_follow_one_another() -> None:
    one, other = shares({**REDUCE, "npus": 8}, {**REDUCE, "npus": 16})
    assert one.places == (0, 1)
    assert one.npus == tuple(range(8))
    assert other.places == (4, 5, 6, 7)  # all under one leaf


def test_packed_jobs_take_what_is_free_where_no_leaf_is() -> None:
    first, second, third = shares({**REDUCE, "npus": 8}, {**REDUCE, "npus": 8}, {**REDUCE, "npus": 16})
    assert (first.places, second.places, third.places) == ((0, 1), (2, 3), (4, 5, 6, 7))


def test_spread_jobs_alternate() -> None:
    one, other = shares({**REDUCE, "npus": 16, "placement": "spread"}, {**REDUCE, "npus": 16})
    assert (one.places, other.places) == ((0, 2, 4, 6), (1, 3, 5, 7))
    clos = one.design.cluster.dimensions[1]
    assert (clos.size, clos.leaf, clos.oversubscription) == (4, 2, 2.0)  # two NPUs have the one uplink of a leaf


def test_jobs_by_rail_have_some_npus_of_every_node() -> None:
    one, other = shares({**REDUCE, "npus": 8, "placement": "by_rail"}, {**REDUCE, "npus": 24})
    assert one.npus == tuple(range(0, 32, 4))
    assert one.dimensions == (1,)
    assert other.npus[:6] == (1, 2, 3, 5, 6, 7)
    assert [dimension.size for dimension in other.design.cluster.dimensions] == [3, 8]


def test_a_job_on_one_node_does_not_see_the_outer_dimension() -> None:
    (share,) = shares({**REDUCE, "nodes": [5]})
    assert share.dimensions == (0,)
    assert share.npus == (20, 21, 22, 23)


def test_stragglers_stay_the_npus_that_they_are() -> None:
    cluster = {"npu": "a100-80gb", "dimensions": [NODES, CLOS], "stragglers": [{"npu": 21, "slowdown": 2.0}]}
    found = shares_of(load_design({"jobs": [{**REDUCE, "npus": 16}, {**REDUCE, "npus": 16}], "cluster": cluster}))[0]
    assert not found[0].design.cluster.stragglers
    assert found[1].npus[found[1].design.cluster.stragglers[0].npu] == 21


@given(st.lists(st.sampled_from((1, 2, 4)), min_size=1, max_size=6), st.data())
def test_no_two_jobs_have_a_node_and_each_has_as_many_as_it_asks_for(sizes: list[int], data: st.DataObject) -> None:
    manners = [data.draw(st.sampled_from(("packed", "spread"))) for _ in sizes]
    jobs = [
        Job.model_validate({**REDUCE, "npus": 4 * size, "placement": manner})
        for size, manner in zip(sizes, manners, strict=True)
    ]
    placing = Placing(jobs, 16, 4)
    placing.place_nodes(len)
    if sum(sizes) > 16:
        assert placing.problems
        return
    assert [len(placing.given[number]) for number in range(len(jobs))] == sizes
    taken = [place for places in placing.given.values() for place in places]
    assert len(set(taken)) == len(taken)
    assert set(taken) <= set(range(16))


def test_the_document_of_a_job_alone_says_its_degrees_and_loads_back() -> None:
    design = load_design(document({**TRAINING, "parallelism": {"tensor": 4}, "npus": 16}, {**REDUCE, "npus": 8}))
    told = design.document()
    assert "workload" not in told
    assert told["jobs"][0]["parallelism"]["data"] == 4
    assert load_design(told).key == design.key
    assert job_designs(design)[0][0].data == 4


def test_a_job_can_be_changed_by_its_path() -> None:
    design = load_design(document({**TRAINING, "npus": 16}, {**REDUCE, "npus": 8}))
    changed = design.with_({"jobs[0].workload.global_batch": 64, "jobs[1].nodes": [6, 7]})
    assert changed.workload.global_batch == 64
    assert shares_of(changed)[0][1].places == (6, 7)


def test_the_software_decides_what_a_job_leaves_open() -> None:
    design = load_design(document({**TRAINING, "npus": 16, "software": "deepspeed"}, {**TRAINING, "npus": 16}))
    told = [alone.software.name for alone, _ in job_designs(design)]
    assert told == ["deepspeed", design.software.name]


def test_usual_algorithms_follow_from_what_a_job_has() -> None:
    design = load_design(document({**REDUCE, "npus": 12}, outer={**NODES, "size": 8}))
    assert job_designs(design)[0][0].algorithms == ("halving_doubling", "ring")
    assert "collective" not in design.document()["system"]


def test_what_cannot_be_is_refused() -> None:
    few = {**REDUCE, "npus": 16}
    assert "at most the 32 NPUs" in problems({**REDUCE, "npus": 24}, few)
    assert "nodes that no other job has, got 1, which jobs[0] has" in problems(
        {**REDUCE, "nodes": [0, 1]}, {**REDUCE, "nodes": [1, 2]}
    )
    assert "nodes below 8, got 9" in problems({**REDUCE, "nodes": [9]})
    assert "whole nodes: a multiple of 4, got 6" in problems({**REDUCE, "npus": 6})
    assert "'npus', or 'nodes', got neither" in problems(REDUCE)
    assert "either 'nodes' or this, got both" in problems({**few, "nodes": [1]})
    assert "'workload' beside 'jobs'" in problems(few, workload=REDUCE["workload"])
    assert "by_rail, as of another job" in problems({**few, "placement": "packed"}, {**few, "placement": "by_rail"})
    assert "as many of its nodes under each of its leaves" in problems({**REDUCE, "nodes": [0, 1, 4]})
    assert "a name of its own" in problems({**few, "name": "a"}, {**few, "name": "a"})
    ring = {"topology": "ring", "size": 8, "bandwidth": "25 GB/s", "latency": "2 us"}
    assert "a job on all 8 places" in problems(few, outer=ring)


def test_problems_of_a_job_stand_in_its_place() -> None:
    told = problems({**TRAINING, "npus": 16, "parallelism": {"tensor": 3}}, {**REDUCE, "npus": 8})
    assert "jobs[0].parallelism: expected degrees whose product is the 16 NPUs" in told
    told = problems(
        {**REDUCE, "npus": 8}, {**TRAINING, "workload": {**TRAINING["workload"], "model": "nobody"}, "npus": 8}
    )
    assert told.count("nobody") == 1
    assert "jobs[1].workload.model" in told
    told = problems({"workload": {"model": "llama3-8b"}, "npus": 16})
    assert "1 problem\n" in told
    assert "jobs[0].workload.global_batch" in told
