"""A network's dimensions fitted to measured collectives: first inside a node, then between nodes.

Inside a node the time has a closed form (`simcore.design.library`), and its few numbers are fitted: a step's latency,
the launch of the ring's kernels and of the all-to-all's, one `piece` for all, and for each kind the rate of its passes
over memory. Links keep the rate of the data sheet. A switch that reduces shows in the largest all-reduces of whole
nodes, which have a rate of their own then. Between nodes the simulator itself plays the collectives over the
node that was found, and a launch, a `piece` and the share of the NICs' rate are fitted.

Residuals are logarithms of predicted over measured times, since sizes span six decades; one beyond `SCALE` pulls with
constant force (soft L1): tables of nccl-tests hold lines that were late. To say how good the fit is, every `FOLDS`-th
size is left out in turn and predicted from the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dse.measured.fabric.logs import MeasuredCollective
from simcore.check.load import design_from
from simcore.design.dimension import Dimension
from simcore.design.library import Library, LibraryKernel
from simcore.network import Slice
from simcore.simulate import simulate
from simcore.system.chunks import block_of
from simcore.system.phase_cost import phase_cost

Floats = NDArray[np.float64]
Rows = Sequence[MeasuredCollective]
Values = Mapping[str, float]

SCALE = 0.1
"""Residual from which on a row pulls with constant force."""
FOLDS = 6
"""Parts in which sizes are left out."""
LARGE = 16 << 20
"""Size from which a library lets a switch reduce, where it can [B]."""
REDUCES = 1.5
"""A whole node whose memory rate is more than so many times that of smaller groups is said to reduce in its switch."""

_RING = ("all_reduce", "reduce_scatter", "all_gather")
_KINDS = (*_RING, "all_to_all")
_BETWEEN = ("launch", "piece", "efficiency")
_WHOLE = "whole_memory:all_reduce"
_RANGES = {
    "latency": (1e-8, 1e-6, 1e-3),
    "launch": (1e-8, 8e-6, 1e-2),
    "launch_sends": (1e-8, 8e-6, 1e-2),
    "piece": (1e-9, 3e-6, 1e-2),
    "efficiency": (0.01, 0.75, 1.0),
    "memory": (1e9, 1e12, 2e13),
    "whole_memory": (1e9, 1e12, 2e13),
}
"""Least value, start and largest value of each number, SI. A memory of 20 TB/s is never waited for."""


@dataclass(frozen=True)
class DimensionFit:
    """What was fitted to one dimension, and how near it comes."""

    dimension: Dimension
    rows: list[MeasuredCollective]
    predicted: Floats
    """Predicted time of each row [s]."""
    left_out: Floats
    """The same by fits that had not seen a row's size [s]."""

    def errors(self, times: Floats) -> Floats:
        """Logarithms of `times` over the measured ones."""
        found: Floats = np.log(times / _measured(self.rows))
        return found


def fit_fabric(rows: Rows, dimensions: Sequence[Dimension]) -> list[DimensionFit]:
    """The dimension of a node and that between nodes, as far as there are rows of them.

    `dimensions` are where to begin, the node's first. What rows do not determine stays as it is there.
    """
    node, between = ([row for row in rows if (row.nodes > 1) is many] for many in (False, True))
    inside, fits = dimensions[0], []
    if node:
        fits.append(_fit(node, _node_way(node, inside)))
        inside = fits[0].dimension
    if between:
        fits.append(_fit(between, _between_way(between, inside, dimensions[1])))
    return fits


def count_numbers(rows: Rows) -> int:
    """How many numbers are fitted to rows inside a node, or to rows between nodes."""
    return len(_BETWEEN if rows[0].nodes > 1 else _node_names(rows))


def times_in_node(dimension: Dimension, rows: Rows) -> Floats:
    """Times of collectives among NPUs of one node, by the closed form [s]."""
    return np.array([_time_in_node(dimension, row) for row in rows])


def _time_in_node(dimension: Dimension, row: MeasuredCollective) -> float:
    part = Slice(dimension.size, row.npus, 1)
    cost = phase_cost("ring", block_of(dimension), row.kind, part, dimension.in_network)
    links = cost.load * row.size / dimension.bandwidth
    time = cost.hops * dimension.latency
    kernel = dimension.library and dimension.library.kernel(row.kind, row.npus == dimension.size)
    return time + (kernel.launch + kernel.seconds(links, row.size, 1) if kernel else links)


def times_between(dimensions: Sequence[Dimension], rows: Rows) -> Floats:
    """Times of collectives among NPUs of several nodes, played by the simulator [s]."""
    return np.array([_time_between(dimensions, row) for row in rows])


