"""What each phase puts on each link of a dimension, and which links matter.

While a phase is served alone its messages need a *share* of each link: the bytes that it puts there over what the link
carries in the time that the phase takes. A link matters where the largest shares of all classes come to more than one:
elsewhere nobody is slowed, whatever meets. Of links that all phases load alike, or less than another one, one is kept.
What follows is the same for any bandwidth and any size of message, and kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simcore.collective import CustomAlgorithm
from simcore.engine.flow.rows import Onward, Row, unpack
from simcore.engine.flow.shared import Tail
from simcore.engine.flow.steps import find_worn, phase_steps
from simcore.engine.flow.traffic import PhaseTraffic, join, phase_traffic, to_everybody
from simcore.engine.flow.trees import tree_loads
from simcore.engine.flow.wires import Wires, WornItems, wires_of
from simcore.network import Block, Slice
from simcore.network.sent import Floats, Ints, Sent
from simcore.system.phase_cost import phase_cost, send_cost

MEMBERS_EACH = 64
"""In larger groups one member stands for all of them, to find the rate of a message: they are connected by switches."""
NEARLY = 1e-9
"""By how much sums of shares may be off."""


class PhaseKind(NamedTuple):
    """Phases of a group on a dimension."""

    group: str
    kind: str
    part: Slice
    firsts: tuple[int, ...]
    """The first node of each group in a row."""
    algorithm: str | CustomAlgorithm
    in_network: bool
    slowed: float
    """How many times as long as on its links it takes."""
    between: int
    """See `stages_between`."""


class Carried(NamedTuple):
    """Everything that the rows of a dimension may carry."""

    block: Block
    size: int
    worn: WornItems
    rows: tuple[Row, ...]
    phases: tuple[PhaseKind, ...]
    pipeline: Slice | None
    """What the pipeline takes of the dimension."""


class Sender(NamedTuple):
    """Who serves what: a class of NPUs, its group, the kind of the phase, the stage that it sends to."""

    npus: int
    group: str
    kind: str
    target: int


class Load(NamedTuple):
    """What the NPUs of a class put on links while they serve a phase alone."""

    sender: Sender
    share: Floats
    """The share of each link that it needs, `[links]`."""
    rate: float
    """Rate of one of its messages, as a factor on the injection bandwidth of an NPU."""
    fastest: float = 1.0
    """How many times as fast it goes where other stages do not do the same at the same time."""


class KeptLink(NamedTuple):
    """Links of a dimension that are loaded alike."""

    rate: float
    """Rate of one of them, as a factor on the injection bandwidth of an NPU."""
    ends: tuple[tuple[int, int], ...]
    """(Source, target) of each of them."""


class StreamLoads(NamedTuple):
    """What a sender puts on the links of a dimension that matter."""

    rate: float
    """See `Load.rate`."""
    fastest: float
    """See `Load.fastest`; of several rows the least, since the others wait."""
    links: tuple[tuple[int, float], ...]
    """(Link, share of it)."""


class DimensionLoads(NamedTuple):
    """The links of a dimension that matter, and who loads them."""

    links: tuple[KeptLink, ...]
    streams: dict[Sender, StreamLoads]
    tails: dict[Sender, Tail]
    """Tails of those whose chunks fly for longer where links are worn."""


@lru_cache(maxsize=256)
def dimension_loads(carried: Carried) -> DimensionLoads:
    """The links of a dimension that matter; raises `InputError` where failed links leave no way."""
    wires = wires_of(carried.block, carried.size, carried.worn)
    links: list[KeptLink] = []
    streams: dict[Sender, StreamLoads] = {}
    fastest: dict[Sender, float] = {}
    tails: dict[Sender, Tail] = {}
    for row in carried.rows:
        loads = list(row_loads(carried, row, wires))
        for load in loads:
            fastest[load.sender] = min(load.fastest, fastest.get(load.sender, load.fastest))
        for link, users in links_that_matter(wires, loads, _changed(carried, row, wires, loads)):
            for load, share in users:
                rate, _, before = streams.get(load.sender, StreamLoads(load.rate, 1.0, ()))
                streams[load.sender] = StreamLoads(max(rate, load.rate), 1.0, (*before, (len(links), share)))
            links.append(link)
        for sender, tail in find_tails(carried.block, carried.phases, row, wires):
            tails[sender] = max(tail, tails.get(sender, tail))
    kept = {its: streams[its]._replace(fastest=fastest[its]) for its in streams}
    return DimensionLoads(tuple(links), kept, tails)


def find_tails(
    block: Block, phases: Sequence[PhaseKind], row: Row, wires: Wires, places: Ints | None = None
) -> Iterator[tuple[Sender, Tail]]:
    """What chunks fly longer over worn links, of what a row serves; none flies less than on sound links.

    `block` joins the nodes of the row; where they are some of those that `wires` join, `places` says which. Of a ring
    along a line the halves of an all-reduce overlap, which makes up for about what each flies longer.
    """
    classes = unpack(row.classes)
    for phase in phases if wires.worn else ():
        if phase.kind == "send_recv" or is_in_switches(block, phase):
            continue
        shape = block.shape(phase.part)
        steps = phase_steps(phase.algorithm, phase.kind, phase.part.members, shape)
        occupied, of_half = (
            phase_cost(phase.algorithm, block, phase.kind, phase.part, phase.in_network, of_two).occupied
            for of_two in (False, True)
        )
        overlaps = phase.algorithm == "ring" and shape.kind == "line"
        members = classes[nodes_of(phase)]
        for its in np.unique(members).tolist() if steps else ():
            mine = (members == its).any(axis=1)
            longer, busier = find_worn(steps, phase.part, np.array(phase.firsts), mine, wires, places)
            whole = max(0.0, (longer - busier) / occupied)
            half = 0.0 if overlaps else max(0.0, longer / of_half - busier / occupied)
            if whole > NEARLY or half > NEARLY:
                yield Sender(its, phase.group, phase.kind, -1), Tail(whole, half)


def row_loads(carried: Carried, row: Row, wires: Wires) -> Iterator[Load]:
    """Every load on the links of a row."""
    classes = unpack(row.classes)
    counted: list[_Counted] = []
    for phase in carried.phases:
        yield from _phase_loads(carried, phase, classes, wires, counted)
    for onward in row.onward:
        yield _message_load(carried, onward, wires)


class _Bytes(NamedTuple):
    """What a class sends in a phase."""

    load: Floats
    """On each pool."""
    most: float
    """Most bytes of a single NPU on a link, by each of its messages there."""
    fastest: float
    """See `Load.fastest`."""


class _Counted(NamedTuple):
    """What each class sends in one kind of phase: others often differ by a factor."""

    part: Slice
    firsts: tuple[int, ...]
    traffic: PhaseTraffic
    loads: dict[int, _Bytes]


def _phase_loads(
    carried: Carried, phase: PhaseKind, classes: Ints, wires: Wires, counted: list[_Counted]
) -> Iterator[Load]:
    part, time = phase.part, phase_time(carried.block, phase)
    if is_in_switches(carried.block, phase):
        for its, sent in _count_trees(phase, classes, wires).items():
            yield _as_load(its, phase, sent, time, wires)
        return
    traffic = phase_traffic(phase.algorithm, phase.kind, part.members, carried.block.shape(part))
    for known in counted:
        if (known.part, known.firsts) == (part, phase.firsts) and (times := traffic.times(known.traffic)) is not None:
            break
    else:
        known, times = _count(carried, phase, traffic, classes, wires), 1.0
        counted.append(known)
    for its, sent in known.loads.items():
        yield _as_load(its, phase, sent, time / times, wires)


def _as_load(its: int, phase: PhaseKind, sent: _Bytes, time: float, wires: Wires) -> Load:
    sender = Sender(its, phase.group, phase.kind, -1)
    return Load(sender, shares_of(sent.load, time, wires), sent.most / time, sent.fastest)


def nodes_of(phase: PhaseKind) -> Ints:
    """The nodes of each group in a row, `[groups, members]`."""
    nodes: Ints = np.array(phase.firsts)[:, None] + phase.part.stride * np.arange(phase.part.members)
    return nodes


def is_in_switches(block: Block, phase: PhaseKind) -> bool:
    """Whether switches add up and copy in a phase."""
    if phase.kind == "send_recv":
        return False
    return phase_cost(phase.algorithm, block, phase.kind, phase.part, phase.in_network).in_switch


def _count_trees(phase: PhaseKind, classes: Ints, wires: Wires) -> dict[int, _Bytes]:
    """What each class has of the trees that its NPUs are in."""
    nodes = nodes_of(phase)
    found = tree_loads(wires, phase.kind, nodes, classes[nodes])
    fastest = _find_fastest(phase, classes[nodes], found, wires, 1.0)
    return {its: _Bytes(load, 1.0, fastest[its]) for its, load in found.items()}


def _find_fastest(
    phase: PhaseKind, members: Ints, loads: dict[int, Floats], wires: Wires, sent: float
) -> dict[int, float]:
    """How much faster each class's groups are without those of other stages, `members` `[groups, members]` their NPUs.

    A phase takes as long as if all groups did the same at once, those of other stages among them where these have NPUs
    between the members of a group. A port carries what its NPU `sent` at least.
    """
    if phase.between == 1:
        return dict.fromkeys(loads, 1.0)
    found, busiest = {}, _busiest(list(loads.values()), wires, sent)
    for its in loads:
        mates = np.unique(members[(members == its).any(axis=1)]).tolist()
        own = _busiest([loads[mate] for mate in mates], wires, sent)
        found[its] = min(float(phase.between), max(1.0, busiest / own))
    return found


def _busiest(loads: list[Floats], wires: Wires, sent: float) -> float:
    """Bytes over bandwidth of the pool that several classes load most together, an NPU's port among them."""
    between = float(shares_of(np.sum(loads, axis=0), 1.0, wires).max(where=~wires.queued, initial=0.0))
    return max(between, sent / float(wires.rate[wires.queued].min())) if wires.queued.any() else between


