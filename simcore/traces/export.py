"""A native design as ASTRA-sim's own files: Chakra traces, network, system and communicator groups.

Compute operators become nodes of that many nanoseconds (roofline mode at 1 FLOP per ns), collectives nodes over the
dimensions they take (`involved_dim`) or over a communicator group where they take part of one, sends and receives
between the NPUs of neighbouring stages. The network file says what the native model means: a message between two
NPUs of a switch takes one latency there and two here, a fully connected block's bandwidth is shared by its links
there and is per link here.

ASTRA-sim then gives the same time up to its rounding to nanoseconds (1 ns endpoint delay a step) where both models say
the same: groups that take whole dimensions, one chunk at a time (`active_chunks: 1`), baseline order, at most one
collective in flight. `differences` names what of a design they see differently.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from simcore.astra.files.chakra import (
    CommType,
    NodeType,
    TraceNode,
    bool_attribute,
    collective_node,
    int_attribute,
    write_trace,
)
from simcore.astra.files.nanoseconds import Clock, nanosecond_node
from simcore.collective import routed_of
from simcore.compute import times_of
from simcore.design.design import Design
from simcore.design.efficiency import best_share
from simcore.document.problem import InputError, Problem
from simcore.document.quantity import parse_quantity
from simcore.engine.reference.cluster import NpuGroups
from simcore.memory.plan import program_of
from simcore.network import ratios_of
from simcore.policy.groups import group_kind
from simcore.program import TO_OTHER_END, Compute, Program, Segment, Start, Waits
from simcore.schedule import ORDERS
from simcore.schedule.base import read_block
from simcore.system.placement import GroupSlice, find_crossing, place
from simcore.workload.base import kind_of

MOST_NODES = 5_000_000
"""Nodes over all traces that are written at most."""

_BLOCKS = {"ring": "Ring", "fully_connected": "FullyConnected", "switch": "Switch"}
_ALGORITHMS = {
    "ring": "ring",
    "direct": "direct",
    "halving_doubling": "halvingDoubling",
    "double_binary_tree": "doubleBinaryTree",
}
_KINDS = {
    "all_reduce": CommType.ALL_REDUCE,
    "all_gather": CommType.ALL_GATHER,
    "reduce_scatter": CommType.REDUCE_SCATTER,
    "all_to_all": CommType.ALL_TO_ALL,
}
_EXCHANGES = {
    ("shift", "context"): ("context_communication", "all_to_all", "'ring'"),
    ("shift", "tensor"): ("tensor_overlap", "false", "true"),
}
"""Exchanges between neighbours, each with the key that asks for it, what the key may say instead, and what it says."""
_ENDS_TAG = 1 << 30
"""Tag of what the first and the last stage send each other; messages of microbatches have smaller ones."""
_USUAL = "schedule: 1f1b"
_PLAY = "ASTRA-sim cannot play it; dse simulate does, and its --trace writes a timeline"


def export(design: Design, folder: Path) -> tuple[Path, ...]:
    """Write the files of a design into `folder`; the paths, traces last.

    Raises `InputError` where ASTRA-sim has no such topology or algorithm, or the traces would be too large.
    """
    made = export_files(design)
    folder.mkdir(parents=True, exist_ok=True)
    written = [_write(folder / name, document) for name, document in made.documents.items()]
    if made.groups:
        groups = {str(number): list(members) for number, members in made.groups.items()}
        written.append(_write(folder / "comm_groups.json", groups))
    for rank, listed in made.traces.items():
        path = folder / ("workload.et" if len(made.traces) == 1 else f"workload.{rank}.et")
        write_trace(path, listed)
        written.append(path)
    return tuple(written)


@dataclass(frozen=True)
class Exported:
    """A design as ASTRA-sim's files.

    Network and system by file name; traces by rank (one for all where all ranks do the same); the members of each
    communicator group.
    """

    documents: Mapping[str, Mapping[str, Any]]
    traces: Mapping[int, list[TraceNode]]
    groups: Mapping[int, tuple[int, ...]]


def export_files(design: Design) -> Exported:
    """The files of a design; errors as `export`."""
    problems = list(_problems(design))
    if problems:
        raise InputError(problems, "Chakra export")
    traces = _Traces(design)
    nodes = {rank: traces.nodes_of(rank) for rank in traces.ranks}
    documents = {"network.yml": _network_document(design), "system.json": _system_document(design)}
    return Exported(documents, nodes, {number: members for members, number in traces.groups.items()})


def differences(design: Design) -> tuple[str, ...]:
    """What ASTRA-sim's model sees differently in this design, one sentence each."""
    found = []
    if design.system.active_chunks != 1:
        found.append("chunks do not overlap their latencies in ASTRA-sim (here active_chunks is not 1)")
    if design.system.inter_dimension != "baseline":
        found.append(f"ASTRA-sim 2.x has no {design.system.inter_dimension}: chunks take the baseline order")
    elif design.cluster.at_once:
        found.append("chunks begin on the innermost dimension in ASTRA-sim (`at_once` is not exported)")
    single = program_of(design).single
    spreads = single is not None and single.kind == "all_to_all"
    dimensions = zip(design.cluster.dimensions, design.algorithms, strict=True)
    if any(d.topology != "fully_connected" and (spreads or algorithm == "direct") for d, algorithm in dimensions):
        found.append(
            "messages that an NPU sends at the same time do not share its port in ASTRA-sim (unaware back end)"
        )
    if single is None:
        if design.parallelism.pipeline > 1 and design.system.chunks > 1:
            found.append("a send between stages is one message in ASTRA-sim, and not split in chunks")
        placement, _ = place(design)
        partial = [g for g, slices in placement.items() if slices and g != "pipeline" and not _is_whole(slices)]
        if partial:
            found.append(f"groups that take part of a dimension become one flat ring: {', '.join(partial)}")
        if any(find_crossing(design)):
            found.append("rings that cross a node get the whole bandwidth (`affinity` is not exported)")
        if design.data > 1:
            found.append("an NPU has one collective in flight: gradient reduction does not overlap other collectives")
    return tuple(found)


