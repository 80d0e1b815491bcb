"""Show what is in a space: the values of its holes, its size, examples, or the JSON Schema of all spaces."""

from __future__ import annotations

import argparse
import json
import math
import sys

from dse.cli.arguments import positive_integer, seed

EXAMPLES = """examples:
  dse space spaces/transformer1t.yaml --count
  dse space spaces/transformer1t.yaml --sample 2 --seed 1 > designs.yaml
  dse space --schema > space.schema.json
"""


def add_arguments(command: argparse.ArgumentParser) -> None:
    """The options of `dse space`."""
    command.add_argument("space", metavar="SPACE", nargs="?", help="YAML space; --schema needs none")
    command.add_argument(
        "--count",
        action="store_true",
        help="print the number of combinations (of clusters, if one is bought for its workloads)",
    )
    command.add_argument(
        "--sample", type=positive_integer, metavar="N", help="print N designs drawn at random, as YAML documents"
    )
    command.add_argument("--seed", type=seed, default=0, metavar="S", help="seed of --sample [0]")
    command.add_argument("--schema", action="store_true", help="print the JSON Schema of spaces, for editors")


def run(options: argparse.Namespace) -> int:
    """Run `dse space`."""
    if options.schema:
        from dse.space.schema import space_schema

        print(json.dumps(space_schema(), indent=2))
        return 0
    if options.space is None:
        from simcore.document.problem import InputError, Problem

        raise InputError([Problem(("SPACE",), "a YAML space", "none", "e.g. dse space spaces/small.yaml")])
    from dse.run.document import open_space
    from dse.space.barred import barred_notices

    space, _ = open_space(options.space)
    for notice in (*space.notices, *barred_notices(space)):
        print(f"note: {notice}", file=sys.stderr)
    if options.count:
        print(_write_count(space.count()))
        for job in space.jobs:
            print(
                f"{job.name}: {_write_count(space.space_of_job(job).count())} designs over all clusters",
                file=sys.stderr,
            )
    elif options.sample is not None:
        from dse.cli.sample import print_samples

        print_samples(space, options.sample, options.seed)
    else:
        from dse.cli.sample import print_summary

        print_summary(space)
    return 0


def _write_count(count: float) -> str:
    return "infinite" if math.isinf(count) else f"{count:.0f}"
