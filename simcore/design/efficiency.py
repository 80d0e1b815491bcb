"""The share of a dimension's bandwidth that messages reach: one number, or a table by the size of the message.

A *message* is what one NPU sends to one peer in one step of the algorithm, as it passes a link: S / (n chunks) of a
ring's all-reduce of S bytes among n NPUs, half of that where it goes both ways round. Between the sizes of a table the
share is linear in the logarithm of the size; beyond its ends it is constant.

The usual form e(m) = m / (m + h) needs no table: m / (B e(m)) = m / B + h / B, so that it is the same as a further
h / B of time for every message, a latency. What a table adds is what no latency gives: the steps where a library
changes its protocol, and a bandwidth that keeps rising over three orders of magnitude.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Annotated, Any

from pydantic import PlainSerializer, PlainValidator, WithJsonSchema

from simcore.document.problem import Refusal
from simcore.document.quantity import parse_quantity, write_quantity

EfficiencyTable = tuple[tuple[float, float], ...]
"""(Size of a message [B], share of the bandwidth), by size."""


def best_share(efficiency: float | EfficiencyTable) -> float:
    """The largest share that any message reaches."""
    return max(share for _, share in efficiency) if isinstance(efficiency, tuple) else efficiency


def share_reached(efficiency: float | EfficiencyTable, message: float) -> float:
    """The share that a message of so many bytes reaches."""
    if not isinstance(efficiency, tuple):
        return efficiency
    if message <= efficiency[0][0]:
        return efficiency[0][1]
    for (low, below), (high, above) in pairwise(efficiency):
        if message <= high:
            return below + (above - below) * math.log(message / low) / math.log(high / low)
    return efficiency[-1][1]


def slowdown(efficiency: float | EfficiencyTable, message: float) -> float:
    """How many times as long as at the `best` share a message takes: 1 where there is no table."""
    return best_share(efficiency) / share_reached(efficiency, message) if isinstance(efficiency, tuple) else 1.0


def _is_share(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= 1


def _read_efficiency(value: Any) -> float | EfficiencyTable:
    """The number or the table; raises `ValueError` with all that is wrong with it."""
    if isinstance(value, tuple):  # read before
        return value
    if not isinstance(value, dict):
        if not _is_share(value):
            expected = "a share above 0 and at most 1, or a table of them by message size"
            raise Refusal(expected, repr(value))
        return float(value)
    sizes: list[float] = []
    wrong = [f"'{size}': {share!r}" for size, share in value.items() if not _is_share(share)]
    if wrong:
        raise Refusal("shares above 0 and at most 1 by message size", ", ".join(wrong))
    for size in value:
        try:
            sizes.append(parse_quantity(size, "size") if isinstance(size, str) else 0.0)
        except ValueError:
            sizes.append(0.0)
    unread = [repr(key) for key, size in zip(value, sizes, strict=True) if not size > 0]
    if unread:
        raise Refusal("message sizes with their unit, such as '64 KiB'", ", ".join(unread))
    if len(set(sizes)) < max(2, len(sizes)):
        keys = ", ".join(repr(key) for key in value) or "none"
        raise Refusal("two or more different message sizes", keys, "one share needs no table")
    return tuple(sorted(zip(sizes, map(float, value.values()), strict=True)))


def _write_efficiency(value: float | EfficiencyTable) -> Any:
    return {write_quantity(size, "size"): share for size, share in value} if isinstance(value, tuple) else value


_SHARE = {"type": "number", "exclusiveMinimum": 0, "maximum": 1}

Efficiency = Annotated[
    float | EfficiencyTable,
    PlainValidator(_read_efficiency),
    PlainSerializer(_write_efficiency),
    WithJsonSchema({"anyOf": [_SHARE, {"type": "object", "minProperties": 2, "additionalProperties": _SHARE}]}),
]
"""Share of the bandwidth that messages reach, in a document a number or `{64 KiB: 0.2, 1 MiB: 0.6}`."""
