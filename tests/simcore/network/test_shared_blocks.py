"""Blocks whose groups meet on links: published facts of them, and what all groups at once take, message by message."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from idle_links import Idle

from simcore.network import Chain, Exchange, Pattern, Send, Shift, Slice, Spread, Tree, block
from simcore.network.cycles import cycles
from simcore.network.graph import Joint
from simcore.network.shared import SharedBlock
from simcore.network.together import cost_together
from simcore.system.phase_cost import phase_cost


def shared(
    topology: str, leaf: int = 0, oversubscription: float | tuple[float, ...] = 1.0, **keys: object
) -> SharedBlock:
    its = block(topology, leaf, oversubscription, **keys)
    assert isinstance(its, SharedBlock)
    return its


BLOCKS: list[tuple[SharedBlock, int]] = [
    *((shared("clos", 4, 2.0, routing=routing), 16) for routing in ("adaptive", "ecmp", "shortest")),
    *((shared("clos", 2, (2.0, 2.0), pod=8, routing=routing), 16) for routing in ("adaptive", "ecmp", "shortest")),
    (shared("clos", 3, 2.0, routing="ecmp", connections=3), 12),
    *((shared("dragonfly", 2, routers=4, global_links=2, routing=r), 40) for r in ("adaptive", "ecmp", "valiant")),
    (shared("dragonfly", 1, routers=2, global_links=1), 6),
    (shared("dragonfly", 2, routers=4, global_links=2), 8),
    *((shared("torus", sides=(4, 4), routing=r), 16) for r in ("dimension_ordered", "adaptive", "ecmp")),
    (shared("torus", sides=(3, 4), wrap=(False, True)), 12),
    (shared("torus", sides=(2, 4), twisted=True), 8),
    (shared("torus", sides=(2, 2, 4), twisted=True, routing="adaptive"), 16),
    *((shared("hypercube", routing=r), 16) for r in ("dimension_ordered", "adaptive", "ecmp")),
    *((shared("dgx1", routing=r), 8) for r in ("shortest", "adaptive", "ecmp")),
]


def whole(size: int) -> Slice:
    return Slice(size, size, 1)


def hops_apart(its: SharedBlock, size: int) -> dict[tuple[int, int], float]:
    """The hops between any two NPUs, by the links alone."""
    links = its.links(size)
    pairs = itertools.permutations(range(size), 2)
    return {ends: max(sum(links[i].hops for i in way) for way in its.chosen(size, *ends)) for ends in pairs}


@pytest.mark.parametrize(("its", "size"), BLOCKS, ids=repr)
def test_what_messages_put_on_pools_is_what_their_routes_say(its: SharedBlock, size: int) -> None:
    pools = its.pools(size)
    ends = [its.pool_ends(size, pool) for pool in range(len(pools.rate))]
    assert [len(links) for links in ends] == pools.links.tolist()
    links = its.links(size)
    between = {pair: pool for pool, joined in enumerate(ends) for pair in joined}
    alone = len(ends) == len(links)  # links side by side have the same ends
    pool_of = [number if alone else between[link.source, link.target] for number, link in enumerate(links)]
    for source, target in itertools.permutations(range(size), 2):
        routes = its.chosen(size, source, target)
        expected: Counter[int] = Counter()
        for route in routes:
            for number in route:
                expected[pool_of[number]] += 1 / len(routes)
        crossed = its.crossed(size, np.array([source]), np.array([target]))
        got: Counter[int] = Counter()
        for pool, share in zip(crossed.pool.tolist(), crossed.share.tolist(), strict=True):
            got[pool] += share
        assert got == pytest.approx(expected)
        assert crossed.hops[0] == max(sum(links[i].hops for i in route) for route in routes)


@pytest.mark.parametrize(("its", "size"), BLOCKS, ids=repr)
def test_links_lead_both_ways_at_one_rate_and_no_pool_is_wider_than_its_links(its: SharedBlock, size: int) -> None:
    rates = Counter[tuple[int, int]]()
    for link in its.links(size):
        assert link.source != link.target
        rates[link.source, link.target] += link.rate
    assert all(rates[b, a] == pytest.approx(rate) for (a, b), rate in rates.items())
    assert its.pools(size).rate.sum() == pytest.approx(sum(link.rate for link in its.links(size)))


@pytest.mark.parametrize(("its", "size"), BLOCKS, ids=repr)
def test_ways_are_as_short_as_any_unless_the_routing_takes_detours(its: SharedBlock, size: int) -> None:
    near: dict[int, list[int]] = {}
    for link in its.links(size):
        near.setdefault(link.source, []).append(link.target)
    for source in range(size):
        far, edge = {source: 0}, [source]
        for node in edge:
            new = [other for other in near[node] if other not in far]
            far |= dict.fromkeys(new, far[node] + 1)
            edge += dict.fromkeys(new)
        for target in set(range(size)) - {source}:
            lengths = {len(way) for way in its.chosen(size, source, target)}
            assert (max(lengths) >= far[target]) if its.routed.detours else lengths == {far[target]}


def patterns(members: int) -> Iterator[Pattern]:
    yield from (Shift(1), Shift(members - 1), Spread(), Spread(2), Chain(3), Tree(members.bit_length() - 1))
    yield from (Send(distance) for distance in {1, members - 1})
    yield from (Exchange(1 << bit) for bit in range(members.bit_length() - 1) if members & (members - 1) == 0)


def slices(size: int) -> Iterator[Slice]:
    for members in range(2, size + 1):
        yield from (Slice(size, members, s) for s in range(1, size + 1) if size % (members * s) == 0)


@pytest.mark.parametrize(("its", "size"), BLOCKS, ids=repr)
def test_closed_forms_are_what_every_message_of_every_group_counted_gives(its: SharedBlock, size: int) -> None:
    class Counted(type(its)):  # type: ignore[misc]  # the same block without its closed forms
        def rounds(self, part: Slice, window: int) -> None:
            return None

    counted = Counted(**{field.name: getattr(its, field.name) for field in fields(its)})
    checked = 0
    for part in slices(size):
        if its.needs(part):
            continue
        for pattern in patterns(part.members):
            own, all_messages = its.step(pattern, part), cost_together(pattern, counted, part)
            assert own.load == pytest.approx(all_messages.load), (pattern, part)
            assert own.hops == all_messages.hops, (pattern, part)
            carried = its.carried(pattern, part)
            if isinstance(pattern, Shift | Exchange):
                assert carried.max() == pytest.approx(own.load)
            checked += 1
    assert checked >= 9


@pytest.mark.parametrize(
    ("its", "size"),
    [
        (shared("torus", sides=(4, 4)), 16),
        (shared("torus", sides=(3, 3, 3)), 27),
        (shared("dgx1"), 8),
        (shared("hypercube"), 16),
    ],
    ids=repr,
)
def test_rings_go_over_links_of_their_own(its: SharedBlock, size: int) -> None:
    part, buffer = whole(size), 48.0 * size * (size - 1)
    for kind in ("all_reduce", "reduce_scatter", "all_gather"):
        cost = phase_cost("ring", its, kind, part, False)
        took = Idle(its, 1e12, 7e-12).collective("ring", kind, part, buffer)
        assert took == round(cost.load * buffer + cost.hops * 7)


def test_the_dgx1_has_six_links_a_gpu_and_its_rings_use_all_of_them() -> None:
    its, size = shared("dgx1"), 8
    out = Counter[int]()
    for link in its.links(size):
        out[link.source] += round(6 * link.rate)
    assert set(out.values()) == {6}
    assert its.step(Shift(7), whole(8)).load == pytest.approx(7)  # at the bandwidth of all six
    assert its.step(Shift(3), Slice(8, 4, 1)).load == pytest.approx(3 * 6 / 4)  # a quad of four: four rings of six
    assert max(hops_apart(its, size).values()) == 2


def test_a_clos_has_the_switches_and_links_of_its_levels() -> None:
    two, three = shared("clos", 8, 2.0), shared("clos", 4, (2.0, 2.0), pod=16)
    assert len(two.links(64)) == 2 * (64 + 8 * 4)
    nodes = {link.source for link in three.links(64)}
    # 16 leaves of 4, of which each of 4 pods has 4 under 2 spines; a spine has 2 uplinks, to 2 x 2 cores
    assert len(nodes) == 64 + 16 + 4 * 2 + 2 * 2
    assert len(three.links(64)) == 2 * (64 + 16 * 2 + 8 * 2)
    assert max(hops_apart(three, 64).values()) == 3


@pytest.mark.parametrize("ratio", [1.0, 2.0, 4.0])
def test_uplinks_are_pooled_so_that_few_senders_are_not_slowed(ratio: float) -> None:
    """One ring through leaves of 8 crosses each uplink pool once; where all cross, each gets 1 / ratio."""
    its = shared("clos", 8, ratio)
    assert its.step(Shift(1), whole(64)).load == 1.0
    assert its.step(Exchange(8), whole(64)).load == ratio
    assert its.step(Shift(1), Slice(64, 8, 8)).load == ratio  # eight rings, of one NPU of each leaf


def test_hashes_collide_by_their_seed_and_several_connections_collide_less() -> None:
    part = Slice(256, 8, 32)  # 32 rings, of one NPU of each leaf
    loads = [shared("clos", 32, routing="ecmp", routing_seed=seed).step(Shift(1), part).load for seed in range(20)]
    many = [
        shared("clos", 32, routing="ecmp", routing_seed=seed, connections=16).step(Shift(1), part).load
        for seed in range(20)
    ]
    assert min(loads) >= 3.0  # 32 balls in 32 bins, over 16 leaves: the fullest has 3 to 7
    assert len(set(loads)) > 1
    assert max(loads) <= 8.0
    assert sum(many) < 0.7 * sum(loads)
    assert shared("clos", 32).step(Shift(1), part).load == 1.0
    assert shared("clos", 32, routing="shortest").step(Shift(1), part).load == 1.0  # targets take uplinks in turn


def test_large_fabrics_cost_no_more_than_small_ones_by_the_closed_forms() -> None:
    its, part = shared("clos", 32, (4.0, 2.0), pod=2048), whole(65_536)
    assert its.step(Exchange(32_768), part).load == 8.0
    spread = its.step(Spread(), part)
    # 31 near ones, then 63,488 of other pods through a pod's pool of 1 / 8 each
    assert (spread.load, spread.hops) == (31 + 8 * 63_488, 3)


def test_a_dragonfly_has_diameter_three_and_a_link_between_any_two_groups() -> None:
    """Kim et al. 2008: a = 2p = 2h, a h + 1 groups; at most local, global, local."""
    its, size = shared("dragonfly", 2, routers=4, global_links=2), 2 * 4 * 9
    apart = hops_apart(its, size)
    assert max(apart.values()) == 1 + 3
    groups = Counter(
        frozenset(((link.source - size) // 4, (link.target - size) // 4))
        for link in its.links(size)
        if min(link.source, link.target) >= size and (link.source - size) // 4 != (link.target - size) // 4
    )
    assert len(groups) == 9 * 8 // 2
    assert set(groups.values()) == {2}  # one, both ways


def test_valiant_routing_makes_the_worst_case_of_a_dragonfly_uniform() -> None:
    """All 32 NPUs of each group send to the next group: by one link, or by way of 16 others (Kim et al., section 4)."""
    size = 4 * 8 * 18
    part = Slice(size, 18, 32)
    minimal = shared("dragonfly", 4, routers=8, global_links=4).step(Shift(1), part)
    detour = shared("dragonfly", 4, routers=8, global_links=4, routing="valiant").step(Shift(1), part)
    assert minimal.load == 32.0
    assert detour.load < 8.0
    assert (minimal.hops, detour.hops) == (4, 6)


def test_a_hypercube_corrects_bit_by_bit_and_halving_doubling_meets_nobody() -> None:
    its, size = shared("hypercube"), 16
    links = its.links(size)
    assert len(links) == size * 4
    for (source, target), hops in hops_apart(its, size).items():
        assert hops == (source ^ target).bit_count()
        (way,) = its.chosen(size, source, target)
        bits = [links[i].source ^ links[i].target for i in way]
        assert bits == sorted(bits)
    assert all(its.step(Exchange(1 << bit), whole(size)).load == 4.0 for bit in range(4))


@pytest.mark.parametrize(("k", "shape", "published"), [(4, (4, 4, 8), 1.63), (4, (4, 8, 8), 1.31)])
def test_a_twisted_torus_is_nearer_and_exchanges_more(k: int, shape: tuple[int, ...], published: float) -> None:
    """TPU v4 (Jouppi et al. 2023, figure 6): all-to-all 1.63x and 1.31x of the regular torus, measured; links alone say
    1.75 and 1.39."""
    size = int(np.prod(shape))
    regular, twisted = shared("torus", sides=shape), shared("torus", sides=shape, twisted=True)
    zeros, others = np.zeros(size - 1, np.int64), np.arange(1, size)
    near, far = (its.crossed(size, zeros, others).hops for its in (twisted, regular))
    assert near.mean() < far.mean()
    assert near.max() < far.max()
    gain = regular.step(Spread(), whole(size)).load / twisted.step(Spread(), whole(size)).load
    assert published < gain < 1.1 * published


@pytest.mark.parametrize(
    "sides",
    [(4, 4), (4, 8), (3, 3), (4, 4, 4), (4, 4, 8), (3, 3, 3), (2, 4), (3, 4), (2, 3, 5), (8, 2), (2, 2, 4), (2, 3, 3)],
)
def test_cycles_visit_everyone_over_links_that_no_other_uses(sides: tuple[int, ...]) -> None:
    size = int(np.prod(sides))
    joined = Counter((link.source, link.target) for link in shared("torus", sides=sides).links(size))
    used = Counter[tuple[int, int]]()
    found = cycles(sides, (True,) * len(sides))
    for order in found:
        assert sorted(order) == list(range(size))
        used.update(zip(order, (*order[1:], order[0]), strict=True))
    assert found
    assert used <= joined  # along a closed side of 2 there are two links


@pytest.mark.parametrize(
    ("sides", "twisted"),
    [((4, 8), False), ((2, 8), False), ((4, 8), True), ((4, 4, 4), False), ((4, 4, 8), True), ((3, 4, 5), False)],
)
def test_rings_on_a_torus_of_closed_axes_use_every_link_twisted_or_not(sides: tuple[int, ...], twisted: bool) -> None:
    size = int(np.prod(sides))
    assert shared("torus", sides=sides, twisted=twisted).step(Shift(1), whole(size)).load == pytest.approx(1.0)


def test_the_bisection_of_a_torus_is_that_of_its_longest_side() -> None:
    """Half of all bytes cross 2 n / side links each way; a mesh has half as many."""
    for wrap, links in (((True, True), 2 * 2 * 4), ((False, False), 2 * 4)):
        its = shared("torus", sides=(4, 8), wrap=wrap)
        across = [link for link in its.links(32) if (link.source // 4 < 4) != (link.target // 4 < 4)]
        assert len(across) == links


@given(data=st.data())
def test_any_graph_that_is_connected_carries_what_its_paths_say(data: st.DataObject) -> None:
    size = data.draw(st.integers(2, 6))
    names = ("a", "b", "c")
    ends: list[int | str] = [*range(size), *names]
    tree = [(ends[data.draw(st.integers(0, place - 1))], ends[place]) for place in range(1, len(ends))]
    more = data.draw(st.lists(st.tuples(st.sampled_from(ends), st.sampled_from(ends)), max_size=4))
    pairs = [pair for pair in [*tree, *more] if pair[0] != pair[1]]
    its = shared("graph", graph=(names, tuple(Joint(pair, 1 / 16, None) for pair in pairs)))
    assert not list(its.misfits(size))
    for (source, target), hops in hops_apart(its, size).items():
        assert its.crossed(size, np.array([source]), np.array([target])).hops[0] == hops
    assert its.step(Shift(1), whole(size)).load >= 16 / len(its.links(size))
