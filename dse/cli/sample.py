"""Designs drawn from a space, and a summary of its holes."""

from __future__ import annotations

import math

import numpy as np

from dse.report.futures import describe_future
from dse.space.draw import RandomDraw
from dse.space.hole import magnitude
from dse.space.order import NOTICES
from dse.space.space import Space
from simcore.check.check import check
from simcore.check.load import parse_design
from simcore.document.problem import format_path
from simcore.document.text import dump_document

_MOST_SHOWN = 12
_MOST_DRAWN = 10_000


def magnitude_of(text: str) -> float:
    """The number or quantity in a text, to sort by; infinite where there is none."""
    found = magnitude(int(text)) if text.isdigit() else magnitude(text)
    return math.inf if found is None else found


def print_samples(space: Space, count: int, seed: int) -> None:
    """Print `count` valid designs, each a YAML document; of each workload in turn where there are several."""
    generator = np.random.default_rng(seed)
    plain, found, drawn = space.plain, 0, 0
    while found < count and drawn < _MOST_DRAWN:
        drawn += 1
        design, _ = parse_design(plain[found % len(plain)].fill(RandomDraw(generator)).document)
        if design is not None and not check(design):
            print("---")
            print(dump_document(design.document()), end="")
            found += 1
    if found < count:
        raise RuntimeError(f"found {found} valid designs of {count} in {drawn} draws; most combinations are not valid")


def print_summary(space: Space) -> None:
    """Print objectives, constraints, and the values each hole took in a few hundred draws."""
    what = "clusters to choose from" if space.jobs else "combinations"
    print(f"{space.name}: {_describe_size(space)} {what}")
    print("objectives: " + ", ".join(f"{o.direction} {o.name}" for o in space.objectives))
    print("constraints: " + (", ".join(c.name for c in space.constraints) or "none"))
    if space.hypothetical:
        print(NOTICES[space.hypothetical][0].lower() + NOTICES[space.hypothetical][1:])
    for future in space.futures:
        print(f"future {describe_future(future, tuple(job.name for job in space.jobs))}")
    decided = _print_holes(space, frozenset())
    for job in space.jobs:
        plain = space.space_of_job(job)
        print(f"tuned for {job.name} (weight {job.weight:.3g}), {_describe_size(plain)} designs:")
        _print_holes(plain, decided)


def _describe_size(space: Space) -> str:
    count = space.count()
    return "infinitely many" if math.isinf(count) else f"{count:,.0f}"


def _print_holes(space: Space, known: frozenset[str]) -> frozenset[str]:
    """Print the values that each hole takes, but those of `known`; the paths of all."""
    generator = np.random.default_rng(0)
    seen: dict[str, dict[str, None]] = {}
    for _ in range(300):
        filled = space.fill(RandomDraw(generator), solve=False)
        shares = {
            format_path(("cluster", "dimensions", i, "bandwidth")) for split in filled.solved for i in split.dimensions
        }
        for path, value in filled.params.items():
            seen.setdefault(path, {})["solved for each design" if path in shares else _as_written(value)] = None
    for path, values in seen.items():
        if path in known:
            continue
        shown = sorted(values, key=lambda text: (magnitude_of(text), text))[:_MOST_SHOWN]
        more = f", … ({len(values)} seen)" if len(values) > _MOST_SHOWN else ""
        print(f"  {path}: {', '.join(shown)}{more}")
    return frozenset(seen)


def _as_written(value: object) -> str:
    """A value as a document has it."""
    return {"None": "null", "True": "true", "False": "false"}.get(str(value), str(value))