def _count(carried: Carried, phase: PhaseKind, traffic: PhaseTraffic, classes: Ints, wires: Wires) -> _Counted:
    part, firsts = phase.part, np.array(phase.firsts)
    if _is_each_of_one_class(part, firsts, classes):
        few = part.members <= MEMBERS_EACH
        alone = traffic.all(part.members) if few else traffic.of(0, part.members)
        most = wires.most_of_one(alone.of_groups(part, firsts[:1]), traffic.at_once)
        of_class = {its: firsts[classes[firsts] == its] for its in np.unique(classes[firsts]).tolist()}
        loads = {its: _load_of_groups(carried, traffic, part, its_own, wires) for its, its_own in of_class.items()}
        of_one = wires.most(alone.of_groups(part, firsts[:1]))
        fastest = _find_fastest(phase, classes[firsts][:, None], loads, wires, of_one)
        known = {its: _Bytes(load, most, fastest[its]) for its, load in loads.items()}
        return _Counted(part, phase.firsts, traffic, known)
    sent = traffic.all(part.members).of_groups(part, firsts)
    sending = classes[sent.source]
    by_class = {its: Sent(*(column[sending == its] for column in sent)) for its in np.unique(sending).tolist()}
    loads = {its: wires.load(messages) for its, messages in by_class.items()}
    fastest = _find_fastest(phase, classes[nodes_of(phase)], loads, wires, wires.most(sent))
    known = {
        its: _Bytes(load, wires.most_of_one(by_class[its], traffic.at_once), fastest[its])
        for its, load in loads.items()
    }
    return _Counted(part, phase.firsts, traffic, known)


