"""A fabric, the network of machines of one kind, as the dimensions that it has with a number of NPUs."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from simcore import catalog
from simcore.document.field import MOST_NPUS
from simcore.document.form import format_value
from simcore.document.problem import Refusal


def fabric_dimensions(fabric: Any, npus: Any, domain: Any = None) -> list[dict[str, Any]]:
    """The dimensions of a fabric of `npus` NPUs: fixed sizes innermost, the last takes the rest.

    With `sizes: even` all sizes are open, and as near to each other as they can be. With `domain: most` all dimensions
    but the last are inside a domain of at most so many NPUs, and as even, unless `domain` lists their sizes; see
    `_domain_size`. Fewer NPUs than a fixed size has room for are a part of a node, in which the library reduces in no
    switch. With `wraps` rings of other sizes are open, see `_open_axes`.

    Raises `ValueError` for an unknown fabric, or a number of NPUs that does not fill whole nodes or domains.
    """
    if not _is_count(npus, MOST_NPUS):
        what = f"'npus', the number of NPUs of the fabric, from 1 to {MOST_NPUS:,}"
        fix = f"for several write npus: {{choice: {npus}}}" if isinstance(npus, list) else "e.g. 'npus: 512'"
        raise Refusal(what, "none" if npus is None else format_value(npus), fix)
    spec = catalog.entry("fabrics", fabric) if isinstance(fabric, str) else fabric
    if not isinstance(spec, dict) or not isinstance(spec.get("dimensions"), list):
        raise Refusal("a fabric of the catalogue or one with 'dimensions'", repr(fabric))
    open_sizes = _open_sizes(spec, npus, domain)
    left = npus
    dimensions: list[dict[str, Any]] = []
    for index, dimension in enumerate(spec["dimensions"]):
        if not isinstance(dimension, dict):
            raise Refusal("dimensions that are mappings", repr(dimension))
        whole = dimension.get("size", left) if open_sizes is None else next(open_sizes)
        if not isinstance(whole, int) or isinstance(whole, bool) or whole < 1:
            raise Refusal(f"a size of at least 1 in dimension {index}", repr(whole))
        size = min(whole, left)
        if left % size:
            near = _near(npus, npus // left * size)
            raise Refusal(f"a number of NPUs that fills whole groups of {size}", str(npus), near)
        if size > 1 or (not dimensions and (open_sizes is None or left == 1)):
            library = _library_of_part(dimension.get("library")) if size < whole else {}
            dimensions.append({**dimension, **library, "size": size})
        left //= size
    if left != 1:
        raise Refusal(f"at most {npus // left} NPUs on this fabric", str(npus), "leave its last size open")
    return _open_axes(spec, dimensions)


def _open_axes(spec: dict[str, Any], dimensions: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The dimensions, those rings open whose links back exist at other sizes alone: meshes.

    `wraps: {at: 16}` closes each axis of a multiple of 16; with `together: true` all axes of the fabric, or none.
    """
    wraps = spec.get("wraps")
    if wraps is None:
        return dimensions
    if not isinstance(wraps, dict) or not _is_count(wraps.get("at"), MOST_NPUS):
        raise Refusal("'wraps' of a fabric with 'at', the size at which rings are closed", repr(wraps))
    side, rings = wraps["at"], [dimension for dimension in dimensions if _is_ring(dimension)]
    missing = len(rings) < sum(map(_is_ring, spec["dimensions"]))  # one of a single NPU, which is no dimension
    whole = not missing and all(ring["size"] % side == 0 for ring in rings)

    def is_open(dimension: dict[str, Any]) -> bool:
        return _is_ring(dimension) and not (whole if wraps.get("together") else dimension["size"] % side == 0)

    return [{**dimension, "topology": "mesh"} if is_open(dimension) else dimension for dimension in dimensions]


def _is_ring(dimension: dict[str, Any]) -> bool:
    return dimension.get("topology") == "ring"


