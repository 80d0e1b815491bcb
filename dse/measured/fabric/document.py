"""A fabric as a document: read as the base of a fit, written as its result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from dse.measured.fabric.fit import DimensionFit
from simcore import catalog
from simcore.design.dimension import Dimension
from simcore.design.include import fabric_problems
from simcore.design.nics import shared_nics
from simcore.document.problem import InputError, Problem, suggest_nearest
from simcore.document.text import read_document

MOST_NAMED = 4
"""Logs that a source names."""


def read_fabric(text: str) -> dict[str, Any]:
    """A fabric of the catalogue, or that of a YAML file.

    Raises `InputError` where there is no such fabric, or the file describes none.
    """
    known = catalog.section("fabrics")
    if text.lower() in known:
        return known[text.lower()]
    path = Path(text)
    if path.suffix not in (".yaml", ".yml"):
        fix = suggest_nearest(text, known, "fabrics")
        raise InputError([Problem((), "a fabric of the catalogue, or a .yaml file with one", f"'{text}'", fix)], text)
    document = read_document(path)
    data: dict[str, Any] = document.data
    if problems := fabric_problems(document.data):
        raise InputError([replace(problem, line=document.line(problem.path)) for problem in problems], text)
    return data


def fabric_levels(fabric: dict[str, Any], nodes: int) -> list[Dimension]:
    """The dimensions of a node and between nodes, the latter with `nodes` of them.

    Raises `InputError` for a fabric that is no node with a network between nodes.
    """
    dimensions = fabric["dimensions"]
    if len(dimensions) > 2 or "sizes" in fabric or not isinstance(dimensions[0].get("size"), int):
        expected = "a fabric of a node, with its size, and at most one dimension between nodes"
        raise InputError([Problem(("--base",), expected, f"{len(dimensions)} dimensions")], "command line")
    return [Dimension.model_validate(d) for d in shared_nics([{"size": nodes, **d} for d in dimensions])]


def fabric_document(base: dict[str, Any], fits: Sequence[DimensionFit], logs: Sequence[str]) -> dict[str, Any]:
    """The base with what was fitted in its place, and its source."""
    dimensions = [dict(dimension) for dimension in base["dimensions"]]
    said = []
    for fit in fits:
        between = fit.rows[0].nodes > 1
        written = fit.dimension.model_dump(mode="json", exclude_none=True)
        own = dimensions[between]
        own |= {"latency": written["latency"], "efficiency": written["efficiency"], "library": written["library"]}
        if not between:
            del own["efficiency"]  # the links' rate is the data sheet's; what is missing of it the library takes
        said.append(_source(fit, "between nodes" if between else "node"))
    named = f"; the rest as {base['name']}" if base.get("name") else ""
    return {"dimensions": dimensions, "source": f"{'; '.join(said)}; from {_name_logs(logs)}{named}"}


def _name_logs(logs: Sequence[str]) -> str:
    return (
        ", ".join(logs)
        if len(logs) <= MOST_NAMED
        else f"{', '.join(logs[:MOST_NAMED])} and {len(logs) - MOST_NAMED} more"
    )


def _source(fit: DimensionFit, where: str) -> str:
    kinds = ", ".join(dict.fromkeys(row.kind for row in fit.rows))
    npus = ", ".join(str(npus) for npus in sorted({row.npus for row in fit.rows}))
    return f"{where}: fitted to {len(fit.rows)} times of {kinds} on {npus} GPUs"
