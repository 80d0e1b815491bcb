"""What the model does not know for sure, and how wrong each number may be by where it comes from.

Errors are of logarithms: a spread of 0.1 is 10 % up or down with one standard deviation, 18 % in one of ten cases.
*Measured* spreads are errors of fits on what they had not seen (`docs/accuracy.md`), the others are *assumed*. The mean
of absolute errors is 0.8 standard deviations of a normal distribution.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log
from statistics import NormalDist
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from simcore.design.design import Design
from simcore.design.dimension import Dimension
from simcore.design.software import Software
from simcore.design.usual_library import is_usual
from simcore.document.field import NARROW
from simcore.document.ranges import Ends
from simcore.program import Category, Compute
from simcore.provenance import Evidence

Floats = NDArray[np.float64]
Basis = Literal["measured", "assumed"]
NINE_OF_TEN = NormalDist().inv_cdf(0.95)
"""Standard deviations from the middle to each end of what nine of ten normal draws lie in."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """A number of the model that may be wrong."""

    name: str
    """What it is, in words."""
    spread: float
    """Standard deviation of the logarithm of what it is in fact over what the model says."""
    basis: Basis
    source: str
    """What was measured, or what the assumption follows."""
    above: float | None = None
    """Standard deviation upwards, where it is another than downwards."""

    @property
    def up(self) -> float:
        """Standard deviation upwards."""
        return self.spread if self.above is None else self.above

    def errors(self, normal: Floats) -> Floats:
        """The error of its logarithm in standard normal draws."""
        if self.above is None:
            return self.spread * normal
        moved: Floats = np.where(normal < 0, self.spread, self.above) * normal
        return moved


@dataclass(frozen=True, slots=True)
class Unknown:
    """The error of a parameter of one thing: of one device, one product's shape, one stack, one kind of network."""

    parameter: Parameter
    of: str

    @property
    def name(self) -> str:
        """What identifies the error: designs with an error of the same name share it."""
        return f"{self.parameter.name}: {self.of}"


