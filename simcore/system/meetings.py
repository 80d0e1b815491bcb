"""Which jobs of a cluster have links in common.

Jobs have different NPUs, so they meet on links between switches alone, and there only where messages of both may pass.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

from simcore.design.design import Design
from simcore.design.dimension import block_of
from simcore.design.jobs import JobShare, shares_of
from simcore.network import Block

MOST_LOOKED_AT = 1024
"""Places of a job whose messages are looked at, each to each; of larger jobs any two may meet."""


def meetings(design: Design) -> list[tuple[JobShare, JobShare]]:
    """Pairs of jobs of a checked design whose messages may pass the same links."""
    shares = shares_of(design)[0]
    if not shares:
        return []
    dimension = design.cluster.dimensions[shares[0].shared]
    block = block_of(dimension)
    if not block.shares:
        return []
    if any(len(share.places) > MOST_LOOKED_AT for share in shares):
        return list(combinations(shares, 2))
    passed = [_links_passed(block, dimension.size, share) for share in shares]
    return [(a, b) for (a, x), (b, y) in combinations(zip(shares, passed, strict=True), 2) if x & y]


def _links_passed(block: Block, size: int, share: JobShare) -> set[int]:
    """The pools of links, ports aside, that messages between the places of a job pass."""
    places = np.array(share.places)
    source, target = (ends.ravel() for ends in np.meshgrid(places, places, indexing="ij"))
    others = source != target
    if not others.any():
        return set()
    pools = np.unique(block.crossed(size, source[others], target[others]).pool)
    return set(pools[~block.pools(size).port[pools]].tolist())
