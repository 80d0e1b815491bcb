"""Write the tables of `docs/roce.md`: `python tests/accuracy/write_roce.py`, some ten minutes on one processor.

After Khan et al. 2022 (arXiv 2207.10898): collectives, incasts and training iterations on a two-level Clos under each
congestion control. Tables stand between markers (`<!-- collectives -->` …); the rest of the page is kept. A name after
the command (`collectives`, `oversubscription`, `incast`, `iterations`) writes that table alone.
"""

from __future__ import annotations

import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import permutations
from math import exp, log
from pathlib import Path
from typing import Any, NamedTuple

from simcore.check.load import design_from
from simcore.design.design import Design
from simcore.engine.packets.incast import play_incast
from simcore.engine.packets.run import fabric_of
from simcore.policy.control import CONTROLS
from simcore.result import Result
from simcore.simulate import simulate
from simcore.system.chunks import PICOSECONDS

PAGE = Path(__file__).parents[2] / "docs" / "roce.md"
WIRE = 4082 / 4000
"""Bytes on the wire for each byte of a message."""
PROJECT = ("none", "dcqcn", "dctcp", "timely", "hpcc")
NPUS, LEAF = 64, 16
KINDS = (("all_reduce", "ring"), ("all_reduce", "halving_doubling"), ("all_to_all", "direct"))
SIZES = (1, 4, 16, 64, 256)
"""[MB]."""
MOST = {"halving_doubling": 64}
"""Largest size of what takes long [MB]."""
LOADED = 16
"""Smallest size of the collectives that the share is fitted to [MB]: below, latency counts for more than rate."""
RATIOS = (1, 2, 4, 8)
SENDERS = (2, 4, 8, 16, 32, 63)
JOBS: dict[str, dict[str, Any]] = {
    "ResNet-50, data 64": {
        "workload": {"model": "resnet-50", "global_batch": 2048, "precision": "fp16", "gradient_precision": "fp16"},
        "system": {"chunks": 4, "collective": ["ring"]},
    },
    "ResNet-50, data 64, all-reduce direct": {
        "workload": {"model": "resnet-50", "global_batch": 2048, "precision": "fp16", "gradient_precision": "fp16"},
        "system": {"chunks": 4, "collective": ["direct"]},
    },
    "transformer, tensor 8 x data 8": {
        "workload": {
            "model": {"layers": 2, "hidden": 2048, "heads": 16, "vocabulary": 51200},
            "sequence_length": 2048,
            "global_batch": 8,
            "precision": "bf16",
        },
        "parallelism": {"tensor": 8},
        "system": {"chunks": 4, "collective": ["ring"]},
    },
    "DLRM, embeddings over 64": {
        "workload": {
            "model": "dlrm-mlperf",
            "global_batch": 65536,
            "precision": "fp16",
            "gradient_precision": "fp16",
        },
        "system": {"chunks": 1, "collective": ["ring"]},
    },
}


def say(text: str) -> None:
    sys.stderr.write(f"{time.strftime('%H:%M:%S')} {text}\n")


def cluster(control: str | None, ratio: float = 2, **transport: Any) -> dict[str, Any]:
    """64 NPUs with a port of 200 Gb/s each, 16 under a leaf; one way for each target."""
    dimension = {
        "topology": "clos",
        "size": NPUS,
        "leaf": LEAF,
        "oversubscription": ratio,
        "bandwidth": "25 GB/s",
        "latency": "1 us",
        "tier": "pod",
        "routing": "shortest",
    }
    named = {"transport": {"control": control, "mtu": "4 kB", **transport}} if control else {}
    return {"npu": "h100-80gb", "dimensions": [dimension], **named}


def collective(control: str | None, kind: str, algorithm: str, size: float, ratio: float = 2) -> Design:
    return design_from(
        {
            "workload": {"collective": kind, "size": f"{size} MB"},
            "cluster": cluster(control, ratio),
            "system": {"collective": [algorithm], "chunks": 1},
        }
    )


class Case(NamedTuple):
    """A collective under a control."""

    seconds: float
    share: float
    """What max-min fair flows with the same headers would take, over that."""
    result: Result


def play_collective(control: str, kind: str, algorithm: str, size: float, ratio: float = 2) -> Case:
    say(f"{control}: {kind} of {size} MB by {algorithm}, {ratio}:1")
    result = simulate(collective(control, kind, algorithm, size, ratio), "packets")
    seconds = result.iteration_time_s
    return Case(seconds, fluid_seconds(kind, algorithm, size, ratio) / seconds, result)


def fluid_seconds(kind: str, algorithm: str, size: float, ratio: float = 2) -> float:
    """What max-min fair flows with the packets' headers take [s].

    All messages of `direct` flow at once, so that its busiest link never waits; steps of the others follow one another,
    as engine `fast` has them.
    """
    design = collective(None, kind, algorithm, size, ratio)
    if algorithm != "direct":
        return simulate(design, "fast").iteration_time_s * WIRE
    fabric, message = fabric_of(design), size * 1e6 / NPUS * WIRE
    loads = Counter(link for pair in permutations(range(NPUS), 2) for link in fabric.ways(*pair)[0])
    return max(count * message / fabric.ports[link].rate for link, count in loads.items())


