"""Max-min rates: the compiled progressive filling against two other ways to say what is fair."""

from __future__ import annotations

import random

import numpy as np
import pytest
from scipy.optimize import linprog

from simcore.engine.flow.rates import FOUND, FOUND_AT, begin_stream, end_stream, fill, find_connected, pack_flows
from simcore.engine.flow.shared import Stream
from simcore.engine.flow.tables import Floats

Streams = list[Stream]


def draw(seed: int) -> tuple[Streams, list[float]]:
    numbers = random.Random(seed)
    links = numbers.randint(1, 5)
    streams: Streams = []
    for _ in range(numbers.randint(1, 7)):
        on = numbers.sample(range(links), numbers.randint(0, links))
        loads = tuple((link, numbers.choice([0.25, 1.0, 3.0])) for link in on)
        streams.append(Stream(numbers.choice([1.0, 2.0, 5.5]), loads, numbers.choice([1.0, 1.0, 3.0])))
    return streams, [numbers.choice([0.5, 1.0, 4.0, 9.0]) for _ in range(links)]


def solve(streams: Streams, capacities: list[float]) -> Floats:
    """Paces of all streams at once."""
    flows, numbers = pack_flows(streams, range(len(streams)), capacities)
    paces = np.empty(len(streams))
    for s in range(len(streams)):
        begin_stream(flows, numbers, s, 0, 0)
    found = np.zeros(len(streams), np.bool_)
    for s in range(len(streams)):
        if not found[s]:
            find_connected(flows, s)
            its = np.empty(int(flows[FOUND]))
            fill(flows, numbers, its)
            listed = flows[flows[FOUND_AT] :][: flows[FOUND]]
            paces[listed], found[listed] = its, True
    return paces


def lexicographic(streams: Streams, capacities: list[float]) -> Floats:
    """Max-min rates by linear programs: the largest least rate, then that of those which can have more, and so on."""
    n = len(streams)
    usage = np.zeros((len(capacities), n))
    for s, stream in enumerate(streams):
        for link, count in stream.links:
            usage[link, s] = count
    caps = [stream.rate * stream.fastest for stream in streams]
    fixed: dict[int, float] = {}
    while len(fixed) < n:
        free = [s for s in range(n) if s not in fixed]
        bounds = [(fixed[s], fixed[s]) if s in fixed else (0.0, caps[s]) for s in range(n)]
        above = np.zeros((len(free), n + 1))
        for row, s in enumerate(free):
            above[row, s], above[row, n] = -1.0, 1.0
        limits = np.vstack([np.hstack([usage, np.zeros((len(capacities), 1))]), above])
        rest = [*capacities, *([0.0] * len(free))]
        best = linprog([0.0] * n + [-1.0], A_ub=limits, b_ub=rest, bounds=[*bounds, (0.0, None)]).x[n]
        for s in free:  # stuck at the level: cannot have more while the others keep it
            least = [(fixed[o], fixed[o]) if o in fixed else (best * (1 - 1e-9), caps[o]) for o in range(n)]
            most = -linprog([-float(o == s) for o in range(n)], A_ub=usage, b_ub=capacities, bounds=least).fun
            if most <= best * (1 + 1e-6):
                fixed[s] = best
    return np.array([fixed[s] / streams[s].rate for s in range(n)])


@pytest.mark.parametrize("seed", range(40))
def test_filling_gives_the_largest_least_rate_and_then_the_next(seed: int) -> None:
    streams, capacities = draw(seed)
    assert solve(streams, capacities) == pytest.approx(lexicographic(streams, capacities), rel=1e-5)


@pytest.mark.parametrize("seed", range(200))
def test_every_stream_is_at_its_cap_or_has_a_bottleneck(seed: int) -> None:
    streams, capacities = draw(1000 + seed)
    paces = solve(streams, capacities)
    rates = [pace * stream.rate for pace, stream in zip(paces, streams, strict=True)]
    used = np.zeros(len(capacities))
    for rate, stream in zip(rates, streams, strict=True):
        for link, count in stream.links:
            used[link] += rate * count
    assert (used <= np.array(capacities) * (1 + 1e-9)).all()
    for pace, rate, (_, loads, fastest, _) in zip(paces, rates, streams, strict=True):
        full = [link for link, _ in loads if used[link] >= capacities[link] * (1 - 1e-8)]
        others = [[r for r, its in zip(rates, streams, strict=True) if link in dict(its.links)] for link in full]
        assert pace == fastest or any(rate >= max(beside) * (1 - 1e-8) for beside in others)


def test_streams_that_no_link_connects_are_apart() -> None:
    loads: list[tuple[tuple[int, float], ...]] = [((0, 1.0),), ((1, 1.0),), ((0, 1.0), (2, 1.0)), ()]
    streams = [Stream(1.0, its) for its in loads]
    flows, numbers = pack_flows(streams, range(4), [1.0, 1.0, 1.0])
    for s in range(4):
        begin_stream(flows, numbers, s, 0, 0)
    counts = []
    for s in range(4):
        find_connected(flows, s)
        counts.append(int(flows[FOUND]))
    assert counts == [2, 1, 2, 1]
    end_stream(flows, 0)
    find_connected(flows, 2)
    assert flows[FOUND] == 1