def _is_whole(slices: tuple[GroupSlice, ...]) -> bool:
    return all(where.part.members == where.part.size for where in slices)


def _problems(design: Design) -> Iterator[Problem]:
    for index, dimension in enumerate(design.cluster.dimensions):
        path = ("cluster", "dimensions", index)
        if dimension.topology not in _BLOCKS:
            yield Problem(
                (*path, "topology"), f"one of ASTRA-sim's: {', '.join(_BLOCKS)}", f"'{dimension.topology}'", _PLAY
            )
        if design.algorithms[index] not in _ALGORITHMS:
            expected, found = f"one of ASTRA-sim's: {', '.join(_ALGORITHMS)}", f"'{design.algorithms[index]}'"
            yield Problem((*path, "collective"), expected, found, f"collective: {next(iter(_ALGORITHMS))}")
        if isinstance(dimension.efficiency, tuple):
            expected, fix = (
                "one number (ASTRA-sim knows no sizes of messages)",
                f"efficiency: {best_share(dimension.efficiency):g}",
            )
            yield Problem((*path, "efficiency"), expected, "a table", fix)
        if dimension.library and dimension.library.adds:
            expected, found = "none (ASTRA-sim knows links alone)", dimension.library.name or "one"
            yield Problem((*path, "library"), expected, found, "leave it out, or of a fabric spell the dimensions out")
    groups = kind_of(design.workload).groups(design.workload)
    if groups is not None:
        yield Problem(("workload", "groups"), "one group of all NPUs", f"{len(groups)} groups", "leave it out")
    yield from _unknown(program_of(design))


def _unknown(program: Program) -> Iterator[Problem]:
    """Collectives that ASTRA-sim has not, such as exchanges between neighbours; blocks of weight gradients."""
    if ORDERS[program.schedule].splits:
        yield Problem(
            ("parallelism", "schedule"), "one whose backward blocks are whole", f"'{program.schedule}'", _USUAL
        )
    if not ORDERS[program.schedule].flushes:
        yield Problem(
            ("parallelism", "schedule"), "one that flushes after the iteration", f"'{program.schedule}'", _USUAL
        )
    segments = [segment for part in program.parts for way in part.passes for segment in way]
    starts = {(op.kind, op.group) for s in segments for op in s.operators if isinstance(op, Start)}
    for kind, group in sorted(starts):
        if (kind, group_kind(group)) in _EXCHANGES:
            key, other, found = _EXCHANGES[kind, group_kind(group)]
            expected = f"{other} (ASTRA-sim has no exchange between neighbours)"
            yield Problem(("parallelism", key), expected, found, f"{key}: {other}")
        elif kind not in _KINDS:
            if routed_of(kind):
                expected, found = "rank (ASTRA-sim has no all-to-all that sends one copy to a node)", "'node'"
                yield Problem(("parallelism", "dispatch"), expected, found, "dispatch: rank")
                continue
            yield Problem(("workload",), f"collectives of ASTRA-sim's: {', '.join(_KINDS)}", f"'{kind}'", _PLAY)