_PRODUCTS = {
    "iterations": Parameter("rate of matrix products", 0.03, "assumed", "iterations on the device decided its share"),
    "kernels": Parameter(
        "rate of matrix products", 0.10, "assumed", "kernels of the device were measured, no iterations"
    ),
    "generation": Parameter(
        "rate of matrix products", 0.15, "measured", "a device left out took 1.17 to 1.30 times as long"
    ),
    "data sheet": Parameter(
        "rate of matrix products", 0.22, "measured", "TPU v5p by its data sheet: 0.80 to 1.53 times as long"
    ),
}
_SHAPES = {
    "wide": Parameter("one shape of product in 16 bits", 0.105, "measured", "kernels left out: 6.4 to 9.6 %"),
    "narrow": Parameter("one shape of product in 8 or 4 bits", 0.15, "measured", "kernels left out: 10.9 to 12.7 %"),
    "none": Parameter("one shape of product", 0.20, "assumed", "no kernel of the generation was measured"),
}
_SMALL = Parameter(
    "where small products lose rate", 0.10, "assumed", "an exponent of their rate over that of an endless product"
)
_ATTENTION = {
    True: Parameter("rate of the stack's attention", 0.05, "assumed", "decided by its iterations"),
    False: Parameter("rate of the stack's attention", 0.20, "assumed", "no iterations of the stack were measured"),
}
_ATTENTION_SHAPE = Parameter("one shape of attention", 0.135, "measured", "kernels left out: 8.5 to 13.4 %")
_STREAMING = {
    True: Parameter("time of unfused passes over memory", 0.15, "assumed", "decided by the stack's iterations"),
    False: Parameter("time of unfused passes over memory", 0.65, "measured", "between seven stacks: 1.47 to 8.35"),
}
_LAUNCH = {
    True: Parameter("launch of an operator", 0.20, "assumed", "decided by the stack's iterations"),
    False: Parameter("launch of an operator", 0.80, "assumed", "between stacks: 2 to 86 us"),
}
_OPTIMIZER = Parameter("time of the optimizer", 0.15, "assumed", "a pass over memory")
_OVERLAP = {
    "node": Parameter("cost of overlap inside a node", 0.40, "assumed", "0.10, fitted with one stack"),
    "nodes": Parameter("cost of overlap between nodes", 0.40, "assumed", "0.19, fitted with one stack"),
}
_NETWORK = {
    "library": Parameter(
        "time of collectives inside a node", 0.11, "measured", "nccl-tests, sizes left out: 7 to 11 %"
    ),
    "links": Parameter("rate of links that no collective was measured on", 0.20, "assumed", "no library is known"),
    "pod": Parameter("rate between nodes", 0.15, "assumed", "0.37 to 0.74 of the NICs, by machine"),
    "routed": Parameter(
        "exchange of tokens with experts", 0.20, "measured", "DeepEP: 5 % in a node, 11 to 29 % of two"
    ),
    "flat": Parameter("rate of flat rings", 0.25, "assumed", "fitted to three rows"),
}
_LATENCY = Parameter("latency of a network", 0.35, "assumed", "half to twice as long in nineteen of twenty cases")
UNSAID: Ends = (0.7, 1.3)
"""Multiples of a price between which it lies in nine of ten cases, where its list says no range (*assumed*)."""
_DRAW = Parameter("mean draw of nodes", log(1.1) / NINE_OF_TEN, "assumed", "10 % in nine of ten cases (docs/power.md)")
_FAILURES = Parameter(
    "how often pieces fail",
    0.49,
    "measured",
    "four fleets at one size: 254, 259, 419 and 719 interruptions in 54 days (docs/reliability.md)",
)
_DETECTION = Parameter(
    "time until a failure is found",
    log(20.0) / NINE_OF_TEN,
    "assumed",
    "30 s with inspection to 30 min, beside time-outs of 10 min",
    log(3.0) / NINE_OF_TEN,
)
_LEAST_MULTIPLE = 0.01
"""Least multiple of a price that may be nothing at all."""
REST = Parameter(
    "what the model leaves out of a layout",
    0.4,
    "measured",
    "share of the spread of the interval: one number for all pairs of measured layouts of a job",
)
"""`spread` is here a share of the interval's spread, see `simcore.uncertainty.together`."""
LEVEL = Parameter("level of all designs of a stack on a device", 1.0, "measured", "the interval of a prediction")
OF_GENERATION = 0.75
"""Share of the level's variance that those devices of a generation have in common on which the stack was not fitted:
their kernels are those of one device, and so is what the stack does with them. Of eleven models that NVIDIA published
on two or more of B200, B300, GB200 and GB300 (Megatron-Bridge, 148 runs), the means of devices differ by 0.06 (dense)
and 0.13 (mixtures) in standard deviation, two fifths to a half of the level's spread."""


def price_error(what: str, of: str, ends: Ends) -> Unknown:
    """How wrong a price may be that lies between multiples of what the list says in nine of ten cases.

    `what` is the kind of thing, `of` the thing: who buys it shares its error, whatever each list says of its range.
    """
    low, high = (max(end, _LEAST_MULTIPLE) for end in ends)
    spread, above = -log(low) / NINE_OF_TEN, log(high) / NINE_OF_TEN
    source = "no range in the price list" if ends == UNSAID else "range of the price list"
    return Unknown(Parameter(f"price of {what}", spread, "assumed", source, above), of)


def draw_error(design: Design) -> Unknown:
    """How wrong the mean draw of a cluster of its NPUs may be."""
    return Unknown(_DRAW, design.cluster.npu.name)


def failure_error(design: Design) -> Unknown:
    """How much more often than said the pieces of clusters of its NPUs may fail."""
    return Unknown(_FAILURES, design.cluster.npu.name)


