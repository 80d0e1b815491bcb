"""The links and the closed forms say the same: one chunk on an idle network, topology x algorithm x placement."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from idle_links import Idle

from simcore.collective import ALGORITHMS, FLAT_RING, KINDS, Plan, algorithm_for, algorithm_named
from simcore.collective.double_binary_tree import PIECES, DoubleBinaryTree
from simcore.document.problem import InputError
from simcore.network import TOPOLOGIES, Block, Chain, Exchange, Listed, Pattern, Send, Shift, Slice, Spread, Tree, block
from simcore.network.graph import Joint
from simcore.network.shared import SharedBlock
from simcore.system.phase_cost import phase_cost

BYTE_A_PICOSECOND = 1e12
PIPELINED = {FLAT_RING, "double_binary_tree"}
"""No algorithms of one dimension, or such whose closed form is that of infinitely many pieces."""
NAMES = [*(name for name in ALGORITHMS if name not in PIPELINED), "direct[1]", "direct[2]"]


def placements(largest: int) -> Iterator[Slice]:
    """Every group on every dimension of up to `largest` NPUs: whole and partial, contiguous and strided."""
    for size in range(2, largest + 1):
        for members in range(2, size + 1):
            yield from (Slice(size, members, s) for s in range(1, size + 1) if size % (members * s) == 0)


def blocks(topology: str, part: Slice) -> Iterator[Block]:
    """Every block of a topology that a group fits."""
    whole = Slice(part.size, part.size, 1)
    for its in (*plain_blocks(topology, part.size), *shared_blocks(topology, part.size)):
        if (
            part.size % (its.leaf or 1) == 0
            and not any(its.misfits(part.size))
            and not its.needs(part)
            and not its.needs(whole)
        ):
            yield its


def plain_blocks(topology: str, size: int) -> Iterator[Block]:
    """Blocks of which a part has a known share of the links."""
    if issubclass(TOPOLOGIES[topology], SharedBlock):
        return
    leaves = [leaf for leaf in range(1, size + 1) if size % leaf == 0]
    ways = [(leaf, ratio) for leaf in leaves for ratio in (1.0, 3.0)] if TOPOLOGIES[topology].leaves else [(0, 1.0)]
    yield from (block(topology, leaf, ratio) for leaf, ratio in ways)
    if topology == "fully_connected":
        yield block(topology, channels=True)


def shared_blocks(topology: str, size: int) -> Iterator[Block]:
    """Blocks on which all groups meet, with every routing."""
    if topology == "clos":
        for routing in ("adaptive", "ecmp", "shortest"):
            yield from (block("clos", leaf, ratio, routing=routing) for leaf in (1, 2, 4) for ratio in (1.0, 2.0))
            yield block("clos", 2, (2.0, 2.0), pod=4, routing=routing)
            yield block("clos", 1, (1.0, 2.0), pod=2, routing=routing, connections=2)
    if topology == "dragonfly":
        for routing in ("adaptive", "ecmp", "valiant"):
            yield from (block("dragonfly", 1, routers=a, global_links=1, routing=routing) for a in (1, 2))
            yield block("dragonfly", 2, routers=2, global_links=1, routing=routing)
    if topology == "torus":
        shapes = [(a, size // a) for a in range(2, size) if size % a == 0 and size // a > 1] + [(2, 2, 2)] * (size == 8)
        for routing in ("dimension_ordered", "adaptive", "ecmp"):
            for sides in shapes:
                yield block("torus", sides=sides, routing=routing)
                yield block("torus", sides=sides, wrap=(False,) * len(sides), routing=routing)
                yield block("torus", sides=sides, twisted=True, routing=routing)
    if topology in ("hypercube", "dgx1"):
        yield from (block(topology, routing=routing) for routing in TOPOLOGIES[topology].routings)
    if topology == "graph":
        yield block("graph", graph=_two_switches(size))


def _two_switches(size: int) -> tuple[tuple[str, ...], tuple[Joint, ...]]:
    """NPUs at two switches in turns, and a link between the first and the last."""
    ports = [Joint((npu, "ab"[npu % 2]), 0.5, None) for npu in range(size)]
    return ("a", "b"), (*ports, Joint(("a", "b"), 2.0, None), Joint((0, size - 1), 0.5, 2.0))


def whole_picoseconds(part: Slice) -> float:
    """A buffer [B] all of whose messages take a whole number of picoseconds."""
    return float(48 * part.members**2 * (part.members - 1) * (part.size - 1) * part.stride)


def usable(name: str, part: Slice, topology: Block) -> bool:
    if algorithm_named(name).needs(part.members):
        return False
    return not name.startswith("direct[") or topology.shape(part).kind == "star"


def mixes_near_and_far(topology: Block, part: Slice) -> bool:
    shape = topology.shape(part)
    return shape.kind == "star" and 1 < shape.leaf < part.members


def closed_form(name: str, topology: Block, kind: str, part: Slice, size: float, latency: int) -> float:
    cost = phase_cost(name, topology, kind, part, False)
    return cost.load * size + cost.hops * latency


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("topology", TOPOLOGIES)
def test_messages_take_as_long_as_the_closed_form_on_an_idle_network(topology: str, name: str, kind: str) -> None:
    checked = 0
    for part in placements(6 if issubclass(TOPOLOGIES[topology], SharedBlock) and topology != "dgx1" else 8):
        size = whole_picoseconds(part)
        for its in blocks(topology, part):
            if not usable(name, part, its):
                continue
            for latency in (7,) if isinstance(its, SharedBlock) else (0, 7, round(size)):
                idle = Idle(its, BYTE_A_PICOSECOND, latency / 1e12)
                together = isinstance(its, SharedBlock)
                took = (idle.all_groups if together else idle.collective)(name, kind, part, size)
                expected = closed_form(name, its, kind, part, size, latency)
                least, most = tolerated(name, kind, its, part)
                assert round(least * expected) <= took <= round(most * expected), (its, part, latency)
                checked += 1
    assert checked > 5 or (name.startswith("direct[") and topology in ("ring", "mesh"))


def tolerated(name: str, kind: str, its: Block, part: Slice) -> tuple[float, float]:
    """What messages may take, as shares of the closed form."""
    patterns = {type(step.pattern) for step in algorithm_for(name, kind, its.shape(part)).steps(kind, part.members)}
    near_and_far = mixes_near_and_far(its, part)
    if isinstance(its, SharedBlock):
        return 0.3, 2.0  # all groups at once, over links that they share; see `test_shared_blocks`
    if type(its).step is Block.step or (near_and_far and Listed in patterns):
        # Counted from the links: whose messages have fewer hops goes on earlier, and may meet those of others.
        return 0.5, 1.2
    if near_and_far and Shift in patterns:
        return 0.7, 1.0  # a ring over several leaves: slow and fast hops overlap (see `FatTree`)
    if len(its.shape(part).cycles) > part.members and patterns & {Shift, Chain}:
        return 0.9, 1.1  # two rings share each link, and one of them may be a step ahead
    return 1.0, 1.0


@pytest.mark.parametrize("topology", TOPOLOGIES)
def test_routes_lead_from_sender_to_receiver_and_no_npu_sends_faster_than_its_bandwidth(topology: str) -> None:
    for part in placements(8):
        for its in blocks(topology, part):
            links = its.wiring(part)
            for npu in range(part.members):
                for ends in ([link.source for link in links], [link.target for link in links]):
                    rates = [link.rate for link, end in zip(links, ends, strict=True) if end == npu]
                    assert sum(rates) <= 1 + 1e-12  # proven bounds rest on it
                for other in set(range(part.members)) - {npu}:
                    for route in its.routes(part, npu, other):
                        assert (links[route[0]].source, links[route[-1]].target) == (npu, other)
                        for before, after in itertools.pairwise(links[link] for link in route):
                            # From spine to spine is no way: a message goes up by one's share and down by another's.
                            assert before.target == after.source or min(before.target, after.source) >= part.members


def exact_patterns(part: Slice, shape: str) -> Iterator[Pattern]:
    """The steps whose closed forms are exact, Trees aside."""
    n = part.members
    yield from (Shift(1), Shift(n - 1), Chain(1), Chain(n), Spread())
    yield from (Spread(window) for window in (1, 2) if shape == "star" and window < n - 1)
    yield from (Exchange(1 << bit) for bit in range(n.bit_length() - 1) if n & (n - 1) == 0)
    yield from (Send(distance) for distance in range(1, n))


@pytest.mark.parametrize("topology", ["ring", "mesh", "fully_connected", "switch"])
def test_a_closed_form_is_what_a_step_costs_by_the_links(topology: str) -> None:
    its = block(topology)
    for part in placements(9):
        for pattern in exact_patterns(part, its.shape(part).kind):
            own, counted = its.step(pattern, part), Block.step(its, pattern, part)
            assert counted.hops == own.hops
            assert counted.load == pytest.approx(own.load, rel=1e-12)
            if pattern != Spread() or its.shape(part).kind == "star":  # else pieces are passed on, put together
                assert counted.messages == own.messages


def test_a_tree_at_a_port_costs_by_the_links_what_its_inner_nodes_send() -> None:
    its = block("switch")
    for members in range(8, 20):
        part, tree = Slice(members, members, 1), Tree(members.bit_length() - 1)
        assert Block.step(its, tree, part) == its.step(tree, part)


@given(
    part=st.sampled_from(list(placements(16))),
    topology=st.sampled_from(["ring", "mesh", "fully_connected", "switch"]),
    name=st.sampled_from(NAMES),
    kind=st.sampled_from(KINDS),
    size=st.floats(1.0, 1e9),
    bandwidth=st.floats(1e8, 1e12),
    latency=st.floats(0.0, 1e-3),
)
def test_whatever_the_numbers_only_the_rounding_of_each_message_is_left(
    part: Slice, topology: str, name: str, kind: str, size: float, bandwidth: float, latency: float
) -> None:
    its = block(topology)
    assume(usable(name, part, its))
    cost = phase_cost(name, its, kind, part, False)
    expected = (cost.load * size / bandwidth + cost.hops * latency) * 1e12
    took = Idle(its, bandwidth, latency).collective(name, kind, part, size)
    in_a_row = 4 * part.members**2
    assert abs(took - expected) <= in_a_row + 1e-9 * expected


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["ring", "direct", "halving_doubling"])
@pytest.mark.parametrize("topology", ["ring", "mesh", "fully_connected"])
def test_between_neighbours_store_and_forward_is_as_fast(topology: str, name: str, kind: str) -> None:
    its = block(topology)
    for part in placements(8):
        if usable(name, part, its):
            size = whole_picoseconds(part)
            stored = Idle(its, BYTE_A_PICOSECOND, 5e-12, "store_and_forward").collective(name, kind, part, size)
            assert stored == round(closed_form(name, its, kind, part, size, 5))


def test_store_and_forward_through_a_switch_serializes_twice() -> None:
    part, size = Slice(4, 4, 1), 4000.0
    stored = Idle(block("switch"), BYTE_A_PICOSECOND, 1e-12, "store_and_forward")
    assert stored.collective("halving_doubling", "reduce_scatter", part, size) == 2 * (2000 + 1000) + 2


@pytest.mark.parametrize("topology", ["ring", "mesh", "fully_connected", "switch"])
def test_a_message_takes_as_long_as_the_closed_form(topology: str) -> None:
    its = block(topology)
    for part in placements(9):
        for distance in range(1, part.members):
            for latency in (0, 3, 10**7):
                size = whole_picoseconds(part)
                cost = its.step(Send(distance), part)
                took = Idle(its, BYTE_A_PICOSECOND, latency / 1e12).send(part, distance, size)
                assert took == round(cost.load * size + cost.hops * latency)


@pytest.mark.parametrize("members", [2, 3, 8])
@pytest.mark.parametrize("latency", [0, 5, 10**6])
def test_an_all_reduce_in_the_switch_sends_the_buffer_once(members: int, latency: int) -> None:
    part = Slice(members, members, 1)
    idle = Idle(block("switch"), BYTE_A_PICOSECOND, latency / 1e12)
    assert idle.collective("ring", "all_reduce", part, 1e5, in_network=True) == 100_000 + 2 * latency


@pytest.mark.parametrize("topology", ["ring", "mesh", "fully_connected", "switch"])
@pytest.mark.parametrize("name", ["ring", "direct", "halving_doubling"])
def test_groups_side_by_side_do_not_hinder_each_other(topology: str, name: str) -> None:
    its = block(topology)
    for part in placements(12):
        if part.stride == 1 and usable(name, part, its):
            size = whole_picoseconds(part)
            together = Idle(its, BYTE_A_PICOSECOND, 9e-12).all_groups(name, "all_reduce", part, size)
            assert together == round(closed_form(name, its, "all_reduce", part, size, 9))


@pytest.mark.parametrize("topology", ["ring", "mesh"])
@pytest.mark.parametrize("name", ["ring", "direct", "halving_doubling"])
def test_groups_that_share_links_take_about_what_the_closed_form_says(topology: str, name: str) -> None:
    """First come, first served is not the even sharing of the closed form: latencies hide, queues form."""
    its = block(topology)
    for part in placements(12):
        if part.stride > 1 and usable(name, part, its):
            size = whole_picoseconds(part)
            for latency in (0, round(size / 100), round(5 * size)):
                together = Idle(its, BYTE_A_PICOSECOND, latency / 1e12).all_groups(name, "all_reduce", part, size)
                expected = closed_form(name, its, "all_reduce", part, size, latency)
                assert 0.5 * expected <= together <= 1.2 * expected


@pytest.mark.parametrize("topology", ["ring", "mesh", "switch"])
def test_a_double_binary_tree_of_many_pieces_comes_near_the_closed_form(topology: str) -> None:
    its = block(topology)
    for members in (4, 7, 8, 16):
        part, size = Slice(members, members, 1), float(2**20)
        expected = closed_form("double_binary_tree", its, "all_reduce", part, size, 1000)
        idle = Idle(its, BYTE_A_PICOSECOND, 1e-9)
        one, some, many = (
            idle.plan(DoubleBinaryTree(pieces).plan("all_reduce", members, its.shape(part)), part, size)
            for pieces in (1, PIECES, 8 * PIECES)
        )
        assert one >= some >= many
        assert 0.95 * expected <= many <= 1.3 * expected


def test_a_failed_link_of_a_ring_is_passed_the_other_way_round() -> None:
    part, size = Slice(4, 4, 1), 960.0
    whole = Idle(block("ring"), BYTE_A_PICOSECOND, 1e-12)
    broken = Idle(block("ring"), BYTE_A_PICOSECOND, 1e-12, worn={(0, 1): 0.0})
    assert whole.send(part, 1, size) == 2 * 960 + 1
    assert broken.send(part, 1, size) == 2 * 960 + 3
    assert broken.collective("ring", "all_reduce", part, size) > whole.collective("ring", "all_reduce", part, size)


def test_a_failed_link_between_two_of_many_is_passed_over_a_third() -> None:
    broken = Idle(block("fully_connected"), BYTE_A_PICOSECOND, 1e-12, worn={(1, 0): 0.0})
    assert broken.send(Slice(4, 4, 1), 1, 10.0) == 3 * 10 + 2


def test_a_failed_uplink_of_a_fat_tree_is_replaced_by_another_one_of_its_leaf() -> None:
    part = Slice(4, 4, 1)  # leaves are nodes 4 and 5, spines 6 and 7
    broken = Idle(block("fat_tree", 2, 2.0), BYTE_A_PICOSECOND, 1e-12, worn={(4, 6): 0.0})
    assert broken.send(part, 2, 10.0) == 2 * 10 + 2


def test_where_failed_links_leave_no_way_the_error_names_them() -> None:
    broken = Idle(block("mesh"), BYTE_A_PICOSECOND, 1e-12, worn={(1, 2): 0.0})
    with pytest.raises(InputError, match="a way from NPU 0 to NPU 3 of their dimension, got none left without 1-2"):
        broken.send(Slice(4, 4, 1), 3, 10.0)


def test_messages_that_want_one_link_pass_in_the_order_they_came() -> None:
    """Two members behind each other on a line send to the last one: the second waits for the first."""
    part, its = Slice(3, 3, 1), block("mesh")
    plan = Plan(1)
    plan.send(0, 2, plan.block_pieces(0))
    plan.send(1, 2, plan.block_pieces(0))
    assert Idle(its, BYTE_A_PICOSECOND, 0.0).plan(plan, part, 100.0) == 2 * 200


def test_a_link_that_carries_half_takes_twice_as_long_and_is_still_on_the_way() -> None:
    worn = Idle(block("ring"), BYTE_A_PICOSECOND, 1e-12, worn={(0, 1): 0.5})
    whole = Idle(block("ring"), BYTE_A_PICOSECOND, 1e-12)
    part = Slice(6, 6, 1)
    assert worn.send(part, 1, 1e6) - 1 == 2 * (whole.send(part, 1, 1e6) - 1)


@pytest.mark.parametrize("members", range(2, 12))
def test_channels_use_all_links_of_a_fully_connected_group_alike(members: int) -> None:
    orders = block("fully_connected", channels=True).shape(Slice(members, members, 1)).orders(members)
    uses = Counter(hop for order in orders for hop in itertools.pairwise((*order, order[0])))
    assert all(sorted(order) == list(range(members)) for order in orders)
    assert members == 2 or (len(uses) == members * (members - 1) and len(set(uses.values())) == 1)
