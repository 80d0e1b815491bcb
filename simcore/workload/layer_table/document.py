"""A model as a table of its layers: matrix products, convolutions, and operators that only move memory.

All sizes are per sample; the batch multiplies the rows of a product. Rows follow one another: each takes what the row
before it gives, and a row of kind `block` repeats the rows inside it. A branch (the shortcut of a residual block, say)
is written as rows of its own in between.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, PlainSerializer, model_validator

from simcore.catalog.preset import preset, preset_name
from simcore.design.workload import Workload
from simcore.document.field import OF_SOFTWARE, Count, Flag, Frozen, Name, Natural, Precision
from simcore.document.problem import Refusal
from simcore.document.quantity import Size

Amount = Annotated[float, Field(ge=0)]
Kernel = Count | Annotated[tuple[Count, Count], Field(min_length=2)]

MOST_ROWS = 10_000
"""Rows of a table, with its blocks repeated."""

_NEEDED = {
    "gemm": ("m", "n", "k"),
    "conv": ("height", "width", "channels", "filters", "kernel"),
    "memory": (),
    "block": ("layers", "repeat"),
}
_COMMON = ("name", "kind", "parameters", "activations", "output", "times", "repeat")
_ALLOWED = {
    "gemm": (*_COMMON, "m", "n", "k", "batch", "bias"),
    "conv": (*_COMMON, "height", "width", "channels", "filters", "kernel", "stride", "groups", "padding", "bias"),
    "memory": (*_COMMON, "bytes", "elements"),
    "block": ("name", "kind", "layers", "repeat"),
}


class Layer(Frozen):
    """One row of a table; see `docs/workloads.md` for what each kind needs."""

    name: Name = ""
    kind: Literal["gemm", "conv", "memory", "block"] = "gemm"
    """A matrix product, a convolution, an operator that moves memory, or rows that repeat together."""
    m: Count | None = None
    """Rows of the product per sample."""
    n: Count | None = None
    """Columns of the product."""
    k: Count | None = None
    """Numbers that each of its sums adds."""
    batch: Count | None = None
    """Products of this shape side by side, per sample [1]."""
    height: Count | None = None
    """Height of the input."""
    width: Count | None = None
    """Width of the input."""
    channels: Count | None = None
    """Channels of the input."""
    filters: Count | None = None
    """Channels of the output."""
    kernel: Kernel | None = None
    """Height and width of the kernel, one number or two."""
    stride: Count | None = None
    """Step of the kernel, 1 unless given."""
    groups: Count | None = None
    """Groups of channels that are convolved by themselves, 1 unless given."""
    padding: Natural | None = None
    """At each edge; without it the output is input / stride, rounded up."""
    bias: Flag | None = None
    """A number is added to each output."""
    bytes: Annotated[Size, Field(ge=0)] | None = None
    """What the operator reads and writes per sample [B]."""
    elements: Amount | None = None
    """What it reads and writes per sample, in numbers of the workload's precision; instead of `bytes`."""
    parameters: Amount | None = None
    """Trained numbers; of a product those of its second matrix (and its bias) unless given."""
    activations: Amount | None = None
    """Numbers kept for the backward pass per sample; of a product its input unless given, of `memory` none."""
    output: Amount | None = None
    """Numbers handed to the next row per sample; of `memory` those that it got, unless given."""
    times: Count = 1
    """Applications one after the other with the same parameters (steps of a recurrent layer)."""
    repeat: Count = 1
    """Rows like this one in a row, each with its own parameters."""
    layers: tuple[Layer, ...] | None = None
    """Rows of a block."""

    @model_validator(mode="after")
    def _complete(self) -> Self:
        given = [
            key for key in type(self).model_fields if key in self.model_fields_set and getattr(self, key) is not None
        ]
        missing = [key for key in _NEEDED[self.kind] if key not in given]
        row = f"row '{self.name}' of kind {self.kind}" if self.name else f"a row of kind {self.kind}"
        if missing:
            columns = ", ".join(f"'{key}'" for key in missing)
            raise Refusal(f"{columns} in {row}", "nothing", "add it, a whole number above 0")
        foreign = [key for key in given if key not in _ALLOWED[self.kind]]
        if foreign:
            allowed = ", ".join(_ALLOWED[self.kind])
            raise Refusal(f"the columns of kind {self.kind} ({allowed})", f"'{foreign[0]}'", "leave it out")
        if self.kind == "memory" and (self.bytes is None) == (self.elements is None):
            raise Refusal(f"either 'bytes' or 'elements' in {row}", "both" if self.bytes else "none")
        if self.kind == "conv" and (self.channels or 0) % (self.groups or 1) + (self.filters or 0) % (self.groups or 1):
            found = f"{self.channels} and {self.filters} in {self.groups} groups"
            raise Refusal(f"groups that divide channels and filters in {row}", found)
        if self.kind == "conv" and min(self.output_height, self.output_width) < 1:
            raise Refusal(f"a kernel that fits the padded input in {row}", "no output")
        return self

    @property
    def kernel_height(self) -> int:
        """Height of a convolution's kernel."""
        assert self.kernel is not None
        return self.kernel if isinstance(self.kernel, int) else self.kernel[0]

    @property
    def kernel_width(self) -> int:
        """Width of a convolution's kernel."""
        assert self.kernel is not None
        return self.kernel if isinstance(self.kernel, int) else self.kernel[1]

    @property
    def output_height(self) -> int:
        """Height of a convolution's output."""
        assert self.height is not None
        return _convolved(self.height, self.kernel_height, self.stride or 1, self.padding)

    @property
    def output_width(self) -> int:
        """Width of a convolution's output."""
        assert self.width is not None
        return _convolved(self.width, self.kernel_width, self.stride or 1, self.padding)


