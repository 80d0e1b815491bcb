"""Remote memory: loads and stores that leave the NPU.

One transaction takes latency + floor(bytes / bandwidth) [ns]. With `PER_NPU` they run side by side, with
`PER_NODE` one at a time on each node, with `MEMORY_POOL` one at a time altogether, first come first served.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from simcore.astra.files.documents import read_json
from simcore.astra.files.errors import AstraInputError

_TYPES = ("NO_MEMORY_EXPANSION", "PER_NPU_MEMORY_EXPANSION", "PER_NODE_MEMORY_EXPANSION", "MEMORY_POOL")

Action = Callable[[], None]
Wait = Callable[[int, int, Action], None]


@dataclass(frozen=True)
class RemoteMemory:
    """A remote memory; latency in [ns], bandwidth in whole [B/ns]."""

    kind: str = "NO_MEMORY_EXPANSION"
    latency: int = 0
    bandwidth: int = 1
    nodes: int = 1
    npus_per_node: int = 1

    @property
    def is_shared(self) -> bool:
        """Whether NPUs wait for one another."""
        return self.kind in ("PER_NODE_MEMORY_EXPANSION", "MEMORY_POOL")

    def transaction_ns(self, size: int) -> int:
        """Return the time of one transaction of `size` bytes [ns]."""
        return self.latency + int(size / self.bandwidth)

    def port(self, npu: int) -> int:
        """Return which of the one-at-a-time ports an NPU uses."""
        return npu // self.npus_per_node if self.kind == "PER_NODE_MEMORY_EXPANSION" else 0


class MemoryPorts:
    """Transactions under way; `wait(npu, delay, action)` is the engine's."""

    def __init__(self, memory: RemoteMemory, wait: Wait) -> None:
        self._memory = memory
        self._wait = wait
        self._pending: dict[int, deque[tuple[int, int, Action]]] = {}

    def issue(self, npu: int, size: int, done: Action) -> None:
        """Start a transaction, or queue it; `done` is called at its end."""
        if self._memory.kind == "NO_MEMORY_EXPANSION":
            raise AstraInputError(
                f"NPU {npu}: a remote-memory node without remote memory; give a remote_memory file that has one"
            )
        if not self._memory.is_shared:
            self._wait(npu, self._memory.transaction_ns(size), done)
            return
        port = self._memory.port(npu)
        if port >= self._memory.nodes and self._memory.kind != "MEMORY_POOL":
            raise AstraInputError(f"NPU {npu}: expected a node below num-nodes = {self._memory.nodes}, got {port}")
        if port in self._pending:
            self._pending[port].append((npu, size, done))
        else:
            self._pending[port] = deque()
            self._start(port, npu, size, done)

    def _start(self, port: int, npu: int, size: int, done: Action) -> None:
        delay = self._memory.transaction_ns(size)
        self._wait(npu, delay, done)
        self._wait(npu, delay, lambda: self._next(port))

    def _next(self, port: int) -> None:
        if self._pending[port]:
            self._start(port, *self._pending[port].popleft())
        else:
            del self._pending[port]


def load_remote_memory(path: Path | None) -> RemoteMemory:
    """Read a remote-memory file; no file means no remote memory.

    Raises
    ------
    AstraInputError
        If a key is missing or malformed.
    """
    if path is None:
        return RemoteMemory()
    document = read_json(path)
    kind = document.choice("memory-type", _TYPES)
    if kind == "NO_MEMORY_EXPANSION":
        return RemoteMemory()
    per_node = kind == "PER_NODE_MEMORY_EXPANSION"
    return RemoteMemory(
        kind,
        latency=document.integer("remote-mem-latency"),
        bandwidth=document.integer("remote-mem-bw", minimum=1),
        nodes=document.integer("num-nodes", minimum=1) if per_node else 1,
        npus_per_node=document.integer("num-npus-per-node", minimum=1) if per_node else 1,
    )
