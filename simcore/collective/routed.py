"""Tokens on their way to experts and back: how many copies of each cross each dimension of the network.

Of E experts, spread evenly over the NPUs of a group, a token takes k, any of them as likely. Cut the experts into N
equal shares: it has business with N (1 - C(E - E/N, k) / C(E, k)) of them on average. Where copies for several experts
of one share cross together and are copied behind (hierarchical all-to-alls; DeepEP, DeepSeek-AI 2024, arXiv 2412.19437,
section 3.2.2), that many copies of a token cross the dimension that connects the shares, its own one among them. A
router may keep to the experts of the best M of G groups (same paper, section 2.1.2, at most M nodes); then the number
is the average over all choices of M groups.

*Kernels*: on GPUs a kernel on some multiprocessors moves the tokens, which reads each (on the way back: sums up its
results) and writes its copies; see `kernel_seconds`.

On the way out (`dispatch`) a token passes the outermost dimension first, on the way back (`combine`) its results are
summed up where they meet, innermost first. The buffer of such a collective is one copy of each token.
"""

from __future__ import annotations

from functools import lru_cache
from math import comb, inf
from typing import Literal, NamedTuple

Way = Literal["dispatch", "combine"]
Library = Literal["deepep", "hybridep"]
_WAYS: tuple[Way, Way] = ("dispatch", "combine")


class Routing(NamedTuple):
    """Which experts a token takes: any `top_k` of `experts`, of the best `top_groups` of `groups` equal groups."""

    experts: int
    top_k: int
    groups: int = 1
    top_groups: int = 1

    def kind(self, way: Way, row: int = 0, library: Library = "deepep") -> str:
        """The kind of a collective that brings tokens to their experts, or back.

        `row` is the size of a token [B] where a kernel of `library` moves them; 0: the network is all that takes time.
        """
        named = () if library == "deepep" else (library,)
        return f"{way}[{','.join(map(str, (*self, row, *named)))}]"

    def copies(self, shares: int) -> float:
        """Of `shares` equal shares of the experts, the number that a token has business with, on average."""
        return _copies(self, shares)


@lru_cache(maxsize=4096)
def _copies(routing: Routing, shares: int) -> float:
    experts, top_k, groups, top_groups = routing
    size, open_to = experts // groups, experts // groups * top_groups
    chosen, found = comb(groups, top_groups), 0.0
    for share in range(shares):
        first, end = experts * share // shares, experts * (share + 1) // shares
        missed = 0.0
        for inside, ways in _seen(first, end, size, groups, top_groups).items():
            missed += ways / chosen * comb(open_to - inside, top_k) / comb(open_to, top_k)
        found += 1.0 - missed
    return found


def _seen(first: int, end: int, size: int, groups: int, top_groups: int) -> dict[int, int]:
    """How many experts of [first, end) are in the chosen groups: in so many of all ways to choose them."""
    ways = {(0, 0): 1}  # (groups chosen so far, experts of the share in them)
    for group in range(groups):
        inside = max(0, min(end, (group + 1) * size) - max(first, group * size))
        longer = dict(ways)
        for (chosen, seen), count in ways.items():
            if chosen < top_groups:
                key = (chosen + 1, seen + inside)
                longer[key] = longer.get(key, 0) + count
        ways = longer
    return {seen: count for (chosen, seen), count in ways.items() if chosen == top_groups}


class Routed(NamedTuple):
    """A collective of routed tokens."""

    way: Way
    routing: Routing
    row: int
    """Size of a token [B]; 0 where no kernel moves it."""
    library: Library = "deepep"
    """Whose kernel that is."""


def by_network_alone(kind: str) -> str:
    """The kind whose collectives take what those of `kind` do where nothing but the network takes time."""
    routed = routed_of(kind)
    return kind if routed is None else routed.routing.kind(routed.way)


@lru_cache(maxsize=1024)
def routed_of(kind: str) -> Routed | None:
    """What a kind says of routed tokens; None of other kinds."""
    name, _, rest = kind.partition("[")
    for way in _WAYS:
        if name == way:
            *numbers, last = rest.rstrip("]").split(",")
            library: Library = "hybridep" if last == "hybridep" else "deepep"
            *routing, row = map(int, numbers if library == "hybridep" else (*numbers, last))
            return Routed(way, Routing(*routing), row, library)
    return None


LATENCY = 50e-6
"""What a kernel takes that has next to nothing to move [s]."""


class Kernels(NamedTuple):
    """How quickly a library's kernels move tokens, by way."""

    multiprocessors: int
    """Multiprocessors of an NPU, where the rates are those of one."""
    read: dict[Way, float]
    """Bytes a second that are read before the links have anything to do."""
    copied: dict[Way, float]
    """Bytes a second of copies that are written, beside the links."""
    row: float
    """Bytes that would take as long as what each copy of a token costs whatever its size."""


KERNELS: dict[Library, Kernels] = {
    "deepep": Kernels(20, {"dispatch": 13.3e9, "combine": 9.2e9}, {"dispatch": 39.8e9, "combine": 48.2e9}, 5.5e3),
    "hybridep": Kernels(1, {"dispatch": inf, "combine": inf}, {"dispatch": 769e9, "combine": 708e9}, 2.1e3),
}
"""DeepEP's normal kernels: rates of a multiprocessor and the other numbers are fitted to those among 8 GPUs of H100 and
B200, 12 to 24 multiprocessors, 512 to 131,072 tokens of 2,048 to 7,168 numbers, 1 to 22 experts a token
(aiconfigurator's tables): mean error 6 %, with a node's links at 97 % of their bandwidth. They did not differ between
the two devices. Megatron-core gives them 20 (`moe_deepep_num_sms`).

Hybrid-EP's: fitted to NVIDIA's table of kernel times among 8 to 36 GPUs of a GB200 NVL72, 4,096 tokens of 7,168
numbers, 8 experts a token, 16 and 32 multiprocessors (DeepEP, branch hybrid-ep, docs/README_Hybrid-EP.md): mean error
8 %. Its links read for themselves, and twice the multiprocessors are but 4 to 10 % quicker. The table's other times, of
whole calls, have a copy out of the library's buffer, which Megatron-core's sorting of rows does on its way."""


def kernel_seconds(routed: Routed, size: float, shares: int) -> tuple[float, float]:
    """What the kernel takes for `size` bytes of tokens, each read once, and for their copies [s].

    The first adds to what the links take, the second is beside it.
    """
    if not routed.row:
        return 0.0, 0.0
    kernels, way = KERNELS[routed.library], routed.way
    copies = size * (1.0 + kernels.row / routed.row) * routed.routing.copies(shares)
    return (
        size / (kernels.read[way] * kernels.multiprocessors),
        copies / (kernels.copied[way] * kernels.multiprocessors),
    )
