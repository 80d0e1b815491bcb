"""Logs in the words of nccl-tests, of the measured times in tests/accuracy/data/collectives.csv."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from pathlib import Path

TABLE = Path(__file__).parents[3] / "accuracy" / "data" / "collectives.csv"

COLUMNS = """\
#
#                                                              out-of-place                       in-place          
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)       
"""  # noqa: W291  # as it is printed


def measured(device: str, operation: str, gpus: int) -> list[tuple[int, float]]:
    """Sizes [B] and times [us] of the table."""
    with TABLE.open(newline="", encoding="utf-8") as stream:
        rows = [
            r
            for r in csv.DictReader(stream)
            if (r["device"], r["operation"], r["gpus"]) == (device, operation, str(gpus))
        ]
    return [(int(row["bytes"]), float(row["time_us"])) for row in rows]


def log(program: str, hosts: Iterable[str], times: Iterable[tuple[int, float]], says_its_name: bool = True) -> str:
    """What a program prints that ran with a rank on each of `hosts`."""
    ranks = list(hosts)
    lines = [f"# Collective test starting: {program}_perf"] if says_its_name else []
    lines.append(
        "# nThread 1 nGpus 1 minBytes 256 maxBytes 536870912 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 "
        "validation: 1 graph: 0"
    )
    lines += ["#", "# Using devices"]
    lines += [
        f"#  Rank {rank:2d} Group  0 Pid {4711 + rank:6d} on {host:>10} device {rank % 8:2d} [0000:{rank:02x}:00] "
        "NVIDIA H100 80GB HBM3"
        for rank, host in enumerate(ranks)
    ]
    redop = "sum" if "reduce" in program else "none"
    factor = (len(ranks) - 1) / len(ranks) * (2 if program == "all_reduce" else 1)
    body = ""
    for size, time in times:
        rate = size / time / 1e3
        cells = f"{time:7.2f} {rate:7.2f} {rate * factor:7.2f} {0:6d}"
        body += f"{size:12d} {size // 2:13d} {'half':>9} {redop:>7} {-1:7d}  {cells}  {cells}\n"
    tail = "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 42.0000 \n#\n"
    return "\n".join(lines) + "\n" + COLUMNS + body + tail


def write_logs(folder: Path, device: str, operations: Iterable[str], gpus: Iterable[int]) -> list[Path]:
    """A log for each operation and number of GPUs of one node."""
    paths = []
    for operation in operations:
        for count in gpus:
            path = folder / f"{operation}_{count}.log"
            path.write_text(log(operation, ["node001"] * count, measured(device, operation, count)))
            paths.append(path)
    return paths
