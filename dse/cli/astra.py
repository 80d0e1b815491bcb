"""Run ASTRA-sim's own input files (1.0 text workloads, 2.x Chakra traces) to the same nanosecond, much faster."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path

from dse.cli.arguments import file_problems

EXAMPLES = """examples:
  dse astra --network-configuration net.yml --system-configuration sys.json --workload-configuration traces/run
  dse astra --network-configuration net.json --system-configuration sys.txt \
--workload-configuration gpt3.txt --num-passes 2 --csv layers.csv

  dse astra --network-configuration net.yml --system-configuration sys.json --workload-configuration traces/run \
--csv nodes.csv --trace timeline.json

A Chakra workload is a prefix (files PREFIX.<rank>.et) or one .et file that every NPU runs.
"""


def add_arguments(command: argparse.ArgumentParser) -> None:
    """The options of `dse astra`."""
    files = command.add_argument_group("input files")
    files.add_argument(
        "--network-configuration", required=True, type=Path, metavar="F", help=".yml (2.x) or .json (1.0)"
    )
    files.add_argument(
        "--system-configuration", required=True, type=Path, metavar="F", help=".json (2.x) or .txt (1.0)"
    )
    files.add_argument(
        "--workload-configuration", required=True, type=Path, metavar="F", help="traces, or a text workload"
    )
    files.add_argument("--comm-group-configuration", type=Path, metavar="F", help="communicator groups (2.x)")
    files.add_argument("--remote-memory-configuration", type=Path, metavar="F", help="remote memory (2.x)")
    rules = command.add_argument_group("rules")
    rules.add_argument(
        "--backend", choices=("unaware", "aware"), default="unaware", help="congestion-unaware or -aware [unaware]"
    )
    rules.add_argument("--compute-scale", type=float, default=1.0, metavar="X", help="of compute times (1.0) [1]")
    rules.add_argument("--comm-scale", type=float, default=1.0, metavar="X", help="of message sizes (1.0) [1]")
    rules.add_argument("--num-passes", type=int, default=1, metavar="N", help="iterations (1.0) [1]")
    rules.add_argument("--num-queues-per-dim", type=int, default=1, metavar="N", help="queues of each dimension [1]")
    rules.add_argument("--injection-scale", type=float, default=1.0, metavar="X", help="of endpoint-delay [1]")
    rules.add_argument("--rendezvous-protocol", action="store_true", help="receivers ask for each message first")
    command.add_argument(
        "--csv", type=Path, metavar="FILE", help="write the times of each layer or node; of 2.x bytes by dimension, too"
    )
    command.add_argument(
        "--trace", type=Path, metavar="FILE", help="write a timeline for Perfetto, chrome://tracing (2.x)"
    )
    command.add_argument("--json", action="store_true", help="print the result as JSON")


def run(options: argparse.Namespace) -> int:
    """Run `dse astra`."""
    from simcore import astra
    from simcore.document.problem import InputError

    problems = [*file_problems("--csv", options.csv), *file_problems("--trace", options.trace)]
    if problems:
        raise InputError(problems, "command line")
    try:
        result = astra.run(
            network=options.network_configuration,
            system=options.system_configuration,
            workload=options.workload_configuration,
            comm_groups=options.comm_group_configuration,
            remote_memory=options.remote_memory_configuration,
            backend=options.backend,
            compute_scale=options.compute_scale,
            comm_scale=options.comm_scale,
            num_passes=options.num_passes,
            num_queues=options.num_queues_per_dim,
            injection_scale=options.injection_scale,
            rendezvous=options.rendezvous_protocol,
        )
        if options.trace is not None:
            astra.write_timeline(result, options.trace)
    except astra.AstraInputError as error:
        print(f"dse astra: {error}", file=sys.stderr)
        return 2
    for warning in result.warnings:
        print(f"warning: {warning}", file=sys.stderr)
    if options.csv is not None:
        astra.write_csv(result, options.csv)
    if options.json:
        document = {
            "finish_ns": result.finish_ns,
            "finish_ns_per_npu": result.finish_ns_per_npu.tolist(),
            "compute_ns": result.compute_ns,
            "exposed_communication_ns": result.exposed_communication_ns,
            "network": [asdict(dimension) for dimension in result.dimensions],
            "warnings": list(result.warnings),
        }
        print(json.dumps(document))
        return 0
    finish = result.finish_ns_per_npu
    print(f"finished at {result.finish_ns:,} ns on {len(finish):,} NPUs (the first at {int(finish.min()):,} ns)")
    print(f"computation {result.compute_ns:,} ns, exposed communication {result.exposed_communication_ns:,} ns")
    for dimension in result.dimensions:
        print(f"{dimension.name}: {dimension.sent:,} B sent, {100 * dimension.utilization:.1f} % of its bandwidth")
    return 0
