"""What nccl-tests and rccl-tests print: who took part, and a line a size.

    # Collective test starting: all_reduce_perf
    # nThread 1 nGpus 8 minBytes 1024 maxBytes 1073741824 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 …
    # Using devices
    #  Rank  0 Group  0 Pid   4711 on   node001 device  0 [0000:07:00] NVIDIA A100-SXM4-80GB
    …
    #                                                              out-of-place                       in-place
    #       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
    #        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
         1048576        262144     float     sum      -1    32.10   32.67   57.17      0    31.90   32.87   57.52      0

The size is that of the whole buffer, of an all-gather too. Older programs do not print their own name: it may stand in
a command line that the log holds (`./build/all_reduce_perf -b 8`), or in the name of the file.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from simcore.document.problem import InputError, Problem, Refusal

PROGRAMS = {
    "all_reduce_perf": "all_reduce",
    "all_gather_perf": "all_gather",
    "reduce_scatter_perf": "reduce_scatter",
    "alltoall_perf": "all_to_all",
}
"""Program of nccl-tests -> kind of collective. Its other programs measure what training does not use."""
MOST_BYTES = 16 << 20

_STARTING = re.compile(r"Collective test starting:\s*([a-z_]+_perf)(?:_mpi)?\b")
_PROGRAM = re.compile(r"\b([a-z_]+_perf)(?:_mpi)?\b")
_RANK = re.compile(r".*#\s+Rank\s+(\d+)\b.*?\bon\s+(\S+)\s+device\b")
_SETTINGS = re.compile(r".*#\s*nThread\s+(\d+)\s+nGpus\s+(\d+)")
_HEADER = re.compile(r".*#\s+size\s+count\s+type\s+redop\b")
_LINE = re.compile(r"(?:\[\d+,\d+\]<stdout>:)?\s*(\d+\s+\d+\s+[a-z]\w*\s.*)")
"""A measurement: size, count, type; `mpirun --tag-output` says before it whose it is."""
_USUAL = ["size", "count", "type", "redop", "root", *["time", "algbw", "busbw", "#wrong"] * 2]
_ROUNDED = 0.03
"""How far algbw may be above size / time: both are printed with two digits after the point. It may be half as much:
before 2020 that of an all-gather among n was (n - 1) / n of it."""


class MeasuredCollective(NamedTuple):
    """One line of a log."""

    kind: str
    npus: int
    nodes: int
    size: int
    """The whole buffer [B]."""
    seconds: float
    """Out of place."""
    log: str


def read_logs(paths: Sequence[Path], npus_per_node: int | None = None) -> list[MeasuredCollective]:
    """All measurements of some logs, sizes of 0 left out.

    Without `npus_per_node` the hosts that the ranks ran on are the nodes.

    Raises `InputError` with every problem of every log: file, line, and what was expected there.
    """
    rows: list[MeasuredCollective] = []
    problems: list[Problem] = []
    for path in paths:
        try:
            rows += _read_log(path, npus_per_node)
        except InputError as error:
            problems += error.problems
    if problems:
        raise InputError(problems, "logs")
    return rows


def _read_log(path: Path, npus_per_node: int | None) -> list[MeasuredCollective]:
    lines = _read_lines(path)
    found: list[MeasuredCollective] = []
    problems: list[Problem] = []
    kind, who = _kind(path, lines, problems), _participants(path, lines, npus_per_node, problems)
    columns = _USUAL
    for number, line in enumerate(lines, 1):
        if _HEADER.match(line):
            columns = line.partition("#")[2].split()
        match = _LINE.fullmatch(line)
        if match is None:
            continue
        cells = match[1].split()
        try:
            size, seconds = _read_line(cells, columns)
        except Refusal as refusal:
            problems.append(replace(refusal.at((path.name,)), line=number))
            continue
        if kind is not None and who is not None and size:
            found.append(MeasuredCollective(kind, *who, size, seconds, path.name))
    if not found and not problems:
        expected = "lines with size, count, type, redop, root, time, algbw, busbw and #wrong"
        problems.append(Problem((path.name,), expected, "none", "give what the program printed, whole"))
    if problems:
        raise InputError(problems, str(path))
    return found


def _read_lines(path: Path) -> list[str]:
    try:
        if path.stat().st_size > MOST_BYTES:
            problem = Problem((path.name,), f"a log of at most {MOST_BYTES >> 20} MiB", f"{path.stat().st_size} bytes")
            raise InputError([problem], str(path))
        return path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError as error:
        problem = Problem((str(path),), "a readable file", error.strerror or str(error), "check the path")
        raise InputError([problem], str(path)) from None


def _kind(path: Path, lines: Sequence[str], problems: list[Problem]) -> str | None:
    """What was measured: by the program's own words, a command line, or the file's name."""
    named = dict.fromkeys(match[1] for line in lines if (match := _STARTING.search(line)))
    named = named or dict.fromkeys(name for line in lines for name in _PROGRAM.findall(line))
    named = named or dict.fromkeys(name for name in PROGRAMS if name.removesuffix("_perf") in path.name)
    if len(named) == 1 and (name := next(iter(named))) in PROGRAMS:
        return PROGRAMS[name]
    expected = f"the name of one program ({', '.join(PROGRAMS)}) in the log or in the file's name"
    fix = "one log a program" if named else f"name the file after its program, such as {next(iter(PROGRAMS))}.log"
    problems.append(Problem((path.name,), expected, ", ".join(named) or "none", fix))
    return None


def _participants(
    path: Path, lines: Sequence[str], npus_per_node: int | None, problems: list[Problem]
) -> tuple[int, int] | None:
    """GPUs and nodes."""
    hosts = {match[1]: match[2] for line in lines if (match := _RANK.match(line))}
    npus, nodes = len(hosts), len(set(hosts.values()))
    if not hosts:
        settings = next(filter(None, map(_SETTINGS.match, lines)), None)
        if settings is None:
            expected = "the lines '# nThread … nGpus …' or '#  Rank 0 … on HOST device …'"
            problems.append(Problem((path.name,), expected, "neither", "give what the program printed, whole"))
            return None
        npus, nodes = int(settings[1]) * int(settings[2]), 1
    if npus_per_node is not None:
        nodes = -(-npus // npus_per_node)
    if npus < 2 or npus % nodes:
        expected = "two or more GPUs, the same number on every node"
        fix = "say how many with --gpus-per-node" if npus > 1 else "run the program on more GPUs"
        problems.append(Problem((path.name,), expected, f"{npus} on {nodes}", fix))
        return None
    return npus, nodes


def _read_line(cells: Sequence[str], columns: Sequence[str]) -> tuple[int, float]:
    """Size [B] and time [s]. Columns count from the right: a program without a redop leaves it blank.

    Raises `Refusal` for a line that is cut off, or whose results were wrong.
    """
    back = len(columns) - columns.index("time")
    if len(cells) < back + 3:
        raise Refusal(f"the columns {' '.join(columns)}", f"{len(cells)} of them", "the line may be cut off")
    try:
        size, time, rate = int(cells[0]), float(cells[-back]), float(cells[1 - back])
    except ValueError:
        found = f"'{cells[-back]}' and '{cells[1 - back]}'"
        raise Refusal("numbers as time and algbw", found, "leave the line out") from None
    expected = size / time / 1e3 if time > 0 else 0.0
    if size and not (time > 0 and 0.45 * expected - 0.01 <= rate <= (1 + _ROUNDED) * expected + 0.01):
        raise Refusal("a time [us] above 0, and size / time as algbw", f"{time:g} and {rate:g}", "leave the line out")
    if "#wrong" in columns and cells[3 - back] not in ("0", "N/A"):
        raise Refusal("no wrong results (#wrong)", f"'{cells[3 - back]}'", "find out why before its times are used")
    return size, time / 1e6
