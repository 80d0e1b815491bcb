"""Degrees that multiply to the number of NPUs, where that number is a hole."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from tiny_spaces import search, space, tiny

from dse.space.space import Space
from simcore.document.problem import InputError

SWITCH = {"topology": "switch", "latency": "1 us", "tier": "node"}


def sized(cluster: dict[str, Any], limits: dict[str, Any] | None = None) -> Space:
    degrees: dict[str, Any] = {"product": "npus", "of": ["tensor", "pipeline", "data"], "limits": limits or {}}
    document = tiny(cluster={"npu": "a100-80gb", **cluster}, system={"chunks": 2})
    document["parallelism"] = {"degrees": degrees, "zero": {"choice": [0, 1]}}
    return space(document)


CLUSTERS: dict[str, dict[str, Any]] = {
    "choice": {"dimensions": [{**SWITCH, "size": {"choice": [2, 4, 8]}, "bandwidth": "100 GB/s"}]},
    "powers": {
        "dimensions": [
            {**SWITCH, "size": {"powers_of_two": [2, 8]}, "bandwidth": {"choice": ["100 GB/s", "200 GB/s"]}},
            {**SWITCH, "size": 2, "bandwidth": "10 GB/s"},
        ]
    },
    "range": {"dimensions": [{**SWITCH, "size": {"range": [2, 6], "step": 2}, "bandwidth": "100 GB/s"}]},
    "split": {
        "bandwidth": {"split": {"choice": ["100 GB/s", "150 GB/s"]}, "step": "50 GB/s"},
        "dimensions": {
            "choice": [[{**SWITCH, "size": {"choice": [4, 6]}}], [{**SWITCH, "size": 4}, {**SWITCH, "size": 2}]]
        },
    },
    "fabric": {"fabric": "dgx-a100", "npus": {"choice": [8, 16]}},
    "nics": {
        "dimensions": [
            {**SWITCH, "size": 4, "bandwidth": "100 GB/s"},
            {**SWITCH, "size": {"choice": [2, 4]}, "nics": {"choice": [1, 2, 4]}, "nic_bandwidth": "25 GB/s"},
        ]
    },
}


@pytest.mark.parametrize("name", CLUSTERS)
def test_every_design_fills_its_cluster_and_the_count_is_theirs(name: str) -> None:
    given = sized(CLUSTERS[name])
    filled = list(given.enumerate())
    assert given.count() == len(filled)
    assert len({given.key(entry) for entry in filled}) == len(filled)
    for entry in filled:
        cluster, degrees = entry.document["cluster"], entry.document["parallelism"]
        npus = cluster.get("npus") or math.prod(dimension["size"] for dimension in cluster["dimensions"])
        assert degrees["tensor"] * degrees["pipeline"] * degrees["data"] == npus


@pytest.mark.parametrize("sampler", ["random", "nsga2", "tpe"])
def test_samplers_search_clusters_of_several_sizes(sampler: str, tmp_path: Path) -> None:
    _, outcomes = search(sized(CLUSTERS["powers"]), tmp_path, sampler, 30)
    assert len(outcomes) == 30
    assert "degrees multiply to the NPUs" not in {outcome.cut_by for outcome in outcomes}


def test_limits_that_some_size_cannot_meet_are_said_when_the_space_is_read() -> None:
    with pytest.raises(InputError, match="some factorisation of 2 NPUs meets, got tensor 4 to 8"):
        sized(CLUSTERS["choice"], {"tensor": [4, 8]})


def test_sizes_that_follow_from_others_are_refused() -> None:
    dimension = {**SWITCH, "size": {"expr": "workload.global_batch"}, "bandwidth": "100 GB/s"}
    with pytest.raises(InputError, match="sizes are plain numbers"):
        sized({"dimensions": [dimension]})


def test_the_number_of_npus_stands_for_degrees_only() -> None:
    with pytest.raises(InputError, match=r"the whole of parallelism\.degrees"):
        space(parallelism={"choice": [{"degrees": {"product": "npus", "of": ["tensor", "data"]}}]})