def table(head: list[str], rows: Iterator[list[str]]) -> str:
    lines = [head, ["---", *["--:"] * (len(head) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def milliseconds(seconds: float) -> str:
    return f"{seconds * 1e3:.4g}"


def change(seconds: float, base: float) -> str:
    """How much longer than pauses alone."""
    return f"{100 * (seconds / base - 1):+.1f} %"


def collectives() -> str:
    """Times of collectives at 2:1, what of it the controls add, and the shares that follow."""
    shares: dict[str, list[float]] = {control: [] for control in PROJECT}

    def rows() -> Iterator[list[str]]:
        for kind, algorithm in KINDS:
            for size in SIZES:
                if size > MOST.get(algorithm, SIZES[-1]):
                    continue
                cases = {control: play_collective(control, kind, algorithm, size) for control in PROJECT}
                if size >= LOADED:
                    for control, case in cases.items():
                        shares[control].append(case.share)
                base = cases["none"].seconds
                traffic = [cases[control].result.traffic for control in ("none", "dcqcn")]
                yield [
                    f"{kind} ({algorithm}), {size} MB",
                    milliseconds(base),
                    *(change(cases[control].seconds, base) for control in PROJECT[1:]),
                    *(f"{found.pauses:,}" for found in traffic if found),
                ]

    times = table(["collective", "pauses alone [ms]", *PROJECT[1:], "pauses", "pauses, dcqcn"], rows())

    def fitted() -> Iterator[list[str]]:
        for control, found in shares.items():
            point = exp(sum(map(log, found)) / len(found))
            yield [f"`{control}`", *(f"{value:.3f}" for value in (point, min(found), max(found))), str(len(found))]

    return f"{times}\n\n{table(['control', 'share', 'lowest', 'highest', 'collectives'], fitted())}"


def oversubscription() -> str:
    """How much longer than under pauses alone, by what the uplinks are oversubscribed."""

    def rows() -> Iterator[list[str]]:
        for kind, algorithm in KINDS[1:]:
            for ratio in RATIOS:
                cases = {control: play_collective(control, kind, algorithm, 16, ratio) for control in PROJECT}
                base = cases["none"].seconds
                added = [change(cases[control].seconds, base) for control in PROJECT[1:]]
                yield [f"{kind} ({algorithm}), {ratio}:1", milliseconds(base), f"{cases['none'].share:.3f}", *added]

    return table(["16 MB", "pauses alone [ms]", "share", *PROJECT[1:]], rows())


def incast() -> str:
    """How long incasts take, over what the receiver's port takes."""

    def rows() -> Iterator[list[str]]:
        for size in (1, 4, 16):
            for senders in SENDERS:
                say(f"incast of {senders}, {size} MB each")
                least = senders * size * 1e6 * WIRE / 25e9
                designs = [collective(control, "all_to_all", "direct", 1) for control in PROJECT]
                times = [play_incast(design, senders, size * 1_000_000).now / PICOSECONDS / least for design in designs]
                yield [f"{senders} senders of {size} MB", milliseconds(least), *(f"{ratio:.2f}" for ratio in times)]

    return table(["incast", "port [ms]", *PROJECT], rows())


def iterations() -> str:
    """Training iterations under each control, and what engine `fast` predicts of them with the share of the control."""
    checked: list[list[str]] = []

    def rows() -> Iterator[list[str]]:
        for name, job in JOBS.items():
            for ratio in (2, 8):
                say(f"{name}, {ratio}:1")
                designs = [design_from({**job, "cluster": cluster(control, ratio)}) for control in PROJECT]
                found = [simulate(design, "packets") for design in designs]
                times = [result.iteration_time_s for result in found]
                if ratio == 2:
                    bare = simulate(design_from({**job, "cluster": cluster(None, ratio)}), "fast").iteration_time_s
                    shared = [simulate(design, "fast").iteration_time_s for design in designs]
                    pairs = zip(times, shared, strict=True)
                    errors = [f"{change(bare, time)}, {change(share, time)}" for time, share in pairs]
                    checked.append([name, *errors])
                first = found[0]
                assert first.traffic is not None
                exposed = first.exposed_communication_s.total / times[0]
                told = [milliseconds(times[0]), f"{100 * exposed:.0f} %", f"{first.traffic.pauses:,}"]
                yield [f"{name}, {ratio}:1", *told, *(change(time, times[0]) for time in times[1:])]

    times = table(["iteration", "pauses alone [ms]", "exposed", "pauses", *PROJECT[1:]], rows())
    return f"{times}\n\n{table(['error of `fast`, 2:1', *PROJECT], iter(checked))}"


TABLES: dict[str, Callable[[], str]] = {
    "oversubscription": oversubscription,
    "incast": incast,
    "iterations": iterations,
    "collectives": collectives,
}


def replace_part(page: str, name: str, text: str) -> str:
    """The page with another text between the markers of a name; raises `ValueError` where it has none."""
    mark = f"<!-- {name} -->"
    found, count = re.subn(f"{mark}.*?{mark}", lambda _: f"{mark}\n{text}\n{mark}", page, flags=re.DOTALL)
    if count != 1:
        raise ValueError(f"{PAGE}: no two markers {mark}")
    return found


def main(names: list[str]) -> None:
    assert set(PROJECT) <= set(CONTROLS)
    for name in names or TABLES:
        text = TABLES[name]()
        PAGE.write_text(replace_part(PAGE.read_text(encoding="utf-8"), name, text), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
