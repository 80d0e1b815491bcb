"""Shared links against the enumeration of every message on every link."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest
import simpy
from every_link import Enumeration  # beside this file
from paced_level import max_min_paces
from sharing_designs import draw_iteration, draw_worn_collective

from simcore.check.load import design_from
from simcore.design.design import Design
from simcore.design.dimension import block_of
from simcore.document.problem import InputError
from simcore.engine.flow.classes import Classes, find_classes
from simcore.engine.flow.links import find_links, find_sharing, hops_of, kinds_of, links_of
from simcore.engine.flow.shared import Served
from simcore.engine.flow.trees import tree_loads
from simcore.engine.flow.wires import wires_of
from simcore.engine.reference.links import LinkNetwork
from simcore.engine.reference.switch_exchange import SwitchExchange
from simcore.memory.plan import program_of
from simcore.network import Slice
from simcore.simulate import simulate
from simcore.system.placement import place


def phases_of(design: Design, classes: Classes) -> Iterator[Served]:
    """Everything that the classes of a design may serve."""
    program = program_of(design)
    for group, kind in kinds_of(program, classes.placement):
        for where in classes.placement[group]:
            for its in range(len(classes.stages)):
                yield Served(its, group, where.dimension, kind)
    for its, stage in enumerate(classes.stages):
        for source, target in hops_of(program):
            digits = [(where, stage, target) for where in classes.placement["pipeline"]]
            if source != stage:
                continue
            here, there = stage, target
            for where, _, _ in digits:
                here, mine = divmod(here, where.part.members)
                there, its_own = divmod(there, where.part.members)
                if mine != its_own:
                    yield Served(its, "pipeline", where.dimension, "send_recv", target)


def served_at_once(phases: list[Served], draw: random.Random) -> set[Served]:
    """For some dimensions of some classes one of the phases that they may serve."""
    queues = sorted({(served.npus, served.dimension) for served in phases})
    chosen = draw.sample(queues, draw.randint(1, len(queues)))
    return {draw.choice([served for served in phases if (served.npus, served.dimension) == queue]) for queue in chosen}


def assert_same_paces(design: Design, classes: Classes, draw: random.Random) -> int:
    """Paces over the links that matter are those over all links; how many were below 1."""
    shared = find_links(design, program_of(design), classes)
    phases = list(phases_of(design, classes))
    every = Enumeration(design, classes).shared(phases)
    slowed = 0
    for _ in range(6):
        served = served_at_once(phases, draw)
        found, expected = max_min_paces(shared, served), max_min_paces(every, served)
        for one in served:
            assert found[one] == pytest.approx(expected[one], rel=1e-6), one
        slowed += sum(pace < 0.999 for pace in expected.values())
    return slowed


@pytest.mark.parametrize(("topology", "seeds"), [("ring", range(60)), ("mesh", range(60)), ("clos", range(100))])
def test_the_links_that_matter_give_the_paces_of_all_links(topology: str, seeds: range) -> None:
    slowed = 0
    for seed in seeds:
        design = draw_iteration(seed, [topology, topology, "switch"], most=32 if topology == "clos" else 16)
        if design is not None:
            classes = find_classes(design, place(design)[0])
            slowed += assert_same_paces(design, classes, random.Random(seed))
    assert slowed > 2


def test_classes_within_a_stage_share_links_as_enumerated() -> None:
    slowed = 0
    for seed in range(40):
        design = draw_iteration(seed, ["ring", "clos"], most=16)
        if design is not None:
            colours = np.random.default_rng(seed).integers(0, 2, design.cluster.npus)
            classes = find_classes(design, place(design)[0], colours)
            slowed += assert_same_paces(design, classes, random.Random(seed))
    assert slowed > 10


@pytest.mark.parametrize("topology", ["ring", "mesh", "fully_connected", "clos"])
def test_worn_links_slow_phases_as_enumerated(topology: str) -> None:
    slowed = 0
    for seed in range(40):
        design = draw_worn_collective(seed, [topology])
        if design is not None:
            slowed += assert_same_paces(design, find_classes(design, place(design)[0]), random.Random(seed))
    assert slowed > 10


RING: dict[str, Any] = {
    "workload": {"collective": "all_reduce", "size": "64 MiB"},
    "cluster": {
        "npu": "a100-80gb",
        "dimensions": [{"topology": "ring", "size": 8, "bandwidth": "100 GB/s", "latency": "1 ns"}],
    },
    "system": {"collective": ["ring"], "chunks": 16},
}


def worn(share: float) -> Design:
    """An all-reduce on a ring of which one link has that share of its bandwidth left."""
    cluster = {**RING["cluster"], "failed_links": [{"dimension": 0, "between": [2, 3], "share": share}]}
    return design_from({**RING, "cluster": cluster})


def test_half_a_link_halves_the_pace_of_a_ring_and_so_does_the_way_around_a_failed_one() -> None:
    whole = simulate(design_from(RING), "flow").iteration_time_s
    for share, times in ((0.5, 2.0), (0.25, 4.0), (0.0, 2.0)):
        assert simulate(worn(share), "flow").iteration_time_s == pytest.approx(times * whole, rel=1e-3)
        assert simulate(worn(share), "reference_links").iteration_time_s == pytest.approx(times * whole, rel=0.01)


def test_the_fast_engine_is_exact_where_no_reason_is_given() -> None:
    assert find_sharing(design_from(RING)) == ()
    (reason,) = find_sharing(worn(0.5))
    assert reason.startswith("phases share links (cluster.dimensions[0]: the link from NPU ")
    slow = {**RING["cluster"], "stragglers": [{"npu": 1, "slowdown": 1.5}]}
    (reason,) = find_sharing(design_from({**RING, "cluster": slow}))
    assert reason == "1 of the NPUs compute slower than the others of their stage"


def test_a_ring_that_is_cut_is_a_problem_of_the_failed_links() -> None:
    cluster = {**RING["cluster"], "failed_links": [{"dimension": 0, "between": [i, i + 1]} for i in (1, 5)]}
    with pytest.raises(InputError, match=r"cluster\.failed_links: expected a way from NPU"):
        find_sharing(design_from({**RING, "cluster": cluster}))


def test_a_link_that_is_listed_twice_is_a_problem() -> None:
    cluster = {
        **RING["cluster"],
        "failed_links": [{"dimension": 0, "between": [1, 2]}, {"dimension": 0, "between": [2, 1]}],
    }
    with pytest.raises(InputError, match=r"failed_links\[1\].between: expected each link at most once"):
        design_from({**RING, "cluster": cluster})


PIPELINE: dict[str, Any] = {
    "workload": {
        "model": {"layers": 4, "hidden": 1024, "heads": 8, "vocabulary": 1000, "sequence_length": 1024},
        "global_batch": 8,
        "sequence_length": 1024,
    },
    "parallelism": {"tensor": 4, "pipeline": 4, "data": 1, "microbatch": 1},
    "cluster": {**RING["cluster"], "dimensions": [{**RING["cluster"]["dimensions"][0], "size": 16}]},
    "system": {"collective": ["ring"], "chunks": 4},
}


def test_messages_that_go_first_leave_little_to_the_others() -> None:
    """A stage's tensor collective beside messages that come in; fairly it has one of four."""
    tensor, message = Served(1, "tensor", 0, "all_reduce"), Served(0, "pipeline", 0, "send_recv", 1)
    paces = {}
    for policy in ("priority", "fifo"):
        design = design_from({**PIPELINE, "system": {**PIPELINE["system"], "intra_dimension": policy}})
        paces[policy] = max_min_paces(links_of(design), {tensor, message})
    assert paces["fifo"] == pytest.approx({tensor: 1 / 4, message: 1})  # three messages of a quarter of a link each
    assert paces["priority"] == pytest.approx({tensor: 16 / 19, message: 4 / 19})


