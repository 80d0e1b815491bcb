"""What follows what: program order, streams, launches, tensors, and waits of the host.

- The operators of a thread follow one another; the first of a thread, and the first after a pause of a millisecond,
  follows what last started on another thread (as Chakra's `trace_link` has it).
- A kernel follows the operator that launched it and what was before it on its stream.
- What takes or writes a tensor follows what wrote it last, and what writes one follows those who took it: among
  operators and collectives of the host, and among kernels of different streams. Tensors are the same where their
  storage is.
- An operator after a blocking call follows what the call waited for.

Nothing follows what the recording shows to have ended later than it began (but for gloo's collectives, whose records
close late), and nothing what began later: so no circle can arise.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from simcore.traces.pytorch.merge import Draft, Merged
from simcore.traces.pytorch.timeline import Event

PAUSE = 1000.0
"""Pause of a thread after which it is taken to have waited for another [µs]; Chakra's `trace_link` has the same."""

TOLERANCE = 0.01
"""How far clocks of events may overlap [µs]."""


def connect(merged: Merged) -> list[Draft]:
    """The drafts in the order of their starts, numbered, each with what it follows."""
    drafts = sorted(merged.drafts, key=lambda draft: (draft.start, draft.device, draft.communication is not None))
    for number, draft in enumerate(drafts):
        draft.number = number
    host = [draft for draft in drafts if not draft.device and draft.communication is None]
    _follow_lanes([draft for draft in drafts if draft.device])
    _follow_threads(host)
    for draft in drafts:
        if draft.launcher is not None:
            draft.after.append(draft.launcher)
    _follow_tensors([draft for draft in drafts if not draft.device])
    _follow_tensors([draft for draft in drafts if draft.device])
    _follow_waits(drafts, host, merged.waits)
    for draft in drafts:
        draft.after = _needed(draft)
    return drafts


def _needed(draft: Draft) -> list[Draft]:
    unique = {other.number: other for other in draft.after if other.number < draft.number}
    return [unique[number] for number in sorted(unique)]


def _follow_lanes(drafts: Iterable[Draft]) -> None:
    last: dict[str, Draft] = {}
    for draft in drafts:
        if draft.lane in last:
            draft.after.append(last[draft.lane])
        last[draft.lane] = draft


def _follow_threads(host: Sequence[Draft]) -> None:
    _follow_lanes(host)
    ended: dict[str, float] = {}
    latest: dict[str, Draft] = {}
    for draft in host:
        if draft.start - ended.get(draft.lane, -PAUSE * 2) > PAUSE:
            others = [other for lane, other in latest.items() if lane != draft.lane]
            draft.after += [max(others, key=lambda other: other.number)] if others else []
        ended[draft.lane] = max(draft.end, ended.get(draft.lane, draft.end))
        latest[draft.lane] = draft


def _follow_tensors(drafts: Sequence[Draft]) -> None:
    writer: dict[int, Draft] = {}
    readers: dict[int, list[Draft]] = defaultdict(list)
    for draft in drafts:
        op = draft.op
        if op is None or (draft.communication is None and op.name.startswith("c10d::") and not draft.device):
            continue  # the collective touches the tensors, not the call that asks for it
        for storage in op.read | op.written:
            if storage in writer:
                _follow(draft, writer[storage])
        for storage in op.written:
            for reader in readers.pop(storage, ()):
                _follow(draft, reader)
            writer[storage] = draft
        for storage in op.read - op.written:
            readers[storage].append(draft)


def _follow(draft: Draft, other: Draft) -> None:
    """Follow what touched a tensor; gloo closes the record of a collective late, so its end says nothing."""
    collective = other.communication is not None and not other.device
    if other is not draft and other.lane != draft.lane and (collective or other.end <= draft.start + TOLERANCE):
        draft.after.append(other)


def _follow_waits(drafts: Sequence[Draft], host: Sequence[Draft], waits: Sequence[Event]) -> None:
    lanes: dict[str, list[Draft]] = defaultdict(list)
    for draft in host:
        lanes[draft.lane].append(draft)
    starts = {lane: [draft.start for draft in found] for lane, found in lanes.items()}
    for draft in drafts:
        if draft.communication is not None and not draft.device and draft.launcher is not None:
            place = bisect_left(starts[draft.launcher.lane], draft.launcher.end)
            _await(draft, draft.communication.blocks, lanes[draft.launcher.lane][place : place + 1])
    device = sorted((draft for draft in drafts if draft.device), key=lambda draft: draft.end)
    ends = [draft.end for draft in device]
    for wait in waits:
        lane = f"thread {wait.thread}"
        place = bisect_left(starts.get(lane, []), wait.start)
        for later in lanes[lane][place : place + 1]:
            later.after += _waited_for(wait, device[: bisect_right(ends, wait.end + TOLERANCE)])


def _await(collective: Draft, blocks: bool | None, following: Sequence[Draft]) -> None:
    """Let what follows a call follow its collective: where the call blocks, or seems to by its times."""
    for later in following:
        if blocks or (blocks is None and later.start + TOLERANCE >= collective.end):
            later.after.append(collective)


def _waited_for(wait: Event, ended: Sequence[Draft]) -> Iterator[Draft]:
    """The last kernel of every stream where a call waits for the device; else the last that ended with the call."""
    whole_device = "Device" in wait.name or "Ctx" in wait.name
    seen: set[str] = set()
    for draft in reversed(ended):
        launched = draft.launcher.start if draft.launcher is not None else draft.start
        if draft.lane not in seen and launched <= wait.start:
            seen.add(draft.lane)
            yield draft
            if not whole_device:
                return
