"""A job of one design on the network of another, and on one that it breaks no rule of but its own."""

from __future__ import annotations

from typing import Any

from dse.proof.parts import Networks, SpacePart
from simcore.check.load import parse_sound
from simcore.design.design import Design
from simcore.network import BLOCK_KEYS


def join_designs(job: Design, network: Design) -> Design:
    """The job of one design on the network of another."""
    return job.model_copy(
        update={name: getattr(network, name) for name in ("cluster", "system", "cost", "reliability")}
    )


def neutral_network(design: Design) -> Networks:
    """One network on which a job breaks a rule only if it breaks it everywhere: a single switch, any algorithm's."""
    (first, *_) = design.cluster.dimensions
    switch = {"topology": "switch", "size": design.cluster.npus, "leaf": None, "collective": "direct"}
    plain = {
        "oversubscription": 1.0,
        **dict.fromkeys(BLOCK_KEYS),
        "routing": None,
        "routing_seed": 0,
        "connections": 1,
        "in_network": False,
        "trees": None,
        "tier": "node",
        "nics": None,
        "nic_bandwidth": None,
        "switch": None,
        "library": None,
    }
    dimension = first.model_copy(update=switch | plain)
    cluster = design.document()["cluster"] | {"dimensions": [dimension.model_dump(mode="json", exclude_none=True)]}
    cluster = {key: value for key, value in cluster.items() if key not in ("stragglers", "failed_links", "transport")}
    document = {"workload": design.document()["workload"], "cluster": cluster, "cost": "network-only"}
    # The NPU is the very one of the space: written and read again, the order of its keys may change.
    parts: dict[str, Any] = {"dimensions": (dimension,), "stragglers": (), "failed_links": (), "transport": None}
    if (memory := design.cluster.memory) is not None and memory.expanded is not None and memory.expanded.edge:
        inner = memory.expanded.model_copy(update={"edge": False})  # of a mesh, which this is not
        parts["memory"] = memory.model_copy(update={"expanded": inner})
    whole = join_designs(design, parse_sound(document)).model_copy(
        update={"cluster": design.cluster.model_copy(update=parts)}
    )
    return Networks.of([[(SpacePart({"cluster": cluster, "cost": "network-only"}, {}), whole)]])