def trees(kinds: list[str], oversubscription: float) -> Design:
    """Two jobs whose collectives switches do, each on two NPUs of four leaves."""
    jobs = [{"workload": {"collective": kind, "size": "64 MiB"}, "npus": 8, "placement": "spread"} for kind in kinds]
    dimension = {
        "topology": "clos",
        "size": 16,
        "bandwidth": "50 GB/s",
        "latency": "500 ns",
        "leaf": 4,
        "oversubscription": oversubscription,
        "in_network": True,
    }
    system = {"collective": ["ring"], "chunks": 4, "intra_dimension": "fifo"}
    return design_from({"jobs": jobs, "cluster": {"npu": "a100-80gb", "dimensions": [dimension]}, "system": system})


def test_the_trees_of_two_jobs_meet_above_the_leaves() -> None:
    """At 4:1 a leaf of four has one uplink as fast as a port, which carries one sum of each job; at 2:1 two."""
    for oversubscription, slowdown in ((2.0, 1.0), (4.0, 2.0)):
        found = simulate(trees(["all_reduce", "all_reduce"], oversubscription), "flow").jobs
        assert [job.slowdown for job in found] == pytest.approx([slowdown, slowdown], rel=1e-2)
    exact = simulate(trees(["all_reduce", "all_reduce"], 4.0), "reference_links").jobs
    times = [sum(job.iteration_time_s for job in jobs) for jobs in (found, exact)]
    assert times[0] == pytest.approx(times[1], rel=0.1)


