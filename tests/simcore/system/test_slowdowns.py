"""What a collective costs computation, by dimension: over links of a node, and over NICs."""

from __future__ import annotations

from simcore.check.load import design_from
from simcore.system.interference import slowdowns


def test_dimensions_inside_a_node_take_its_share_and_the_others_that_of_nics() -> None:
    tiers = ["chiplet", "package", "node", "pod"]
    each = {"topology": "ring", "size": 2, "bandwidth": "100 GB/s", "latency": "1 us"}
    document = {
        "workload": {"collective": "all_reduce", "size": "1 MB"},
        "cluster": {"npu": "a100-80gb", "dimensions": [each | {"tier": tier} for tier in tiers]},
        "cost": "libra",
    }
    overlap = {"node": 0.2, "nodes": 0.0375}
    assert slowdowns(design_from(document | {"software": {"base": "megatron-core", "overlap": overlap}})) == (
        *(200, 200, 200),
        38,  # whole thousandths, halves to the even one
    )
    free = {"base": "megatron-core", "overlap": {"node": 0.0, "nodes": 0.0}}
    assert slowdowns(design_from(document | {"software": free})) == (0, 0, 0, 0)
