"""A phase occupies its dimension for what its busiest link carries: closed forms, links and messages say the same."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from designs import Document, collective, dimension
from numpy.typing import NDArray
from test_links_and_closed_forms import NAMES, blocks, exact_patterns, placements, usable

from simcore.collective import ALGORITHMS, KINDS, CustomAlgorithm, ListedKind, ListedMessage, Plan, Step, plan_for
from simcore.collective.direct import Direct
from simcore.network import TOPOLOGIES, Block, Exchange, Listed, Pattern, Send, Shift, Slice, Tree, block
from simcore.network.from_links import loads_from_links
from simcore.simulate import simulate
from simcore.system.chunks import PICOSECONDS, Chunker, Phase
from simcore.system.phase_cost import PhaseCost, phase_cost
from simcore.system.placement import place

ALL_NAMES = [*NAMES, "double_binary_tree"]
TABLE = ((1e3, 0.1), (1e6, 0.5), (1e9, 1.0))


class FromLinks:
    """A block whose steps cost what its closed forms say, and load what its links say."""

    def __init__(self, its: Block) -> None:
        self._its, self.step, self.shape = its, its.step, its.shape

    def carried(self, pattern: Pattern, part: Slice) -> NDArray[np.float64]:
        return loads_from_links(pattern, self._its, part)


def cost_by_links(name: str, its: Block, kind: str, part: Slice) -> PhaseCost:
    return phase_cost.__wrapped__(name, FromLinks(its), kind, part, False)  # type: ignore[arg-type]


@pytest.mark.parametrize("topology", TOPOLOGIES)
def test_the_busiest_link_of_a_step_is_that_of_the_links(topology: str) -> None:
    for part in placements(9):
        for its in blocks(topology, part):
            patterns = [*exact_patterns(part, its.shape(part).kind), Tree(part.members.bit_length() - 1)]
            for pattern in patterns:
                if not isinstance(pattern, Send):  # of which the one that is asked about is alone
                    own, counted = its.carried(pattern, part), loads_from_links(pattern, its, part)
                    assert own.max() == pytest.approx(counted.max(), rel=1e-12), (its, part, pattern)


@pytest.mark.parametrize("topology", TOPOLOGIES)
def test_the_busiest_link_of_a_phase_is_that_of_the_links_whatever_the_sizes_of_messages(topology: str) -> None:
    for part in placements(9):
        for its, name, kind in itertools.product(blocks(topology, part), ALL_NAMES, KINDS):
            if usable(name, part, its):
                own, counted = phase_cost(name, its, kind, part, False), cost_by_links(name, its, kind, part)
                assert own.occupied == pytest.approx(counted.occupied, rel=1e-12)
                for size in (1e4, 1e7):
                    slowed = counted.occupied_of(size, TABLE)
                    assert own.occupied_of(size, TABLE) == pytest.approx(slowed, rel=1e-12)
                    assert own.occupied <= slowed <= own.load_of(size, TABLE) * (1 + 1e-12)


def busiest_by_messages(plan: Plan, its: Block, part: Slice) -> float:
    """What the messages of a plan load their busiest link with, per byte of the buffer."""
    links = its.wiring(part)
    loads = np.zeros(len(links))
    for message in plan.messages:
        for pair in itertools.pairwise((message.source, *message.way, message.target)):
            routes = its.routes(part, *pair)
            for link in itertools.chain(*routes):
                loads[link] += plan.share(message) / len(routes) / links[link].rate
    return float(loads.max())


@pytest.mark.parametrize("topology", TOPOLOGIES)
def test_no_link_carries_more_messages_than_the_busiest_and_one_as_many(topology: str) -> None:
    for part in placements(8):
        for its, name, kind in itertools.product(blocks(topology, part), ALL_NAMES, KINDS):
            if not usable(name, part, its):
                continue
            shape = its.shape(part)
            found = busiest_by_messages(plan_for(name, kind, part.members, shape), its, part)
            occupied = phase_cost(name, its, kind, part, False).occupied
            assert found <= occupied * (1 + 1e-12)
            # In a broadcast by exchanges all members are taken to send, though in its first steps few have anything.
            if shape.kind == "star" or (name, kind) != ("halving_doubling", "broadcast"):
                assert found == pytest.approx(occupied, rel=1e-12)


@pytest.mark.parametrize("topology", TOPOLOGIES)
def test_the_two_phases_of_an_all_reduce_occupy_what_its_busiest_link_carries(topology: str) -> None:
    """On a line the first link carries n - 1 messages one way and 1 the other: n, of 2 (n - 1) steps."""
    for part in placements(8):
        for its, name in itertools.product(blocks(topology, part), NAMES):
            if usable(name, part, its):
                halves = [
                    phase_cost(name, its, kind, part, False, of_two=True) for kind in ("reduce_scatter", "all_gather")
                ]
                found = busiest_by_messages(plan_for(name, "all_reduce", part.members, its.shape(part)), its, part)
                assert sum(half.occupied for half in halves) == pytest.approx(found, rel=1e-12)
                for half, kind in zip(halves, ("reduce_scatter", "all_gather"), strict=True):
                    assert half.load == phase_cost(name, its, kind, part, False).load


def test_halving_doubling_among_all_connected_occupies_its_first_link_alone() -> None:
    """Of 8 NPUs 1/2 + 1/4 + 1/8 of the buffer, each over another link."""
    cost = phase_cost("halving_doubling", block("fully_connected"), "reduce_scatter", Slice(8, 8, 1), False)
    assert cost.load == 7 * (1 / 2 + 1 / 4 + 1 / 8)
    assert cost.occupied == 7 / 2


def test_lists_of_messages_meet_on_links_over_all_steps() -> None:
    """0 sends to 1, then 2 to 1, then 0 to 1 again: at a switch one port receives all three."""
    messages = tuple(ListedMessage(step, source, 1, (0,), False) for step, source in enumerate((0, 2, 0)))
    own = CustomAlgorithm("custom:mine", (ListedKind("broadcast", 3, 1, messages),))
    for topology, occupied in (("switch", 3.0), ("fully_connected", 4.0)):
        cost = phase_cost(own, block(topology), "broadcast", Slice(3, 3, 1), False)
        assert (cost.load, cost.occupied) == (3.0 * (1 if topology == "switch" else 2), occupied)


@pytest.mark.parametrize("members", [65_536])
@pytest.mark.parametrize("topology", ["ring", "mesh", "switch"])
def test_the_busiest_of_very_many_links_is_found_at_once(topology: str, members: int) -> None:
    part = Slice(members, members, 1)
    cost = phase_cost("halving_doubling", block(topology), "all_reduce", part, False)
    exchanges = np.array([block(topology).carried(Exchange(1 << bit), part) * 0.5 ** (bit + 1) for bit in range(16)])
    assert cost.occupied == pytest.approx(2 * exchanges.sum(axis=0).max(), rel=1e-9)


FC = dimension("fully_connected", 8, "100 GB/s", "1 us", tier="package")
LIBRARY = {"reduce_scatter": {"launch": "5 us", "memory": "400 GB/s", "piece": "3 us"}}


@pytest.mark.parametrize("more", [{}, {"library": LIBRARY}, {"efficiency": {"1 KB": 0.1, "64 KB": 0.5, "4 MB": 0.9}}])
def test_a_chunk_alone_takes_all_its_steps_and_the_others_follow_as_fast_as_the_busiest_link(more: Document) -> None:
    for chunks in (1, 2, 16):
        system = {"collective": ["halving_doubling"], "chunks": chunks}
        design = collective("reduce_scatter", "64 MiB", [FC | more], **system)
        (slices,) = place(design)[0].values()
        chunker, size = Chunker(design), 2**26 / chunks
        phase = chunker.phase("reduce_scatter", slices[0], size, size)
        cost = phase_cost("halving_doubling", block("fully_connected"), "reduce_scatter", slices[0].part, False)
        kernel = chunker._kernel_of("reduce_scatter", slices[0])
        steps = chunker.seconds(cost, size, design.cluster.dimensions[0], chunker.rate_reached(slices[0]), kernel)
        launch = round(kernel.launch * PICOSECONDS) if kernel else 0
        assert phase.serialization + phase.latency == round(steps * PICOSECONDS) + 3 * 10**6 + launch
        assert phase.latency == phase.other_links + 3 * 10**6 + launch
        took = round(simulate(design).iteration_time_s * PICOSECONDS)
        assert took == chunks * phase.serialization + phase.latency


def test_what_a_library_does_beyond_the_links_occupies_the_dimension_whole() -> None:
    def phase_of(**more: object) -> Phase:
        design = collective("reduce_scatter", "64 MiB", [FC | more], collective=["halving_doubling"], chunks=4)
        (slices,) = place(design)[0].values()
        return Chunker(design).phase("reduce_scatter", slices[0], 2**24, 2**24)

    links, kernel = phase_of(), phase_of(library=LIBRARY)
    assert kernel.other_links == links.other_links
    assert kernel.serialization - links.serialization > 2**24 / 400e9 * PICOSECONDS


def test_a_phase_whose_steps_share_every_link_is_all_service() -> None:
    """At a switch, and of a ring around a ring, the port and each link carry every step."""
    for topology, name in (("switch", "halving_doubling"), ("ring", "ring"), ("fully_connected", "direct")):
        for kind in ("all_reduce", "reduce_scatter", "all_to_all"):
            cost = phase_cost(name, block(topology), kind, Slice(16, 16, 1), False)
            assert cost.occupied == cost.load


class Mixed(Direct):
    """A pattern, then two steps of listed messages over one other link."""

    def steps(self, kind: str, members: int) -> tuple[Step, ...]:
        return (Step(Shift(1), 0.5), *[Step(Listed(((0, 2, 1.0),)), 0.25)] * 2)


def test_of_an_algorithm_of_patterns_and_lists_the_busiest_links_of_both_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ALGORITHMS._own, "mixed", Mixed())
    cost = phase_cost("mixed", block("fully_connected"), "reduce_scatter", Slice(4, 4, 1), False)
    assert cost.occupied == cost.load == 3 * (0.5 + 0.5)
