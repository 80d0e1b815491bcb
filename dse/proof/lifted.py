"""Lifted networks: for each network of a space one with the most of everything, which no design's network beats.

Each dimension has the most bandwidth that it can have (of a split: the largest budget but the least share of each other
dimension), the least latency and the best efficiency; algorithms, shapes and policies that bounds look at stay choices.
Collectives have the most chunks: where times follow from loads and hops alone, more chunks never raise a bound
(`simcore.bounds.many`), but for those whose chunks begin on each dimension in turn: three share three better than four.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.proof.parts import Networks, fillings, group_networks, looks_at_links
from dse.proof.unsold import Keep
from dse.space.fill import is_open, template_count
from dse.space.hole import Choice, PowersOfTwo, Range, Split, compositions, magnitude
from dse.space.sections import JOB_SECTIONS
from dse.space.split.solve import least_share
from simcore.check.load import parse_sound
from simcore.document.quantity import parse_quantity, write_quantity
from simcore.engine.fast.state import MAX_CHUNKS

MOST_NETWORKS = 2_000
"""Lifted networks that jobs are refined on; with more, jobs of a transformer count by their compute alone."""
MOST_SPLITS = 10_000
"""Splits of a budget that are bounded one by one."""
NO_MATTER = ("intra_dimension", "active_chunks", "priority")
"""Policies that bounds do not look at."""


@dataclass(frozen=True)
class Budget:
    """The largest budget of a split over all dimensions of every shape."""

    most: float
    """[B/s]."""
    step: float | None
    """The step of which shares are multiples [B/s]; None where they are solved."""

    def splits(self, parts: int) -> NDArray[np.float64] | None:
        """Every way to share it among so many dimensions `[ways, parts]` [B/s]; None where they are too many."""
        if self.step is None:
            return None
        units = int(self.most / self.step + 1e-9)
        few = units >= parts and compositions(units, parts) <= MOST_SPLITS
        return all_compositions(units, parts) * self.step if few else None


@lru_cache(maxsize=8)
def all_compositions(units: int, parts: int) -> NDArray[np.float64]:
    """Every way to write `units` as an ordered sum of `parts` whole numbers above 0, by index `[ways, parts]`."""
    inner = np.array(list(combinations(range(1, units), parts - 1)), float).reshape(
        compositions(units, parts), parts - 1
    )
    edges = np.hstack([np.zeros((len(inner), 1)), inner, np.full((len(inner), 1), float(units))])
    ways: NDArray[np.float64] = np.diff(edges, axis=1)
    return ways


def whole_budget(cluster: Mapping[str, Any]) -> Budget | None:
    """The largest budget of a split over all dimensions of every shape; None where there is none."""
    split = cluster.get("bandwidth")
    if not isinstance(split, Split) or not _has_all_open(cluster.get("dimensions")):
        return None
    return Budget(parse_quantity(_extreme_value(split.budget, max), "bandwidth"), None if split.solve else split.step)


def _has_all_open(dimensions: Any) -> bool:
    if isinstance(dimensions, Choice):
        return all(_has_all_open(alternative) for alternative in dimensions.alternatives)
    if isinstance(dimensions, list):
        return all(_has_all_open(dimension) for dimension in dimensions)
    return is_open(dimensions)


def lifted_networks(
    template: Mapping[str, Any], job: Mapping[str, Any], chunks: bool, keep: Keep = lambda design: True
) -> list[Networks]:
    """The lifted networks of a space, each with some job, a document of it.

    None where there are too many, or where an expression looks at what would be lifted.

    `chunks`: whether they have the most chunks, or any number that there is; `keep` which of them count.
    """
    if looks_at_links(template):
        return []
    rest = {key: value for key, value in template.items() if key not in JOB_SECTIONS}
    rest["cluster"] = _lift_cluster(rest["cluster"])
    if isinstance(system := rest.get("system"), Mapping):
        rest["system"] = {key: value for key, value in system.items() if key not in NO_MATTER}
        if chunks and "chunks" in system:
            most = _extreme_value(system["chunks"], max)
            rest["system"]["chunks"] = min(int(most), MAX_CHUNKS - 1) if isinstance(most, int | float) else most
    if template_count(rest) > MOST_NETWORKS:
        return []
    members = [(part, parse_sound({**job, **part.document})) for part in fillings(rest)]
    if chunks and any(design.cluster.at_once for _, design in members):
        return lifted_networks(template, job, False, keep)
    return list(group_networks([(part, design) for part, design in members if keep(design)]))


def _lift_cluster(cluster: Any) -> Any:
    """A cluster, or each of several to choose from, with the best links that it may have."""
    if isinstance(cluster, Choice):
        return Choice(tuple(_lift_cluster(alternative) for alternative in cluster.alternatives))
    lifted = dict(cluster)
    split = lifted.pop("bandwidth", None)
    if "dimensions" in lifted:
        lifted["dimensions"] = _lift_dimensions(lifted["dimensions"], split)
    return lifted


def _lift_dimensions(dimensions: Any, split: Any) -> Any:
    if isinstance(dimensions, Choice):
        return Choice(tuple(_lift_dimensions(alternative, split) for alternative in dimensions.alternatives))
    if isinstance(dimensions, list):
        shares = len([d for d in dimensions if is_open(d)])
        return [_best_dimension(dimension, split, shares) for dimension in dimensions]
    return dimensions


def _best_dimension(dimension: Any, split: Any, shares: int) -> Any:
    if not isinstance(dimension, dict):
        return _lift_dimensions(dimension, split)
    out = dict(dimension)
    if is_open(out) and isinstance(split, Split):
        most = parse_quantity(_extreme_value(split.budget, max), "bandwidth")
        out["bandwidth"] = write_quantity(max(most - (shares - 1) * least_share(split), split.step), "bandwidth")
    for key, best in (("bandwidth", max), ("latency", min), ("efficiency", max)):
        if key in out:
            out[key] = _extreme_value(out[key], best)
    if not isinstance(dimension.get("efficiency", 1.0), int | float | list):
        out.setdefault("library", {})  # a library is not assumed beside some of its efficiencies (`Design`)
    return out


def _extreme_value(value: Any, best: Callable[..., Any]) -> Any:
    """The best value of a hole of numbers, and of holes in it; any other value as it is."""
    if isinstance(value, Choice):
        ends = [_extreme_value(alternative, best) for alternative in value.alternatives]
        return best(ends, key=magnitude) if all(magnitude(end) is not None for end in ends) else value
    if isinstance(value, Range):
        end = best(value.low, value.high)
        return end if value.kind is None else write_quantity(end, value.kind)
    if isinstance(value, PowersOfTwo):
        return best(value.low, value.high)
    return value