def _time_between(dimensions: Sequence[Dimension], row: MeasuredCollective) -> float:
    sizes = (row.npus // row.nodes, row.nodes)
    network = [
        {**dimension.model_dump(mode="json", exclude_none=True), "size": size}
        for dimension, size in zip(dimensions, sizes, strict=True)
        if size > 1
    ]
    size = row.size / row.npus if row.kind == "all_gather" else row.size
    workload = {"collective": row.kind, "size": f"{size} B"}
    design = design_from({"workload": workload, "cluster": {"npu": "a100-80gb", "dimensions": network}})
    return simulate(design).iteration_time_s


class _Way(NamedTuple):
    """How a dimension follows from rows, and times from a dimension."""

    names: tuple[str, ...]
    """The numbers that rows determine."""
    solve: Callable[[Rows], Dimension]
    times: Callable[[Dimension, Rows], Floats]


def _node_way(rows: Rows, given: Dimension) -> _Way:
    names = _node_names(rows)

    def solve(rows: Rows) -> Dimension:
        values = _solve(rows, names, lambda values: times_in_node(_make_node(values, given), rows))
        large = [row for row in rows if (row.kind, row.npus) == ("all_reduce", given.size) and row.size >= LARGE]
        if large and len({row.npus for row in rows if row.kind == "all_reduce"}) > 1:

            def times(own: Values) -> Floats:
                return times_in_node(_make_node({**values, **own}, given), large)

            whole = _solve(large, [_WHOLE], times)
            if whole[_WHOLE] > REDUCES * values["memory:all_reduce"]:
                values |= whole
        return _make_node(_rounded(values), given)

    return _Way(names, solve, times_in_node)


def _node_names(rows: Rows) -> tuple[str, ...]:
    kinds = [kind for kind in _KINDS if any(row.kind == kind for row in rows)]
    names = [f"memory:{kind}" for kind in kinds]
    if any(kind in _RING for kind in kinds):
        names.append("launch")
    if "all_to_all" in kinds:
        names.append("launch_sends")
    if len({(row.kind == "all_reduce", row.npus) for row in rows if row.kind in _RING}) > 1:
        names.append("latency")  # else a step's latency and a launch are one number
    return (*names, "piece")


def _make_node(values: Values, given: Dimension) -> Dimension:
    kernels: dict[str, Any] = {"name": "", "algorithm": "ring", "source": ""}
    for kind in _KINDS:
        if f"memory:{kind}" in values:
            kernels[kind] = LibraryKernel().model_copy(
                update={
                    "launch": values["launch_sends" if kind == "all_to_all" else "launch"],
                    "memory": values[f"memory:{kind}"],
                    "piece": values["piece"],
                    "whole_memory": values.get(_WHOLE) if kind == "all_reduce" else None,
                }
            )
    library = (given.library or Library()).model_copy(update=kernels)
    changes: dict[str, Any] = {"library": library, "efficiency": 1.0, "latency": values.get("latency", given.latency)}
    return given.model_copy(update=changes)


def _between_way(rows: Rows, inside: Dimension, given: Dimension) -> _Way:
    kinds = [kind for kind in _KINDS if any(row.kind == kind for row in rows)]

    def make(values: Values) -> Dimension:
        kernel = LibraryKernel().model_copy(update={"launch": values["launch"], "piece": values["piece"]})
        known = (given.library or Library()).model_copy(update={"name": "", "source": ""})
        library = known.model_copy(update=dict.fromkeys(kinds, kernel))
        return given.model_copy(update={"library": library, "efficiency": values["efficiency"]})

    def times(dimension: Dimension, rows: Rows) -> Floats:
        return times_between((inside, dimension), rows)

    def solve(rows: Rows) -> Dimension:
        return make(_rounded(_solve(rows, _BETWEEN, lambda values: times(make(values), rows))))

    return _Way(_BETWEEN, solve, times)


def _fit(rows: list[MeasuredCollective], way: _Way) -> DimensionFit:
    found = way.solve(rows)
    left_out = np.full(len(rows), np.nan)
    sizes = sorted({row.size for row in rows})
    for fold in range(min(FOLDS, len(sizes))):
        out = set(sizes[fold::FOLDS])
        seen = [row for row in rows if row.size not in out]
        held = [number for number, row in enumerate(rows) if row.size in out]
        if len(seen) >= len(way.names):
            left_out[held] = way.times(way.solve(seen), [rows[number] for number in held])
    return DimensionFit(found, rows, way.times(found, rows), left_out)


def _rounded(values: Values) -> dict[str, float]:
    """Three digits: more are not known."""
    return {name: float(f"{value:.3g}") for name, value in values.items()}


def _solve(rows: Rows, names: Sequence[str], times: Callable[[Values], Floats]) -> dict[str, float]:
    """The numbers with which the times of rows come nearest to the measured ones."""
    from scipy.optimize import least_squares

    measured = _measured(rows)

    def values(x: Floats) -> dict[str, float]:
        return {name: float(value) for name, value in zip(names, np.exp(x), strict=True)}

    def residuals(x: Floats) -> Floats:
        found: Floats = np.log(times(values(x)) / measured)
        return found

    ranges = np.log([_RANGES[name.split(":")[0]] for name in names])
    low, first, high = ranges.T
    solved = least_squares(residuals, first, bounds=(low, high), loss="soft_l1", f_scale=SCALE, diff_step=[1e-4])
    return values(solved.x)


def _measured(rows: Rows) -> Floats:
    return np.array([row.seconds for row in rows])
