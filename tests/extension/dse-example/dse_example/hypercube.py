"""A hypercube: each of 2^k NPUs has k links of B / k, one to each NPU whose number differs from its own in one bit.

Messages cross the bits in which sender and receiver differ from the lowest to the highest. There is no closed form:
what a step costs follows from the links.
"""

from __future__ import annotations

from simcore.network import Block, Link, Route, Shape, Slice


def bits(number: int) -> int:
    """The k of 2^k."""
    return number.bit_length() - 1


class Hypercube(Block):
    """Any group of a hypercube is a hypercube of its own, since sizes are powers of two."""

    short = "HC"

    @classmethod
    def default_algorithm(cls, size: int) -> str:
        """See `Block.default_algorithm`: its partners are neighbours."""
        return "halving_doubling"

    def needs(self, part: Slice) -> str | None:
        """See `Block.needs`."""
        return "a power of two NPUs" if part.members & (part.members - 1) else None

    def shape(self, part: Slice) -> Shape:
        """See `Block.shape`: whoever is no neighbour is reached over others' links."""
        return Shape("star", part.members)

    def wiring(self, part: Slice) -> tuple[Link, ...]:
        """See `Block.wiring`: link k i + b leads from i over bit b of k."""
        rate = 1 / max(1, bits(part.size))
        return tuple(Link(i, i ^ (1 << b), rate, 1) for i in range(part.members) for b in range(bits(part.members)))

    def routes(self, part: Slice, source: int, target: int) -> tuple[Route, ...]:
        """See `Block.routes`."""
        width, node = bits(part.members), source
        way = []
        for b in range(width):
            if (source ^ target) >> b & 1:
                way.append(width * node + b)
                node ^= 1 << b
        return (tuple(way),)