@pytest.mark.parametrize("kind", ["all_reduce", "reduce_scatter", "all_gather", "broadcast"])
@pytest.mark.parametrize(("nodes", "routing"), [(range(16), "adaptive"), (range(1, 16, 2), "ecmp"), ([0, 1], "ecmp")])
def test_a_tree_loads_links_as_its_flows_do(kind: str, nodes: Sequence[int], routing: str) -> None:
    its = {"topology": "clos", "size": 16, "bandwidth": "1 GB/s", "latency": "1 us", "leaf": 4, "oversubscription": 2.0}
    cluster = {"npu": "a100-80gb", "dimensions": [{**its, "routing": routing}]}
    design = design_from({"workload": {"collective": "all_reduce", "size": "1 MB"}, "cluster": cluster})
    block = block_of(design.cluster.dimensions[0])
    network = LinkNetwork(simpy.Environment(), block, Slice(16, 16, 1), 1e9, 1e-6)
    exchange = SwitchExchange(kind, network, list(nodes), 1 if len(nodes) == 2 else 2, 1e6)
    for member in range(len(nodes)):
        exchange.begin(member, lambda: None)
    network.env.run()
    wires = wires_of(block, 16, ())
    played = np.zeros(len(wires.rate))
    for number, channel in enumerate(network.channels):
        played[wires.pools_of_links(np.array([number]))] += channel.bytes
    found = tree_loads(wires, kind, np.array([nodes]), np.zeros((1, len(nodes)), np.int64))
    assert 1e6 * found[0] == pytest.approx(played)


def test_a_phase_does_not_wait_for_stages_that_are_elsewhere() -> None:
    """NPUs of two stages alternate on a ring; one stage alone reduces its gradients twice as fast as both at once."""
    data, one = Served(0, "data", 0, "all_reduce"), Served(1, "data", 0, "all_reduce")
    ring = {**PIPELINE["cluster"]["dimensions"][0], "library": {}}
    order = ["pipeline", "tensor", "context", "data"]
    inside = {**PIPELINE["cluster"], "dimensions": [ring], "placement": order}
    parallelism = {"tensor": 1, "pipeline": 2, "data": 8, "microbatch": 1}
    design = design_from({**PIPELINE, "cluster": inside, "parallelism": parallelism})
    assert max_min_paces(links_of(design), {data}) == pytest.approx({data: 2.0})
    assert max_min_paces(links_of(design), {data, one}) == pytest.approx({data: 1.0, one: 1.0})
