"""Whole designs, packet by packet."""

from __future__ import annotations

from typing import Any

import pytest

from simcore import InputError, load_design, simulate
from simcore.check.check import check
from simcore.engine.packets import layout as at
from simcore.engine.packets.budget import check_hops, estimate_hops
from simcore.engine.packets.run import play_ready, prepare
from simcore.engine.reference import EventBudgetError
from simcore.memory.plan import program_of

NODE = {"topology": "switch", "size": 2, "bandwidth": "300 GB/s", "latency": "700 ns", "tier": "node"}
OUTER = {"topology": "clos", "size": 8, "bandwidth": "25 GB/s", "latency": "1 us", "tier": "pod", "leaf": 4}
LARGE = {"control": "none", "mtu": "8 kB", "efficiency": 1.0}
BARE = LARGE | {"header": 0, "acknowledgement": 0}


def document(**changed: Any) -> dict[str, Any]:
    its: dict[str, Any] = {
        "workload": {"model": "mpt-125m", "global_batch": 8, "sequence_length": 64},
        "parallelism": {"tensor": 2, "pipeline": 2, "data": 4, "microbatch": 1},
        "cluster": {"npu": "a100-80gb", "dimensions": [NODE, OUTER | {"oversubscription": 2.0}], "transport": LARGE},
        "system": {"chunks": 2},
    }
    for path, value in changed.items():
        inner = its
        *above, last = path.split("__")
        for key in above:
            inner = inner.setdefault(key, {})
        inner[last] = value
    return its


def test_an_iteration_without_headers_takes_about_what_the_link_level_says() -> None:
    apart = {"base": "mpt-125m", "tied": False}  # else either end of the pipeline is the last to finish
    design = load_design(document(cluster__transport=BARE, workload__model=apart))
    packets, links = simulate(design, "packets"), simulate(design, "reference_links")
    assert packets.iteration_time_s == pytest.approx(links.iteration_time_s, rel=0.02)
    assert packets.compute_s == pytest.approx(links.compute_s, rel=0.01)
    parts = packets.compute_s + packets.exposed_communication_s.total + packets.bubble_s + packets.optimizer_s
    assert parts == pytest.approx(packets.iteration_time_s, rel=1e-9)


def test_stragglers_slow_down_an_iteration_as_in_the_reference_engine() -> None:
    slow = document(cluster__transport=BARE, cluster__stragglers=[{"npu": 3, "slowdown": 1.5}])
    packets, reference = (simulate(load_design(slow), engine) for engine in ("packets", "reference"))
    assert packets.iteration_time_s == pytest.approx(reference.iteration_time_s, rel=0.03)


def test_what_travels_beside_computation_slows_it() -> None:
    plain, beside = (
        simulate(load_design(document(software={"base": "megatron-core", "overlap": overlap})), "packets").compute_s
        for overlap in ({"node": 0.0, "nodes": 0.0}, {"node": 0.5, "nodes": 0.5})
    )
    assert plain * 1.0001 < beside < plain * 1.5


def test_every_message_of_a_design_arrives_and_its_traffic_is_in_the_result() -> None:
    design = load_design(document())
    ready = prepare(design, program_of(design))
    played = play_ready(ready)
    assert (played.finish >= 0).all()
    assert played.lost_count == played.in_flight == 0
    result = simulate(design, "packets")
    assert result.engine == "packets"
    assert result.traffic is not None
    assert result.traffic.packets == played.clock[at.INJECTED]
    assert result.document()["traffic"]["ports"][0]["port"]
    assert "traffic" not in simulate(design, "fast").document()


def test_two_runs_are_the_same_to_the_last_digit() -> None:
    design = load_design(document(cluster__transport=LARGE | {"control": "dcqcn"}))
    assert simulate(design, "packets") == simulate(design, "packets")


def test_failed_links_are_gone_round_and_cost_time() -> None:
    sent = {"workload": {"collective": "all_to_all", "size": "1 MiB"}, "parallelism": {}}
    outer = OUTER | {"routing": "ecmp"}
    cluster = {"npu": "a100-80gb", "dimensions": [outer]}
    whole = load_design({**sent, "cluster": cluster})
    broken = load_design({**sent, "cluster": cluster | {"failed_links": [{"dimension": 0, "between": [8, 10]}]}})
    assert simulate(broken, "packets").iteration_time_s > simulate(whole, "packets").iteration_time_s * 1.05


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"cluster__dimensions": [NODE, {**OUTER, "topology": "ring"}]}, "switches on the outermost dimension"),
        ({"cluster__dimensions": [NODE, {**OUTER, "topology": "switch", "in_network": True}]}, "only forward"),
        ({"system__active_chunks": 1}, "lets every chunk send"),
        ({"system__collective": ["flat_ring", "flat_ring"]}, "algorithms of one dimension"),
        ({"cluster__transport": LARGE | {"buffer": "50 kB"}}, "to themselves"),
        ({"cluster__transport": LARGE | {"pfc": False}}, "keep their order"),
        ({"cluster__transport": LARGE | {"control": "hpcc"}}, "keep to one way"),
        ({"cluster__transport": LARGE | {"control": "timely", "acknowledge_every": 4}}, "waits for acknowledgements"),
        ({"cluster__switching": "store_and_forward"}, "not messages"),
    ],
)
def test_what_it_cannot_play_is_refused_with_a_reason(changed: dict[str, Any], expected: str) -> None:
    given = document(**changed)
    for dimension in given["cluster"]["dimensions"]:
        if dimension["topology"] != "clos":
            dimension.pop("leaf", None)
    with pytest.raises(InputError, match=expected):
        simulate(load_design(given), "packets")


def test_a_run_of_too_many_packets_is_refused_with_what_would_fit() -> None:
    design = load_design(document())
    hops = estimate_hops(design)
    with pytest.raises(EventBudgetError, match=r"packet-hops, got about .*; what fits: layers"):
        check_hops(design, check, budget=hops // 3)
    check_hops(design, check, budget=hops)


def test_the_estimate_of_packet_hops_is_above_what_is_played_and_near_it() -> None:
    design = load_design(document(system__collective=["ring", "ring"]))
    result = simulate(design, "packets")
    assert result.traffic is not None
    assert result.traffic.packet_hops <= estimate_hops(design) <= 2.5 * result.traffic.packet_hops


def test_several_jobs_are_refused() -> None:
    job = {"workload": {"collective": "all_reduce", "size": "1 MB"}, "npus": 8}
    cluster = {"npu": "a100-80gb", "dimensions": [OUTER | {"size": 16}]}
    two = load_design({"jobs": [job | {"name": "one"}, job | {"name": "other"}], "cluster": cluster})
    with pytest.raises(InputError, match="one job"):
        simulate(two, "packets")
