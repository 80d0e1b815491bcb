"""The command line: one file per command. Nothing heavy is imported before a command needs it.

Exit status: 0 done, 1 the run failed, 2 bad input, 130 interrupted (143 by SIGTERM; finished trials are saved).
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import io
import os
import re
import sys
import warnings
from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Any, NoReturn

from dse.cli.help_text import WrappedText
from dse.door.interrupt import STATUS, Interrupt

COLLECTED = 100_000, 50, 100
"""Thresholds of the garbage collector. A search makes many objects and few cycles; Python's own thresholds would cost a
fifth of its time."""
COMMANDS = {
    "optimize": "search a space; write the front, plots and a page",
    "simulate": "simulate one design: time, breakdown, memory, cost",
    "bom": "list what a cluster is built of: parts, counts, prices, watts, sources",
    "space": "show what is in a space: size, examples, schema",
    "plot": "draw one picture of one or more runs",
    "report": "write the front, plots and page of a run folder again",
    "catalogue": "list what documents can name: models, NPUs, fabrics, software, prices",
    "model": "count a model's parameters, FLOPs a token and bytes, from its own config.json too",
    "show": "show one design of a run: time, memory, cost, how sure; write its document",
    "compare": "set the fronts of several runs side by side",
    "export": "write a design as arguments or configuration of Megatron-LM, TorchTitan, DeepSpeed or vLLM",
    "explain": "say where the time of a design goes, and which changes would help",
    "days": "play the days of a training: failures, checkpoints, restarts; goodput",
    "verify": "simulate the front again on the reference engine",
    "validate": "compare predictions with measured iterations",
    "calibrate": "fit a device's efficiency curve to measured iterations",
    "calibrate-fabric": "fit a machine's network to what nccl-tests or rccl-tests printed",
    "reproduce": "run the studies of published results; published, obtained, verdict",
    "astra": "run ASTRA-sim's own input files",
    "trace": "make, summarise, draw and share Chakra traces",
}
DESCRIPTION = "Design-space exploration for the clusters that train large deep-learning models."
EPILOG = """examples:
  dse optimize spaces/transformer1t.yaml --trials 400 --seed 0
  dse simulate design.yaml --set parallelism.tensor=8 --json
  dse space spaces/small.yaml --count

exit status: 0 done, 1 the run failed, 2 bad input, 130 interrupted (143 by SIGTERM)
"""


_WRONG_CHOICE = re.compile(r"invalid choice: '([^']*)' \(choose from (.*)\)")


class Parser(argparse.ArgumentParser):
    """argparse with one-line errors that name the help."""

    def error(self, message: str) -> NoReturn:
        """Print the message, with the word that was meant where that is near, and exit with 2."""
        if wrong := _WRONG_CHOICE.search(message):
            from simcore.document.problem import suggest_nearest

            meant = suggest_nearest(wrong[1], re.findall(r"[\w.-]+", wrong[2]))
            message = f"{message[: wrong.start()]}invalid choice '{wrong[1]}'; {meant}" if meant else message
        self.exit(2, f"{self.prog}: {message}; see '{self.prog} --help'\n")


def make_parser(arguments: Sequence[str]) -> Parser:
    """The parser of `dse`; of its commands only the one that `arguments` begin with is built, the others are named."""
    top = Parser(prog="dse", description=DESCRIPTION, epilog=EPILOG, formatter_class=WrappedText)
    top.add_argument("--version", action="version", version=f"dse {_version()}")
    commands = top.add_subparsers(dest="command", metavar="COMMAND", parser_class=Parser, required=True)
    for name, summary in COMMANDS.items():
        if name not in arguments[:1]:
            commands.add_parser(name, help=summary)
            continue
        module = import_module(f"dse.cli.{name.replace('-', '_')}")
        command = commands.add_parser(
            name,
            help=summary,
            description=module.__doc__,
            epilog=module.EXAMPLES,
            formatter_class=WrappedText,
        )
        module.add_arguments(command)
        command.set_defaults(run=module.run)
    return top


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("dse")
    except PackageNotFoundError:
        return "unknown"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; its exit status."""
    with Interrupt() as interrupt:
        try:
            given = sys.argv[1:] if arguments is None else list(arguments)
            options = make_parser(given).parse_args(given)
            options.interrupt = interrupt
            return _run(options)
        except KeyboardInterrupt:
            interrupt.say_farewell()
            return interrupt.status


def _run(options: argparse.Namespace) -> int:
    """Run a command; its exit status. Each error and each warning is one message on stderr."""
    try:
        with _own_warnings():
            return int(options.run(options))
    except BrokenPipeError:
        sys.stderr.close()  # the reader has gone: no message at exit either
        return 1
    except Exception as error:
        from simcore.check.load import UnsoundError
        from simcore.document.problem import InputError, Problem

        if isinstance(error, UnsoundError):  # documents of designs are read again from files of runs alone
            error = InputError([Problem((), error.expected, error.found, "take the run as dse optimize wrote it")])
        if isinstance(error, InputError):
            print(f"dse {options.command}: {error}", file=sys.stderr)
            return 2
        if isinstance(error, OSError | RuntimeError):
            print(f"dse {options.command}: {error}", file=sys.stderr)
            return 1
        raise


@contextlib.contextmanager
def _own_warnings() -> Iterator[None]:
    """Show this program's own warnings as a line each, and others as Python does."""
    from simcore.document.problem import InputWarning

    usual = warnings.showwarning

    def show(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
        if issubclass(category, InputWarning):
            print(f"warning: {message}", file=sys.stderr)
        else:
            usual(message, category, *place, **more)

    with warnings.catch_warnings():
        warnings.showwarning = show
        warnings.simplefilter("always", InputWarning)
        yield


def entry() -> NoReturn:
    """The console script."""
    gc.set_threshold(*COLLECTED)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without these letters shows others, and no traceback
    status = main()
    if status in STATUS.values():  # no exit handler may wait for interrupted work
        with contextlib.suppress(OSError):
            sys.stdout.flush()
        os._exit(status)
    gc.freeze()  # nothing is left to collect: Python would look through a search's objects again, for two seconds
    sys.exit(status)
