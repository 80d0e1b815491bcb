"""Simulate one design: iteration time and where it goes, memory, network use, cost, energy."""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dse.cli.arguments import add_design, file_problems

if TYPE_CHECKING:
    from simcore.design.design import Design
    from simcore.result import Result
    from simcore.simulate import Engine

EXAMPLES = """examples:
  dse simulate design.yaml
  dse simulate design.yaml --set parallelism.tensor=16 --set cluster.dimensions[1].bandwidth="50 GB/s"
  dse simulate design.yaml --engine packets         # every packet through every switch: pauses, marks, queues
  dse simulate design.yaml --json | jq .iteration_time_s
  dse simulate design.yaml --trace trace.json        # open it at ui.perfetto.dev
  dse simulate design.yaml --chakra-out traces       # for ASTRA-sim, or dse astra
"""


def add_arguments(command: argparse.ArgumentParser) -> None:
    """The options of `dse simulate`."""
    add_design(command)
    command.add_argument(
        "--engine",
        default="auto",
        metavar="E",
        help="auto (fast where it is exact, else flow), fast, flow, packets, reference, reference_links, "
        "or package.module:function [auto]",
    )
    command.add_argument("--trace", type=Path, metavar="FILE.json", help="write a Chrome / Perfetto trace")
    command.add_argument("--chakra-out", type=Path, metavar="DIR", help="write the design as ASTRA-sim's input files")
    command.add_argument("--json", action="store_true", help="print the result as JSON")


def run(options: argparse.Namespace) -> int:
    """Run `dse simulate`."""
    from dse.cli.change import read_design
    from simcore.engine.registry import engine_named

    _check_outputs(options.trace, options.chakra_out)
    design = read_design(options)
    result = _simulate(design, engine_named(options.engine))
    if options.trace is not None:
        _trace(design, result, options.trace)
    if options.chakra_out is not None:
        _export(design, options.chakra_out)
    document_out: dict[str, Any] = result.document()
    if options.json:
        print(json.dumps(document_out, indent=2, allow_nan=False))
    else:
        from dse.cli.result_table import print_result

        print_result(result)
    return 0


def _simulate(design: Design, engine: str | Engine) -> Result:
    """The result; what takes long shows what it does, and packets how far they are."""
    from dse.door.display import Display
    from simcore.engine.packets.progress import told
    from simcore.simulate import simulate

    display = Display()
    display.phase("packets" if engine == "packets" else "simulating")
    try:
        with told(lambda done: display.show(str, done)):
            return simulate(design, engine)
    finally:
        display.close()


def _trace(design: Design, result: Result, path: Path) -> None:
    """Write the trace of the engine that played, of one that keeps no log of the fast one; and say what it lacks."""
    from simcore.design.jobs import lone_job
    from simcore.engine.registry import QUICK
    from simcore.engine.trace import write_trace
    from simcore.simulate import log_flows, simulate_traced

    log = log_flows(design) if result.engine == "flow" else None
    lost = write_trace(design, result, log or simulate_traced(lone_job(design))[1], path)
    if result.engine not in QUICK:
        note = "each group with its links to itself (engine fast)"
        print(
            f"note: the trace shows the iteration with {note}, the result is that of {result.engine}", file=sys.stderr
        )
    if lost:
        print(f"note: the trace has no room for the last {lost:,} spans", file=sys.stderr)


def _check_outputs(trace: Path | None, folder: Path | None) -> None:
    """Raise `InputError` for outputs that cannot be written, before anything is simulated."""
    from simcore.document.problem import InputError, Problem

    problems = file_problems("--trace", trace)
    if folder is not None:
        there = next(place for place in (folder, *folder.absolute().parents) if place.exists())
        if not there.is_dir() or not os.access(there, os.W_OK):
            problems.append(Problem(("--chakra-out",), "a folder that can be written", f"'{folder}'"))
    if problems:
        raise InputError(problems, "command line")


def _export(design: Design, folder: Path) -> None:
    from simcore.design.jobs import lone_job
    from simcore.traces.export import differences, export

    design = lone_job(design)
    files = export(design, folder)
    workload = files[-1] if files[-1].name == "workload.et" else folder / "workload"
    groups = " --comm-group-configuration comm_groups.json" if (folder / "comm_groups.json").exists() else ""
    print(
        f"wrote {len(files)} files to {folder}/; there: dse astra --network-configuration network.yml "
        f"--system-configuration system.json --workload-configuration {workload.name}{groups}",
        file=sys.stderr,
    )
    for difference in differences(design):
        print(f"note: {difference}", file=sys.stderr)
