"""Bandwidth by message size: closed forms, links that say the same, documents, bounds."""

from __future__ import annotations

from typing import Any

import pytest
from designs import dimension, npu
from hypothesis import assume, given
from hypothesis import strategies as st
from idle_links import Idle

from simcore.bounds.design import bound
from simcore.bounds.many import NetworkFamily, collective_seconds
from simcore.check.load import design_from
from simcore.collective import KINDS, CustomAlgorithm, ListedKind, ListedMessage
from simcore.design.efficiency import EfficiencyTable, best_share, share_reached, slowdown
from simcore.document.problem import InputError
from simcore.network import Shape, Slice, block
from simcore.simulate import simulate
from simcore.system.phase_cost import phase_cost

TABLE: EfficiencyTable = ((100.0, 0.1), (10_000.0, 0.5), (1e6, 0.9))
"""Larger messages never take less time: shares rise by less than what they are from one factor e to the next."""
BY_SIZE = {"1 KB": 0.25, "1 MB": 1.0}
MIB = 2**20


def all_reduce(topology: str, size: str, algorithm: str, npus: int = 4, chunks: int = 1, **its: Any) -> Any:
    one = dimension(topology, npus, "1 GB/s", "0 s", collective=algorithm, **its)
    return design_from(
        {
            "workload": {"collective": "all_reduce", "size": size},
            "cluster": {"npu": npu(), "dimensions": [one]},
            "system": {"chunks": chunks},
        }
    )


def seconds(*args: Any, **its: Any) -> float:
    return simulate(all_reduce(*args, **its)).iteration_time_s


def test_between_sizes_the_share_is_linear_in_their_logarithm_and_beyond_them_constant() -> None:
    assert [share_reached(TABLE, m) for m in (1, 100, 1_000, 10_000, 100_000, 1e6, 1e9)] == pytest.approx(
        [0.1, 0.1, 0.3, 0.5, 0.7, 0.9, 0.9]
    )
    assert best_share(TABLE) == 0.9
    assert slowdown(TABLE, 1_000) == pytest.approx(3)
    assert (best_share(0.7), share_reached(0.7, 5), slowdown(0.7, 5)) == (0.7, 0.7, 1)


def test_a_ring_sends_blocks_of_a_chunk_over_its_members() -> None:
    # 4 NPUs: 2 x 3 messages of size / 4; on a closed ring each in two halves over links of half the bandwidth.
    assert seconds("switch", "4 KB", "ring", efficiency=BY_SIZE) == pytest.approx(6 * 1e-6 / 0.25)
    assert seconds("switch", "4 MB", "ring", efficiency=BY_SIZE) == pytest.approx(6 * 1e-3)
    assert seconds("ring", "2 MB", "ring", efficiency=BY_SIZE) == pytest.approx(
        6 * 0.5e-3 / share_reached(((1e3, 0.25), (1e6, 1.0)), 0.25e6)
    )
    assert seconds("switch", "256 KB", "ring", chunks=64, efficiency=BY_SIZE) == pytest.approx(64 * 6 * 1e-6 / 0.25)


def test_halving_doubling_sends_halves_and_then_quarters() -> None:
    table = ((1e3, 0.25), (1e6, 1.0))
    halves, quarters = (size / 1e9 / share_reached(table, size) for size in (40e3, 20e3))
    assert seconds("switch", "80 KB", "halving_doubling", efficiency=BY_SIZE) == pytest.approx(2 * (halves + quarters))


def test_a_switch_that_reduces_takes_the_whole_buffer_as_one_message() -> None:
    took = seconds("switch", "1 KB", "ring", in_network=True, efficiency=BY_SIZE)
    assert took == pytest.approx(1e-6 / 0.25)


def test_the_usual_form_is_a_latency() -> None:
    half, bandwidth = 50e3, 1e9
    for size in (1e3, 4e4, 1e6, 2e8):
        message = size / 4
        share = message / (message + half)
        table = {f"{message} B": share, f"{2 * message} B": share}
        as_table = seconds("switch", f"{size} B", "ring", efficiency=table)
        as_latency = size * 6 / 4 / bandwidth + 6 * half / bandwidth
        assert as_table == pytest.approx(as_latency)


@given(
    size_of=st.sampled_from([2, 3, 4, 6, 8]),
    topology=st.sampled_from(["ring", "mesh", "fully_connected", "switch"]),
    name=st.sampled_from(["ring", "direct", "direct[2]", "halving_doubling"]),
    kind=st.sampled_from(KINDS),
    size=st.floats(1e3, 1e8),
    data=st.data(),
)
def test_messages_over_links_take_as_long_as_the_closed_form(
    size_of: int, topology: str, name: str, kind: str, size: float, data: st.DataObject
) -> None:
    parts = [Slice(size_of, m, s) for m in range(2, size_of + 1) for s in (1, 2, 3) if size_of % (m * s) == 0]
    part, its = data.draw(st.sampled_from(parts)), block(topology)
    assume(name != "halving_doubling" or part.members & (part.members - 1) == 0)
    assume(name != "direct[2]" or its.shape(part).kind == "star")
    cost = phase_cost(name, its, kind, part, False)
    expected = (cost.load_of(size, TABLE) * size / 1e10 + cost.hops * 1e-6) * 1e12
    took = Idle(its, 1e10, 1e-6, efficiency=TABLE).collective(name, kind, part, size)
    assert abs(took - expected) <= 4 * part.members**2 + 1e-9 * expected
    assert cost.load_of(size, ((1.0, 0.3), (1e12, 0.3))) == pytest.approx(cost.load)


