"""The system layer's configuration: chunking, queues, algorithms, endpoint costs.

Read from 2.x's JSON or 1.0's `key: value` text into one frozen `System`. What a key means is said at
the field. Keys that ASTRA-sim reads but that change nothing in these back ends are ignored.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

from simcore.astra.files.documents import AstraDocument, read_json, read_text
from simcore.astra.files.errors import AstraInputError

ONE_MEMORY_BANDWIDTH = 500_000
"""Local memory bandwidth that 1.0 has built in [B/ns]."""


class Collective(Enum):
    """A collective operation; the value names its implementation key."""

    ALL_REDUCE = "all-reduce"
    ALL_GATHER = "all-gather"
    REDUCE_SCATTER = "reduce-scatter"
    ALL_TO_ALL = "all-to-all"


class AlgorithmFamily(Enum):
    """An algorithm family."""

    RING = "ring"
    DIRECT = "direct"
    HALVING_DOUBLING = "halvingDoubling"
    DOUBLE_BINARY_TREE = "doubleBinaryTree"


@dataclass(frozen=True)
class DimensionAlgorithm:
    """How one dimension runs a collective; `window` limits direct, `flat` spans all NPUs at once."""

    family: AlgorithmFamily
    window: int | None = None
    flat: bool = False


@dataclass(frozen=True)
class SystemSettings:
    """Settings of the system layer. Delays in [ns]; 2.x local memory bandwidth in [B/s]."""

    source: Path
    lifo: bool  # newest collective first (1.0; in 2.x only one is ever in flight)
    endpoint_delay: int  # paid when a packet is prepared and after each receive
    active_chunks: int  # phases a dimension runs at once
    splits: int  # chunks of a collective
    hierarchical: bool  # localBWAware: reduce-scatter up, all-gather down
    algorithms: Mapping[Collective, tuple[DimensionAlgorithm, ...]]
    local_memory_bandwidth: float = 0.0
    peak_flops: float = 0.0  # [FLOP/s]
    roofline: bool = False
    replay_only: bool = False
    track_local_memory: bool = False
    one: bool = False  # rules of ASTRA-sim 1.0
    boost: bool = False  # 1.0: simulates only the NPUs that stand for all
    chunk_order: str = "ascending"  # 1.0: ascending, roundRobin, themis
    queue_order: str = "FIFO"  # 1.0: FIFO, RG, SCF, lessRemainingPhaseFirst
    gap_denominator: int = 16  # 1.0, Themis: smallest load gap worth reordering, in chunks

    @property
    def has_trees(self) -> bool:
        """Whether some collective uses double binary trees."""
        used = (algorithm.family for algorithms in self.algorithms.values() for algorithm in algorithms)
        return AlgorithmFamily.DOUBLE_BINARY_TREE in used

    def reduction_ns(self, size: int) -> int:
        """Return the time to reduce `size` bytes: one write and two reads of local memory [ns]."""
        if self.one:
            return 3 * int(size / ONE_MEMORY_BANDWIDTH)
        if self.local_memory_bandwidth == 0:
            return 0  # ASTRA-sim divides by zero here; the conversion leaves 0
        return 3 * int(size / self.local_memory_bandwidth * 1e9)

    def algorithms_of(self, kind: Collective) -> tuple[DimensionAlgorithm, ...]:
        """Return the per-dimension algorithms of a collective."""
        if kind not in self.algorithms:
            raise AstraInputError(
                f"{self.source}: {kind.value}-implementation: expected a list, got none, but the workload has one"
            )
        return self.algorithms[kind]


def load_system(path: Path, injection_scale: float = 1.0) -> SystemSettings:
    """Read a system file: `.json` is 2.x's, anything else 1.0's text.

    Raises
    ------
    AstraInputError
        If a key is missing, malformed, or asks for something that is not modelled.
    """
    one = path.suffix != ".json"
    document = _read_one_zero(path) if one else read_json(path)
    if document.flag("model-shared-bus"):
        raise document.error("model-shared-bus", "expected 0; the LogGP memory bus is not modelled")
    delay = 10
    if "endpoint-delay" in document.values:
        delay = int(document.integer("endpoint-delay") * injection_scale)
    policy = document.choice("scheduling-policy", ("LIFO", "FIFO") if one else ("LIFO", "FIFO", "EXPLICIT"), "LIFO")
    return SystemSettings(
        source=path,
        lifo=policy == "LIFO",
        endpoint_delay=delay,
        active_chunks=document.integer("active-chunks-per-dimension", 1, minimum=1),
        splits=document.integer("preferred-dataset-splits", minimum=1),
        hierarchical=document.choice("collective-optimization", ("baseline", "localBWAware")) == "localBWAware",
        algorithms=_algorithms(document, one),
        local_memory_bandwidth=0.0 if one else document.number("local-mem-bw", 0.0) * 1e9,
        peak_flops=document.number("peak-perf", 0.0) * 1e12,
        roofline=document.flag("roofline-enabled"),
        replay_only=document.flag("replay-only"),
        track_local_memory=document.flag("track-local-mem"),
        one=one,
        boost=one and document.flag("boost-mode"),
        chunk_order=_scheduling_choice(document, one, "inter-dimension-scheduling", _CHUNK_ORDERS, "ascending"),
        queue_order=_scheduling_choice(document, one, "intra-dimension-scheduling", _QUEUE_ORDERS, "FIFO"),
        gap_denominator=document.integer("gap-denominator", 16, minimum=1),
    )


_CHUNK_ORDERS = {
    "baseline": "ascending",
    "ascending": "ascending",
    "roundRobin": "roundRobin",
    "themis": "themis",
    "offlineGreedy": "themis",
}
_QUEUE_ORDERS = {
    "FIFO": "FIFO",
    "RG": "RG",
    "SCF": "SCF",
    "smallestFirst": "SCF",
    "lessRemainingPhaseFirst": "lessRemainingPhaseFirst",
}


def _scheduling_choice(document: AstraDocument, one: bool, key: str, names: Mapping[str, str], default: str) -> str:
    """Return a scheduling choice; 2.x has the code but reads no key for it."""
    return names[document.choice(key, tuple(names), default)] if one else default


def _algorithms(document: AstraDocument, one: bool) -> dict[Collective, tuple[DimensionAlgorithm, ...]]:
    found = {}
    for kind in Collective:
        key = f"{kind.value}-implementation"
        for custom in (f"{key}-custom", "per-node-custom-implementation"):
            if custom in document.values:
                raise document.error(custom, "expected a built-in algorithm; custom collectives are not modelled")
        if key not in document.values:
            if one:
                raise document.error(key, "expected algorithms joined by '_', got none")
            continue
        words = document.words(key)
        found[kind] = tuple(_algorithm(document, key, word) for word in (words[0].split("_") if one else words) if word)
    return found


def _algorithm(document: AstraDocument, key: str, word: str) -> DimensionAlgorithm:
    match = re.fullmatch(r"(one)?(ring|[dD]irect|[hH]alvingDoubling|doubleBinaryTree|Ring)(\d{1,5})?", word)
    if match is None or (match[1] is not None) != match[2][0].isupper():
        raise document.error(key, f"expected ring, direct, halvingDoubling or doubleBinaryTree, got {word!r}")
    family = AlgorithmFamily(match[2][0].lower() + match[2][1:])
    if match[3] is not None and (family is not AlgorithmFamily.DIRECT or int(match[3]) == 0):
        raise document.error(key, f"expected a window only after direct, and above 0, got {word!r}")
    return DimensionAlgorithm(family, None if match[3] is None else int(match[3]), match[1] is not None)


_ONE_KEYS = frozenset(f"{kind.value}-implementation" for kind in Collective) | {
    "scheduling-policy", "collective-optimization", "endpoint-delay", "local-reduction-delay",
    "active-chunks-per-dimension", "L", "o", "g", "G", "model-shared-bus", "preferred-dataset-splits",
    "boost-mode", "intra-dimension-scheduling", "inter-dimension-scheduling", "seprate-log", "gap-denominator",
}  # fmt: skip


def _read_one_zero(path: Path) -> AstraDocument:
    """Read 1.0's text: words in pairs, the first of each ending in a colon."""
    words = read_text(path).split()
    values: dict[str, Any] = {}
    for key, value in zip(words[::2], words[1::2], strict=False):
        if not key.endswith(":") or key[:-1] not in _ONE_KEYS:
            raise AstraInputError(f"{path}: {key}: expected one of 1.0's system keys; check the spelling")
        values[key[:-1]] = float(value) if re.fullmatch(r"-?\d+(\.\d*)?", value) else value
    if len(words) % 2:
        raise AstraInputError(f"{path}: {words[-1]}: expected a value after it, got the end of the file")
    return AstraDocument(path, values)
