"""The shared buffer of a switch: which packets find room, and whom it tells to pause.

As in the simulator that HPCC was published with (Li et al., SIGCOMM 2019; `switch-mmu.cc`): every port that packets
come in by has a reserve of its own, takes part of the shared buffer up to a threshold, and has headroom for what
arrives between the pause and its effect. The threshold is static, or alpha times what is free of the shared buffer
(Choudhury and Hahne 1998). A port is paused once it is over its threshold, and resumed a little below.
"""

from __future__ import annotations

from simcore.compiled import inlined
from simcore.engine.packets.heap import push
from simcore.engine.packets.layout import (
    ALPHA,
    BACK,
    CLOCK,
    DELAY,
    DROPPED,
    DROPS,
    FREE_AT,
    GAP,
    HALTED,
    HEADER,
    HEADROOM,
    LINKS,
    NOW,
    PACE_OF,
    PAUSE,
    PAUSE_SIZE,
    PAYLOAD_SIZE,
    PFC,
    RATES,
    RESERVE,
    RESUME,
    SHARED,
    SPARE,
    STATIC,
    SWITCHES,
    TAKEN,
    TO,
    USED,
    Ints,
    Reals,
)


@inlined
def interject(w: Ints, f: Reals, link: int, size: int) -> None:
    """What goes before all data takes its time on a link, after the packet that is on its way."""
    free = max(w[LINKS][link, FREE_AT], w[CLOCK][0, NOW])
    w[LINKS][link, FREE_AT] = free + int(size * f[RATES][link, PACE_OF] + 0.5)


@inlined
def _threshold(w: Ints, f: Reals, link: int) -> int:
    """Bytes of the shared buffer that packets from a link may take now."""
    if w[CLOCK][0, STATIC] >= 0:
        return int(w[CLOCK][0, STATIC])
    switch = w[SWITCHES][w[LINKS][link, TO]]
    return int(f[RATES][link, ALPHA] * (switch[SHARED] - switch[USED]))


@inlined
def _tell(w: Ints, f: Reals, link: int, what: int) -> None:
    """Tell the source of a link to pause or to resume: that waits for at most the packet on the way back."""
    clock, back = w[CLOCK], w[LINKS][link, BACK]
    pace = f[RATES][back, PACE_OF]
    longest = clock[0, NOW] + int((clock[0, PAYLOAD_SIZE] + clock[0, HEADER]) * pace + 0.5)
    begin = min(max(w[LINKS][back, FREE_AT], clock[0, NOW]), longest)
    interject(w, f, back, clock[0, PAUSE_SIZE])
    push(w, begin + int(clock[0, PAUSE_SIZE] * pace + 0.5) + w[LINKS][back, DELAY], what, link)
    w[LINKS][link, HALTED] = 1 if what == PAUSE else 0


@inlined
def _beyond(size: int, reserve: int) -> int:
    return max(0, size - reserve)


@inlined
def admit(w: Ints, f: Reals, link: int, size: int) -> bool:
    """Whether a packet that came over `link` finds room in the switch, which it then takes."""
    clock, links = w[CLOCK], w[LINKS]
    switch = w[SWITCHES][links[link, TO]]
    reserve, threshold = clock[0, RESERVE], _threshold(w, f, link)
    before = links[link, TAKEN]
    shared = _beyond(before + size, reserve) - _beyond(before, reserve)
    if before + size <= reserve + threshold and switch[USED] + shared <= switch[SHARED]:
        links[link, TAKEN] += size
        switch[USED] += shared
    elif clock[0, PFC] and links[link, SPARE] + size <= links[link, HEADROOM]:
        links[link, SPARE] += size
    else:
        links[link, DROPS] += 1
        clock[0, DROPPED] += 1
        return False
    if clock[0, PFC] and not links[link, HALTED]:
        over = links[link, TAKEN] - reserve >= _threshold(w, f, link)
        if links[link, SPARE] > 0 or over:
            _tell(w, f, link, PAUSE)
    return True


@inlined
def release(w: Ints, f: Reals, link: int, size: int) -> None:
    """A packet that came over `link` leaves the switch; the headroom is freed first."""
    clock, links = w[CLOCK], w[LINKS]
    reserve = clock[0, RESERVE]
    spare = min(links[link, SPARE], size)
    links[link, SPARE] -= spare
    before = links[link, TAKEN]
    links[link, TAKEN] -= size - spare
    after = links[link, TAKEN]
    w[SWITCHES][links[link, TO], USED] -= _beyond(before, reserve) - _beyond(after, reserve)
    if links[link, HALTED] and links[link, SPARE] == 0:
        shared = _beyond(after, reserve)
        if shared == 0 or shared <= _threshold(w, f, link) - clock[0, GAP]:
            _tell(w, f, link, RESUME)