def _write(path: Path, content: Mapping[str, Any]) -> Path:
    path.write_text(json.dumps(content, indent=1), encoding="utf-8")  # JSON is YAML, too
    return path


def _network_document(design: Design) -> dict[str, Any]:
    gib = parse_quantity("1 GiB", "size")
    bandwidth, latency = [], []
    for dimension in design.cluster.dimensions:
        rate = dimension.bandwidth * best_share(dimension.efficiency) / max(ratios_of(dimension.oversubscription))
        links = dimension.size - 1 if dimension.topology == "fully_connected" else 1
        bandwidth.append(rate / links / gib)
        latency.append(dimension.latency * 1e9 / (2 if dimension.topology == "switch" else 1))
    return {
        "topology": [_BLOCKS[dimension.topology] for dimension in design.cluster.dimensions],
        "npus_count": [dimension.size for dimension in design.cluster.dimensions],
        "bandwidth": bandwidth,
        "latency": latency,
    }


def _system_document(design: Design) -> dict[str, Any]:
    algorithms = [_ALGORITHMS[name] for name in design.algorithms]
    exchange = ["ring" if dimension.topology == "ring" else "direct" for dimension in design.cluster.dimensions]
    scatter = [e if name == "doubleBinaryTree" else name for name, e in zip(algorithms, exchange, strict=True)]
    return {
        "scheduling-policy": "LIFO" if design.system.intra_dimension == "lifo" else "FIFO",
        "endpoint-delay": 1,
        "active-chunks-per-dimension": 1,
        "preferred-dataset-splits": design.system.chunks,
        "collective-optimization": "localBWAware",
        "local-mem-bw": 1e12,
        "roofline-enabled": 1,
        "peak-perf": 0.001,
        "all-reduce-implementation": algorithms,
        "all-gather-implementation": scatter,
        "reduce-scatter-implementation": scatter,
        "all-to-all-implementation": exchange,
    }


