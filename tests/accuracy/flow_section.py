"""Engine `flow` against `reference_links` on drawn designs whose phases share links, for `docs/accuracy-details.md`.

`python tests/accuracy/flow_section.py` writes the section anew: `flow` plays each draw whose times on links are kept
(`flow_draws`). With `RESULTS.jsonl --draws 6000` further ones are played on links first, a line a draw, 0.3 s each.
It may be stopped at any time and goes on where it was; `--seconds` stops it by itself. Then all are kept. Jobs that
share links are played twice, on links that serve messages as they come and on links that take connections in turn.
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
sys.path[:0] = [str(ROOT / "tests" / "simcore" / "engine" / "flow"), str(Path(__file__).parent)]

from flow_draws import Times, keep, operators_as_kept, read_kept, read_played  # noqa: E402
from queued_links import times_queued  # noqa: E402
from sharing_designs import draw_iteration, draw_jobs, draw_worn_collective  # noqa: E402  # beside the engine's tests

from simcore.design.design import Design  # noqa: E402
from simcore.design.jobs import shares_of  # noqa: E402
from simcore.engine.flow.links import links_of  # noqa: E402
from simcore.engine.reference import estimate_events  # noqa: E402
from simcore.engine.unplayable import find_unplayable  # noqa: E402
from simcore.memory.plan import program_of  # noqa: E402
from simcore.simulate import simulate  # noqa: E402
from simcore.system.placement import place  # noqa: E402

TARGET = ROOT / "docs" / "accuracy-details.md"
MARKER = "<!-- flow -->"
MOST_EVENTS = 60_000
"""Of a draw at link level: about a second."""
MOST_IN_TURN = 1600
"""Of the jobs of a draw, each alone, where messages travel in segments: about a second."""
LARGE = float(2**20)
CHOSEN_ON = 3341
"""The last seed of the draws that the rule of worn links was chosen on."""
FAR, NEAR = 0.1, 0.05
"""Errors of iterations whose cause is looked for, and those where it is found."""
ALIKE = 0.02
"""Two engines say the same of jobs that are alone where they are no further apart."""
TOPOLOGIES = [["ring"], ["mesh"], ["ring", "mesh"], ["clos"], ["clos", "ring"]]
WORN = ["ring", "ring", "mesh", "fully_connected", "clos"]
OUTERMOST = ("tensor", "context", "data", "pipeline")
Row = dict[str, Any]


def drawn(seed: int) -> Design | None:
    """The design of a seed, whatever it shares."""
    number, kind = divmod(seed, 8)
    if kind == 0:
        return draw_jobs(seed)
    if kind < 4:
        return draw_worn_collective(seed, WORN)
    return draw_iteration(seed, TOPOLOGIES[number % len(TOPOLOGIES)], most=16, placements=1 + 2 * (kind == 7))


def is_played(design: Design) -> bool:
    """Whether phases of a design share links, and it does not take too long."""
    if design.jobs:
        return True
    if find_unplayable(design, "reference_links") or estimate_events(design, links=True) > MOST_EVENTS:
        return False
    return bool(links_of(design).links)


def times_of(design: Design, engine: str) -> list[float]:
    """What an iteration takes by an engine [s], of each job."""
    result = simulate(design, engine)
    return [job.iteration_time_s for job in result.jobs] if design.jobs else [result.iteration_time_s]


def in_turn(design: Design) -> Times:
    """What jobs take on links that take connections in turn [s]; nothing of others, and where it takes too long."""
    shares = shares_of(design)[0] if design.jobs else []
    if not shares or sum(estimate_events(share.design, links=True) for share in shares) > MOST_IN_TURN:
        return {}
    result = simulate(design.with_("cluster.switching", "interleaved"), "reference_links")
    return {
        "turns": [job.iteration_time_s for job in result.jobs],
        "alone": [job.alone_s for job in result.jobs],
    }


def queued(design: Design) -> Times:
    """What an iteration takes on links behind the queues of phases [s], of those that the table of these has."""
    near = design.algorithms[0] in ("ring", "direct") and not design.jobs and _what(design) == "iteration"
    return times_queued(design) if near and _message(design) >= LARGE else {}


def rows_of(seed: int, found: Times) -> list[Row]:
    """What the engines say of a draw, and what it is: a row for each of its jobs."""
    design = drawn(seed)
    assert design is not None
    row: Row = {
        "seed": seed,
        "fabric": " x ".join(_name(dimension.topology, dimension.routing) for dimension in design.cluster.dimensions),
        "what": _what(design),
        "policy": design.system.intra_dimension,
        "algorithm": design.algorithms[0],
        "chunks": design.system.chunks,
    }
    alone = [share.design for share in shares_of(design)[0]] if design.jobs else [design]
    if design.jobs:
        row["what"] += ", messages alike" if len({round(_message(its)) for its in alone}) == 1 else ", messages unlike"
    elif not design.cluster.failed_links:
        row["fast"] = times_of(design, "fast")[0] / found["exact"][0] - 1
        if design.system.intra_dimension == "priority":  # on links the same: messages are not interrupted
            by_steps = times_of(design.with_("system.intra_dimension", "preemptive"), "flow")
            row["steps"] = by_steps[0] / found["exact"][0] - 1
    rows = []
    result = simulate(design, "flow")
    mine_alone = [job.alone_s for job in result.jobs]
    if "alone" in found:
        off = max(abs(mine / its - 1) for mine, its in zip(mine_alone, found["alone"], strict=True))
        row["apart"] = "alike" if off <= ALIKE else "not"
    times = [job.iteration_time_s for job in result.jobs] if design.jobs else [result.iteration_time_s]
    for number, (mine, its) in enumerate(zip(times, alone, strict=True)):
        rows.append(row | {"flow": mine / found["exact"][number] - 1, "message": _message(its)})
        for way in ("queued", "queued_turns"):
            if way in found:
                rows[-1][way] = mine / found[way][0] - 1
        if "turns" in found:
            rows[-1]["turns"] = mine / found["turns"][number] - 1
            rows[-1]["come"] = found["exact"][number] / found["turns"][number] - 1
    return rows


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
    members = 1 if program.single.kind == "all_gather" else place(design)[0][program.single.group][0].part.members
    return program.single.size / members / design.system.chunks


def main() -> None:
    """Play what is missing, and write the section."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path, nargs="?", help="working file of what is played on links")
    parser.add_argument("--draws", type=int, default=0, help="how many to have played on links in all")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop playing on links after so long")
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--only-play", action="store_true", help="write no section")
    given = parser.parse_args()
    known = read_kept()
    if given.results is not None:
        for seed, found in read_played(given.results).items():
            known.setdefault(seed, {}).update(found)
        play_missing(known, given.results, given.draws, given.first_seed, time.monotonic() + given.seconds)
    if given.only_play:
        return
    keep(known)
    rows = []
    for number, (seed, found) in enumerate(sorted(known.items())):
        rows += rows_of(seed, found)
        if number % 100 == 0:
            sys.stderr.write(f"{number} of {len(known)} draws\r")
    before, _, after = TARGET.read_text(encoding="utf-8").split(MARKER)
    TARGET.write_text(f"{before}{MARKER}\n{section(rows)}\n{MARKER}{after}", encoding="utf-8")