def phase_time(block: Block, phase: PhaseKind) -> float:
    """What a phase takes alone for a byte of its buffer, in bytes / injection bandwidth."""
    if phase.kind == "send_recv":
        return send_cost(block, phase.part, phase.part.members - 1).occupied
    return phase_cost(phase.algorithm, block, phase.kind, phase.part, phase.in_network).occupied * phase.slowed


def _is_each_of_one_class(part: Slice, firsts: Ints, classes: Ints) -> bool:
    members = classes[firsts[:, None] + part.stride * np.arange(part.members)]
    return bool((members == members[:, :1]).all())


def _load_of_groups(carried: Carried, traffic: PhaseTraffic, part: Slice, firsts: Ints, wires: Wires) -> Floats:
    """Bytes on each pool of what groups send in a phase.

    Where packets are sprayed, members under one leaf use links beyond it alike: to everybody they send what one of
    them would send for all.
    """
    near = carried.block.shape(part).leaf
    if not (traffic.to_all and carried.block.sprayed and not carried.worn and 1 < near < part.members):
        return wires.load(traffic.all(part.members).of_groups(part, firsts))
    leaves = Slice(part.size, part.members // near, part.stride * near)
    together, count = np.unique(firsts // carried.block.leaf * carried.block.leaf, return_counts=True)
    between = to_everybody(leaves.members, traffic.to_all * near * near).of_groups(leaves, together)
    between = between._replace(share=between.share * np.repeat(count, len(between.share) // len(count)))
    return wires.load(join([traffic.listed.of_groups(part, firsts), between]))


def _message_load(carried: Carried, onward: Onward, wires: Wires) -> Load:
    assert carried.pipeline is not None
    source = unpack(onward.sources)
    cost = send_cost(carried.block, carried.pipeline, abs(onward.distance))
    target = source + onward.distance * carried.pipeline.stride
    sender = Sender(onward.sender, "pipeline", "send_recv", onward.target)
    return _load(sender, Sent(source, target, np.ones(len(source))), cost.occupied, wires)


def _load(sender: Sender, messages: Sent, time: float, wires: Wires) -> Load:
    """The load of messages that take `time` together, in bytes / injection bandwidth."""
    return Load(sender, shares_of(wires.load(messages), time, wires), wires.most_of_one(messages) / time)


def shares_of(loads: Floats, time: float, wires: Wires) -> Floats:
    """The share of each link that is needed to carry so many bytes in `time`, in bytes / injection bandwidth."""
    return np.divide(loads, wires.rate * time, out=np.zeros(len(wires.rate)), where=wires.rate > 0)


def _changed(carried: Carried, row: Row, wires: Wires, loads: Sequence[Load]) -> NDArray[np.bool_]:
    """Links that carry other messages, or less, because links are worn, `[links]`."""
    changed = np.zeros(len(wires.rate), bool)
    if not carried.worn:
        return changed
    for worn, whole in zip(loads, row_loads(carried, row, wires.whole), strict=True):
        changed |= worn.share > whole.share * (1 + NEARLY) + NEARLY
    return changed


def links_that_matter(
    wires: Wires, loads: Sequence[Load], changed: NDArray[np.bool_]
) -> Iterator[tuple[KeptLink, list[tuple[Load, float]]]]:
    """The links that somebody may be slowed on, each with who loads it, and how much of it."""
    if not loads:
        return
    shares = np.array([load.share for load in loads])
    together = np.zeros(shares.shape[1])
    for its in sorted({load.sender.npus for load in loads}):
        together += np.max([load.share * load.fastest for load in loads if load.sender.npus == its], axis=0)
    kept = np.flatnonzero((together > 1 + NEARLY) & (~wires.queued | changed))
    columns, first, number = np.unique(shares[:, kept].round(12), axis=1, return_index=True, return_inverse=True)
    number = number.reshape(-1)
    for column in _undominated(columns):
        link = kept[first[column]]
        ends = tuple(end for pool in kept[number == column].tolist() for end in wires.ends(pool))
        used = np.flatnonzero(shares[:, link]).tolist()
        yield (
            KeptLink(float(wires.rate[link] / wires.count[link]), ends),
            [(loads[i], float(shares[i, link])) for i in used],
        )


def _undominated(columns: Floats) -> list[int]:
    """The columns that no other one reaches in every row; `columns` are different, in lexicographic order.

    A column that reaches another one comes after it, and is reached itself by none or by one that is kept.
    """
    rows = np.ascontiguousarray(columns.T)
    kept: list[int] = []
    for at in range(len(rows) - 1, -1, -1):
        if not (rows[kept] >= rows[at]).all(axis=1).any():
            kept.append(at)
    return kept[::-1]