def test_of_messages_of_several_sizes_the_slowest_link_decides() -> None:
    # Member 0 sends one block to 1 and three to 2: 1 KB and 3 KB through its port, each at its own share.
    sent = (ListedMessage(0, 0, 1, (0,), False), ListedMessage(0, 0, 2, (0, 1, 2), False))
    rest = (ListedMessage(1, 0, 1, (1, 2), False),)
    own = CustomAlgorithm("custom:mine", (ListedKind("broadcast", 3, 3, sent + rest),))
    part, table = Slice(3, 3, 1), ((1e3, 0.25), (3e3, 0.5))
    cost = phase_cost(own, block("switch"), "broadcast", part, False)
    two = 2e3 / share_reached(table, 2e3)
    expected = (1e3 / 0.25 + 3e3 / 0.5 + two) * 0.5
    assert cost.load_of(3e3, table) * 3e3 == pytest.approx(expected)
    took = Idle(block("switch"), 0.5e9, 0.0, efficiency=table).plan(own.plan("broadcast", 3, Shape("line")), part, 3e3)
    assert took == pytest.approx(expected / 0.5e9 * 1e12, abs=3)


@pytest.mark.parametrize("algorithm", ["ring", "direct", "halving_doubling"])
@pytest.mark.parametrize("topology", ["ring", "switch", "fully_connected"])
def test_all_engines_agree_on_one_chunk(topology: str, algorithm: str) -> None:
    design = all_reduce(topology, "300 KB", algorithm, 8, efficiency=BY_SIZE)
    fast = simulate(design).iteration_time_s
    assert simulate(design, "reference").iteration_time_s == fast
    assert simulate(design, "reference_links").iteration_time_s == pytest.approx(fast, abs=1e-9)


@given(
    size=st.sampled_from([1e3, 3e4, 1e6, 1e8]),
    chunks=st.integers(1, 9),
    policy=st.sampled_from(["baseline", "themis"]),
    table=st.sampled_from([BY_SIZE, {"10 B": 0.9, "1 KB": 0.2, "1 MB": 0.6}]),
    algorithm=st.sampled_from(["ring", "direct", "halving_doubling", "double_binary_tree"]),
)
def test_bounds_of_one_network_and_of_a_family_stay_below(
    size: float, chunks: int, policy: str, table: Any, algorithm: str
) -> None:
    inner = dimension("ring", 4, "10 GB/s", collective="ring", efficiency=table)
    outer = dimension("switch", 4, "3 GB/s", collective=algorithm, efficiency=table)
    design = design_from(
        {
            "workload": {"collective": "all_reduce", "size": f"{size} B"},
            "cluster": {"npu": npu(), "dimensions": [inner, outer]},
            "system": {"chunks": chunks, "inter_dimension": policy},
        }
    )
    took = simulate(design).iteration_time_s
    proven = bound(design)["iteration_time"]
    assert proven is not None
    assert collective_seconds(design, NetworkFamily.of([design]))[0] <= proven * (1 + 1e-9)
    assert proven <= took


def test_a_table_survives_its_document() -> None:
    design = all_reduce("switch", "1 MB", "ring", efficiency={"1 MiB": 0.9, "4096 B": 0.3})
    written = design.document()["cluster"]["dimensions"][0]["efficiency"]
    assert written == {"4 KiB": 0.3, "1 MiB": 0.9}
    assert design_from(design.document()).document() == design.document()
    assert design.cluster.dimensions[0].efficiency == ((4096.0, 0.3), (1048576.0, 0.9))


@pytest.mark.parametrize(
    ("efficiency", "message"),
    [
        (1.5, r"efficiency: expected a share above 0 and at most 1, or a table of them by message size, got 1\.5"),
        (True, r"expected a share above 0 and at most 1, or a table .* got True"),
        ({"1 KB": 0.5, "1 MB": 1.5, "1 GB": 0}, r"shares above 0 and at most 1 .* got '1 MB': 1\.5, '1 GB': 0"),
        ({"1 KB": 0.5, "1 GB/s": 0.5, "x": 0.5}, r"expected message sizes with their unit.* got '1 GB/s', 'x'"),
        ({"0 B": 0.5, "1 KB": 0.5}, r"expected message sizes.* got '0 B'"),
        ({"1 KB": 0.5}, r"expected two or more different message sizes, got '1 KB'"),
        ({"1 KiB": 0.5, "1024 B": 0.6}, r"two or more different message sizes, got '1 KiB', '1024 B'"),
        ({}, r"two or more different message sizes, got none"),
        ({4096: 0.5, "1 KB": 0.6}, r"expected message sizes with their unit"),
        ([0.5, 0.6], r"expected a share above 0 and at most 1, or a table"),
    ],
)
def test_what_is_wrong_with_a_table_is_said(efficiency: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        all_reduce("switch", "1 MB", "ring", efficiency=efficiency)
