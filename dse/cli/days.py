"""Play the days of a training job: failures, checkpoints, restarts, nodes in repair; beside goodput in closed form.

Which pieces fail how often, where the time goes, and how often to save. docs/reliability.md says what is modelled.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from dataclasses import asdict, replace
from time import monotonic
from typing import TYPE_CHECKING, Any

from dse.cli.arguments import add_design, seed

if TYPE_CHECKING:
    from simcore.design.design import Design
    from simcore.reliability.goodput import Interruptions

EXAMPLES = """examples:
  dse days design.yaml
  dse days design.yaml --days 54 --seed 1
  dse days design.yaml --set reliability.checkpoint.bandwidth="200 GB/s" --intervals
  dse days design.yaml --set reliability=rsc-1 --json

--json prints {npus, days, goodput {closed, played, error}, mtbf_s, interval_s {used, best, young, daly, by_simulation},
spent_s, failures, checkpoints, pieces, intervals}; docs/reliability.md says what they are.
"""
DAY, HOUR = 86400.0, 3600.0
_MOST_DAYS = 3650.0
_QUIET_SECONDS = 2.0
_SPENT = {
    "lasting": "work that lasts",
    "lost": "work that is lost",
    "stalled": "stopped by checkpoints",
    "restarting": "restarts",
    "waiting": "waiting for a node",
}
_PIECES = {"npu": "NPUs", "node": "hosts", "nic": "NICs", "link": "links", "switch": "switches"}


def _days(text: str) -> float:
    """How many days: more than none, ten years at most."""
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number <= _MOST_DAYS:
        raise argparse.ArgumentTypeError(f"expected a number of days above 0 and up to {_MOST_DAYS:g}, got '{text}'")
    return number


def add_arguments(command: argparse.ArgumentParser) -> None:
    """The options of `dse days`."""
    add_design(command)
    command.add_argument("--days", type=_days, default=30.0, metavar="N", help="how many days to play [30]")
    command.add_argument("--seed", type=seed, default=0, metavar="N", help="which failures there are [0]")
    command.add_argument(
        "--intervals", action="store_true", help="play shorter and longer intervals between checkpoints, too"
    )
    command.add_argument("--json", action="store_true", help="print it as JSON")


def run(options: argparse.Namespace) -> int:
    """Run `dse days`."""
    from dse.cli.change import read_design
    from simcore.design.jobs import lone_job

    design = lone_job(read_design(options))
    found = _play(design, _interruptions(design), options)
    if options.json:
        print(json.dumps(found, allow_nan=False))
    else:
        _print(found)
    return 0


def _interruptions(design: Design) -> Interruptions:
    """What stops the job; raises `InputError` where nothing does."""
    from simcore.document.problem import InputError, Problem
    from simcore.reliability.goodput import interruptions_of

    what = interruptions_of(design)
    if what is None:
        raise InputError([Problem(("workload",), "a training whose days can be played", "one that saves no state")])
    if not what.failures:
        fix = "e.g. --set reliability=llama3"
        raise InputError([Problem(("reliability",), "something that fails", "nothing that does", fix)])
    return what


def _play(design: Design, what: Interruptions, options: argparse.Namespace) -> dict[str, Any]:
    """What the command prints as JSON."""
    from simcore.reliability.goodput import best_interval, daly_interval, goodput, interval, young_interval
    from simcore.reliability.played import play, play_intervals
    from simcore.simulate import simulate

    iteration, seconds, tell = simulate(design).iteration_time_s, options.days * DAY, _progress()
    played = play(what, iteration, seconds, options.seed, on_batch=tell)
    tried = play_intervals(what, iteration, seconds, options.seed, tell) if options.intervals else []
    rows = [_tried(what, iteration, each, result) for each, result in tried]
    best = max(rows, key=lambda row: row["played"], default=None)
    return {
        "npus": design.cluster.npus,
        "days": options.days,
        "goodput": {"closed": goodput(what, iteration), "played": played.goodput, "error": played.error},
        "mtbf_s": 1.0 / what.failures,
        "interval_s": {
            "used": float(interval(what, iteration)),
            "best": float(best_interval(what.stall, what.failures)),
            "young": float(young_interval(what.stall, what.failures)),
            "daly": daly_interval(what.stall, what.failures),
            "by_simulation": None if best is None else best["interval_s"],
        },
        "checkpoint_s": {"stall": what.stall, "write": what.write},
        "restart_s": what.restart,
        "spares": what.spares,
        "spent_s": {name: getattr(played.spent, name) for name in _SPENT},
        "failures": played.spent.failures,
        "checkpoints": played.spent.checkpoints,
        "pieces": _pieces(design, seconds),
        "intervals": rows,
    }


def _tried(what: Interruptions, iteration: float, each: float, result: Any) -> dict[str, float]:
    from simcore.reliability.goodput import goodput

    closed = goodput(replace(what, interval=each), iteration)
    return {"interval_s": each, "closed": closed, "played": result.goodput, "error": result.error}


def _pieces(design: Design, seconds: float) -> list[dict[str, Any]]:
    """What can fail: how many pieces, the mean time between failures of one, and failures that are expected."""
    from simcore.reliability.counts import counts_of

    counts, mtbf = asdict(counts_of(design)), design.reliability.mtbf
    counts["software"] = counts["node"]
    rows = ((one, counts[one], getattr(mtbf, one)) for one in (*_PIECES, "software"))
    return [
        {"piece": one, "count": count, "mtbf_s": between, "failures": count * seconds / between}
        for one, count, between in rows
        if between is not None and count
    ]


def _print(found: dict[str, Any]) -> None:
    from rich.console import Console

    console = Console(highlight=False)
    share = found["goodput"]
    console.print(
        f"{found['days']:g} days on {found['npus']:,} NPUs: goodput {share['closed']:.2%} in closed form, "
        f"{share['played']:.2%} ± {share['error']:.2%} played",
        style="bold",
    )
    console.print(_spent_table(found))
    console.print()
    console.print(f"A failure every {found['mtbf_s'] / HOUR:.3g} h; {found['failures']:,} played", style="bold")
    console.print(_pieces_table(found))
    console.print()
    console.print(_checkpoint_title(found), style="bold")
    console.print(_checkpoint_text(found))
    if found["intervals"]:
        console.print(_intervals_table(found))


def _table(*columns: str) -> Any:
    from rich.table import Table

    table = Table(header_style="dim", box=None, pad_edge=False, show_header=any(columns))
    for index, column in enumerate(columns):
        table.add_column(column, justify="left" if index == 0 else "right")
    return table


def _spent_table(found: dict[str, Any]) -> Any:
    table, total = _table("", "", ""), sum(found["spent_s"].values())
    for name, text in _SPENT.items():
        spent = found["spent_s"][name]
        if spent:
            table.add_row(text, f"{spent / HOUR:,.1f} h", f"{spent / total:.2%}")
    return table


def _pieces_table(found: dict[str, Any]) -> Any:
    table = _table("", "pieces", "h between failures of one", "failures expected")
    for row in found["pieces"]:
        table.add_row(
            _PIECES.get(row["piece"], "software, by node"),
            f"{row['count']:,}",
            f"{row['mtbf_s'] / HOUR:,.0f}",
            f"{row['failures']:,.1f}",
        )
    return table


def _checkpoint_title(found: dict[str, Any]) -> str:
    from dse.report.units import format_with_unit

    used = format_with_unit(found["interval_s"]["used"], "s")
    return f"A checkpoint after every {used} of work; {found['checkpoints']:,} played"


def _checkpoint_text(found: dict[str, Any]) -> str:
    from dse.report.units import format_with_unit

    told = {name: format_with_unit(value, "s") for name, value in found["interval_s"].items() if value is not None}
    takes = {name: format_with_unit(value, "s") for name, value in found["checkpoint_s"].items()}
    safe = f", is safe {takes['write']} later" if found["checkpoint_s"]["write"] else ""
    restart = format_with_unit(found["restart_s"], "s")
    return (
        f"Each stops the job for {takes['stall']}{safe}; a restart takes {restart}.\n"
        f"Best {told['best']}; by Young {told['young']}, by Daly {told['daly']}"
        + (f"; of those played {told['by_simulation']}." if "by_simulation" in told else ".")
    )


def _intervals_table(found: dict[str, Any]) -> Any:
    from dse.report.units import format_with_unit

    table = _table("interval", "closed form", "played", "")
    for row in found["intervals"]:
        best = "best" if row["interval_s"] == found["interval_s"]["by_simulation"] else ""
        each = format_with_unit(row["interval_s"], "s")
        table.add_row(each, f"{row['closed']:.2%}", f"{row['played']:.2%} ± {row['error']:.2%}", best)
    return table


def _progress() -> Callable[[float], None]:
    """Says which share is played, once that takes longer than `_QUIET_SECONDS`."""
    said = monotonic()

    def tell(done: float) -> None:
        nonlocal said
        if monotonic() - said >= _QUIET_SECONDS:
            said = monotonic()
            print(f"{done:.0%} played", file=sys.stderr)

    return tell
