"""The network: dimensions of Ring, FullyConnected or Switch blocks, and the time of one message.

NPU ids run fastest along dimension 0. The congestion-unaware back end charges a message once,

    T = floor(hops * latency + bytes / B),   B = bandwidth * 2**30 / 1e9   [B/ns],

on a single dimension: the lowest one in which source and destination differ (ASTRA-sim 1.0: the
highest, and each term is truncated to whole nanoseconds by itself). hops is 1 on FullyConnected,
2 on Switch, and the shorter way round on Ring.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from math import prod
from pathlib import Path

from simcore.astra.files.documents import AstraDocument, read_json, read_yaml
from simcore.astra.files.errors import AstraInputError

_RELEASE_KEYS = {"nic-latency", "router-latency", "hbm-latency", "hbm-bandwidth", "hbm-scale"}
"""Keys that the 1.0 release demands and the tutorials' edition made optional: their absence tells them apart."""

_ONE_LATENCIES = ("nic-latency", "router-latency", "hbm-latency", "hbm-scale")
"""Keys of 1.0 that default to 0 in every dimension."""

MAX_NPUS = 1 << 24
"""Largest network accepted; an id must stay far inside 32 bits."""


class Generation(Enum):
    """Which ASTRA-sim the input files belong to."""

    ONE = "1.0"
    TUTORIAL = "1.0 as in the tutorials"
    TWO = "2.x"


class DimensionBlock(Enum):
    """The building block of one dimension."""

    RING = "Ring"
    FULLY_CONNECTED = "FullyConnected"
    SWITCH = "Switch"

    def hops(self, size: int, distance: int) -> int:
        """Return the links a message crosses between two of `size` NPUs at a ring distance."""
        if self is DimensionBlock.RING:
            return min(distance, size - distance)
        return 2 if self is DimensionBlock.SWITCH else 1


@dataclass(frozen=True)
class NetworkDimension:
    """One network dimension. Latencies in [ns], bandwidths in [B/ns]."""

    block: DimensionBlock
    size: int
    bandwidth: float
    latency: float
    nic_latency: float = 0.0
    router_latency: float = 0.0
    memory_latency: float = 0.0
    memory_bandwidth: float = 1.0
    memory_scale: float = 0.0

    @property
    def total_bandwidth(self) -> float:
        """Bandwidth of all links of an NPU in this dimension, by the rule of 1.0 [B/ns]."""
        return self.bandwidth * (self.size - 1 if self.block is DimensionBlock.FULLY_CONNECTED else 1)

    def message_ns(self, hops: int, size: int) -> int:
        """Return the time of a message of `size` bytes over `hops` links, 2.x rule [ns]."""
        return int(hops * self.latency + size / self.bandwidth)

    def staged_message_ns(self, hops: int, size: int) -> int:
        """Return the same by the rule of 1.0: every term is added to a whole number [ns]."""
        time = int(int(hops * self.latency) + size / self.bandwidth)
        time = int(time + 2 * self.nic_latency)
        if self.block is DimensionBlock.SWITCH:
            time = int(time + self.router_latency)
        memory = (self.memory_latency + size / self.memory_bandwidth) * self.memory_scale
        return max(time, int(memory))


@dataclass(frozen=True)
class Network:
    """The dimensions of a cluster, dimension 0 first."""

    dimensions: tuple[NetworkDimension, ...]
    generation: Generation

    @property
    def npus(self) -> int:
        """Number of NPUs."""
        return prod(dimension.size for dimension in self.dimensions)

    @property
    def sizes(self) -> tuple[int, ...]:
        """NPUs in each dimension."""
        return tuple(dimension.size for dimension in self.dimensions)

    def link(self, source: int, destination: int) -> tuple[int, int]:
        """Return the dimension that a message is charged on, and its number of hops there."""
        charged = None
        for index, dimension in enumerate(self.dimensions):
            source, here = divmod(source, dimension.size)
            destination, there = divmod(destination, dimension.size)
            if here != there:
                charged = index, dimension.block.hops(dimension.size, (there - here) % dimension.size)
                if self.generation is Generation.TWO:
                    break
        if charged is None:
            raise AstraInputError("network: a message from an NPU to itself; check source and destination")
        return charged

    def message_ns(self, link: tuple[int, int], size: int) -> int:
        """Return the uncongested time of a message of `size` bytes on a link from `link()` [ns]."""
        dimension = self.dimensions[link[0]]
        if self.generation is Generation.TWO:
            return dimension.message_ns(link[1], size)
        return dimension.staged_message_ns(link[1], size)


