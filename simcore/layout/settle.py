"""A design with numbers in place of what it asks to be solved: layers of stages, and which layers recompute."""

from __future__ import annotations

from typing import Any

from simcore.design.design import Design
from simcore.design.once import once
from simcore.layout.solve import settled_parallelism
from simcore.workload.base import kind_of

_SOLVED = ("stages", "layers", "recompute", "recompute_modules")


@once
def _solved(design: Design) -> Design:
    return design.model_copy(update={"parallelism": settled_parallelism(design)})


def settle(design: Design) -> Design:
    """The checked design with the numbers that were solved for it; the same one where nothing is to be solved.

    What fits nowhere gets the stages that need least memory. Of several jobs, each says its own
    numbers, and other kinds of workload have nothing to solve (see `check`).
    """
    if design.jobs is not None or not design.parallelism.solves:
        return design
    return _solved(design) if kind_of(design.workload).jobs_by == "layers" else design


def solved_keys(settled: Design) -> dict[str, Any]:
    """The keys of `parallelism` that say which layers are where and which recompute, as a document has them."""
    section = settled.document()["parallelism"]
    return {key: section[key] for key in _SOLVED if key in section}
