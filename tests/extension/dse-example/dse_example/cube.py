"""A cube: each of 2^k NPUs has k links of B / k, one to each NPU whose number differs from its own in one bit.

Messages cross the bits in which sender and receiver differ from the lowest to the highest. There is no closed form:
what a step costs follows from the links.
"""

from __future__ import annotations

from simcore.network import Block, Link, Route, Shape, Slice


class Cube(Block):
    """Sizes are powers of two, so that every group of a cube is one of its own."""

    short = "HC"

    @classmethod
    def default_algorithm(cls, size: int) -> str:
        return "halving_doubling"  # its partners are neighbours

    def needs(self, part: Slice) -> str | None:
        return "a power of two NPUs" if part.members & (part.members - 1) else None

    def shape(self, part: Slice) -> Shape:
        return Shape("star", part.members)  # everyone is reached, over others' links

    def wiring(self, part: Slice) -> tuple[Link, ...]:
        rate = 1 / max(1, _bits(part.size))
        return tuple(Link(i, i ^ 1 << b, rate, 1) for i in range(part.members) for b in range(_bits(part.members)))

    def routes(self, part: Slice, source: int, target: int) -> tuple[Route, ...]:
        way: Route = ()
        node, width = source, _bits(part.members)
        for b in range(width):
            if (source ^ target) >> b & 1:
                way += (width * node + b,)  # the link from `node` over bit b, as `wiring` lists them
                node ^= 1 << b
        return (way,)


def _bits(number: int) -> int:
    return number.bit_length() - 1