def load_network(path: Path) -> Network:
    """Read a network file: `.json` is ASTRA-sim 1.0's, anything else 2.x's YAML.

    Raises
    ------
    AstraInputError
        If a key is missing or a value cannot be simulated.
    """
    network = _load_one_zero(read_json(path)) if path.suffix == ".json" else _load_two_x(read_yaml(path))
    if network.npus > MAX_NPUS:
        raise AstraInputError(f"{path}: expected at most {MAX_NPUS} NPUs, got {network.npus}")
    return network


def _load_two_x(document: AstraDocument) -> Network:
    blocks = _blocks(document, "topology")
    sizes = _read_per_dimension(document, "npus_count", len(blocks), minimum=2)
    bandwidths = _read_per_dimension(document, "bandwidth", len(blocks), positive=True)
    latencies = _read_per_dimension(document, "latency", len(blocks))
    return Network(
        tuple(
            NetworkDimension(block, int(size), bandwidth * (1 << 30) / 1e9, latency)
            for block, size, bandwidth, latency in zip(blocks, sizes, bandwidths, latencies, strict=True)
        ),
        Generation.TWO,
    )


def _load_one_zero(document: AstraDocument) -> Network:
    blocks = _blocks(document, "topologies-per-dim")
    count = document.integer("dimensions-count", 1, minimum=1)
    if count > len(blocks):
        raise document.error("dimensions-count", f"expected at most {len(blocks)}, got {count}")
    if document.values.get("topology-name", "Hierarchical") != "Hierarchical":
        raise document.error("topology-name", "expected Hierarchical, the only one ASTRA-sim 1.0 has")
    sizes = _read_per_dimension(document, "units-count", count, minimum=1)
    links = _read_per_dimension(document, "links-count", count, minimum=1)
    bandwidths = _read_per_dimension(document, "link-bandwidth", count, positive=True)
    latencies = _read_per_dimension(document, "link-latency", count)
    extra = {key: _read_optional(document, key, count, 0.0) for key in _ONE_LATENCIES}
    memory_bandwidth = _read_optional(document, "hbm-bandwidth", count, 1.0, positive=True)
    return Network(
        tuple(
            NetworkDimension(
                blocks[i],
                int(sizes[i]),
                bandwidths[i] * (1 << 30) / 1e9 * _pipes(document, blocks[i], int(sizes[i]), int(links[i])),
                latencies[i],
                nic_latency=extra["nic-latency"][i],
                router_latency=extra["router-latency"][i],
                memory_latency=extra["hbm-latency"][i],
                memory_bandwidth=memory_bandwidth[i],
                memory_scale=extra["hbm-scale"][i],
            )
            for i in range(count)
        ),
        Generation.ONE if set(document.values) >= _RELEASE_KEYS else Generation.TUTORIAL,
    )


def _pipes(document: AstraDocument, block: DimensionBlock, size: int, links: int) -> int:
    """Return how many links of 1.0 a single message uses at once."""
    if block is DimensionBlock.RING:
        pipes = links - links % 2
    elif block is DimensionBlock.FULLY_CONNECTED:
        pipes = links // (size - 1) if size > 1 else 0
    else:
        pipes = links
    if pipes == 0:
        raise document.error("links-count", f"expected enough links for {block.value} of {size}, got {links}")
    return pipes


def _blocks(document: AstraDocument, key: str) -> tuple[DimensionBlock, ...]:
    names = {block.value: block for block in DimensionBlock}
    for word in document.words(key):
        if word not in names:
            raise document.error(key, f"expected {', '.join(names)}, got {word!r}")
    return tuple(names[word] for word in document.words(key))


def _read_per_dimension(
    document: AstraDocument, key: str, count: int, minimum: float = 0, positive: bool = False
) -> tuple[float, ...]:
    values = document.numbers(key)
    if len(values) < count or (len(values) > count and document.path.suffix != ".json"):
        raise document.error(key, f"expected {count} values, one a dimension, got {len(values)}")
    for value in values[:count]:
        if value < minimum or (positive and value == 0):
            floor = "more than 0" if positive else f"at least {minimum:g}"
            raise document.error(key, f"expected {floor} in every dimension, got {value:g}")
    return values[:count]


def _read_optional(
    document: AstraDocument, key: str, count: int, default: float, positive: bool = False
) -> tuple[float, ...]:
    if key not in document.values:
        return (default,) * count
    return _read_per_dimension(document, key, count, positive=positive)
