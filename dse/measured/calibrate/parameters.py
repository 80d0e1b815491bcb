"""The few numbers that measured iterations decide: of the device, and of the software that ran on it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from pydantic import BaseModel

from simcore.design.design import Design

Values = Mapping[str, float]
"""Numbers by the name of their parameter."""


class Parameter(NamedTuple):
    """A number of a device or of a software stack: its path, the range it may take, and what it means."""

    of: Literal["device", "software"]
    path: tuple[str, ...]
    least: float
    most: float
    meaning: str


PARAMETERS = {
    "sustained": Parameter("device", ("sustained",), 0.3, 1.0, "share of the peak that the power limit sustains"),
    "memory": Parameter(
        "device", ("curve", "memory"), 0.1, 1.0, "share of the memory bandwidth that streaming operators reach"
    ),
    "attention": Parameter(
        "device", ("curve", "attention", "limit"), 0.1, 1.0, "share of the peak that fused attention reaches"
    ),
    "backward": Parameter(
        "device",
        ("curve", "attention", "backward"),
        0.1,
        1.0,
        "share of the forward rate that attention's backward pass reaches",
    ),
    "kernel": Parameter("device", ("curve", "kernel"), 1e-7, 2e-5, "time of a streaming kernel beyond its bytes [s]"),
    **{
        f"launch.{way}": Parameter("software", ("launch", way), 1e-7, 3e-4, f"least time of an operator, {way} [s]")
        for way in ("eager", "compiled", "graph")
    },
    "flash": Parameter("software", ("attention",), 0.1, 1.0, "rate of the stack's fused attention over the curve's"),
    "flat_rate": Parameter("software", ("flat_rate",), 0.05, 1.0, "share of a flat ring's rate that is reached"),
    "elementwise": Parameter(
        "software", ("elementwise",), 1.0, 10.0, "bytes of norms, activations and residuals over those of one kernel"
    ),
    "overlap.node": Parameter(
        "software", ("overlap", "node"), 1e-3, 2.0, "extra time of computation beside collectives inside a node"
    ),
    "overlap.nodes": Parameter(
        "software", ("overlap", "nodes"), 1e-3, 2.0, "extra time of computation beside collectives between nodes"
    ),
}


def read_parameter(design: Design, name: str) -> float:
    """The value of a parameter in a design."""
    parameter = PARAMETERS[name]
    value: Any = _section(design, parameter)
    for key in parameter.path:
        value = getattr(value, key)
    return float(value)


def with_values(design: Design, values: Values) -> Design:
    """The design with some parameters changed."""
    npu, software = design.cluster.npu, design.software
    for name, value in values.items():
        parameter = PARAMETERS[name]
        if parameter.of == "device":
            npu = put(npu, parameter.path, value)
        else:
            software = put(software, parameter.path, value)
    cluster = design.cluster.model_copy(update={"npu": npu})
    return design.model_copy(update={"cluster": cluster, "software": software})


def put(section: Any, path: tuple[str, ...], value: float) -> Any:
    """A section, a frozen one, with the number at `path` changed."""
    key, *inner = path
    assert isinstance(section, BaseModel)
    return section.model_copy(update={key: put(getattr(section, key), tuple(inner), value) if inner else value})


def _section(design: Design, parameter: Parameter) -> Any:
    return design.cluster.npu if parameter.of == "device" else design.software
