"""A torus of two or three sides in one dimension, each axis closed or open, or twisted.

Several `ring` dimensions are a torus as well, whose collectives go axis by axis; this one is for traffic that crosses
all axes at once, for shapes that optical circuit switches rewire (Jouppi et al. 2023), and for groups that take a part
of its shape.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from simcore.network.base import Misfit, Seen
from simcore.network.grid import Grid, grid
from simcore.network.lattice import Lattice


@dataclass(frozen=True)
class Torus(Lattice):
    """See the module."""

    sides: tuple[int, ...] = ()
    wrap: tuple[bool, ...] = ()
    """Whether each axis is closed; empty where all are."""
    twisted: bool = False

    short = "Torus"
    keys = ("sides", "wrap", "twisted")

    def grid(self, size: int) -> Grid:
        """See `Lattice.grid`."""
        return grid(self.sides, self.wrap or (True,) * len(self.sides), self.twisted)

    def seen_alone(self, size: int, places: Sequence[int]) -> Seen:
        """See `Block.seen_alone`: the first NPUs of it, as they are; the others pass messages on."""
        return Seen() if places[-1] == len(places) - 1 else super().seen_alone(size, places)

    def whole(self, size: int) -> int:
        """See `Block.whole`."""
        return math.prod(self.sides) or size

    def misfits(self, size: int) -> Iterator[Misfit]:
        """See `Block.misfits`."""
        given = " x ".join(map(str, self.sides)) or "nothing"
        if len(self.sides) not in (2, 3) or min(self.sides) < 2:
            yield Misfit("sides", "two or three sides of at least 2 NPUs", given, "e.g. 'sides: [4, 4]'")
        elif math.prod(self.sides) != size:
            yield Misfit("sides", f"sides whose product is the size of the dimension, {size}", given)
        elif self.wrap and len(self.wrap) != len(self.sides):
            yield Misfit("wrap", f"true or false for each of the {len(self.sides)} sides", f"{len(self.wrap)}")
        elif self.twisted and not all(self.wrap or (True,)):
            yield Misfit("twisted", "axes that are all closed", "an open one")
        elif self.twisted and set(self.sides) != {min(self.sides), 2 * min(self.sides)}:
            yield Misfit("twisted", "sides of k and 2 k", given, "e.g. 'sides: [4, 4, 8]'")
