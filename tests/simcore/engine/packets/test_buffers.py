"""Shared buffers, pauses, drops, and what senders do about them."""

from __future__ import annotations

import pytest
from packet_load import RATE, column, drawn_messages, fabric, graph_of, marks, play_all, transport

from simcore.engine.packets import layout as at
from simcore.engine.packets.counters import percentile, ports_of, traffic_of
from simcore.engine.packets.play import Played, play
from simcore.engine.packets.sample import Sampler

SMALL = transport(buffer=2e6)
LOSSY = transport(buffer=200e3, pfc=False, timeout=50e-6)


def payload_delivered(played: Played) -> int:
    return int(played.tables.w[at.FLOWS][:, at.ARRIVED].sum())


def assert_empty(played: Played) -> None:
    assert not played.tables.w[at.SWITCHES][:, at.USED].any()
    assert not any(any(row) for row in column(played, at.TAKEN, at.SPARE, at.QUEUED))


@pytest.mark.parametrize("senders", [2, 8, 31, 63])
def test_an_incast_is_lossless_fair_and_takes_what_the_last_port_needs(senders: int) -> None:
    its = fabric("switch", 64)
    played = play_all(its, [(i, 0, 100_000) for i in range(1, senders + 1)], transport(buffer=16e6), every=5_000_000)
    traffic = traffic_of(played)
    assert traffic.dropped == traffic.retransmitted == 0
    least = senders * 100 * 1082 / RATE
    assert least < played.now / 1e12 < least * 1.02 + 2e-6
    assert traffic.fairness > 0.99
    assert_empty(played)


@pytest.mark.parametrize("seed", range(12))
def test_no_load_loses_packets_under_pauses(seed: int) -> None:
    kinds = [{"routing": "ecmp"}, {"routing": "adaptive"}, {"routing": "ecmp", "connections": 3}]
    its = fabric("clos", 16, oversubscription=4.0, **kinds[seed % 3])
    messages = drawn_messages(16, 200, seed)
    threshold = None if seed % 2 else 20e3
    played = play_all(its, messages, transport(buffer=1.5e6, threshold=threshold), every=2_000_000)
    traffic = traffic_of(played)
    assert traffic.dropped == traffic.retransmitted == traffic.out_of_order == 0
    assert traffic.pauses > 0
    assert payload_delivered(played) == sum(size for *_, size in messages)
    assert_empty(played)


@pytest.mark.parametrize("seed", range(8))
def test_what_is_dropped_without_pauses_is_sent_again_until_all_has_arrived(seed: int) -> None:
    its = fabric("clos", 16, oversubscription=4.0, routing="ecmp")
    messages = drawn_messages(16, 200, seed)
    played = play_all(its, messages, LOSSY, every=2_000_000)
    traffic = traffic_of(played)
    assert traffic.dropped > 0
    assert traffic.pauses == 0
    assert traffic.retransmitted >= traffic.dropped - traffic.out_of_order
    assert payload_delivered(played) == sum(size for *_, size in messages)
    assert_empty(played)


def test_a_lost_last_packet_is_sent_again_after_the_timeout() -> None:
    its = fabric("switch", 4)
    its_transport = transport(buffer=25_000, reserve=0, pfc=False, timeout=100e-6, threshold=2000)
    played = play_all(its, [(1, 0, 6000), (2, 0, 6000), (3, 0, 6000)], its_transport)
    assert traffic_of(played).dropped > 0
    assert played.now > 100_000_000


def test_a_static_threshold_and_the_headroom_bound_what_waits_of_one_port() -> None:
    its = fabric("switch", 4)
    threshold = 50_000
    played = play_all(its, [(i, 0, 3_000_000) for i in (1, 2, 3)], transport(buffer=4e6, threshold=threshold))
    headroom = played.tables.w[at.LINKS][0, at.HEADROOM]
    longest = max(most for (most,) in column(played, at.MOST_QUEUED))
    assert 3 * threshold < longest <= 3 * (threshold + 4096 + headroom)


