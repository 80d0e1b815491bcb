"""From a fabric, a graph and a transport to the tables of the event loop."""

from __future__ import annotations

import math
import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simcore.design.transport import Transport
from simcore.engine.packets import layout as at
from simcore.engine.packets.fabric import Fabric, Port, Way
from simcore.engine.packets.graph import Graph
from simcore.policy.control import CONTROLS, Control, base
from simcore.policy.control.base import Marking
from simcore.system.chunks import PICOSECONDS

PAUSE_FRAME = 84
"""A pause on the wire [B]: a frame of 64 bytes, preamble and gap (IEEE 802.1Qbb)."""
TELEMETRY_HEADER, TELEMETRY_HOP = 2, 8
"""What telemetry adds to a packet [B], and to it with each switch (Li et al., SIGCOMM 2019, section 4.1)."""
_FIRST_PACKETS = 4096

Table = NDArray[np.int64]


@dataclass
class Tables:
    """What the event loop works on, and how much room one event may need."""

    w: at.Ints
    f: at.Reals
    flows: Table
    """Sender and receiver of each queue pair, and which connection it is between them, `[flows, 3]`."""
    margin: int


def pack(fabric: Fabric, graph: Graph, transport: Transport, slowdowns: Sequence[int] = ()) -> Tables:
    """The tables before anything has happened; `slowdowns` of computation by each dimension, in thousandths."""
    control = CONTROLS[transport.control]
    work, dependents, pairs = _pack_work(graph)
    header = transport.header + _telemetry_size(fabric, pairs, control)
    clock = _clock(transport, control, header, fabric.block.sprayed)
    flows, ways, trips = _pack_flows(fabric, graph, pairs, transport, header)
    links, rates = _pack_links(fabric, transport, control, header, max(trips, default=0.0))
    table, parameters = _pack_control(fabric, control, transport, trips, header)
    hops = int(ways[:, 0].max(initial=1)) if control.telemetry else 0
    clock[0, at.HOPS_KEPT], clock[0, at.ALL] = hops, len(graph)
    clock[0, at.FREE], clock[0, at.FREE_COUNT] = 0, _FIRST_PACKETS
    packets = np.zeros((_FIRST_PACKETS, at.PACKET_SIZE), np.int64)
    packets[:, at.NEXT] = [*range(1, _FIRST_PACKETS), -1]
    margin = len(links) + len(flows) + graph.resources + _count_begins(work) + 64
    resources = _pack_resources(graph, slowdowns)
    w = (
        clock,
        links,
        _pack_switches(fabric, transport, links),
        flows,
        work,
        resources,
        packets,
        np.zeros((4 * margin, at.EVENT_SIZE), np.int64),
        np.zeros((len(links), at.BINS), np.int64),
        ways,
        dependents,
    )
    telemetry = np.zeros((_FIRST_PACKETS * max(hops, 1), base.HOP))
    return Tables(w, (rates, table, parameters, telemetry), pairs, margin)


def _count_begins(work: Table) -> int:
    """Pieces of work that may begin at the same time by events of their own: those with a lag, and first gates."""
    first_gates = (work[:, at.MISSING] == 0) & (work[:, at.KIND] == at.GATE)
    return int(np.count_nonzero(first_gates | (work[:, at.LAG] > 0)))


def _telemetry_size(fabric: Fabric, pairs: Table, control: Control) -> int:
    """What telemetry adds to each packet [B]: room for the longest way."""
    if not control.telemetry:
        return 0
    longest = max((len(way) for source, target, _ in pairs.tolist() for way in fabric.ways(source, target)), default=1)
    return TELEMETRY_HEADER + TELEMETRY_HOP * (longest - 1)


def _clock(transport: Transport, control: Control, header: int, sprayed: bool) -> Table:
    clock = np.zeros((1, at.CLOCK_SIZE), np.int64)
    settings = {
        at.CONTROL: control.number,
        at.PAYLOAD_SIZE: transport.payload,
        at.HEADER: header,
        at.ACK_SIZE: transport.acknowledgement + header - transport.header,
        at.ACK_EVERY: transport.acknowledge_every,
        at.ACKS: control.acknowledged or not transport.pfc,
        at.NOTIFIES: control.notified,
        at.PFC: transport.pfc,
        at.SPRAYS: sprayed,
        at.STATIC: -1 if transport.threshold is None else round(transport.threshold),
        at.RESERVE: round(transport.reserve),
        at.GAP: round(transport.resume_gap),
        at.CNP_INTERVAL: round(transport.cnp_interval * PICOSECONDS),
        at.TIMEOUT: round(transport.timeout * PICOSECONDS),
        at.PAUSE_SIZE: PAUSE_FRAME,
        at.RANDOM: zlib.crc32(f"marks {transport.seed}".encode()) + 1,
    }
    for column, value in settings.items():
        clock[0, column] = value
    return clock


