"""Where the papers say that controls settle."""

from __future__ import annotations

import math

SIZE = 1000.0
"""Of a packet [B]."""


def dctcp_amplitude(senders: int, capacity: float, rtt: float, threshold: float) -> float:
    """How far the queue swings below its top, K + N packets [B] (Alizadeh et al. 2010, section 3.3, equation 8)."""
    packets = (capacity * rtt + threshold) / SIZE
    return math.sqrt(2 * senders * packets) / 2 * SIZE


def timely_round_trip(senders: int, capacity: float, low: float, step: float, beta: float) -> float:
    """The round-trip time [s] of patched TIMELY (Zhu et al. 2016, section 4.3: q* = q' (1 + N step / (beta C)))."""
    return low * (1 + senders * step / (beta * capacity))


def hpcc_utilisation(senders: int, capacity: float, target: float, step: float) -> float:
    """The largest share of a link that HPCC takes (Li et al. 2019, section 3.3: eta + N W_AI / (B T)).

    From W = W eta / U + W_AI for each of N flows; `step` is W_AI / T [B/s].
    """
    return target + senders * step / capacity


def dcqcn_marks(senders: int, capacity: float, p: dict[str, float], interval: float = 50e-6) -> float:
    """The share of packets that are marked (Zhu et al. 2015, section 5.1: where the right sides of the model vanish).

    With R = C / N packets a second and a(t) the probability of a mark in t seconds,

        alpha = a(decay),   (R_T - R) a(interval) / interval = step R (bytes(F B) + time(F T)),
        R alpha a(interval) / (2 interval) = (R_T - R) / 2 R (bytes(0) + time(0))

    where p / ((1 - p)^-n - 1), times (1 - p)^(F n) after F quiet events, counts the events of n packets a packet.
    """
    rate = capacity / senders / SIZE
    counter, period = p["counter"] / SIZE, p["period"] * rate

    def excess(mark: float) -> float:
        """How much faster rates fall than they rise."""
        quiet = math.log1p(-mark)

        def events(after: float) -> float:
            return sum(
                mark * math.exp(after * n * quiet) / math.expm1(-n * quiet)
                for n in (counter, period)
                if n * -quiet < 700
            )

        cuts = -math.expm1(interval * rate * quiet) / interval
        ahead = p["step"] / SIZE * rate * events(p["recovery"]) / cuts
        alpha = -math.expm1(p["decay"] * rate * quiet)
        return rate * alpha / 2 * cuts - ahead / 2 * rate * events(0)

    low, high = 1e-9, 0.5
    for _ in range(100):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if excess(middle) > 0 else (middle, high)
    return middle
