"""Double binary tree: an all-reduce up and down a tree, not pipelined, every message the whole chunk.

Even chunks of a dimension use the tree whose root is the last NPU, odd chunks the one rooted at the first.
The root has a single child; the other 2**L - 1 nodes form a balanced tree, numbered in order. NPUs leave
the phase at different times, so it is always played NPU by NPU. Every receive but a leaf's is charged the
reduction, also the one that only passes data down.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

from simcore.astra.files.errors import AstraInputError


@dataclass(frozen=True)
class TreeNode:
    """The neighbours of one position; -1 is nobody."""

    parent: int
    left: int
    right: int

    @property
    def children(self) -> tuple[int, ...]:
        """The children there are, left first."""
        return tuple(child for child in (self.left, self.right) if child >= 0)


@lru_cache(maxsize=64)
def build_tree(nodes: int, root_first: bool) -> tuple[TreeNode, ...]:
    """Return the tree over positions 0 .. nodes - 1, rooted at the first or the last.

    Raises
    ------
    AstraInputError
        If `nodes` is no power of two: ASTRA-sim reads outside its tree.
    """
    if nodes & (nodes - 1):
        raise AstraInputError(f"doubleBinaryTree: expected a power of two NPUs, got {nodes}; use ring or direct")
    found: dict[int, TreeNode] = {}
    low, high = (1, nodes) if root_first else (0, nodes - 1)
    root = 0 if root_first else nodes - 1
    top = _number_subtree(found, low, high, root)
    found[root] = TreeNode(-1, -1 if root_first else top, top if root_first else -1)
    return tuple(found[position] for position in range(nodes))


def _number_subtree(found: dict[int, TreeNode], low: int, high: int, parent: int) -> int:
    """Number the full subtree over positions low .. high - 1 in order; return its top."""
    middle = (low + high) // 2
    left = _number_subtree(found, low, middle, middle) if low < middle else -1
    right = _number_subtree(found, middle + 1, high, middle) if middle + 1 < high else -1
    found[middle] = TreeNode(parent, left, right)
    return middle


class Port(Protocol):
    """What a phase needs from the NPU it runs on."""

    def prepare(self, size: int, reduce: bool) -> None:
        """Pay the endpoint delay (and the reduction of `size` bytes), then call `on_prepared`."""

    def send(self, position: int, size: int) -> None:
        """Send to a position of the team."""

    def receive(self, position: int, size: int) -> None:
        """Post a receive; `on_received` is called when the message is in."""

    def leave(self) -> None:
        """End the phase."""


class TreePhase:
    """One phase of one chunk on one NPU.

    leaf          prepare -> send up, receive from above -> prepare -> leave
    intermediate  receive twice, reduce each -> send up, receive -> reduce -> send down -> leave
    root          receive, reduce -> send down -> leave
    """

    def __init__(self, port: Port, node: TreeNode, size: int) -> None:
        self._port = port
        self._node = node
        self._size = size
        self._missing = 0  # prepared parts still to come before the next move
        self._down = False  # whether data travels down already

    def start(self) -> None:
        """Begin: a leaf prepares its data, the others wait for their children."""
        children = self._node.children
        self._missing = max(1, len(children))
        if not children:
            self._port.prepare(self._size, reduce=False)
        for child in children:
            self._port.receive(child, self._size)

    def on_received(self) -> None:
        """A message is in: only a leaf takes it without reducing."""
        self._port.prepare(self._size, reduce=bool(self._node.children))

    def on_prepared(self) -> None:
        """A part is ready: move on when it was the last one."""
        self._missing -= 1
        if self._missing:
            return
        if self._node.parent >= 0 and not self._down:
            self._down, self._missing = True, 1
            self._port.send(self._node.parent, self._size)
            self._port.receive(self._node.parent, self._size)
            return
        for child in self._node.children:
            self._port.send(child, self._size)
        self._port.leave()
