"""What a library of collectives is taken to add on an NPU whose collectives nobody measured.

Links alone would be its gift: of two devices with the same links the one that is known least would win. So a buffer
passes through its memory as on the devices that were measured: at the same share of the memory's bandwidth, and with
the same launch and pieces, each the geometric mean over the generations that have a library (*assumed*).
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache, lru_cache
from statistics import geometric_mean
from typing import NamedTuple

from simcore import catalog
from simcore.catalog.preset import preset
from simcore.design.library import Library, LibraryKernel
from simcore.design.npu import Npu
from simcore.document.quantity import SI

USUAL = "usual"
"""The name of such a library."""
_KINDS = ("all_reduce", "reduce_scatter", "all_gather", "all_to_all")


class _Measured(NamedTuple):
    """One kind of collective on one device that was measured."""

    launch: float
    share: float
    """`memory`, as a share of the bandwidth of the device's memory."""
    piece: float


def is_usual(library: Library | None) -> bool:
    """Whether a library is one of these, and nothing that was measured or given."""
    return library is not None and library.name == USUAL


def npus_library(npu: Npu) -> Library | None:
    """What a library adds inside a node on an NPU: that of its generation, else the usual one.

    None where kernels are ideal, or a compiler of the NPU's own moves the data.
    """
    if npu.curve is not None and npu.curve.library is not None:
        return npu.curve.library
    return None if npu.is_ideal or npu.fuses else _usual_at(npu.memory.bandwidth)


@lru_cache(maxsize=256)
def _usual_at(bandwidth: float) -> Library:
    """The usual one, at a bandwidth of the memory [B/s]."""
    kernels = {
        kind: LibraryKernel(launch=SI(mean.launch), memory=SI(mean.share * bandwidth), piece=SI(mean.piece))
        for kind, mean in _means().items()
    }
    return Library.model_validate({"name": USUAL, **kernels})


@cache
def _means() -> dict[str, _Measured]:
    measured = [npu for npu in _first_measured() if npu.curve is not None and npu.curve.library is not None]
    return {kind: _mean(_of_kind(npu, kind) for npu in measured) for kind in _KINDS}


def _first_measured() -> list[Npu]:
    """The device of each generation that its kernels were measured on first."""
    measured = (curve.get("measured_on") for curve in catalog.section("curves").values())
    return [preset(Npu, "npus", names[0]) for names in measured if names]


def _of_kind(npu: Npu, kind: str) -> _Measured:
    kernel: LibraryKernel = getattr(npu.curve and npu.curve.library, kind)
    assert kernel.memory is not None, f"{npu.name}: {kind} passes through memory"
    return _Measured(kernel.launch, kernel.memory / npu.memory.bandwidth, kernel.piece)


def _mean(measured: Iterable[_Measured]) -> _Measured:
    return _Measured(*map(geometric_mean, zip(*measured, strict=True)))
