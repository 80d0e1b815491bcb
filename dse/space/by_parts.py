"""Spaces whose price list sells parts: bandwidths are those of NICs there, never shares of a budget."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from dse.space.hole import Choice, splits_bandwidth
from simcore import catalog
from simcore.document.problem import Problem


def is_by_parts(cost: Any) -> bool:
    """Whether a price list of a template, or one of several, prices clusters by the piece."""
    if isinstance(cost, Choice):
        return any(map(is_by_parts, cost.alternatives))
    if isinstance(cost, str):
        return bool({"nodes", "parts"} & set(catalog.section("prices").get(cost, {})))
    return isinstance(cost, Mapping) and bool({"nodes", "parts"} & set(cost) or is_by_parts(cost.get("base")))


def split_problems(template: Mapping[str, Any]) -> Iterator[Problem]:
    """The split of a budget of bandwidth that a list of parts does not price."""
    if is_by_parts(template.get("cost")) and splits_bandwidth(template.get("cluster")):
        expected, found = "NICs, which a list of parts prices", "a split of free bandwidths"
        fix = "give 'nics' and 'nic_bandwidth' in the dimensions, or a linear price list such as libra"
        yield Problem(("cluster", "bandwidth"), expected, found, fix)