def play_missing(known: dict[int, Times], results: Path, draws: int, first: int, end: float) -> None:
    """Play further seeds on links, from `first` on, until there are so many `draws` or the time `end` has come."""
    seed = max([first - 1, *known]) + 1
    with results.open("a", encoding="utf-8") as file:
        for number in [number for number, found in known.items() if number % 8 == 0 and "alone" not in found]:
            jobs = drawn(number)
            if jobs is not None and time.monotonic() < end and (turns := in_turn(jobs)):
                known[number] |= turns
                print(json.dumps({"seed": number, **turns}), file=file, flush=True)
        while len(known) < draws and time.monotonic() < end:
            design = drawn(seed)
            if design is not None and is_played(design):
                known[seed] = {"exact": times_of(design, "reference_links"), **in_turn(design), **queued(design)}
                print(json.dumps({"seed": seed, **known[seed]}), file=file, flush=True)
            seed += 1


TEXT = """\
Errors of engine `flow` against every message on every link (`reference_links`), in percent of the time, over {draws:,}
drawn designs of 4 to 16 NPUs in which phases share links: their size (median, 95th percentile) and their mean. *fast*
is the same of phases that share nothing, where the fast engine plays the design at all. Operators take their roofline
and wait for no launch. `python tests/accuracy/flow_section.py` writes this section from the times on links that are
kept; with a working file it plays more of them, some 0.3 s of CPU each.

- **A link failed or degraded.** What is lost on the link is what the phase takes longer, exactly so with many chunks. A
  chunk alone takes each step as long as that step's own busiest link does, hop by hop where members in between pass
  messages on, and flies for what that is more. The rule was chosen on draws up to seed 3,341; those from there on say
  whether it holds (`ring` and `direct`, 1 MiB and more): {unseen}. A ring's all-reduce along a line is
  left without that: its two sweeps overlap, 10 to 23 % too fast. With several chunks `halving_doubling` is too fast:
  on links the steps of all chunks take turns, so all of them wait for the worn link at the same time, and it idles
  while they are elsewhere.
- **Pipeline further in.** A phase of one stage goes as fast as that stage loads the links; what other stages put on
  them counts while they do. `fast` has all stages do the same at once. Where a library passes over memory, `flow`
  leaves it at that, too.
- **Iterations** differ by the order of service, so that `fast` is as far off: an NPU serves one phase of a dimension at
  a time, and a phase in service is not interrupted. What blocks a stage, a message to the next one or a tensor
  collective, waits for all of a chunk's gradients, on links for no more than one step of them; under `fifo`, for all
  gradients that were issued before. So iterations in few chunks, with gradients beside the pipeline, are mostly said to
  take too long. To see what else there is, the same messages were played on the same links, but nothing leaves before
  its sender's queue serves the phase that it is of (`tests/accuracy/queued_links.py`). Of the {far} draws
  with `ring` or `direct`, 1 MiB and more, that are more than 10 % off, {order} are within 5 % of that; {turns} more
  where links take connections in turn, too: on rings and meshes a message over several links waits on each behind whole
  messages of others, which phases do not, nor packets; {left} are left. A table below has all.
  Under `preemptive` what blocks a stage waits for a step: a table below. What is left there has both signs; with one
  chunk an eighth of a phase is more than a message. Phases under `fifo` whose chunks all take turns, step by step, were
  tried: as far off as now, too fast instead of too slow, for nobody then waits behind a message of another NPU.
- **Two jobs.** Links that serve whole messages as they come give a job as much as its messages are large. So do no
  switches: packets of all connections go in turn. A table below has both, for what does not take too long (1 and 4
  chunks). Where jobs *alone* take what they take on such links (alike: within 2 %), the rates are right: see the last
  rows. The rest has three causes. *Alone*: a phase of several steps on links that no other one uses takes them one
  after the other, and on links they overlap: an all-to-all among 4 NPUs of two leaves, 2 : 1, takes 5 blocks alone,
  those to the own leaf first, and 4 in turn; for a fifth of its time its uplinks are left to others. *Segments*: in
  turn means sixteenths of a message, so beside messages sixteen times as large the small ones wait as for whole ones.
  Of the 42 draws with one chunk, alone alike and more than 10 % off, 32 were played in segments an eighth as large:
  24 are at most 5 % off then, 30 at most 10, and of all such jobs one in twenty is off by 9 % and not by 19. *Steps
  in turn*: `halving_doubling` uses uplinks in some of its steps and leaves them free in others. Its messages have the
  part of an uplink that messages there have, and `flow` has them there all the time.
"""
BY_STEPS = """
Iterations under `priority`, all algorithms, and the same where phases let others pass between their steps
(`preemptive`); on links both are one, since no message is interrupted:
"""
BY_CAUSE = """
Iterations with `ring` and `direct`, messages of 1 MiB and more: errors of `flow` against links; against the same links
behind the queues of phases; and against those where they also take connections in turn:
"""
IN_TURN = """
Two jobs, messages of 1 MiB and more, against links that take connections in turn (`switching: interleaved`): errors of
`flow`, and what links that serve messages as they come differ by.
"""


