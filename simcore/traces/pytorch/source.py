"""The source: execution traces and timelines of all ranks in, Chakra traces and communicator groups out.

Chakra's own converter does this in two steps (`chakra_trace_link`, `chakra_converter`); what differs here is said in
`docs/traces.md`: dependencies come from tensors instead of the order of calls alone, and a host's wait for its devices
is a dependency, not a time.
"""

from __future__ import annotations

from collections.abc import Sequence

from simcore.astra.files.chakra import (
    Attribute,
    CommType,
    NodeType,
    TraceNode,
    bool_attribute,
    int_attribute,
    text_attribute,
)
from simcore.astra.files.nanoseconds import Clock
from simcore.traces.base import Request, Trace, TraceSet, refuse
from simcore.traces.pytorch.communication import Communication
from simcore.traces.pytorch.files import check_ranks, files_of
from simcore.traces.pytorch.groups import Groups, merge_groups
from simcore.traces.pytorch.host import HostTrace, read_host
from simcore.traces.pytorch.merge import Draft, Merge, Merged
from simcore.traces.pytorch.order import connect
from simcore.traces.pytorch.timeline import Timeline, read_timeline


class PyTorch:
    """PyTorch's execution traces with Kineto's timelines."""

    name = "pytorch"
    summary = "execution traces of PyTorch with their Kineto timelines"

    def claims(self, path: str) -> bool:
        """JSON, plain or gzip."""
        return path.endswith((".json", ".json.gz"))

    def read(self, request: Request) -> TraceSet:
        """The traces of all ranks. Raises `InputError`."""
        if request.timeline is None:
            fix = "an execution trace holds no times: --timeline 'kineto.{rank}.json'"
            refuse(request.path, "the Kineto timeline of the same run", "none", fix)
        hosts = files_of(request.path, "execution traces")
        timelines = files_of(request.timeline, "timelines")
        recorded = {rank: (read_host(path), read_timeline(timelines[rank])) for rank, path in hosts.items()
                    if rank in timelines}  # fmt: skip
        world = max((max(host.world, timeline.world) for host, timeline in recorded.values()), default=1) or len(hosts)
        check_ranks(hosts, world, request.path)
        check_ranks(timelines, world, request.timeline)
        ranks = [recorded[rank] for rank in range(world)]
        for rank, (_, timeline) in enumerate(ranks):
            if timeline.rank not in (-1, rank):
                refuse(str(timeline.path), f"the timeline of rank {rank}", f"that of rank {timeline.rank}")
        groups = merge_groups([(host.groups, timeline.groups) for host, timeline in ranks], world)
        built = [_Rank(rank, *pair, groups, request.group) for rank, pair in enumerate(ranks)]
        used = {number: members for rank in built for number, members in rank.used.items()}
        return TraceSet(tuple(rank.trace for rank in built), used, notes=_notes(built))


class _Rank:
    """One rank's trace."""

    def __init__(self, rank: int, host: HostTrace, timeline: Timeline, groups: Groups, assumed: str | None) -> None:
        self.rank, self.host, self.groups, self.assumed = rank, host, groups, assumed
        self.used: dict[int, tuple[int, ...]] = {}
        self.barriers = self.uneven = 0
        self.merged: Merged = Merge(host, timeline).merge()
        drafts = connect(self.merged)
        base = drafts[0].start if drafts else 0.0
        clocks: dict[str, Clock] = {}
        self.trace: Trace = tuple(self._node(draft, base, clocks.setdefault(draft.lane, Clock())) for draft in drafts)
        self.idle = self.merged.idle

    def _node(self, draft: Draft, base: float, clock: Clock) -> TraceNode:
        on_host = self.merged.has_devices and not draft.device and draft.communication is None
        attributes = [bool_attribute("is_cpu_op", on_host)]
        if draft.op is not None:
            attributes.append(int_attribute("rf_id", max(0, draft.op.record)))
        kind, _, number = draft.lane.partition(" ")
        if kind in ("stream", "thread") and number.isdecimal():
            attributes.append(int_attribute("stream" if kind == "stream" else "tid", int(number)))
        wanted = draft.communication
        if wanted is not None:
            attributes += self._communication(draft.name, wanted)
        return TraceNode(
            draft.number,
            draft.name,
            NodeType.COMP if wanted is None else wanted.type,
            data_deps=tuple(other.number for other in draft.after),
            start_time_us=max(0, round(draft.start - base)),
            duration_us=clock.round(draft.duration),
            attributes=tuple(attributes),
        )

    def _communication(self, name: str, wanted: Communication) -> list[Attribute]:
        members, number = self._members(name, wanted)
        group = [text_attribute("pg_name", str(number) if number else "")]
        size = int_attribute("comm_size", wanted.size)
        dtype = [text_attribute("comm_dtype", wanted.dtype)] if wanted.dtype else []
        if wanted.type is NodeType.COMM_COLL:
            assert wanted.kind is not None
            kind = wanted.kind
            if kind is CommType.BARRIER:
                self.barriers += 1
                kind, size = CommType.ALL_REDUCE, int_attribute("comm_size", BARRIER_BYTES * len(members))
            self.uneven += wanted.uneven
            return [int_attribute("comm_type", int(kind)), size, *group, *dtype]
        if not 0 <= wanted.peer < len(members):
            refuse(f"{self.host.path}: {name}", f"a peer below {len(members)}", str(wanted.peer))
        ends = (self.rank, members[wanted.peer])
        source, target = ends if wanted.type is NodeType.COMM_SEND else ends[::-1]
        places = [int_attribute("comm_src", source), int_attribute("comm_dst", target)]
        return [size, *places, int_attribute("comm_tag", wanted.tag), *dtype]

    def _members(self, name: str, wanted: Communication) -> tuple[tuple[int, ...], int]:
        members, number = self.groups.find(self.rank, wanted.group or self.assumed, f"{self.host.path}: {name}")
        if number:
            self.used[number] = members
        return members, number


BARRIER_BYTES = 4
"""What a rank gives to a barrier, which is written as an all-reduce: NCCL and gloo synchronise by one [B]."""


def _notes(ranks: Sequence[_Rank]) -> tuple[str, ...]:
    found = []
    idle = max(rank.idle for rank in ranks) / 1e3
    if idle >= 1:
        found.append(
            f"time of the host between operators (Python, waits) is not in the trace: up to {idle:,.1f} ms a rank"
        )
    if barriers := sum(rank.barriers for rank in ranks):
        found.append(f"{barriers} barriers are written as all-reduces of {BARRIER_BYTES} B a rank")
    if uneven := sum(rank.uneven for rank in ranks):
        found.append(f"{uneven} all-to-alls with uneven splits count as even")
    if orphans := sum(rank.merged.orphans for rank in ranks):
        found.append(f"{orphans} kernels whose launch was not recorded follow their stream alone")
    return tuple(found)
