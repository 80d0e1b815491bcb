"""A space may be a choice of whole machines, each with a network of its own."""

from __future__ import annotations

from typing import Any

from tiny_spaces import space, tiny

from dse.proof.lifted import lifted_networks
from dse.search import make_sampler

SWITCH = {"topology": "switch", "latency": "1 us"}


def machines() -> dict[str, Any]:
    """A choice of two machines; the second has NPUs and nodes of its own."""
    old = [{**SWITCH, "size": 8, "bandwidth": {"choice": ["100 GB/s", "200 GB/s"]}, "tier": "node"}]
    new = [
        {**SWITCH, "size": 4, "bandwidth": "300 GB/s", "tier": "node"},
        {**SWITCH, "size": 2, "bandwidth": {"choice": ["10 GB/s", "50 GB/s"]}, "tier": "pod"},
    ]
    return {"choice": [{"npu": "v100-32gb", "dimensions": old}, {"npu": "a100-80gb", "dimensions": new}]}


def test_the_default_sampler_searches_a_choice_of_whole_clusters() -> None:
    searched = space(tiny(cluster=machines(), system={}))
    sampler = make_sampler("guided", searched, 0)
    proposals = [proposal for _ in range(200) if (proposal := sampler.ask()) is not None]
    assert {proposal.filled.document["cluster"]["npu"] for proposal in proposals} == {"v100-32gb", "a100-80gb"}


def test_each_of_the_clusters_is_lifted_to_the_best_of_its_links() -> None:
    searched = space(tiny(cluster=machines(), system={}))
    job = make_sampler("random", searched, 0).ask().filled.document  # type: ignore[union-attr]
    keys = {key: job[key] for key in ("workload", "parallelism")}
    networks = [network.design.cluster for network in lifted_networks(searched.template, keys, chunks=True)]
    found = {(c.npu.name, *(d.bandwidth for d in c.dimensions)) for c in networks}
    assert found == {("v100-32gb", 200e9), ("a100-80gb", 300e9, 50e9)}
