"""The packet engine's answer for a design: its times, and what its packets went through."""

from __future__ import annotations

from simcore.design.design import Design
from simcore.engine.fast.iteration import Timing
from simcore.engine.packets.budget import check_hops
from simcore.engine.packets.counters import traffic_of
from simcore.engine.packets.run import play_ready, prepare, timing_of
from simcore.engine.reference.reduce import Check
from simcore.network.traffic import Traffic
from simcore.program import Program


def time_design(design: Design, program: Program, check: Check) -> tuple[Timing, Traffic, int | None]:
    """Times, traffic, and, of a Program that serves, when a request has its first token [ps].

    `check` gives the problems of a design. Raises `EventBudgetError` where there are too many packets, and as `play`.
    """
    check_hops(design, check)
    ready = prepare(design, program)
    played = play_ready(ready)
    first = None
    if program.serves:
        early = prepare(design, program.first_token)
        first = timing_of(early, play_ready(early)).total
    return timing_of(ready, played), traffic_of(played), first
