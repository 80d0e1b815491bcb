"""Finding and reading the traces of a 2.x workload; equal traces are read once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from simcore.astra.algorithms.collective import Group
from simcore.astra.files.chakra import TraceNode, parse_trace, read_bytes
from simcore.astra.files.errors import AstraInputError
from simcore.astra.files.system import SystemSettings
from simcore.astra.files.trace import OperationTrace, compile_trace


def load_traces(
    workload: Path, system: SystemSettings, groups: Mapping[int, Group], npus: int
) -> tuple[OperationTrace, ...]:
    """Return one trace for all NPUs, or one per NPU.

    `workload` is a single `.et` file that every NPU runs, or the prefix of `<prefix>.<rank>.et`.

    Raises
    ------
    AstraInputError
        If a file is missing or no trace, or a node cannot be run.
    """

    def compile_content(content: bytes, path: Path) -> OperationTrace:
        return compile_trace(_nodes(content, path), path, system, groups, npus)

    if workload.suffix == ".et" and workload.is_file():
        return (compile_content(read_bytes(workload), workload),)
    traces = _read_ranks(workload, npus, compile_content)
    return traces[:1] if all(trace is traces[0] for trace in traces) else traces


def _read_ranks(prefix: Path, npus: int, ready: Callable[[bytes, Path], OperationTrace]) -> tuple[OperationTrace, ...]:
    known: dict[bytes, OperationTrace] = {}
    linked: dict[tuple[int, int], OperationTrace] = {}  # by device and inode: hard links need no second look
    traces = []
    for rank in range(npus):
        path = prefix.with_name(f"{prefix.name}.{rank}.et")
        try:
            status = path.stat()
        except OSError:
            raise AstraInputError(
                f"{path}: missing; expected one trace for each of {npus} NPUs, or a single .et file for all"
            ) from None
        inode = status.st_dev, status.st_ino
        if inode not in linked:
            content = read_bytes(path)
            if content not in known:
                known[content] = ready(content, path)
            linked[inode] = known[content]
        traces.append(linked[inode])
    return tuple(traces)


def _nodes(content: bytes, path: Path) -> tuple[TraceNode, ...]:
    return parse_trace(content, path)
