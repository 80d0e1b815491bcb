"""How near a family of accelerators comes to its data sheet: one calibrated curve for all of them."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from simcore.document.field import Frozen, Share
from simcore.document.quantity import Time


class MatmulCurve(Frozen):
    """How near tensor cores come to their peak in a matrix product; see `simcore.compute.matmul`."""

    limit: Share
    """Share of the peak that an endless product reaches."""
    depth: Annotated[float, Field(ge=0)]
    """Steps along k that filling and draining the pipeline of a tile costs."""
    load: Annotated[float, Field(ge=0)]
    """Share of the time to load a tile's operands from shared memory that its arithmetic does not hide."""
    wave: Annotated[float, Field(ge=0, le=1)]
    """How much of a last, partly filled wave of tiles costs as if it were full."""


class Curve(Frozen):
    """How a family of accelerators comes near its data sheet, as shares of it: one curve for all of them."""

    name: str = ""
    matmul: MatmulCurve
    flash: Share
    """Share of the peak that fused attention reaches."""
    memory: Share
    """Share of the memory bandwidth that streaming operators reach."""
    kernel: Annotated[Time, Field(ge=0)]
    """Time a kernel takes on the device beyond its roofline [s]."""
    launch: Annotated[Time, Field(ge=0)]
    """Least time from one operator to the next: what the host's software takes to launch it [s]."""
    interval: dict[Literal["node", "nodes"], tuple[float, float]] | None = None
    """Measured over predicted iteration time, within one node and over several: between these two in nine of ten rows
    that the fit had not seen."""
    calibrated_on: str = ""
    """Name of the NPU whose rows the curve was fitted to; the interval is of that one alone
    (`simcore.prediction_interval`)."""
    sources: dict[str, str] = {}