def section(rows: Sequence[Row]) -> str:
    """The text and the tables."""
    near = [row for row in rows if row["algorithm"] in ("ring", "direct") and row["message"] >= LARGE]
    parts = [
        TEXT.format(draws=len({row["seed"] for row in rows}), unseen=_unseen(near), **_causes(near)),
        _table(rows, ("drawn", "fabric"), lambda row: (row["what"], row["fabric"])),
        "\nBy algorithm and size of a message:\n",
        _table(
            rows,
            ("drawn", "algorithm", "messages"),
            lambda row: (row["what"], row["algorithm"], "1 MiB and more" if row["message"] >= LARGE else "below 1 MiB"),
        ),
        "\nIterations, all algorithms and messages, by chunks and policy:\n",
        _table(
            [row for row in rows if row["what"] == "iteration"],
            ("drawn", "chunks", "policy"),
            lambda row: (row["what"], str(row["chunks"]).rjust(2), row["policy"]),
        ),
        BY_STEPS,
        _table_by_steps([row for row in rows if "steps" in row]),
        BY_CAUSE,
        _table_by_cause([row for row in near if "queued" in row]),
        IN_TURN,
        _table_in_turn([row for row in rows if "apart" in row and row["message"] >= LARGE]),
        "\nMessages of 1 MiB and more with `ring` and `direct`, by chunks and policy:\n",
        _table(
            near,
            ("drawn", "chunks", "policy"),
            lambda row: (row["what"], str(row["chunks"]).rjust(2), "" if "fast" not in row else row["policy"]),
        ),
    ]
    return "\n".join(parts)


