"""A fabric, the network of machines of one kind, as the dimensions that it has with a number of NPUs."""

from __future__ import annotations

import math
from typing import Any

from simcore import catalog
from simcore.document.field import MOST_NPUS
from simcore.document.form import format_value
from simcore.document.problem import Refusal


def fabric_dimensions(fabric: Any, npus: Any) -> list[dict[str, Any]]:
    """The dimensions of a fabric of `npus` NPUs: fixed sizes innermost, the last takes the rest.

    With `sizes: even` all sizes are open, and as near to each other as they can be.

    Raises `ValueError` for an unknown fabric, or a number of NPUs that does not fill whole nodes.
    """
    if not isinstance(npus, int) or isinstance(npus, bool) or not 1 <= npus <= MOST_NPUS:
        what = f"'npus', the number of NPUs of the fabric, from 1 to {MOST_NPUS:,}"
        raise Refusal(what, format_value(npus), "e.g. 'npus: 512'")
    spec = catalog.entry("fabrics", fabric) if isinstance(fabric, str) else fabric
    if not isinstance(spec, dict) or not isinstance(spec.get("dimensions"), list):
        raise Refusal("a fabric of the catalogue or one with 'dimensions'", repr(fabric))
    left = npus
    dimensions: list[dict[str, Any]] = []
    if spec.get("sizes", "even") != "even":
        raise Refusal("'sizes: even', or sizes in the dimensions of the fabric", repr(spec["sizes"]))
    even = iter(even_factors(npus, len(spec["dimensions"]))) if "sizes" in spec else None
    for index, dimension in enumerate(spec["dimensions"]):
        if not isinstance(dimension, dict):
            raise Refusal("dimensions that are mappings", repr(dimension))
        whole = dimension.get("size", left) if even is None else next(even)
        if not isinstance(whole, int) or isinstance(whole, bool) or whole < 1:
            raise Refusal(f"a size of at least 1 in dimension {index}", repr(whole))
        size = min(whole, left)
        if left % size:
            raise Refusal(f"a number of NPUs that fills whole groups of {size}", str(npus))
        if size > 1 or (not dimensions and (even is None or left == 1)):
            dimensions.append({**dimension, "size": size})
        left //= size
    if left != 1:
        raise Refusal(f"at most {npus // left} NPUs on this fabric", str(npus), "leave its last size open")
    return dimensions


def even_factors(number: int, count: int) -> tuple[int, ...]:
    """`count` factors, ascending, whose product is `number` and whose largest is the least possible."""
    if count == 1:
        return (number,)
    divisors = [f for f in range(1, math.isqrt(number) + 1) if number % f == 0]
    splits = [tuple(sorted((f, *even_factors(number // f, count - 1)))) for f in divisors if f**count <= number]
    return min(splits, key=lambda factors: factors[::-1])
