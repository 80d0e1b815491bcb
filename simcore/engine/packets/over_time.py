"""Queues, rates and pauses of a design's fabric over time: of the ports of its first row that hold most."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simcore.design.design import Design
from simcore.document.problem import InputError
from simcore.engine.packets import layout as at
from simcore.engine.packets.budget import check_hops
from simcore.engine.packets.play import Played
from simcore.engine.packets.run import play_ready, prepare
from simcore.engine.packets.sample import Sampler
from simcore.engine.packets.unplayable import packet_problems
from simcore.engine.reference.reduce import Check
from simcore.memory.plan import program_of
from simcore.system.chunks import PICOSECONDS

SAMPLES = 400
SHOWN = 6
"""Ports that are kept: those of the longest queues, then those with the longest pauses."""


@dataclass(frozen=True)
class PortOverTime:
    """The sending end of a link, sample by sample."""

    name: str
    rate: float
    """Rate of its link [B/s]."""
    marked_above: float | None
    """Length of its queue from which packets are marked [B]; None where none are."""
    queue: tuple[float, ...]
    """Bytes that wait [B]."""
    sent: tuple[float, ...]
    """What it sent since the sample before, as a share of `rate`."""


@dataclass(frozen=True)
class OverTime:
    """A run."""

    seconds: float
    times: tuple[float, ...]
    """Times of the samples [s]."""
    ports: tuple[PortOverTime, ...]
    """The one with the longest queue first."""
    paused: tuple[int, ...]
    """How many ports of the row the next switch has told to wait."""
    of: int
    """Ports of the row."""


def play_over_time(design: Design, check: Check) -> OverTime:
    """Play a design twice: to know how long it takes, and to look at `SAMPLES` times.

    `check` gives the problems of a design. Raises `InputError` where the packet engine cannot play it, and
    `EventBudgetError` where it has too many packets.
    """
    if problems := packet_problems(design):
        raise InputError(problems, "packets")
    check_hops(design, check)
    program = program_of(design)
    taken = play_ready(prepare(design, program)).now
    ready = prepare(design, program)
    sampler = Sampler(range(len(ready.fabric.ports) // ready.fabric.stride))
    played = play_ready(ready, sampler, max(1, taken // SAMPLES))
    queues, rates, paused = sampler.queues, sampler.port_rates, sampler.paused
    order = np.lexsort((-paused.sum(axis=0), -queues.max(axis=0)))[:SHOWN]
    ports = tuple(
        PortOverTime(
            ready.fabric.ports[port].name,
            ready.fabric.ports[port].rate,
            _marked_above(played, port),
            tuple(queues[:, port].tolist()),
            tuple((rates[:, port] / ready.fabric.ports[port].rate).tolist()),
        )
        for port in map(int, order)
    )
    count = tuple(paused.sum(axis=1).tolist())
    return OverTime(played.now / PICOSECONDS, tuple(sampler.seconds.tolist()), ports, count, paused.shape[1])


def _marked_above(played: Played, port: int) -> float | None:
    low = float(played.tables.f[at.RATES][port, at.MARK_LOW])
    return low if played.tables.f[at.RATES][port, at.MARK_MOST] > 0 else None
