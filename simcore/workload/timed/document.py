"""Layers with times that were measured, or taken from a paper, and what they send: ASTRA-sim's text workloads natively.

A row has three passes: forward, the gradient of its input, the gradient of its weights. Each takes a time
and may end in a collective. All are of one NPU: sizes are those of its own buffers, times those of its share
of the batch. So a table holds for the NPU and the degrees that the section names, and for no others.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, NamedTuple, Self

from pydantic import BeforeValidator, Field, PlainSerializer, model_validator

from simcore.design.workload import GivenWorkload
from simcore.document.field import Count, Frozen, Name
from simcore.document.problem import Refusal
from simcore.document.quantity import Size, Time

Duration = Annotated[Time, Field(ge=0)]
Sent = Literal["all_reduce", "all_gather", "reduce_scatter", "all_to_all"]
Buffer = Annotated[Size, Field(gt=0)]
Over = Literal["tensor", "data"]

MOST_ROWS = 10_000
"""Rows of a table."""
PASSES = ("forward", "input_gradient", "weight_gradient")


class Pass(NamedTuple):
    """A pass of a row: its time [s], and the collective that follows it; no collective where `size` is 0."""

    seconds: float
    kind: str
    size: float
    over: Over


class TimedLayer(Frozen):
    """One row of a table, of an NPU."""

    name: Name = ""
    repeat: Count = 1
    """Rows like this one in a row."""
    forward: Duration = 0.0
    """Time of the forward pass [s]."""
    forward_collective: Sent | None = None
    """The collective that follows the forward pass."""
    forward_size: Buffer | None = None
    """Its full buffer [B]; of an all-gather each NPU's share."""
    forward_over: Over = "tensor"
    """The group that it is over."""
    input_gradient: Duration = 0.0
    """Time of the gradient of the input [s]."""
    input_gradient_collective: Sent | None = None
    """The collective that follows the gradient of the input."""
    input_gradient_size: Buffer | None = None
    """As `forward_size`."""
    input_gradient_over: Over = "tensor"
    """The group that it is over."""
    weight_gradient: Duration = 0.0
    """Time of the gradient of the weights [s]."""
    weight_gradient_collective: Sent | None = None
    """What follows it, beside the passes of the rows before this one (`parallelism.data_overlap`)."""
    weight_gradient_size: Buffer | None = None
    """As `forward_size`."""
    weight_gradient_over: Over = "data"
    """The group that it is over."""

    @model_validator(mode="after")
    def _complete(self) -> Self:
        for name in PASSES:
            kind, size = getattr(self, f"{name}_collective"), getattr(self, f"{name}_size")
            if (kind is None) != (size is None):
                found = f"'{name}_collective' alone" if size is None else f"'{name}_size' alone"
                row = f" in row '{self.name}'" if self.name else ""
                raise Refusal(f"a collective with its size, or neither{row}", found, "add the other, or drop it")
        return self

    @property
    def passes(self) -> tuple[Pass, Pass, Pass]:
        """Forward, gradient of the input, gradient of the weights."""
        first, second, third = (
            Pass(
                getattr(self, name),
                getattr(self, f"{name}_collective") or "",
                getattr(self, f"{name}_size") or 0.0,
                getattr(self, f"{name}_over"),
            )
            for name in PASSES
        )
        return first, second, third


def _read(value: Any) -> Any:
    if isinstance(value, str):
        raise Refusal("rows", f"the file '{value}'", "a file is read only for a design that is one")
    return value


def _written(value: tuple[TimedLayer, ...]) -> Any:
    return [layer.model_dump(mode="json", exclude_defaults=True) for layer in value]


class TimedWorkload(GivenWorkload):
    """One iteration of layers whose times are known."""

    timed_layers: Annotated[
        tuple[TimedLayer, ...],
        Field(min_length=1, max_length=MOST_ROWS),
        BeforeValidator(_read),
        PlainSerializer(_written),
    ]
    """The rows in the order of the forward pass, or a `.csv` or `.yaml` file of them."""
    tensor: Count
    """The tensor-parallel degree that times and sizes are of; a design must have it."""
    data: Count
    """The data-parallel degree, likewise."""
    recorded_on: str
    """The NPU that the times are of; the design must have it."""
