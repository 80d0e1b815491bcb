"""How a document spells an NPU's model of operator times, where that is not the roofline."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from simcore.document.field import Count, Frozen
from simcore.document.problem import Refusal
from simcore.document.quantity import Frequency, Time


class Systolic(Frozen):
    """Arrays of multiply-accumulate units."""

    rows: Count
    """Rows of units of an array."""
    columns: Count
    """Columns of units of an array."""
    dataflow: Literal["output_stationary", "weight_stationary", "input_stationary"] = "weight_stationary"
    """Which operand stays in the units."""
    clock: Annotated[Frequency, Field(gt=0)]
    """Cycles per second; each unit does one multiplication and addition in each [Hz]."""
    arrays: Count = 1
    """Such arrays on one NPU, which share the folds of a product."""

    @property
    def peak(self) -> float:
        """FLOPs per second of all units [FLOP/s]."""
        return 2.0 * self.rows * self.columns * self.arrays * self.clock


class MeasuredProduct(Frozen):
    """One measured matrix product: `batch` products [m,k]x[k,n] took `time`."""

    batch: Count = 1
    """Products of this shape side by side."""
    m: Count
    """Rows of the first matrix."""
    n: Count
    """Columns of the second matrix."""
    k: Count
    """Columns of the first matrix."""
    time: Annotated[Time, Field(gt=0)]
    """Time of the product, launch and memory included [s]."""


class ComputeModel(Frozen):
    """One of: a systolic array, or a table of measured products."""

    systolic: Systolic | None = None
    """Arrays of multiply-accumulate units, in place of the roofline."""
    table: Annotated[tuple[MeasuredProduct, ...], Field(min_length=1)] | None = None
    """The rows, or a `.csv` file of them."""
    beyond: Literal["refuse", "roofline"] = "refuse"
    """What to do with a product outside the table."""

    @model_validator(mode="after")
    def _check_exactly_one(self) -> Self:
        if (self.systolic is None) == (self.table is None):
            raise Refusal("one of systolic and table", "none" if self.table is None else "both", "name one")
        if self.systolic is not None and self.beyond != "refuse":
            raise Refusal("'beyond' with a table only", "it with a systolic array", "leave it out")
        return self
