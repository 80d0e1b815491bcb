"""Double binary tree: two trees, each reducing and broadcasting half of the buffer (Sanders, Speck, Träff 2009).

All-reduce only: 2 log2(n) a + 2 S/B, pipelined; any n.
"""

from __future__ import annotations

from simcore.collective.base import Algorithm, Step
from simcore.network import Tree


class DoubleBinaryTree(Algorithm):
    """Logarithmic latency at full bandwidth for the whole buffer."""

    def steps(self, kind: str, members: int) -> tuple[Step, ...]:
        """See `Algorithm.steps`."""
        return (Step(Tree((members - 1).bit_length()), 1.0),) if kind == "all_reduce" else ()
