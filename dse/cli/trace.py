"""Make, summarise, draw and share Chakra traces."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from dse.cli.arguments import file_problems, positive_integer, seed
from dse.cli.help_text import WrappedText

if TYPE_CHECKING:
    from simcore.traces.base import TraceSet

EXAMPLES = """examples:
  dse trace convert 'host.{rank}.json.gz' --timeline 'kineto.{rank}.json.gz' --out traces/run     # PyTorch
  dse trace convert gpt3.txt --dimensions 4,2 --out traces/gpt3        # ASTRA-sim 1.0's text workload
  dse trace convert design.yaml --out traces/design
  dse trace show traces/run
  dse trace show traces/run --graphml run.graphml --perfetto run.json
  dse trace generate traces/run --out shared/run                       # the same without names, for sharing
  dse trace generate traces/run --sample --seed 1 --out shared/like    # sizes and times drawn from the trace's own
  dse trace generate distribution.yaml --seed 1 --out shared/drawn

A trace is PREFIX.<rank>.et for every rank, and PREFIX.comm_groups.json where it has communicator groups.
"""


def add_arguments(command: argparse.ArgumentParser) -> None:
    """The subcommands of `dse trace` and their options."""
    verbs = command.add_subparsers(dest="verb", metavar="convert | show | generate", required=True)
    convert = verbs.add_parser("convert", help="make traces of PyTorch's, ASTRA-sim 1.0's or a design's")
    _explain(convert, "Make Chakra traces of what PyTorch recorded, of an ASTRA-sim 1.0 text workload, or of a design.")
    convert.add_argument("source", metavar="SOURCE", help="execution traces 'host.{rank}.json', text, or a design")
    convert.add_argument("--out", required=True, type=Path, metavar="PREFIX", help="files PREFIX.<rank>.et")
    convert.add_argument("--timeline", metavar="FILES", help="Kineto timelines 'kineto.{rank}.json' (PyTorch)")
    convert.add_argument("--group", metavar="NAME", help="process group of collectives that name none (PyTorch, gloo)")
    convert.add_argument(
        "--dimensions", type=_sizes, default=(), metavar="N,N", help="the network, innermost first (text)"
    )
    convert.add_argument("--num-passes", type=positive_integer, default=1, metavar="N", help="iterations (text) [1]")
    convert.add_argument(
        "--from", dest="kind", choices=("pytorch", "text", "design"), help="kind of SOURCE [by ending]"
    )
    convert.set_defaults(act=_convert)
    show = verbs.add_parser("show", help="summarise or draw traces")
    _explain(
        show, "Summarise traces: operators, dependencies, longest path, bytes; unmatched sends, disagreeing groups."
    )
    show.add_argument("prefix", type=Path, metavar="PREFIX", help="traces PREFIX.<rank>.et, or one .et file")
    show.add_argument("--groups", type=Path, metavar="FILE", help="communicator groups [PREFIX.comm_groups.json]")
    show.add_argument("--graphml", type=Path, metavar="FILE", help="write the graph of dependencies")
    show.add_argument("--perfetto", type=Path, metavar="FILE", help="write the times; open at ui.perfetto.dev")
    show.add_argument("--json", action="store_true", help="print the summary as JSON")
    show.set_defaults(act=_show)
    generate = verbs.add_parser("generate", help="make synthetic traces without names, for sharing")
    _explain(generate, "Make traces that can be shared: of a design, of existing traces without their names, or drawn.")
    generate.add_argument("source", metavar="SOURCE", help="a PREFIX of traces, a design, or a distribution (YAML)")
    generate.add_argument("--out", required=True, type=Path, metavar="PREFIX", help="files PREFIX.<rank>.et")
    generate.add_argument("--sample", action="store_true", help="draw sizes and times from those of the traces")
    generate.add_argument("--seed", type=seed, default=0, metavar="N", help="of what is drawn [0]")
    generate.set_defaults(act=_generate)


def _explain(parser: argparse.ArgumentParser, description: str) -> None:
    parser.description, parser.epilog = description, EXAMPLES
    parser.formatter_class = WrappedText


def _sizes(text: str) -> tuple[int, ...]:
    parts = text.split(",")
    if not 1 <= len(parts) <= 16 or not all(part.isdecimal() and 2 <= int(part) <= 10**6 for part in parts):
        raise argparse.ArgumentTypeError(f"expected sizes of at least 2, such as 8 or 4,2, got '{text[:40]}'")
    return tuple(map(int, parts))


def run(options: argparse.Namespace) -> int:
    """Run `dse trace`."""
    status: int = options.act(options)
    return status


def _convert(options: argparse.Namespace) -> int:
    from simcore.traces.base import Request
    from simcore.traces.sources import source_of

    source = source_of(options.source, options.kind)
    with _watched("converting") as tell:
        request = Request(options.source, options.timeline, options.group, options.dimensions, options.num_passes, tell)
        traces = source.read(request)
    return _write(traces, options.out)


@contextmanager
def _watched(what: str) -> Iterator[Callable[[float], None]]:
    """Show on stderr that something is being done; what is given hears the share that is done."""
    from dse.door.display import Display

    display = Display()
    display.phase(what)
    try:
        yield lambda done: display.show(str, done)
    finally:
        display.close()


def _write(traces: TraceSet, prefix: Path) -> int:
    """Write traces, and say on stderr what was written, how it is run, and what it leaves out."""
    from simcore.traces.files import write_traces

    with _watched("writing"):
        written = write_traces(traces, prefix)
    nodes = sum(map(len, traces.ranks))
    print(f"wrote {len(traces.ranks)} ranks, {nodes:,} nodes, {len(written)} files: {prefix}.*", file=sys.stderr)
    _print_notes(traces)
    return 0


def _print_notes(traces: TraceSet) -> None:
    for note in traces.notes:
        print(f"note: {note}", file=sys.stderr)


def _show(options: argparse.Namespace) -> int:
    from simcore.document.problem import InputError
    from simcore.traces.draw import write_graphml, write_perfetto
    from simcore.traces.files import read_traces
    from simcore.traces.show import summarise

    problems = file_problems("--graphml", options.graphml) + file_problems("--perfetto", options.perfetto)
    if problems:
        raise InputError(problems, "command line")
    with _watched("reading"):
        traces = read_traces(options.prefix, options.groups)
        summary = summarise(traces, str(options.prefix))
        if options.graphml is not None:
            write_graphml(traces, options.graphml)
        if options.perfetto is not None:
            write_perfetto(traces, options.perfetto, str(options.prefix))
    if options.json:
        print(json.dumps(summary.document(), indent=2))
    else:
        from dse.cli.trace_table import print_summary

        print_summary(summary)
    _print_notes(traces)
    return 0


def _generate(options: argparse.Namespace) -> int:
    from simcore.traces.generate import generate

    with _watched("generating"):
        traces = generate(options.source, options.seed, options.sample)
    return _write(traces, options.out)
