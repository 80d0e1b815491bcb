"""The bandwidth of a dimension whose nodes have NICs: theirs, shared by the NPUs of a node."""

from __future__ import annotations

import math
from typing import Any

from simcore.design.dimension import Dimension
from simcore.document.problem import Refusal
from simcore.document.quantity import SI, parse_quantity


def shared_nics(dimensions: Any) -> Any:
    """The dimensions, written or read, with a bandwidth where NICs are given: theirs, shared by the NPUs of a node.

    Raises `ValueError` for NICs that are no whole number, have no bandwidth, or contradict the bandwidth given.
    """
    if not isinstance(dimensions, list | tuple):
        return dimensions
    out: list[Any] = []
    inside = 1
    for index, dimension in enumerate(dimensions):
        given = dimension if isinstance(dimension, dict) else {}
        size = given.get("size")
        if isinstance(dimension, Dimension):
            size = dimension.size
            if dimension.nics is not None:
                own = {"nics": dimension.nics, "nic_bandwidth": dimension.nic_bandwidth}
                dimension = dimension.model_copy(update={"bandwidth": float(_nic_share(own, index, inside))})
        elif given.get("nics") is not None:
            dimension = {**given, "bandwidth": _nic_share(given, index, inside)}
        inside *= size if isinstance(size, int) else 1
        out.append(dimension)
    return out


def _nic_share(dimension: dict[str, Any], index: int, npus: int) -> SI:
    """Bandwidth of each of the `npus` NPUs that share a node's NICs [B/s]."""
    nics, bandwidth = dimension["nics"], dimension.get("nic_bandwidth")
    if not isinstance(nics, int) or isinstance(nics, bool) or nics < 1:
        raise Refusal(f"a whole number of 'nics' in dimension {index}", repr(nics))
    if bandwidth is None:
        raise Refusal(f"'nic_bandwidth' beside 'nics' in dimension {index}", "nothing", "e.g. 50 GB/s")
    each = SI(nics * _bandwidth(bandwidth) / npus)
    given = dimension.get("bandwidth")
    if given is not None and not math.isclose(_bandwidth(given), each, rel_tol=1e-9):
        share = f"{nics} NICs of {bandwidth} for {npus} NPUs"
        raise Refusal(f"no 'bandwidth' beside 'nics' in dimension {index}", f"{given!r} and {share}", "drop one")
    return each


def _bandwidth(value: Any) -> float:
    return parse_quantity(value, "bandwidth") if isinstance(value, str) else float(value)