def _pack_work(graph: Graph) -> tuple[Table, Table, Table]:
    """Work, who waits for each, and the queue pairs that messages take, as `Tables.flows`."""
    work = np.zeros((len(graph), at.WORK_SIZE), np.int64)
    for column, numbers in (
        (at.KIND, graph.kinds),
        (at.WHERE, graph.where),
        (at.AMOUNT, graph.amounts),
        (at.LAG, graph.lags),
        (at.ORDER, graph.orders),
    ):
        work[:, column] = np.frombuffer(numbers, np.int64)
    messages = work[:, at.KIND] == at.MESSAGE
    pairs, which = np.unique(work[messages, at.WHERE], return_inverse=True)
    work[messages, at.WHERE] = which
    work[:, [at.FINISH, at.NEXT_WORK, at.START]] = -1
    earlier, later = (np.frombuffer(ends, np.int64) for ends in (graph.earlier, graph.later))
    order = np.argsort(earlier, kind="stable")
    starts = np.searchsorted(earlier[order], np.arange(len(graph) + 1))
    work[:, at.DEPENDENTS_AT], work[:, at.DEPENDENTS_END] = starts[:-1], starts[1:]
    work[:, at.MISSING] = np.bincount(later, minlength=len(graph))
    ends, which = np.divmod(pairs, graph.connections)
    return work, later[order].reshape(-1, 1).copy(), np.stack([ends // graph.npus, ends % graph.npus, which], axis=1)


def _pack_flows(
    fabric: Fabric, graph: Graph, pairs: Table, transport: Transport, header: int
) -> tuple[Table, Table, list[float]]:
    """Queue pairs, ways, and each pair's round trip of a full packet and its acknowledgement [s]."""
    flows = np.full((len(pairs), at.FLOW_SIZE), -1, np.int64)
    flows[:, at.SENT_TO : at.NEXT_SEND + 1] = flows[:, at.EXPECTED : at.ECHO + 1] = 0
    flows[:, at.NEXT_READY] = -1
    flows[:, at.NEXT_WAY] = flows[:, at.OPEN] = flows[:, at.OPEN_TIME] = flows[:, at.ARRIVED] = 0
    flows[:, [at.DEADLINE, at.DEADLINE_EVENT, at.TIMER_EVENT]] = at.NEVER
    flows[:, at.NOTIFIED_AT] = -at.NEVER
    listed: list[Way] = []
    trips = []
    full, answer = transport.payload + header, transport.acknowledgement + header - transport.header
    for number, (source, target, which) in enumerate(pairs.tolist()):
        ways, back = fabric.ways(source, target), fabric.ways(target, source)
        if not fabric.block.sprayed:
            ways = (ways[which % len(ways)],)
        flows[number, at.UPLINK] = ways[0][0]
        flows[number, at.WAY], flows[number, at.WAY_COUNT], flows[number, at.WAY_SIZE] = len(listed), len(ways), 1
        flows[number, at.NEXT_WAY] = (source + target) % len(ways)  # or all would begin with the same one
        flows[number, at.PORT_OF] = graph.queue(source, graph.dimensions - 1)
        listed += ways
        flows[number, at.BACK_WAY] = len(listed)
        listed.append(back[(source + which) % len(back)])
        flows[number, at.BACK_TIME] = _time_on_way(fabric, listed[-1], answer)
        trips.append((_time_on_way(fabric, ways[0], full) + flows[number, at.BACK_TIME]) / PICOSECONDS)
    table = np.zeros((len(listed), 1 + max((len(way) for way in listed), default=0)), np.int64)
    for row, way in zip(table, listed, strict=True):
        row[0], row[1 : 1 + len(way)] = len(way), way
    return flows, table, trips


def _time_on_way(fabric: Fabric, way: Way, size: int) -> int:
    """Time of one packet of `size` [B] on an idle way [ps]: each switch stores it before it forwards it."""
    ports = [fabric.ports[link] for link in way]
    return sum(round(size / port.rate * PICOSECONDS) + port.delay for port in ports)


def _pack_links(
    fabric: Fabric, transport: Transport, control: Control, header: int, trip: float
) -> tuple[Table, NDArray[np.float64]]:
    ports, full = fabric.ports, transport.payload + header
    links = np.zeros((len(ports), at.LINK_SIZE), np.int64)
    links[:, [at.HEAD, at.TAIL, at.FLY_HEAD, at.FLY_TAIL, at.VICTIM_AT]] = -1
    rates = np.zeros((len(ports), at.RATE_SIZE))
    rates[:, [at.MARK_LOW, at.MARK_HIGH]] = math.inf
    rates[:, at.ALPHA] = transport.alpha
    for number, port in enumerate(ports):
        links[number, [at.FROM, at.TO, at.DELAY, at.BACK]] = port.source, port.target, port.delay, port.back
        links[number, at.HEADROOM] = headroom(port.rate, port.delay, full) if transport.pfc else 0
        rates[number, at.PACE_OF], rates[number, at.RATE_OF] = (
            PICOSECONDS / port.rate if port.rate else math.inf,
            port.rate,
        )
        if port.source >= 0 and (marking := _marking(transport, control, port.rate, trip)) is not None:
            rates[number, [at.MARK_LOW, at.MARK_HIGH, at.MARK_MOST]] = marking
    return links, rates


def headroom(rate: float, delay: int, full: int) -> int:
    """Bytes that may arrive over a link from when its target decides to pause it [B].

    What the cable holds in both directions, the pause itself, and three packets: the one that came too much, the one
    on its way back before the pause, and the one that has just begun when it arrives.
    """
    return math.ceil(2 * delay / PICOSECONDS * rate) + PAUSE_FRAME + 3 * full


def own_bytes(port: Port, transport: Transport) -> int:
    """What a port takes of its target's buffer for itself, where headers are the transport's [B]."""
    full = transport.payload + transport.header
    return round(transport.reserve) + (headroom(port.rate, port.delay, full) if transport.pfc else 0)


def _marking(transport: Transport, control: Control, rate: float, trip: float) -> Marking | None:
    given = transport.marking
    return control.marking(rate, trip) if given is None else Marking(given.low, given.high, given.most)


def _pack_switches(fabric: Fabric, transport: Transport, links: Table) -> Table:
    """Raises `ValueError` where the ports' own parts leave nothing of a buffer to share."""
    switches = np.zeros((fabric.switches, at.SWITCH_SIZE), np.int64)
    for switch, into in enumerate(fabric.into):
        own = int(links[list(into), at.HEADROOM].sum()) + len(into) * round(transport.reserve)
        if own >= transport.buffer:
            raise ValueError(
                f"switch {switch}: {len(into)} ports take {own} B to themselves, of {transport.buffer:.0f}"
            )
        switches[switch, at.SHARED] = round(transport.buffer) - own
    return switches


def _pack_control(
    fabric: Fabric, control: Control, transport: Transport, trips: list[float], header: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    table = np.zeros((len(trips), base.ROW))
    table[:, base.LINE], table[:, base.BASE_RTT] = fabric.bandwidth, trips
    table[:, base.PAYLOAD], table[:, base.PACKET] = transport.payload, transport.payload + header
    usual = control.parameters(fabric.bandwidth, max(trips, default=0.0))
    values = [transport.parameters.get(name, value) for name, value in usual.items()]
    return table, np.array([values or [0.0]])


def _pack_resources(graph: Graph, slowdowns: Sequence[int]) -> Table:
    resources = np.zeros((graph.resources, at.RESOURCE_SIZE), np.int64)
    resources[:, [at.DOING, at.ENDS_AT, at.FIRST_WAITING, at.LAST_WAITING, at.PROCESSOR, at.NEXT_OF_NPU]] = -1
    for npu in range(graph.npus):
        before = graph.processor(npu)
        for dimension, slowdown in enumerate(slowdowns):
            queue = graph.queue(npu, dimension)
            resources[before, at.NEXT_OF_NPU] = queue
            resources[queue, [at.PROCESSOR, at.SLOWS]] = graph.processor(npu), slowdown
            before = queue
    return resources
