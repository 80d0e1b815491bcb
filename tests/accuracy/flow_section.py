"""Engine `flow` against `reference_links` on drawn designs whose phases share links, for `docs/accuracy-details.md`.

`python tests/accuracy/flow_section.py RESULTS.jsonl --draws 5000` plays what RESULTS does not have yet, a line a draw,
and writes the section anew. It may be stopped at any time and goes on where it was; `--seconds` stops it by itself.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests" / "simcore" / "engine" / "flow"))

from sharing_designs import draw_iteration, draw_jobs, draw_worn_collective  # noqa: E402  # beside the engine's tests

from simcore.design.design import Design  # noqa: E402
from simcore.design.jobs import shares_of  # noqa: E402
from simcore.engine.flow.links import links_of  # noqa: E402
from simcore.engine.reference import estimate_events  # noqa: E402
from simcore.memory.plan import program_of  # noqa: E402
from simcore.simulate import find_unplayable, simulate  # noqa: E402
from simcore.system.placement import place  # noqa: E402

TARGET = ROOT / "docs" / "accuracy-details.md"
MARKER = "<!-- flow -->"
MOST_EVENTS = 60_000
"""Of a draw at link level: about a second."""
LARGE = float(2**20)
TOPOLOGIES = [["ring"], ["mesh"], ["ring", "mesh"], ["clos"], ["clos", "ring"]]
WORN = ["ring", "ring", "mesh", "fully_connected", "clos"]
OUTERMOST = ("tensor", "context", "data", "pipeline")
Row = dict[str, Any]


def draw(seed: int) -> Design | None:
    """The design of a seed; None where it makes none, shares nothing or takes too long."""
    number, kind = divmod(seed, 8)
    if kind == 0:
        return draw_jobs(seed)
    if kind < 4:
        design = draw_worn_collective(seed, WORN)
    else:
        design = draw_iteration(seed, TOPOLOGIES[number % len(TOPOLOGIES)], most=16, placements=1 + 2 * (kind == 7))
    if (
        design is None
        or find_unplayable(design, "reference_links")
        or estimate_events(design, links=True) > MOST_EVENTS
    ):
        return None
    return design if links_of(design).links else None


def play(seed: int, design: Design) -> list[Row]:
    """What the engines say of a draw, and what it is: a row for each of its jobs."""
    flow, exact = simulate(design, "flow"), simulate(design, "reference_links")
    row: Row = {
        "seed": seed,
        "fabric": " x ".join(_name(dimension.topology, dimension.routing) for dimension in design.cluster.dimensions),
        "what": _what(design),
        "policy": design.system.intra_dimension,
        "algorithm": design.algorithms[0],
        "chunks": design.system.chunks,
    }
    if design.jobs:
        alone = [share.design for share in shares_of(design)[0]]
        pairs = zip(flow.jobs, exact.jobs, strict=True)
        errors = [mine.iteration_time_s / its.iteration_time_s - 1 for mine, its in pairs]
        return [row | {"flow": error, "message": _message(its)} for its, error in zip(alone, errors, strict=True)]
    row |= {"flow": flow.iteration_time_s / exact.iteration_time_s - 1, "message": _message(design)}
    if not design.cluster.failed_links:
        row["fast"] = simulate(design, "fast").iteration_time_s / exact.iteration_time_s - 1
    return [row]


def _name(topology: str, routing: str | None) -> str:
    return topology if routing in (None, "adaptive") else f"{topology}, {routing}"


def _what(design: Design) -> str:
    if design.jobs:
        return "two jobs"
    if design.cluster.failed_links:
        return "collective, a link failed or degraded"
    outermost = design.cluster.placement == OUTERMOST
    return "iteration" if outermost else "iteration, pipeline further in"


def _message(design: Design) -> float:
    """The size of a message [B]: of a collective one to a peer, of an iteration one between stages."""
    program = program_of(design)
    if program.single is None:
        return program.send_bytes / design.system.chunks
    members = place(design)[0][program.single.group][0].part.members
    return program.single.size / members / design.system.chunks


def main() -> None:
    """Play what is missing, and write the section."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path)
    parser.add_argument("--draws", type=int, default=5000)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after so long")
    parser.add_argument("--first-seed", type=int, default=0)
    given = parser.parse_args()
    end = time.monotonic() + given.seconds
    rows = read_rows(given.results)
    seed = max((row["seed"] + 1 for row in rows), default=given.first_seed)
    with given.results.open("a", encoding="utf-8") as file:
        while len(rows) < given.draws and time.monotonic() < end:
            design = draw(seed)
            if design is not None:
                found = play(seed, design)
                rows += found
                print("\n".join(map(json.dumps, found)), file=file, flush=True)
            seed += 1
    before, _, after = TARGET.read_text(encoding="utf-8").split(MARKER)
    TARGET.write_text(f"{before}{MARKER}\n{section(rows)}\n{MARKER}{after}", encoding="utf-8")


def read_rows(results: Path) -> list[Row]:
    """What has been played already."""
    if not results.exists():
        return []
    return [json.loads(line) for line in results.read_text(encoding="utf-8").splitlines()]


def section(rows: Sequence[Row]) -> str:
    """The tables."""
    near = [row for row in rows if row["algorithm"] in ("ring", "direct") and row["message"] >= LARGE]
    parts = [
        _table(rows, ("drawn", "fabric"), lambda row: (row["what"], row["fabric"])),
        "\nBy algorithm and size of a message:\n",
        _table(
            rows,
            ("drawn", "algorithm", "messages"),
            lambda row: (row["what"], row["algorithm"], "1 MiB and more" if row["message"] >= LARGE else "below 1 MiB"),
        ),
        "\nMessages of 1 MiB and more with `ring` and `direct`, by chunks and policy:\n",
        _table(
            near,
            ("drawn", "chunks", "policy"),
            lambda row: (row["what"], str(row["chunks"]).rjust(2), "" if "fast" not in row else row["policy"]),
        ),
    ]
    return "\n".join(parts)


def _table(rows: Sequence[Row], names: tuple[str, ...], key: Callable[[Row], tuple[str, ...]]) -> str:
    head = [*names, "draws", "median", "95th", "mean", "fast: median", "95th"]
    lines = [f"| {' | '.join(head)} |", "|" + "---|" * len(names) + "--:|" * 6]
    groups: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    everything = ("all", *[""] * (len(names) - 1))
    for group, its in [*sorted(groups.items()), (everything, list(rows))]:
        lines.append(f"| {' | '.join(text.strip() for text in group)} | {' | '.join(_figures(its))} |")
    return "\n".join(lines)


def _figures(rows: Sequence[Row]) -> Iterator[str]:
    """Number of draws, median and 95th percentile of the error's size, its mean; the same of `fast` [%]."""
    yield str(len(rows))
    yield from _sizes([row["flow"] for row in rows])
    yield f"{100 * statistics.fmean(row['flow'] for row in rows):+.1f}"
    fast = [row["fast"] for row in rows if "fast" in row]
    yield from _sizes(fast) if fast else ("", "")


def _sizes(errors: Sequence[float]) -> Iterator[str]:
    ordered = sorted(map(abs, errors))
    yield f"{100 * statistics.median(ordered):.1f}"
    yield f"{100 * ordered[min(len(ordered) - 1, int(0.95 * len(ordered)))]:.1f}"


if __name__ == "__main__":
    main()
