"""How near a generation of accelerators comes to its data sheet: one curve, fitted on measured kernels, for all of it.

Every number is a share of the data sheet, a time, or a count of steps, so that another device of the generation has its
own times by its own data sheet. What an operator takes by these numbers: `simcore.compute`.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from simcore.catalog.preset import part_named
from simcore.design.library import Library
from simcore.document.field import Count, Frozen, Name, Precision, Share
from simcore.document.problem import Refusal
from simcore.document.quantity import Time

Steps = Annotated[float, Field(ge=0)]
Part = Annotated[float, Field(ge=0, le=1)]
Delay = Annotated[Time, Field(ge=0)]


class Throttle(Frozen):
    """Clocks that fall while a product lasts, as the power limit takes hold.

    Arithmetic of c seconds takes 1 + `most` c / (c + `after`) times as long.
    """

    most: Annotated[float, Field(ge=0)] = 0.0
    """Most that a product is slowed by, as a share."""
    after: Annotated[Time, Field(gt=0)] = 1e-3
    """Arithmetic time at which half of that is reached [s]."""


class TileRule(Frozen):
    """The one tile that a library without a choice takes for products of at most `up_to` rows (of any, without it)."""

    up_to: Count | None = None
    """Rows of the largest product that the rule holds for; of any unless given."""
    rows: Count
    """Rows of the tile."""
    columns: Count
    """Columns of the tile."""


class ProductCurve(Frozen):
    """How near tensor cores come to their peak in a matrix product at one precision; see `simcore.compute.matmul`."""

    limit: Share
    """Share of the peak that an endless product reaches before clocks fall."""
    depth: Steps
    """Steps along k that filling and draining the pipeline of a tile costs."""
    load: Annotated[float, Field(gt=0)]
    """Bytes of operands that a multiprocessor loads in one clock, as numbers of 16 bits."""
    wave: Part
    """How much of a last, partly filled wave of tiles costs as if it were full."""
    memory: Share
    """Share of the memory bandwidth that operands and results reach."""
    kernel: Delay
    """Time of the kernel on the device beyond arithmetic and bytes [s]."""
    reduce: Delay | None = None
    """Time of the second kernel, which adds what k was cut into [s]; none: k is never cut."""
    throttle: Throttle = Throttle()
    """Clocks that fall while a product lasts."""
    tiles: tuple[TileRule, ...] = ()
    """Tiles by rows, ascending, the last without `up_to`; none: the fastest of all usual tiles."""

    @model_validator(mode="after")
    def _check_tiles(self) -> ProductCurve:
        ends = [rule.up_to for rule in self.tiles]
        known = [end for end in ends[:-1] if end is not None]
        if ends and (ends[-1] is not None or len(known) < len(ends) - 1 or known != sorted(set(known))):
            raise Refusal("'up_to' ascending, and none in the last of 'tiles'", f"{ends}")
        return self


class AttentionCurve(Frozen):
    """How near fused attention comes to the peak; see `simcore.compute.attention`."""

    limit: Share
    """Share of the peak that its products reach."""
    softmax: Steps
    """What the softmax of one score costs, in multiply-accumulates at the peak that products do not hide."""
    depth: Steps
    """Keys that starting and ending a tile of queries costs."""
    wave: Part
    """As of products."""
    backward: Share
    """Share of the forward pass's rate that the backward pass reaches."""
    memory: Share
    """Share of the memory bandwidth that queries, keys, values and outputs reach."""
    kernel: Delay
    """Time of the kernel on the device beyond arithmetic and bytes [s]."""


class CastCurve(Frozen):
    """A kernel that turns 16-bit numbers into a product's narrower ones, with their scales."""

    memory: Share
    """Share of the memory bandwidth that it reaches, each number read and written once."""
    kernel: Delay
    """Time of the kernel on the device beyond its bytes [s]."""


class Curve(Frozen):
    """How a generation of accelerators comes near its data sheet: one curve for all of its devices."""

    name: Name = ""
    products: dict[Precision, ProductCurve]
    """Matrix products by precision; one that is not here takes that of `SIMILAR`."""
    attention: AttentionCurve
    """Fused attention."""
    memory: Share
    """Share of the memory bandwidth that streaming operators reach."""
    kernel: Delay
    """Time that a streaming operator takes on the device beyond its bytes [s]."""
    casts: dict[Precision, CastCurve] = {}
    """Casts from 16 bits, by the precision that they make."""
    library: Annotated[Library | None, part_named("libraries")] = None
    """What the library of collectives adds inside a node (or its name in the catalogue) where a dimension says nothing:
    it passes through the memory of this generation, whatever the links."""
    measured_on: tuple[str, ...] = ()
    """Names of the NPUs whose kernels it was fitted to."""
    sources: dict[str, str] = {}

    @model_validator(mode="after")
    def _check_products(self) -> Curve:
        if "bf16" not in self.products:
            raise Refusal("'bf16' among 'products', whose numbers other precisions take", ", ".join(self.products))
        return self

    def product(self, precision: str) -> ProductCurve:
        """The curve of products at a precision."""
        while precision not in self.products:
            precision = SIMILAR[precision]
        return self.products[precision]

    def cast(self, precision: str) -> CastCurve:
        """The curve of casts to a precision; of one without its own, that of a streaming operator."""
        own = self.casts.get(precision)  # type: ignore[call-overload]
        return own or CastCurve.model_construct(memory=self.memory, kernel=self.kernel)


SIMILAR = {"fp16": "bf16", "fp32": "bf16", "fp8": "bf16", "fp8_block": "fp8", "nvfp4": "fp8_block", "int8": "fp8"}
"""Precision -> the one whose curve stands for it where it has none (*assumed*)."""
