"""What a library of collectives does not have: algorithms, ways through several dimensions, kernels that give way.

A search goes where the model flatters. An algorithm of fewer steps, or a hierarchy, would win where the library that
runs there cannot do it. So a dimension that names a library with a list of algorithms takes one of these, its chunks
visit dimensions in order, and a kernel that has begun runs to its end, unless the design says that it is hypothetical.
"""

from __future__ import annotations

from collections.abc import Iterator

from simcore.design.design import Design
from simcore.design.dimension import Dimension
from simcore.document.problem import Path, Problem
from simcore.policy.intra_dimension import INTRA_DIMENSION

RULE = "algorithms of a library"
"""The rule that is broken by what a library does not have."""
_FIX = "leave it out, or say 'hypothetical: true'"


def lacked_by_libraries(design: Design) -> Iterator[Problem]:
    """What a design asks of libraries that do not have it, whether or not it is hypothetical."""
    dimensions, scheduled = design.cluster.dimensions, design.system.inter_dimension
    names = []
    for number, dimension in enumerate(dimensions):
        if (library := dimension.library) is None or not library.algorithms:
            continue
        names.append(library.name or "its library")
        own = ("direct",) if design.has_kernel_on(dimension) else ()
        if (name := design.algorithms[number]) not in (*library.algorithms, *own):
            expected = f"an algorithm of {names[-1]} ({', '.join(library.algorithms)})"
            yield Problem(_path_of(dimension, number), expected, f"'{name}'", _FIX, rule=RULE)
    if names and len(dimensions) > 1 and scheduled != "baseline":
        expected = f"baseline with {names[0]}, whose collectives visit dimensions in order"
        yield Problem(("system", "inter_dimension"), expected, f"'{scheduled}'", _FIX, rule=RULE)
    elif names and (turning := design.cluster.at_once):
        expected = f"false with {names[0]}, whose collectives visit dimensions in order"
        yield Problem(("cluster", "dimensions", turning[0], "at_once"), expected, "true", _FIX, rule=RULE)
    if names and INTRA_DIMENSION[policy := design.system.intra_dimension].by_steps:
        expected = f"an order of whole chunks with {names[0]}, whose kernels run to their end"
        yield Problem(("system", "intra_dimension"), expected, f"'{policy}'", _FIX, rule=RULE)


def _path_of(dimension: Dimension, number: int) -> Path:
    return ("cluster", "dimensions", number, "collective") if dimension.collective else ("system", "collective", number)
