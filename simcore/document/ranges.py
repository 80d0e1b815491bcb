"""How wrong a number of the catalogue may be: a range, as multiples of what the entry says.

`ranges` of an entry maps a dotted path into it to two multiples: nine of ten cases lie between them, half of them on
either side of what the entry says. A path stands for all below it (`npu` for the prices of all NPUs) but what has a
longer one (`npu.tpu-v4`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from pydantic import AfterValidator, Field

from simcore.document.problem import Refusal

Ends = tuple[float, float]
EXACT: Ends = (1.0, 1.0)


def _check(ends: Ends) -> Ends:
    low, high = ends
    if not low <= 1.0 <= high:
        raise Refusal("two multiples of what is said, the first at most 1, the second at least 1", f"[{low}, {high}]")
    return ends


_Multiple = Annotated[float, Field(gt=0)]
Ranges = dict[str, Annotated[tuple[_Multiple, _Multiple], AfterValidator(_check)]]
"""Path -> the multiples between which nine of ten cases lie."""


def range_of(ranges: Mapping[str, Ends], path: str) -> Ends:
    """The range of what stands at a dotted path; `EXACT` where none is given."""
    while path not in ranges and "." in path:
        path = path.rpartition(".")[0]
    return ranges.get(path, EXACT)


def is_ranged(ranges: Mapping[str, Ends], path: str) -> bool:
    """Whether what stands at a path has a range."""
    return range_of(ranges, path) is not EXACT
