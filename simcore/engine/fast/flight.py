"""Chunks between two phases: a heap by the time at which they land."""

from __future__ import annotations

from simcore.compiled import inlined
from simcore.engine.fast.state import FLIGHT_PHASE, FLIGHT_SIZE, FLIGHT_TASK, FLYING, LANDS, Ints, locate_flight


@inlined
def take_off(state: Ints, lands: int, task: int, phase: int) -> None:
    """Add a chunk to those in flight."""
    place = state[FLYING]
    state[FLYING] = place + 1
    while place > 0:
        parent = (place - 1) >> 1
        above = locate_flight(state, parent)
        if state[above + LANDS] <= lands:
            break
        here = locate_flight(state, place)
        for column in range(FLIGHT_SIZE):
            state[here + column] = state[above + column]
        place = parent
    here = locate_flight(state, place)
    state[here + LANDS], state[here + FLIGHT_TASK], state[here + FLIGHT_PHASE] = lands, task, phase


@inlined
def land(state: Ints) -> None:
    """Take the chunk that lands first out of those in flight."""
    length = state[FLYING] - 1
    state[FLYING] = length
    last = locate_flight(state, length)
    lands, task, phase = state[last + LANDS], state[last + FLIGHT_TASK], state[last + FLIGHT_PHASE]
    place = 0
    while True:
        child = 2 * place + 1
        if child >= length:
            break
        below = locate_flight(state, child)
        if child + 1 < length and state[below + FLIGHT_SIZE + LANDS] < state[below + LANDS]:
            child += 1
            below += FLIGHT_SIZE
        if lands <= state[below + LANDS]:
            break
        here = locate_flight(state, place)
        for column in range(FLIGHT_SIZE):
            state[here + column] = state[below + column]
        place = child
    here = locate_flight(state, place)
    state[here + LANDS], state[here + FLIGHT_TASK], state[here + FLIGHT_PHASE] = lands, task, phase