def _unseen(rows: Sequence[Row]) -> str:
    """Median and 95th percentile of collectives on worn links that no rule was chosen on."""
    errors = [row["flow"] for row in rows if row["what"].startswith("collective") and row["seed"] > CHOSEN_ON]
    median, most = _sizes(errors)
    return f"{len(errors)} draws,\n  a median of {median} %, 95th percentile {most} %"


def _causes(rows: Sequence[Row]) -> dict[str, int]:
    """How many iterations are far off, and of them how many the order of service explains, and turns; others."""
    far = [row for row in rows if "queued" in row and abs(row["flow"]) > FAR]
    order = sum(abs(row["queued"]) <= NEAR for row in far)
    turns = sum(abs(row["queued"]) > NEAR >= abs(row["queued_turns"]) for row in far)
    return {"far": len(far), "order": order, "turns": turns, "left": len(far) - order - turns}


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


def _table_by_steps(rows: Sequence[Row]) -> str:
    lines = [
        "| drawn | messages | chunks | draws | `priority`: median | 95th | mean | `preemptive`: median | 95th | mean |",
        "|---|---|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    groups: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        size = "1 MiB and more" if row["message"] >= LARGE else "below 1 MiB"
        groups.setdefault((row["what"], size, str(row["chunks"]).rjust(2)), []).append(row)
    for group, its in sorted(groups.items()):
        figures = [figure for key in ("flow", "steps") for figure in _signed([row[key] for row in its])]
        lines.append(f"| {' | '.join(text.strip() for text in group)} | {len(its)} | {' | '.join(figures)} |")
    return "\n".join(lines)


def _table_by_cause(rows: Sequence[Row]) -> str:
    lines = [
        "| policy | chunks | draws | links: median | 95th | mean | behind queues: median | 95th | mean "
        "| in turn, too: median | 95th | mean |",
        "|---|" + "--:|" * 11,
    ]
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        groups.setdefault((row["policy"], str(row["chunks"]).rjust(2)), []).append(row)
    for group, its in sorted(groups.items()):
        figures = [figure for key in ("flow", "queued", "queued_turns") for figure in _signed([r[key] for r in its])]
        lines.append(f"| {' | '.join(text.strip() for text in group)} | {len(its)} | {' | '.join(figures)} |")
    return "\n".join(lines)


def _signed(errors: Sequence[float]) -> Iterator[str]:
    """Median and 95th percentile of the errors' size, and their mean [%]."""
    yield from _sizes(errors)
    yield f"{100 * statistics.fmean(errors):+.1f}"


def _table_in_turn(rows: Sequence[Row]) -> str:
    lines = [
        "| drawn | algorithm | chunks | alone | jobs | `flow`: median | 95th | mean | as they come: median | 95th |",
        "|---|---|--:|---|--:|--:|--:|--:|--:|--:|",
    ]
    groups: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        chunks = str(row["chunks"]).rjust(2)
        keys = [(row["what"], row["algorithm"], chunks, ""), (row["what"], "", "", "")]
        if row["algorithm"] in ("ring", "direct"):
            keys.append(("two jobs, both", "`ring`, `direct`", chunks, row["apart"]))
        for key in keys:
            groups.setdefault(key, []).append(row)
    for group, its in sorted(groups.items()):
        figures = [
            str(len(its)),
            *_sizes([row["turns"] for row in its]),
            f"{100 * statistics.fmean(row['turns'] for row in its):+.1f}",
            *_sizes([row["come"] for row in its]),
        ]
        lines.append(f"| {' | '.join(text.strip() for text in group)} | {' | '.join(figures)} |")
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
    with operators_as_kept():
        main()