def detection_error() -> Unknown:
    """How much longer than said it may take to find a failure."""
    return Unknown(_DETECTION, "all designs")


def rate_parameter(found: Evidence) -> Parameter:
    """What the rate of a device's products is known by."""
    return _PRODUCTS["iterations" if found.iterations else found.device]


def product_errors(design: Design, found: Evidence, operator: Compute) -> tuple[Unknown, ...]:
    """What may be wrong with the rate of a matrix product: that of its device, that of its shape."""
    npu = design.cluster.npu
    wide = operator.kind == "core" or design.workload.precision not in NARROW
    precision = "bf16" if wide else design.workload.precision
    known = "none" if npu.curve is None else "wide" if wide else "narrow"
    of = f"{npu.name} {precision}"
    shape = operator.shape if operator.shape is not None else (operator.flops,)
    return (
        Unknown(rate_parameter(found), of),
        Unknown(_SHAPES[known], f"{of} {shape} {operator.flops:g}"),
    )


def small_products_error(design: Design) -> Unknown:
    """How much more, or less, a small product loses than the curve says."""
    return Unknown(_SMALL, design.cluster.npu.name)


def attention_errors(design: Design, found: Evidence, operator: Compute) -> tuple[Unknown, ...]:
    """What may be wrong with fused attention."""
    npu = design.cluster.npu
    return (
        Unknown(rate_parameter(found), f"{npu.name} bf16"),
        Unknown(_ATTENTION[found.software], design.software.name),
        Unknown(_ATTENTION_SHAPE, f"{npu.name} {operator.fused}"),
    )


def streaming_error(software: Software, found: Evidence, operator: Compute) -> Unknown:
    """What may be wrong with an operator that only moves its bytes."""
    if operator.category == Category.OPTIMIZER:
        return Unknown(_OPTIMIZER, software.name)
    return Unknown(_STREAMING[found.software], software.name)


def launch_error(software: Software, found: Evidence) -> Unknown:
    """What may be wrong with the least time from one operator to the next."""
    return Unknown(_LAUNCH[found.software], software.name)


def overlap_error(dimension: Dimension) -> Unknown:
    """What may be wrong with the cost of a collective to the computation beside it."""
    return Unknown(_OVERLAP["nodes" if dimension.tier == "pod" else "node"], "all stacks")


def service_errors(design: Design, dimension: Dimension, kind: str, flat: bool, routed: bool) -> tuple[Unknown, ...]:
    """What may be wrong with the time for which a phase of a kind occupies its dimension."""
    extra = _transport_errors(design, dimension)
    if flat:
        return (*extra, Unknown(_NETWORK["flat"], design.software.name))
    place = f"{dimension.tier} {dimension.topology}"
    if routed:
        extra = (*extra, Unknown(_NETWORK["routed"], place))
    if dimension.tier == "pod":
        return (*extra, Unknown(_NETWORK["pod"], place))
    if routed:
        return extra
    library = design.library_of(dimension)
    if library is None or is_usual(library) or not library.adds:
        return (*extra, Unknown(_NETWORK["links"], place))
    return (*extra, Unknown(_NETWORK["library"], f"{library.name} {kind}"))


def _transport_errors(design: Design, dimension: Dimension) -> tuple[Unknown, ...]:
    """What may be wrong with the share of the rate that a congestion control lets collectives reach."""
    transport = design.cluster.transport
    if transport is None or dimension is not design.cluster.dimensions[-1] or transport.efficiency is not None:
        return ()
    point, low, high = transport.reached
    down, up = log(high / point) / NINE_OF_TEN, log(point / low) / NINE_OF_TEN
    what, source = "share of the rate under a congestion control", "collectives played packet by packet"
    return (Unknown(Parameter(what, down, "measured", source, up), transport.control),)


def latency_error(dimension: Dimension) -> Unknown:
    """What may be wrong with the latency of a dimension."""
    return Unknown(_LATENCY, dimension.tier)
