"""Degrees that multiply to the number of NPUs, whatever that is: `parallelism: {degrees: {product: npus, of: […]}}`.

The number follows from the sizes of the network, which may be holes themselves. So these degrees are filled after the
cluster, and the number of combinations is a sum over the numbers of NPUs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from dse.space.hole import Choice, PowersOfTwo, Product, Range
from simcore.document.problem import Refusal

NPUS = "npus"


@dataclass(frozen=True)
class ProductOfNpus:
    """Degrees that multiply to the NPUs of the cluster, within `limits` (least and most per degree)."""

    of: tuple[str, ...]
    limits: tuple[tuple[int, int], ...]

    def product_of(self, npus: int) -> Product:
        """The product of so many NPUs.

        Raises `ValueError` where no factorisation meets the limits.
        """
        hole = _product(npus, self.of, self.limits)
        if not hole.count:
            limits = ", ".join(
                f"{name} {low} to {high}" for name, (low, high) in zip(self.of, self.limits, strict=True)
            )
            raise Refusal(f"limits that some factorisation of {npus} NPUs meets", limits, "widen them")
        return hole


_product = lru_cache(maxsize=4096)(Product)
"""One object for the same numbers, which lists its factorisations once."""


def following_product(template: Any) -> ProductOfNpus | None:
    """The degrees of a document's template that follow its cluster, if they do."""
    parallelism = template.get("parallelism") if isinstance(template, dict) else None
    degrees = parallelism.get("degrees") if isinstance(parallelism, dict) else None
    return degrees if isinstance(degrees, ProductOfNpus) else None


def npus_of(cluster: Any) -> int:
    """NPUs of a filled cluster.

    Raises `ValueError` where their number is no plain number there.
    """
    sizes: list[Any] = []
    if isinstance(cluster, Mapping) and "fabric" in cluster:
        sizes = [cluster.get("npus")]
    elif isinstance(cluster, Mapping) and isinstance(cluster.get("dimensions"), list):
        sizes = [entry.get("size") if isinstance(entry, Mapping) else None for entry in cluster["dimensions"]]
    if not sizes or not all(isinstance(size, int) and not isinstance(size, bool) and size > 0 for size in sizes):
        told = ", ".join("none" if size is None else str(size) for size in sizes) or "none"
        expected = "a cluster whose sizes are plain numbers for 'product: npus'"
        raise Refusal(expected, told, "give each dimension its 'size', or a fabric with its 'npus'")
    return math.prod(sizes)


def sizes_of(size: Any) -> list[int]:
    """The values that a size can take, each as often as it is listed.

    Raises `ValueError` where they are not plain numbers.
    """
    if isinstance(size, Choice):
        return [value for alternative in size.alternatives for value in sizes_of(alternative)]
    if isinstance(size, PowersOfTwo):
        return [size.low << i for i in range(size.count)]
    if isinstance(size, Range) and size.step is not None and size.whole:
        return [round(size.low + i * size.step) for i in range(size.steps)]
    if isinstance(size, int) and not isinstance(size, bool):
        return [size]
    raise Refusal("sizes that are plain numbers for 'product: npus'", repr(size))
