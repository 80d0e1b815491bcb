"""Networks that nobody sells: where a space cuts them, nothing needs to be proven of them.

Bounds look at networks with the best, or the cheapest, of each bandwidth that may vary. Such a network may be unsold
though one with another bandwidth is sold; so only where no bandwidth varies is anything left out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from dse.space.fill import is_open
from dse.space.hole import Choice, Split
from dse.space.order import ORDERABLE
from dse.space.space import Space
from simcore.cost.orderable import is_orderable
from simcore.design.design import Design

Keep = Callable[[Design], bool]
"""Whether a design stands for some that may be built."""


def sold_only(space: Space) -> Keep:
    """What keeps designs that can be ordered, where the space cuts all others; else what keeps all."""
    cuts = any(constraint.name == ORDERABLE for constraint in space.constraints)
    if not cuts or _varies(space.template["cluster"]):
        return lambda design: True
    return is_orderable


def _varies(cluster: Any) -> bool:
    """Whether some bandwidth of a cluster is a hole, or a share."""
    if isinstance(cluster, Choice):
        return any(map(_varies, cluster.alternatives))
    if isinstance(cluster, list):
        return any(map(_varies, cluster))
    if not isinstance(cluster, Mapping):
        return False
    if "topology" in cluster:
        return is_open(cluster) or not isinstance(cluster.get("bandwidth", ""), str | float)
    return isinstance(cluster.get("bandwidth"), Split) or any(map(_varies, cluster.values()))
