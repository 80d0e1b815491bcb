"""Whether a space is one of clusters that can be ordered, or may hold those that nobody sells.

What a space says (`hypothetical`) holds. One that says nothing is hypothetical where its bandwidths are free numbers (a
split of a budget), or where none of its clusters can be ordered. In any other space `orderable` is a constraint, as
`fits` is, wherever a cluster could break it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal, NamedTuple

import numpy as np
from pydantic import ValidationError

from dse.space.constraint import Constraint
from dse.space.draw import InfiniteError, Odometer, RandomDraw
from dse.space.expression import Expression
from dse.space.fill import fill_template
from dse.space.hole import Choice, splits_bandwidth
from simcore import catalog
from simcore.cost.orderable import Order, order_of
from simcore.design.cluster import Cluster
from simcore.document.form import format_value
from simcore.document.problem import Problem, Refusal

ORDERABLE = "orderable"
"""The metric, and the constraint, that a cluster can be ordered."""
KEY = "hypothetical"
"""The key of designs and spaces that says that they may be ones that nobody sells."""
MOST_CLUSTERS = 2_000
"""Clusters of a space that are asked one by one; of more, as many drawn at random."""
_NO_MATTER = {
    "latency": "0 s",
    "efficiency": 1.0,
    "affinity": 1.0,
    "at_once": False,
    "collective": None,
    "library": None,
}
"""Keys of a dimension that an order does not look at, with what stands for them."""

Hypothetical = Literal["", "said", "free", "none"]
"""Why a space is hypothetical: it says so, its bandwidths are free, none of its clusters is sold; empty: it is not."""
NOTICES: dict[Hypothetical, str] = {
    "said": "Hypothetical: the space allows clusters that nobody sells.",
    "free": "Hypothetical: bandwidths are free numbers, so that clusters may be ones that nobody sells.",
    "none": "Hypothetical: no cluster of this space can be ordered.",
}
"""What reports say of a hypothetical space."""
ADVICE = "say 'hypothetical: true', or give nodes and NICs that are sold (docs/orderable.md)"
"""What a space can do that was taken as hypothetical though it does not say so."""


@dataclass(frozen=True)
class Stance:
    """What orders mean to a space."""

    hypothetical: Hypothetical = ""
    cuts: bool = False
    """Whether some of its clusters are cut because nobody sells them."""
    problems: tuple[Problem, ...] = ()
    notices: tuple[str, ...] = ()
    """What is wrong with the fabric that it names, where nothing of it is sold."""

    @property
    def constraints(self) -> tuple[Constraint, ...]:
        """The constraint that it has without saying so, where something breaks it."""
        return (Constraint(Expression(ORDERABLE)),) if self.cuts else ()

    @property
    def keys(self) -> dict[str, Any]:
        """What its designs say."""
        return {KEY: True} if self.hypothetical else {}


def said_problems(data: Mapping[str, Any]) -> Iterator[Problem]:
    """What is wrong with what a space says."""
    if not isinstance(data.get(KEY, False), bool):
        yield Problem((KEY,), "true or false", format_value(data[KEY]))


def stance_of(template: Mapping[str, Any], said: bool | None) -> Stance:
    """What orders mean to a space of sound form that has `said` whether it is hypothetical."""
    if said:
        return Stance("said")
    if said is None and splits_bandwidth(template["cluster"]):
        return Stance("free")
    seen: dict[bool | None, _Ordered] = {}
    whole = _ask(template, seen)
    if True in seen or False not in seen:
        return Stance(cuts=False in seen or not whole)
    example = seen[False].order.problems[0]
    if said is None:
        return Stance("none", notices=tuple(_describe_fabric(seen[False])))
    if not whole:
        return Stance(cuts=True)
    fix = "say 'hypothetical: true', or let in what is sold"
    return Stance(problems=(Problem((KEY,), "a cluster that can be ordered", f"none: {example}", fix),))


class _Ordered(NamedTuple):
    """A cluster as a document, and what became of its order."""

    cluster: Mapping[str, Any]
    order: Order


def _describe_fabric(found: _Ordered) -> Iterator[str]:
    """What is wrong with a cluster of a fabric of the catalogue that nobody sells, and of which fabrics it is sold."""
    npu, fabric = (found.cluster.get(key) for key in ("npu", "fabric"))
    if isinstance(fabric, str):
        others = {name: _order({**found.cluster, "fabric": name}) for name in catalog.section("fabrics")}
        sold = [name for name, order in others.items() if order and order.orderable]
        suiting = f"; it is sold on: {', '.join(sold)}" if sold else ""
        of_npu = npu if isinstance(npu, str) else "these NPUs"
        yield f"such a cluster of {of_npu} on fabric {fabric} is not sold: {found.order.problems[0]}{suiting}"


def _ask(template: Mapping[str, Any], seen: dict[bool | None, _Ordered]) -> bool:
    """Notes an order that can be had and one that cannot; whether all clusters, or one of either kind, were asked."""
    count = 0
    try:
        for cluster in islice(_every_cluster(template["cluster"]), MOST_CLUSTERS + 1):
            count += 1
            if _note(cluster, seen):
                return True
        if count <= MOST_CLUSTERS:
            return True
    except (InfiniteError, Refusal):  # a continuous hole, or one that looks at other sections
        pass
    return any(_note(cluster, seen) for cluster in _drawn_clusters(template))


def _note(cluster: Mapping[str, Any], seen: dict[bool | None, _Ordered]) -> bool:
    """Whether there is an order of either kind now."""
    order = _order(cluster)
    if order is not None:
        seen.setdefault(order.orderable, _Ordered(cluster, order))
    return True in seen and False in seen


def _order(cluster: Mapping[str, Any]) -> Order | None:
    """What becomes of an order; None where no design has such a cluster."""
    try:
        return order_of(Cluster.model_validate(cluster))
    except ValidationError:
        return None


def _every_cluster(cluster: Any) -> Iterator[Mapping[str, Any]]:
    reduced, odometer = {"cluster": _reduced(cluster)}, Odometer()
    while True:
        yield fill_template(reduced, odometer).document["cluster"]
        if not odometer.step():
            return


def _drawn_clusters(template: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    draw = RandomDraw(np.random.default_rng(0))
    for _ in range(MOST_CLUSTERS):
        try:
            yield fill_template(template, draw).document["cluster"]
        except Refusal:
            continue  # a branch without a filling


def _reduced(value: Any) -> Any:
    """A cluster without the holes that an order does not look at."""
    if isinstance(value, Choice):
        return Choice(tuple(map(_reduced, value.alternatives)))
    if isinstance(value, list):
        return [_reduced(inner) for inner in value]
    if not isinstance(value, Mapping):
        return value
    kept = {key: _reduced(inner) for key, inner in value.items() if key not in ("placement", "stragglers")}
    return {key: _NO_MATTER.get(key, inner) if "topology" in value else inner for key, inner in kept.items()}