def test_a_larger_alpha_lets_queues_grow_longer_before_pauses() -> None:
    its = fabric("switch", 4)
    longest = []
    for alpha in (0.125, 1.0):
        played = play_all(its, [(i, 0, 3_000_000) for i in (1, 2, 3)], transport(buffer=4e6, alpha=alpha))
        longest.append(max(most for (most,) in column(played, at.MOST_QUEUED)))
    assert longest[1] > 2 * longest[0]


def test_a_pause_holds_back_packets_for_an_idle_port_and_that_is_counted() -> None:
    its = fabric("fat_tree", 8)
    incast = [(i, 4, 400_000) for i in (1, 2, 3, 5, 6)]
    alone = play_all(its, [*incast], SMALL)
    beside = play_all(its, [*incast, (1, 7, 400_000)], SMALL)
    assert traffic_of(alone).head_of_line_s == 0
    assert traffic_of(beside).head_of_line_s > 10e-6
    assert traffic_of(beside).head_of_line_s < traffic_of(beside).paused_s


def test_packets_are_marked_above_the_step_and_only_there() -> None:
    its = fabric("switch", 4)
    messages = [(i, 0, 200_000) for i in (1, 2)]
    queued = max(most for (most,) in column(play_all(its, messages), at.MOST_QUEUED))
    for step, some in ((queued / 2, True), (queued + 1, False)):
        played = play_all(its, messages, transport(marking=marks(low=step, high=step)))
        assert (traffic_of(played).marked > 0) == some


def test_between_its_thresholds_a_port_marks_as_many_as_the_ramp_says() -> None:
    its = fabric("switch", 4)
    messages = [(i, 0, 20_000_000) for i in (1, 2, 3)]
    its_transport = transport(threshold=100_000, marking=marks(low=0.0, high=10e6, most=0.5))
    played = play_all(its, messages, its_transport)
    port = ports_of(played, [1])[0]
    assert port.marked / port.packets == pytest.approx(0.5 * port.queue_mean_bytes / 10e6, rel=0.1)


def test_percentiles_of_a_queue_are_those_of_its_time() -> None:
    times = played_bins({0: 50, 10_000: 30, 100_000: 20})
    assert percentile(times, 0.5) == 0
    assert percentile(times, 0.79) == pytest.approx(10_000, rel=0.1)
    assert percentile(times, 0.99) == pytest.approx(100_000, rel=0.1)


def played_bins(times: dict[int, int]):  # type: ignore[no-untyped-def]
    import numpy as np

    from simcore.engine.packets.ports import bin_of

    bins = np.zeros(at.BINS, np.int64)
    for length, time in times.items():
        bins[getattr(bin_of, "py_func", bin_of)(length)] += time
    return bins


def test_a_sampler_sees_queues_and_rates() -> None:
    its = fabric("switch", 4)
    sampler = Sampler([1, 2], [0, 1])
    graph = graph_of(4, [(1, 0, 1_000_000), (2, 0, 1_000_000)])
    played = play(its, graph, transport(), watch=sampler, every=10_000_000)
    assert sampler.seconds[0] == pytest.approx(10e-6)
    assert sampler.queues.shape == (len(sampler.seconds), 2)
    assert sampler.queues[:, 0].max() > 100_000
    assert sampler.port_rates[2, 0] == pytest.approx(RATE, rel=0.01)
    assert sampler.pair_rates[2].sum() == pytest.approx(RATE * 1000 / 1082, rel=0.02)
    assert sampler.allowed[0].tolist() == [RATE, RATE]
    assert played.now > 80_000_000


def test_a_graph_of_many_beginnings_finds_room_for_their_events() -> None:
    graph = graph_of(4, [(0, 1, 5000)])
    first = [graph.gate() for _ in range(5000)]
    graph.gate(*first, lag=7)
    played = play(fabric("switch", 4), graph, transport())
    assert (played.finish >= 0).all()
    assert played.finish[first[0]] == 0
    assert played.finish[-1] == 7


def test_an_npu_does_not_send_to_itself() -> None:
    with pytest.raises(ValueError, match="NPU 2 has no way to itself"):
        graph_of(4, [(2, 2, 1)])


def test_a_fabric_whose_ports_leave_nothing_of_a_buffer_is_refused() -> None:
    with pytest.raises(ValueError, match="switch 0: 4 ports take"):
        play_all(fabric("switch", 4), [(0, 1, 1)], transport(buffer=20e3))