def _convolved(size: int, kernel: int, stride: int, padding: int | None) -> int:
    return -(-size // stride) if padding is None else (size + 2 * padding - kernel) // stride + 1


class LayerTable(Frozen):
    """A model as its layers."""

    name: Name = ""
    layers: Annotated[tuple[Layer, ...], Field(min_length=1)]
    """The rows, or a file of them."""
    source: str = ""

    @model_validator(mode="after")
    def _bounded(self) -> Self:
        if (rows := _count(self.layers)) > MOST_ROWS:
            raise Refusal(f"at most {MOST_ROWS:,} rows with their repeats", f"{rows:,}")
        return self

    def rows(self) -> Iterator[Layer]:
        """Every row in order, blocks and repeats spelled out."""
        return _spelled(self.layers)


def _count(layers: tuple[Layer, ...]) -> int:
    return sum(layer.repeat * (1 if layer.layers is None else _count(layer.layers)) for layer in layers)


def _spelled(layers: tuple[Layer, ...]) -> Iterator[Layer]:
    for layer in layers:
        for _ in range(layer.repeat):
            if layer.layers is None:
                yield layer
            else:
                yield from _spelled(layer.layers)


def _read(value: Any) -> Any:
    if isinstance(value, str):
        if value.endswith((".csv", ".yaml", ".yml")):
            raise Refusal("rows", f"the file '{value}'", "a file is read only for a design that is one")
        return preset(LayerTable, "networks", value)
    return {"layers": value} if isinstance(value, list | tuple) else value


def _written(value: LayerTable) -> Any:
    name = preset_name(value, "networks")
    rows = [layer.model_dump(mode="json", exclude_defaults=True) for layer in value.layers]
    return name or ({"name": value.name, "layers": rows} if value.name else rows)


NamedTable = Annotated[LayerTable, BeforeValidator(_read), PlainSerializer(_written)]


class LayerWorkload(Workload):
    """One training iteration of a model that is a table of layers."""

    layers: NamedTable
    """A name of the catalogue (`model: NAME` says the same), the rows, or a `.csv` or `.yaml` file of them."""
    global_batch: Count
    """Samples per iteration."""
    precision: Precision = "fp16"
    """What operators compute in."""
    gradient_precision: Literal["fp16", "fp32"] = OF_SOFTWARE
    """As the software has it unless given."""

    @model_validator(mode="before")
    @classmethod
    def _named(cls, value: Any) -> Any:
        if not isinstance(value, dict) or "model" not in value:
            return value
        if "layers" in value:
            raise Refusal("either 'model' or 'layers'", "both", "drop one")
        return {"layers": value["model"], **{key: entry for key, entry in value.items() if key != "model"}}
