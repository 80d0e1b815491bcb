"""Reproduce published results: run the studies, and print published, obtained, difference and verdict.

A study is a folder under `studies/`: documents that anyone can copy, and the published values. Exit status 1 where a
verdict is not the one that the study says: a value that differs without a reason, or a reason that no longer holds.
"""

from __future__ import annotations

import argparse
import json
import sys
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.table import Table

    from dse.door.progress import Phases
    from dse.reproduce.play import Obtained, Player
    from dse.reproduce.study import Study

PICTURES = "pictures/reproduction"
"""Where pictures are, beside the page."""
HEAD = """# Published results, reproduced

Written by `dse reproduce --out docs/reproduction.md`.

Verdicts: *exact*; *reproduced*, within the tolerance of the table; *fitted*, within it, with a quantity that was fitted
to this study or chosen after a look at it, as the table says, so it is no independent evidence; *known to differ*, a
miss, with its cause. Tables without published values are ours.

"""
LINE_SECONDS = 30.0
"""Between two lines of progress where stderr is no terminal."""
EXAMPLES = """studies:
  astra-sim     finish times of ASTRA-sim's tutorials and examples, to the nanosecond
  astra-sim-2   ASTRA-sim 2.0: a wafer against scheduled networks, pools of memory
  co-design     all layers of the stack searched together against each alone
  comet         COMET: degrees, expanded memory, compute, networks, clusters
  fred          FRED: a mesh on a wafer against switches that reduce
  hierarchical  networks of two, three and four dimensions at equal cost
  libra         LIBRA: optima of bandwidth, and what a simulator makes of them
  recipes       published configurations of practitioners, and what a search chooses
  roce          congestion controls of RoCE
  themis        Themis: the order in which chunks visit dimensions

examples:
  dse reproduce                        # all studies
  dse reproduce themis
  dse reproduce --quick                # a few rows of each
  dse reproduce --out docs/reproduction.md

What was measured is kept in runs/reproduce, so that an interrupted run goes on where it was.
--json prints [{study, part, place, chosen, unit, published, compare, obtained, shown, difference, relative, verdict,
why, fitted}].
"""


def add_arguments(command: argparse.ArgumentParser) -> None:
    """The options of `dse reproduce`."""
    command.add_argument("studies", metavar="STUDY", nargs="*", help="names under studies/, or folders [all]")
    command.add_argument("--quick", action="store_true", help="a few rows of each study")
    command.add_argument(
        "--root", type=Path, default=Path("studies"), metavar="DIR", help="folder of studies [studies]"
    )
    command.add_argument(
        "--kept", type=Path, default=Path("runs/reproduce"), metavar="DIR", help="what was measured [runs/reproduce]"
    )
    command.add_argument("--out", type=Path, metavar="FILE", help="write the tables as a page, its pictures beside it")
    command.add_argument("--json", action="store_true", help="print the rows as JSON")


def run(options: argparse.Namespace) -> int:
    """Run `dse reproduce`."""
    from dse.door.display import Display
    from dse.door.progress import Phases
    from dse.reproduce.files import raise_all
    from dse.reproduce.play import Player
    from dse.reproduce.study import find_studies
    from dse.reproduce.table import as_json, markdown, summary
    from dse.study.files import write_whole

    studies = [
        (study, [row for row in study.rows if row.quick or not options.quick])
        for study in find_studies(options.root, options.studies)
    ]
    if options.out is not None:
        options.out.parent.mkdir(parents=True, exist_ok=True)
    every: list[Obtained] = []
    pages = []
    total = sum(len(rows) for _, rows in studies)
    options.interrupt.farewell = lambda: (
        f"interrupted: what was measured is kept; the same command goes on ({total} rows)"
    )
    played = [(study, rows, Player(study, options.kept)) for study, rows in studies]
    with Phases(options.interrupt, Display(every=LINE_SECONDS)) as phases:
        phases.phase("reading what is run")
        raise_all([error for _, rows, player in played for error in player.check(rows)])
        for study, rows, player in played:
            phases.phase(f"reproducing {study.name}")
            done = list(player.obtain(rows, lambda row: phases.note(f"{row.part.name}: {row.text}")))
            every += done
            if not options.json:
                _print(study, done)
            if options.out is not None:
                pictures = {} if options.quick else _draw(study, player, options, phases)
                pages.append(markdown(study, done, pictures))
    if options.out is not None:
        write_whole(options.out, _page(pages).encode())
        print(f"wrote {options.out}", file=sys.stderr)
    if options.json:
        print(json.dumps(as_json(every), ensure_ascii=False, allow_nan=False))
    else:
        print(f"{len(every)} rows: {summary(every)}")
        for each in every:
            if not each.expected:
                what = (
                    "say why, in the column 'why'"
                    if each.verdict == "differs"
                    else "the reason in 'why' no longer holds"
                )
                print(f"{each.study}, {each.row.part.name}, {each.row.text}: {each.verdict}; {what}", file=sys.stderr)
    return 0 if all(each.expected for each in every) else 1


def _draw(study: Study, player: Player, options: argparse.Namespace, phases: Phases) -> dict[str, list[str]]:
    """The study's pictures, written beside the page: part -> links."""
    from dse.report.plots.style import render
    from dse.reproduce.picture import draw_plot
    from dse.study.files import write_whole

    links: dict[str, list[str]] = {}
    for part in study.parts:
        for plot in part.plots:
            phases.note(f"drawing {plot.file}")
            path = Path(PICTURES) / f"{study.name}-{plot.file}.png"
            whole: Path = options.out.parent / path
            whole.parent.mkdir(parents=True, exist_ok=True)
            write_whole(whole, render(draw_plot(study, part, plot, player), "png"))
            links.setdefault(part.name, []).append(f"![{plot.title or part.name}]({path.as_posix()})")
    return links


def _print(study: Study, obtained: list[Obtained]) -> None:
    from rich.console import Console

    from dse.reproduce.table import summary

    console = Console(highlight=False, markup=False)
    console.print(f"{study.title}: {summary(obtained)}", style="bold")
    console.print(f"{study.source}. {study.about}".rstrip(), style="dim")
    for name, rows in groupby(obtained, key=lambda each: each.row.part.name):
        listed = list(rows)
        console.print(f"\n{name}", style="underline")
        if listed[0].row.part.about:
            console.print(listed[0].row.part.about, style="dim")
        fitted = listed[0].row.part.fitted
        if fitted is not None:
            console.print(f"Fitted: {fitted.what}", style="dim")
        console.print(_table(listed))
        for why, differing in groupby(listed, key=lambda each: each.row.why):
            if why:
                console.print(f"{'; '.join(each.row.text for each in differing)}: {why}", style="dim")
    console.print()


def _table(rows: list[Obtained]) -> Table:
    """The rows of a part; where nothing was published, what we get alone. Further columns are for wider pages."""
    from rich.table import Table

    from dse.reproduce.table import difference, obtained_text, published

    part = rows[0].row.part
    told = part.published is not None
    table = Table(box=None, pad_edge=False)
    table.add_column("")
    for head in (part.called, "obtained", "difference") if told else ("obtained",):
        table.add_column(head, justify="right")
    if told:
        table.add_column("verdict")
    for each in rows:
        where = ", ".join([each.row.text, *each.value.chosen.values()])
        value = obtained_text(each) + (f" {part.unit}" if part.unit else "")
        judged = (published(each), value, difference(each), each.verdict) if told else (value,)
        table.add_row(where, *judged)
    return table


def _page(pages: list[str]) -> str:
    return HEAD + "\n".join(pages)
