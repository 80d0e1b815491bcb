"""One design on fewer and on more NPUs: data parallel and the outermost dimensions grow or shrink, all else stays.

*Weak*: the global batch goes with the NPUs. *Strong*: it stays. Bandwidths, latencies and prices per NPU stay too.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from simcore.check.load import design_from
from simcore.design.design import Design
from simcore.design.jobs import lone_job
from simcore.document.problem import InputError, Problem
from simcore.engine.registry import engine_named
from simcore.simulate import simulate

FACTORS = tuple(Fraction(2) ** power for power in range(-2, 5))
"""Factors on the number of NPUs."""
Mode = Literal["weak", "strong"]


@dataclass(frozen=True, slots=True)
class AtSize:
    """A design on another number of NPUs."""

    npus: int
    batch: int
    seconds: float | None
    """Time of an iteration [s]; None where it cannot run."""
    rate: float | None
    """Sequences, samples or requests in a second, of one NPU."""
    why: str
    """Why it cannot run; empty where it can."""
    fits: bool = True


def scale_design(
    document: Mapping[str, Any], mode: Mode, npus: Sequence[int] = (), engine: str = "auto"
) -> tuple[AtSize, ...]:
    """The design at `npus` NPUs each (else at `FACTORS` of its own), in ascending order.

    Raises `InputError` where it has no batch, or several jobs, or where a number of NPUs is not one that its other
    degrees can share.
    """
    design = lone_job(design_from(document))
    own, batch = design.cluster.npus, getattr(design.workload, "global_batch", None)
    if not isinstance(batch, int):
        raise InputError([Problem(("workload",), "a workload with a global batch to scale", "one without any")])
    factors = [Fraction(count, own) for count in npus] or list(FACTORS)
    return tuple(_at_size(design, batch, factor, mode, engine) for factor in sorted(set(factors)))


def _at_size(design: Design, batch: int, factor: Fraction, mode: Mode, engine: str) -> AtSize:
    npus, scaled = design.cluster.npus * factor, batch * factor if mode == "weak" else Fraction(batch)
    size = AtSize(round(npus), round(scaled), None, None, "")
    try:
        other = design_from(_grown(design, factor, scaled))
    except InputError as error:
        return _refused(size, error.problems[0])
    result = simulate(other, engine_named(engine))
    rate = size.batch / result.iteration_time_s / size.npus
    return AtSize(size.npus, size.batch, result.iteration_time_s, rate, "", result.fits is not False)


def _refused(size: AtSize, problem: Problem) -> AtSize:
    return AtSize(size.npus, size.batch, None, None, f"{problem.expected}, found {problem.found}")


def _grown(design: Design, factor: Fraction, batch: Fraction) -> dict[str, Any]:
    """The document of a design on `factor` times its NPUs.

    Raises `InputError` where a degree, a dimension or the batch would be no whole number.
    """
    data = design.data * factor
    problems = [
        Problem(path, "a whole number", f"{float(value):g}")
        for path, value in ((("parallelism", "data"), data), (("workload", "global_batch"), batch))
        if value.denominator != 1
    ]
    if problems:
        raise InputError(problems)
    document: dict[str, Any] = copy.deepcopy(dict(design.document()))
    document["parallelism"]["data"], document["workload"]["global_batch"] = int(data), int(batch)
    if design.microbatch == design.workload.usual_microbatch(design.data, design.parallelism.pipeline):
        del document["parallelism"]["microbatch"]  # that of the kind of workload on so many NPUs
    _resize(document, factor)
    return document


def _resize(document: dict[str, Any], factor: Fraction) -> None:
    """Let the outermost dimension take the factor; where it is too small to shrink so far, the next one too.

    A dimension of which one NPU is left goes. Raises `InputError` where a size would be no whole number.
    """
    dimensions = document["cluster"]["dimensions"]
    while factor != 1:
        size = dimensions[-1]["size"] * factor
        if size > 1 and size.denominator == 1:
            dimensions[-1]["size"] = int(size)
            return
        if size > 1 or len(dimensions) == 1:
            found = f"{float(size):g}"
            raise InputError([Problem(("cluster", "dimensions", len(dimensions) - 1, "size"), "a whole number", found)])
        factor *= dimensions.pop()["size"]
        if isinstance(document["system"].get("collective"), list):
            document["system"]["collective"].pop()
