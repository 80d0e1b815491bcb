"""DGX-1 with eight V100: a hybrid cube mesh of NVLink, six links of each GPU, no switch.

Which GPUs have one link and which two is NVIDIA's table (DGX-1 With Tesla V100 System Architecture, WP-08437-002,
2017, figure 4; `nvidia-smi topo -m`). Each direction of a link carries B / 6. Rings are those of NCCL: one cycle over
the double links, taken twice, one over the single links, each in both directions, so that an all-reduce among all
eight uses every link. GPUs that have no link pass messages on through one that has both.
"""

from __future__ import annotations

from dataclasses import dataclass

from simcore.network.paths import PathsBlock
from simcore.network.wiring import Link, Shape, Slice

_DOUBLE = ((0, 3), (2, 3), (1, 2), (1, 5), (5, 6), (6, 7), (4, 7), (0, 4))
_SINGLE = ((0, 1), (0, 2), (1, 3), (2, 6), (3, 7), (4, 5), (4, 6), (5, 7))
_WHOLE = ((0, 3, 2, 1, 5, 6, 7, 4), (0, 3, 2, 1, 5, 6, 7, 4), (0, 1, 3, 7, 5, 4, 6, 2))
_QUAD = ((0, 3, 2, 1), (0, 2, 1, 3))
_EVERY_SECOND = ((0, 1, 3, 2),)


@dataclass(frozen=True)
class Dgx1(PathsBlock):
    """See the module."""

    short = "DGX1"

    @classmethod
    def default_algorithm(cls, size: int) -> str:
        """See `Block.default_algorithm`."""
        return "ring"

    def needs(self, part: Slice) -> str | None:
        """See `Block.needs`."""
        return None if part.size == 8 else "8 NPUs"

    def links(self, size: int) -> tuple[Link, ...]:
        """See `SharedBlock.links`: two links between two GPUs are one of twice the rate."""
        joined = [(pair, 2) for pair in _DOUBLE] + [(pair, 1) for pair in _SINGLE]
        return tuple(Link(*ends, count / 6, 1) for (a, b), count in joined for ends in ((a, b), (b, a)))

    def shape(self, part: Slice) -> Shape:
        """See `Block.shape`."""
        rings = {(8, 1): _WHOLE, (4, 1): _QUAD, (4, 2): _EVERY_SECOND}.get((part.members, part.stride), ())
        return Shape("star", part.members, tuple(order for ring in rings for order in (ring, ring[::-1])))
