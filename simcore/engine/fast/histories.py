"""What stages have done since their networks were idle: paths down one tree, so that equal histories are played once.

What a block takes, and what it leaves in flight, follows from the blocks since the network was last idle and from the
pauses between them. Most stages of a pipeline do the same in the same rhythm while gradients are on their way, so one
of them is played and the others go where it went. The root is an idle network; every other node is a block after the
path that leads to it.
"""

from __future__ import annotations

import numpy as np

from simcore.compiled import merged
from simcore.engine.fast.state import Ints

ROOT = 0
# Nodes, `[…, SPENT_BY + categories]`: the node before; block and the pause before it [ps] (after the root: 0, it makes
# no difference); first child and next child of the same parent (-1: none); whether the network is idle again at its
# end; time it takes, and until it has sent [ps]; time by category [ps].
PARENT, BLOCK, PAUSE, CHILD, SIBLING, ENDS_IDLE, TOOK, SENT_AFTER, SPENT_BY = range(9)


@merged
def find(tree: Ints, node: int, block: int, pause: int) -> int:
    """The child of a node that stands for `block` after `pause`; -1 where there is none."""
    child = tree[node, CHILD]
    while child >= 0 and (tree[child, BLOCK] != block or tree[child, PAUSE] != pause):
        child = tree[child, SIBLING]
    return int(child)


@merged
def plant(categories: int) -> Ints:
    """Make a tree with room for a few nodes, of which there is the root."""
    tree = np.empty((64, SPENT_BY + categories), np.int64)
    tree[ROOT, PARENT] = tree[ROOT, CHILD] = -1
    return tree


@merged
def make_room(tree: Ints, nodes: int) -> Ints:
    """The tree of `nodes` nodes, with room for one more."""
    if nodes < tree.shape[0]:
        return tree
    larger = np.empty((2 * nodes, tree.shape[1]), np.int64)
    for node in range(nodes):  # one by one: an assignment of slices compiles the text of its error, too
        for column in range(tree.shape[1]):
            larger[node, column] = tree[node, column]
    return larger


@merged
def add(tree: Ints, node: int, parent: int, block: int, pause: int) -> None:
    """Put `block` after `pause` as number `node` under its parent."""
    tree[node, PARENT], tree[node, BLOCK], tree[node, PAUSE] = parent, block, pause
    tree[node, CHILD], tree[node, SIBLING] = -1, tree[parent, CHILD]
    tree[node, TOOK] = 0
    tree[parent, CHILD] = node


@merged
def list_path(tree: Ints, above: int, node: int) -> Ints:
    """The nodes below `above` down to `node`."""
    length, at = 0, node
    while at != above:
        length += 1
        at = tree[at, PARENT]
    nodes = np.empty(length, np.int64)
    at = node
    for i in range(length - 1, -1, -1):
        nodes[i] = at
        at = tree[at, PARENT]
    return nodes


@merged
def measure(tree: Ints, nodes: Ints) -> int:
    """Time of these nodes and of the pauses before them [ps]."""
    time = 0
    for node in nodes:
        time += tree[node, PAUSE] + tree[node, TOOK]
    return time
