"""A hypercube: NPUs whose numbers differ in one bit are neighbours; log2(n) links of B / log2(n) each.

Messages correct bit after bit (e-cube routing). Halving-doubling exchanges along one axis at a time, so that its
messages meet nowhere; rings follow a Gray code.
"""

from __future__ import annotations

from dataclasses import dataclass

from simcore.network.grid import Grid, grid
from simcore.network.lattice import Lattice
from simcore.network.wiring import Slice


@dataclass(frozen=True)
class Hypercube(Lattice):
    """See the module."""

    short = "Cube"

    @classmethod
    def default_algorithm(cls, size: int) -> str:
        """See `Block.default_algorithm`."""
        return "halving_doubling" if size & (size - 1) == 0 else "ring"

    def grid(self, size: int) -> Grid:
        """See `Lattice.grid`: a side of 2 for each bit."""
        bits = size.bit_length() - 1
        return grid((2,) * bits, (False,) * bits)

    def needs(self, part: Slice) -> str | None:
        """See `Block.needs`."""
        return "a power of two NPUs" if part.members & (part.members - 1) else None