@dataclass
class _Traces:
    """The nodes of every NPU, and the communicator groups they need."""

    design: Design
    groups: dict[tuple[int, ...], int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        design = self.design
        self.program = program_of(design)
        self.cluster = NpuGroups(design, place(design)[0])
        self.times = times_of(design)
        same = self.program.stages == 1 and all(_is_whole(slices) for slices in self.cluster.placement.values())
        self.ranks = range(1 if same else design.cluster.npus)
        each = sum(len(s.operators) * s.repeat for part in self.program.parts for s in (*part.forward, *part.backward))
        total = each * self.program.microbatches * self.program.chunks * len(self.ranks)
        if total > MOST_NODES:
            fix = "fewer layers, microbatches or NPUs (--set workload.global_batch=…)"
            raise InputError(
                [Problem(("workload",), f"at most {MOST_NODES:,} nodes", f"about {total:,}", fix)], "Chakra export"
            )

    def nodes_of(self, rank: int) -> list[TraceNode]:
        """The trace of one NPU."""
        writer, program = _Writer(self, rank), self.program
        stage = self.cluster.rank(rank, "pipeline") if program.stages > 1 else 0
        order = ORDERS[program.schedule].order(program.stages, program.microbatches, program.chunks)[stage]
        parts = program.parts_of(stage)
        for position, code in enumerate(order.tolist()):
            direction, microbatch, chunk, _, alone = read_block(code)
            part = parts[chunk]
            passed = part.backward_pass(alone) if direction else part.forward_pass(microbatch, alone)
            if direction and microbatch == program.microbatches - 1:
                passed = part.last_backward
            writer.add_block(program, chunk * program.stages + stage, microbatch, direction, passed)
            if position == len(order) - 1:
                writer.add_segments(program.final[stage])
        return writer.nodes

    def group(self, rank: int, name: str) -> tuple[list[bool] | None, str]:
        """How a collective of `rank` names its group: the dimensions it takes whole, or a communicator group."""
        slices = self.cluster.placement[name]
        if _is_whole(slices):
            taken = {where.dimension for where in slices}
            return [d in taken for d in range(len(self.design.cluster.dimensions))], ""
        members = [rank]
        for where in slices:
            members = [peer for member in members for peer in self.cluster.peers(member, where)]
        number = self.groups.setdefault(tuple(sorted(members)), len(self.groups) + 1)
        return None, str(number)


class _Writer:
    """Writes the nodes of one NPU, each after what its program was waiting for."""

    def __init__(self, traces: _Traces, rank: int) -> None:
        self.traces, self.rank = traces, rank
        self.nodes: list[TraceNode] = []
        self._after: tuple[int, ...] = ()
        self._clock = Clock()
        self._flying: dict[Waits, list[int]] = {}

    def _add(self, node: TraceNode) -> int:
        self.nodes.append(node)
        return node.id

    def add_compute(self, operator: Compute) -> None:
        """A compute node of the operator's nanoseconds."""
        nanoseconds = max(1, round(self.traces.times.seconds(operator) * 1e9))
        node = nanosecond_node(len(self.nodes), operator.name, nanoseconds, self._after, self._clock)
        self._after = (self._add(node),)

    def add_collective(self, operator: Start) -> None:
        """A collective; what blocks is what the next node follows."""
        if operator.kind in TO_OTHER_END:
            self._exchange_between_ends(operator)
            return
        involved, group = self.traces.group(self.rank, operator.group)
        splits = self.traces.design.system.chunks
        size = max(1, round(operator.size / splits)) * splits
        number = self._add(collective_node(len(self.nodes), _KINDS[operator.kind], size, self._after, involved, group))
        if operator.waits == Waits.NOW:
            self._after = (number,)
        else:
            self._flying.setdefault(operator.waits, []).append(number)

    def add_segments(self, segments: tuple[Segment, ...]) -> None:
        """Segments, with their repeats spelled out."""
        for segment in segments:
            for _ in range(segment.repeat):
                for operator in segment.operators:
                    if isinstance(operator, Compute):
                        self.add_compute(operator)
                    elif isinstance(operator, Start):
                        self.add_collective(operator)
                    else:
                        self._after += tuple(self._flying.pop(operator.waits, ()))

    def add_block(
        self, program: Program, virtual: int, microbatch: int, direction: int, passed: tuple[Segment, ...]
    ) -> None:
        """One forward (direction 0) or backward block of a virtual stage: receive, play what is `passed`, send."""
        last = program.stages * program.chunks - 1
        onward = 1 if direction == 0 else -1
        if program.stages > 1 and 0 <= virtual - onward <= last:
            self._add_message(NodeType.COMM_RECV, program, virtual - onward, virtual, microbatch)
        self.add_segments(passed)
        if program.stages > 1 and 0 <= virtual + onward <= last:
            self._add_message(NodeType.COMM_SEND, program, virtual, virtual + onward, microbatch)

    def _exchange_between_ends(self, operator: Start) -> None:
        """What the first and the last stage send each other: a send, and a receive beside it."""
        stages, size = self.traces.program.stages, round(operator.size)
        other = TO_OTHER_END[operator.kind] % stages
        peer = self.traces.cluster.npu_at(self.rank, operator.group, other)
        ends = []
        for kind, pair in ((NodeType.COMM_SEND, (self.rank, peer)), (NodeType.COMM_RECV, (peer, self.rank))):
            tag = _ENDS_TAG + (pair[0] < pair[1])
            ends.append(self._add_point_to_point(kind, f"{kind.name}_ends", size, pair, tag))
        self._after = tuple(ends)

    def _add_message(self, kind: NodeType, program: Program, origin: int, target: int, microbatch: int) -> None:
        other = target if kind == NodeType.COMM_SEND else origin
        peer = self.traces.cluster.npu_at(self.rank, "pipeline", other % program.stages)
        source, destination = (self.rank, peer) if kind == NodeType.COMM_SEND else (peer, self.rank)
        tag = (microbatch * (program.stages * program.chunks) + origin) * 2 + (target > origin)
        size, name = round(program.sent_bytes(origin, target - origin)), f"{kind.name}_{origin}_{target}"
        self._after = (self._add_point_to_point(kind, name, size, (source, destination), tag),)

    def _add_point_to_point(self, kind: NodeType, name: str, size: int, pair: tuple[int, int], tag: int) -> int:
        """A send or a receive of `size` [B] between a pair of NPUs, from the first to the second."""
        attributes = (
            bool_attribute("is_cpu_op", False),
            int_attribute("comm_size", size),
            int_attribute("comm_src", pair[0]),
            int_attribute("comm_dst", pair[1]),
            int_attribute("comm_tag", tag),
        )
        return self._add(TraceNode(len(self.nodes), name, kind, data_deps=self._after, attributes=attributes))
