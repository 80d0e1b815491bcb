"""Incasts of 2 to 64 senders, played by the engine: nothing is lost, and each control settles where its paper says."""

from __future__ import annotations

import numpy as np
import pytest
from fixed_points import dcqcn_marks, dctcp_amplitude, hpcc_utilisation, timely_round_trip
from incast import LINE, Incast, jain, play_incast

from simcore.engine.packets import layout as at
from simcore.policy.control import CONTROLS

LATENCY = 2.5e-6
OTHERS = ("dcqcn", "dctcp", "timely", "hpcc")


def round_trip(incast: Incast) -> float:
    """Of a full packet and its acknowledgement, nothing else under way [s]."""
    return float(incast.played.tables.f[at.TABLE][0, 2])


@pytest.mark.parametrize("senders", [2, 8, 64])
def test_pauses_alone_lose_nothing_and_share_fairly(senders: int) -> None:
    size = 32e6 / senders
    incast = play_incast(senders, size, LATENCY, 5e-6, control="none")
    wire = senders * (size + 82 * np.ceil(size / 1000)) / LINE
    assert incast.seconds == pytest.approx(wire, rel=0.01)
    assert jain(incast.rates(0.2 * wire, 0.8 * wire)) > 0.99
    assert incast.played.lost_count == 0
    assert incast.counted(at.DROPS) == 0
    assert incast.counted(at.PAUSES) > 0
    assert incast.queues.max() <= 32e6


@pytest.mark.parametrize("senders", [2, 8, 64])
@pytest.mark.parametrize("control", OTHERS)
def test_every_control_ends_an_incast_without_a_loss_and_windows_bound_its_queues(control: str, senders: int) -> None:
    """Rates that are cut after a round trip come too late for the bursts of 64 senders: those queue as without."""
    size = 32e6 / senders
    incast = play_incast(senders, size, LATENCY, 5e-6, control=control, mtu="4 kB")
    alone = play_incast(senders, size, LATENCY, 5e-6, control="none", mtu="4 kB")
    assert incast.played.lost_count == incast.counted(at.DROPS) == 0
    assert incast.queues.mean() < (0.5 if control in ("dctcp", "hpcc") else 1.01) * alone.queues.mean()
    assert incast.seconds >= alone.seconds * 0.999


@pytest.mark.parametrize("senders", [2, 8])
def test_dctcp_keeps_the_queue_between_k_plus_n_and_the_papers_amplitude_below(senders: int) -> None:
    incast = play_incast(senders, 240e6 / senders, LATENCY, 1e-6, control="dctcp")
    threshold = CONTROLS["dctcp"].marking(LINE, round_trip(incast)).low  # type: ignore[union-attr]
    top = threshold + senders * 1082
    swing = dctcp_amplitude(senders, LINE, round_trip(incast), threshold)
    low, high = np.percentile(incast.queues[incast.within(5e-3, 7e-3)], (1, 99))
    assert threshold - 0.25 * swing < high < top + 2000
    assert top - 1.25 * swing < low < top - 0.1 * swing
    assert jain(incast.rates(5e-3, 7e-3)) > 0.85


@pytest.mark.parametrize("senders", [2, 8, 32])
def test_hpcc_settles_at_its_target_with_queues_nearly_empty(senders: int) -> None:
    incast = play_incast(senders, 80e6 / senders, LATENCY, 1e-6, control="hpcc")
    p = CONTROLS["hpcc"].parameters(LINE, round_trip(incast))
    packet = float(incast.played.tables.f[at.TABLE][0, 4])
    use = incast.rates(1e-3, 2.5e-3).sum() * packet / 1000 / LINE
    assert p["target"] - 0.01 < use < hpcc_utilisation(senders, LINE, p["target"], p["step"]) + 0.01
    assert np.percentile(incast.queues[incast.within(1e-3, 2.5e-3)], 99) < 0.1 * LINE * round_trip(incast)
    assert jain(incast.rates(1e-3, 2.5e-3)) > 0.97


@pytest.mark.parametrize("senders", [2, 8])
def test_patched_timely_settles_at_the_round_trip_of_its_fixed_point(senders: int) -> None:
    incast = play_incast(senders, 400e6 / senders, LATENCY, 2e-6, control="timely", mtu="4 kB")
    p = CONTROLS["timely"].parameters(LINE, round_trip(incast))
    settled = timely_round_trip(senders, LINE, p["low"], p["step"], p["beta"])
    queue = incast.queues[incast.within(12e-3, 14e-3)].mean()
    assert queue == pytest.approx((settled - round_trip(incast)) * LINE, rel=0.03)
    assert jain(incast.rates(12e-3, 14e-3)) > 0.99


def test_dcqcn_shares_fairly_at_the_queue_of_its_fluid_model() -> None:
    """8 senders; a ramp wide enough to hold all that is drawn. See `test_controls` for how far the model holds."""
    ramp = {"low": "25 kB", "high": "10 MB", "most": 0.5}
    incast = play_incast(8, 250e6, LATENCY, 10e-6, control="dcqcn", marking=ramp, mtu="4 kB")
    packet = 4082 / 1000  # of the model's packets
    marks = dcqcn_marks(8, LINE / packet, CONTROLS["dcqcn"].parameters(LINE / packet, 0.0))
    settled = 25e3 + marks / 0.5 * (10e6 - 25e3)
    window = incast.within(30e-3, 80e-3)
    assert 0.8 * settled < incast.queues[window].mean() < 1.8 * settled
    assert jain(incast.rates(30e-3, 80e-3)) > 0.97
