"""The tables of the compiled event loop: what lies where.

All that happens is in two tuples of arrays, `w` (int64) and `f` (float64), each array of two dimensions: `w[LINKS][3,
QUEUED]` are the bytes that wait for link 3. Tuples of one kind of array name no class, so that kernels stay cached;
nothing here counts references (`simcore.compiled`). Times are picoseconds, sizes bytes. -1 stands for none.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Ints = tuple[NDArray[np.int64], ...]
Reals = tuple[NDArray[np.float64], ...]

NEVER = 1 << 62

# w: one row of all that there is one of; a row per link, switch, queue pair, piece of work, resource, packet, event;
# time by link and length of its queue; links of ways one after the other; pieces of work that wait for another.
CLOCK, LINKS, SWITCHES, FLOWS, WORK, RESOURCES, PACKETS, EVENTS, QUEUES, WAYS, DEPENDENTS = range(11)
# f: a row per link; rows of the control's state per queue pair; its parameters; telemetry, `HOPS_KEPT` rows a packet.
RATES, TABLE, PARAMETERS, TELEMETRY = range(4)

# Clock. Time; events in the heap, and how many of them are more than timers; free packets: the first, how many; work
# done, all; top of the stack of what has just been done; state of the random numbers.
NOW, WAITING, LIVE, FREE, FREE_COUNT, DONE, ALL, STACK, RANDOM = range(9)
# Packets that left their sender first, arrived in order, came again, came out of order, found no room.
INJECTED, DELIVERED, REPEATED, DISCARDED, DROPPED, RESENT, HOPPED, ACKNOWLEDGED, NOTIFICATIONS = range(9, 18)
# Settings: number of the control; payload, header, acknowledgement [B]; packets an acknowledgement speaks for; whether
# acknowledgements are played, receivers notify, pauses are sent, ways alternate; dynamic threshold or 0; static one;
# what a port has for itself; how far below the threshold it resumes; times [ps]; hops of telemetry that are kept.
CONTROL, PAYLOAD_SIZE, HEADER, ACK_SIZE, ACK_EVERY, ACKS, NOTIFIES, PFC, SPRAYS = range(18, 27)
STATIC, RESERVE, GAP, CNP_INTERVAL, TIMEOUT, HOPS_KEPT, PAUSE_SIZE = range(27, 34)
CLOCK_SIZE = 34

# Links. From where to where (switch, or -1: an NPU), how long it takes, room in the target's headroom, its opposite.
FROM, TO, DELAY, HEADROOM, BACK = range(5)
# What waits for it: packets, bytes; of an NPU's own link, queue pairs that may send. When it is free, whether an event
# will look then. Packets on it. Whether it is paused.
HEAD, TAIL, QUEUED, FREE_AT, WAKING, FLY_HEAD, FLY_TAIL, PAUSED = range(5, 13)
# Of what came over it into its target: bytes in its own and the shared buffer, in the headroom; whether the target has
# told the source to pause.
TAKEN, SPARE, HALTED = range(13, 16)
# Counters: since when it is paused, how often it was, for how long; since when a pause holds back what could go on
# (-1: none), for how long; packets and bytes sent, time busy; marked, dropped at its target; most bytes queued; since
# when its queue is as long as it is.
PAUSED_AT, PAUSES, PAUSED_TIME, VICTIM_AT, VICTIM_TIME, SENT_PACKETS, SENT_BYTES, BUSY = range(16, 24)
MARKS, DROPS, MOST_QUEUED, QUEUED_AT, LINK_SIZE = range(24, 29)

# Switches: bytes that all ports share, and how many are taken.
SHARED, USED, SWITCH_SIZE = range(3)

# Queue pairs. Static: its sender's link, its first way (row of `WAYS`: number of links, then they), how many ways, rows
# from one way to the next, the way of acknowledgements, how long they take.
UPLINK, WAY, WAY_COUNT, WAY_SIZE, BACK_WAY, BACK_TIME = range(6)
# Sender: the oldest message that is not acknowledged, the one to be sent from, the last one begun, the last one;
# payload sent, acknowledged, most ever sent; what holds it back (below), the next that may send; earliest next packet.
OLDEST, CURRENT, BEGUN, NEWEST, SENT_TO, ACKED_TO, MOST_SENT, STANDS, NEXT_READY, NEXT_SEND = range(6, 16)
# Deadlines: to begin again, event of that, event of the control's timer.
DEADLINE, DEADLINE_EVENT, TIMER_EVENT = range(16, 19)
# Receiver: payload expected next, whether it has asked for that; packets since it answered, marks among them, when it
# last notified; acknowledgements under way; the way of the next packet.
EXPECTED, ASKED, UNANSWERED, ECHO, NOTIFIED_AT, ACK_HEAD, ACK_TAIL, NEXT_WAY = range(19, 27)
# Counters: messages under way, since when any, time with any; payload delivered.
OPEN, OPEN_AT, OPEN_TIME, ARRIVED = range(27, 31)
# Static: the resource that is its sender's port.
PORT_OF, FLOW_SIZE = range(31, 33)

IDLE, READY, PACED, HELD = range(4)

# Work. Static: what it is, where (resource or queue pair), duration [ps] or bytes, time between what it waits for and
# its begin, order in queues (smallest first), where its dependents begin and end.
KIND, WHERE, AMOUNT, LAG, ORDER, DEPENDENTS_AT, DEPENDENTS_END = range(7)
# What it still waits for, when it was over, the next one in its queue; payload of its queue pair before it, left of it.
MISSING, FINISH, NEXT_WORK, START, LEFT, WORK_SIZE = range(7, 13)
GATE, TASK, MESSAGE = range(3)

# Resources (a processor, a queue of a dimension, the port of an NPU). What it does, until when; what waits for it; time
# busy. Static: the processor of its NPU, the next resource of that, by how much it slows it while it serves
# (thousandths). How much it serves. Of a processor: its slowdown, work left [ps / 1000] at a time.
DOING, ENDS_AT, FIRST_WAITING, LAST_WAITING, RESOURCE_BUSY = range(5)
PROCESSOR, NEXT_OF_NPU, SLOWS, SERVES, SLOWDOWN, WORK_LEFT, SINCE, RESOURCE_SIZE = range(5, 13)

# Packets (and acknowledgements): queue pair, size, payload, its place along the queue pair (of an acknowledgement: what
# is expected next), message, whether it is its last; marked, asks for what was lost; when sent, when it arrives; the
# next in its list; its way, how many links of it lie behind, telemetry hops.
FLOW, SIZE, PAYLOAD_HERE, PLACE, OF, LAST, MARK, ASKS, SENT_AT, ARRIVES, NEXT, ITS_WAY, HOP_AT, HOPS = range(14)
PACKET_SIZE = 14

# Events: time, and index << 4 | what.
TIME, CODE, EVENT_SIZE = range(3)
ARRIVE, WAKE, PAUSE, RESUME, PACE, ACK, CNP, DEADLINE_OVER, TIMER_OVER, BEGIN, TASK_OVER = range(11)
CODE_SHIFT, CODE_MASK = 4, 15

# Rates of a link: time of a byte [ps]; marking: low [B], high [B], most; queue x time [B ps]; rate [B/s]; dynamic
# threshold of its target.
PACE_OF, MARK_LOW, MARK_HIGH, MARK_MOST, AREA, RATE_OF, ALPHA, RATE_SIZE = range(8)

UNIT, STEPS_AN_OCTAVE, BINS = 256, 4, 96
"""Queues are counted by length: bin 0 is the empty queue, bin i > 0 from UNIT (2^((i-1) / 4) - 1) bytes on."""