def _near(npus: int, group: int) -> str:
    """The numbers of NPUs around one that fill whole groups."""
    less = npus // group * group
    return f"e.g. {less:,} or {less + group:,}" if less else f"e.g. {group:,}"


def _library_of_part(library: Any) -> dict[str, Any]:
    """The key `library` of a dimension of which only a part has NPUs of the cluster, where that changes it.

    Such NPUs are a group of a larger node, not the whole one whose switch the library lets reduce (`whole_memory`).
    """
    spec = catalog.entry("libraries", library) if isinstance(library, str) else library
    kinds = [kind for kind, of in spec.items() if isinstance(of, dict) and "whole_memory" in of] if spec else []
    base: dict[str, Any] = {"base": library} if isinstance(library, str) else library
    part = {kind: {**base.get(kind, {}), "whole_memory": None} for kind in kinds}
    return {"library": {**base, **part}} if kinds else {}


def _open_sizes(spec: dict[str, Any], npus: int, domain: Any) -> Iterator[int] | None:
    """The sizes of all dimensions of a fabric that leaves them open; None for one that gives its own."""
    count = len(spec["dimensions"])
    if spec.get("sizes", "even") != "even":
        raise Refusal("'sizes: even', or sizes in the dimensions of the fabric", repr(spec["sizes"]))
    if "domain" not in spec:
        if domain is not None:
            raise Refusal("no 'domain' on a fabric without one", format_value(domain), "drop it")
        return iter(even_factors(npus, count)) if "sizes" in spec else None
    most = spec["domain"]
    if not _is_count(most, MOST_NPUS) or count < 2:
        raise Refusal("'domain', a number of NPUs, of a fabric of two dimensions or more", format_value(most))
    if isinstance(domain, list):
        return iter(_domain_sides(npus, most, count - 1, domain))
    inside = _domain_size(npus, most, domain)
    return iter((*even_factors(inside, count - 1), npus // inside))


def _domain_sides(npus: int, most: int, count: int, given: list[Any]) -> tuple[int, ...]:
    """The sizes of all dimensions where those inside a domain are given, as the sides of a slice of a torus are."""
    whole = all(_is_count(side, most) for side in given)
    inside = math.prod(given) if whole and len(given) == count else 0
    if not 1 <= inside <= most or npus % inside:
        expected = f"a 'domain' of {count} sides whose product is at most {most} NPUs and divides {npus}"
        raise Refusal(expected, format_value(tuple(given)))
    return (*given, npus // inside)


def _domain_size(npus: int, most: int, given: Any) -> int:
    """NPUs in each of equal domains: what is given, else the largest number up to `most` that divides `npus`.

    Jobs leave a part of each domain empty where that makes it even: 64 of the 72 GPUs of an NVL72 rack. Where more
    than half would be empty, the number is refused as an accident.
    """
    if given is not None:
        if not _is_count(given, most) or npus % given:
            fix = "numbers of NPUs with other domains are other alternatives of a choice of clusters"
            raise Refusal(f"a 'domain' of at most {most} NPUs that divides {npus}", format_value(given), fix)
        return int(given)
    if npus <= most:
        return npus
    found = max(size for size in range(1, most + 1) if npus % size == 0)
    if 2 * found < most:
        fix = f"choose another number of NPUs, or give 'domain: {found}'"
        raise Refusal(f"a number of NPUs that fills equal domains of {-(-most // 2)} to {most}", str(npus), fix)
    return found


def _is_count(value: Any, most: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= most


def even_factors(number: int, count: int) -> tuple[int, ...]:
    """`count` factors, ascending, whose product is `number` and whose largest is the least possible."""
    if count == 1:
        return (number,)
    divisors = [f for f in range(1, math.isqrt(number) + 1) if number % f == 0]
    splits = [tuple(sorted((f, *even_factors(number // f, count - 1)))) for f in divisors if f**count <= number]
    return min(splits, key=lambda factors: factors[::-1])
