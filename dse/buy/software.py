"""The software that a workload could run with on clusters of one shape, with a bound that holds on all of them.

Whether a design is valid and whether it fits in memory depend on the cluster's NPUs, the sizes of its network and its
libraries, not on bandwidths, latencies or network prices, as long as the cluster itself is sound. So that is found once
per shape, and again where something is wrong with a cluster. Each candidate gets the proven bounds of
`simcore.bounds.design` on the *ideal* cluster of the shape, whose network costs and draws nothing, has no
delay and never fails: no real one is better, whatever the metric.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dse.space.by_parts import is_by_parts
from dse.space.constraint import Constraint
from dse.space.hole import ExpressionHole
from dse.space.interval import design_bound
from dse.space.objective import Objective
from dse.space.screen import design_problems, exact_metrics
from dse.space.sections import SOFTWARE_SECTIONS
from dse.space.space import Space
from simcore.bounds.design import bound, bound_on_any_network
from simcore.check.check import check
from simcore.check.load import parse_sound
from simcore.design.algorithm import AlgorithmName
from simcore.design.cluster import Cluster
from simcore.design.design import Design
from simcore.design.prices import PriceList
from simcore.metrics import JOB, METRICS, Scope

_NEVER_FAILS = {"nic": None, "link": None, "switch": None}
_SHAPELESS = ("bandwidth", "latency", "efficiency", "nics", "nic_bandwidth", "switch")
"""Keys of a dimension that matter neither to memory nor, where nothing is wrong with them, to validity."""
_OF_CLUSTER = (("cluster",), ("cost",))
"""Where problems of a cluster are."""


@dataclass(frozen=True, slots=True)
class SoftwareCandidate:
    """One way to run a workload: everything of a design that is not decided."""

    number: int
    """Its place in the enumeration."""
    params: Mapping[str, Any]
    design: Design
    """On the first cluster of the shape that was met."""
    ideal: float
    """Bound of the loss that is tuned, on the ideal cluster."""

    def design_on(self, cluster: Cluster, cost: PriceList) -> Design:
        """The same software on a cluster of the same shape."""
        own = self.design.cluster
        algorithms = [dimension.collective for dimension in own.dimensions]
        return self.design.model_copy(
            update={"cluster": _set_software(cluster, own.placement, algorithms), "cost": cost}
        )


@dataclass(frozen=True, slots=True)
class Software:
    """All of one workload on one shape: candidates that are valid and fit, the best bound first."""

    candidates: tuple[SoftwareCandidate, ...]
    by_params: Mapping[str, SoftwareCandidate]
    closest: SoftwareCandidate
    """Where there are none: the one that is least in the way of one."""
    count: int


def shape_key(document: Mapping[str, Any], job: Mapping[str, Any], first: Design) -> str:
    """Identity of what the validity of software depends on; the whole document where there are expressions.

    And where something is wrong with the cluster of `first`, any design on it: no software is to blame for that.
    """
    cluster = document.get("cluster")
    if _has_expressions((document, job)) or not isinstance(cluster, Mapping):
        return repr(document)
    if any(problem.path[:1] in _OF_CLUSTER for problem in check(first)):
        return repr(document)
    listed = cluster.get("dimensions")
    if isinstance(listed, list):
        bare = [{key: value for key, value in dimension.items() if key not in _SHAPELESS} for dimension in listed]
        cluster = {**cluster, "dimensions": bare}
    return repr({**document, "cluster": cluster})


def enumerate_software(space: Space, tune: Objective) -> Software:
    """The software of the plain space of one workload on one cluster."""
    scopes: tuple[Scope, ...] = JOB if is_by_parts(space.template.get("cost")) else ("npus", "prices", "job")
    constraints = [constraint for constraint in space.constraints if _is_of_software(constraint, scopes)]
    found: list[SoftwareCandidate] = []
    closest: tuple[float, SoftwareCandidate] | None = None
    count = 0
    for number, filled in enumerate(space.enumerate()):
        count += 1
        design = parse_sound(filled.document)
        violation = _violation(design, constraints)
        if violation <= 0:
            found.append(SoftwareCandidate(number, filled.params, design, ideal_loss(design, tune)))
        elif not found and (closest is None or violation < closest[0]):
            closest = violation, SoftwareCandidate(number, filled.params, design, float("-inf"))
    ordered = tuple(sorted(found, key=lambda candidate: (candidate.ideal, candidate.number)))
    nearest = ordered[0] if ordered else closest[1] if closest else None
    assert nearest is not None  # an enumeration has at least one member
    return Software(ordered, {params_key(c.params): c for c in ordered}, nearest, count)


def params_key(params: Mapping[str, Any]) -> str:
    """Identity of the values of holes."""
    return json.dumps(params, sort_keys=True, default=str)


def loss_bound(design: Design, tune: Objective) -> float:
    """Proven bound of the loss that is tuned; minus infinity where none is known."""
    return _loss(bound(design), design, tune)


def ideal_loss(design: Design, tune: Objective) -> float:
    """`loss_bound` on a network of the same shape that costs and draws nothing, has no delay and never fails."""
    lasting = design.reliability.model_copy(update={"mtbf": design.reliability.mtbf.model_copy(update=_NEVER_FAILS)})
    return _loss(bound_on_any_network(design.model_copy(update={"reliability": lasting})), design, tune)


def _loss(proven: Mapping[str, float | None], design: Design, tune: Objective) -> float:
    if tune.expression is not None:
        found = design_bound(tune, proven, design.document())
        return float("-inf") if found is None else tune.sign * found
    value = proven.get(tune.name)
    known = METRICS[tune.name].direction == tune.direction
    return float("-inf") if value is None or not known else tune.sign * value


def _set_software(cluster: Cluster, placement: Any, algorithms: Sequence[AlgorithmName | None]) -> Cluster:
    dimensions = tuple(
        dimension if dimension.collective == algorithm else dimension.model_copy(update={"collective": algorithm})
        for dimension, algorithm in zip(cluster.dimensions, algorithms, strict=True)
    )
    return cluster.model_copy(update={"dimensions": dimensions, "placement": placement})


def _violation(design: Design, constraints: Sequence[Constraint]) -> float:
    """The amount by which the design does not fit; 0 if it fits."""
    problems = design_problems(design)
    if problems:
        return 1.0 + sum(problem.violation for problem in problems)
    if not constraints:
        return 0.0
    before = exact_metrics(design)
    document = design.document()
    return max(0.0, *(constraint.violation(before, document) for constraint in constraints))


def _is_of_software(constraint: Constraint, scopes: Sequence[Scope]) -> bool:
    """Whether a constraint speaks of memory and of software alone; at a list of parts the network decides prices."""
    return constraint.within(scopes, ()) or constraint.within((), SOFTWARE_SECTIONS)


def _has_expressions(template: Any) -> bool:
    if isinstance(template, ExpressionHole):
        return True
    if isinstance(template, Mapping):
        return any(_has_expressions(inner) for inner in template.values())
    if isinstance(template, list | tuple):
        return any(_has_expressions(inner) for inner in template)
    return _has_expressions(getattr(template, "alternatives", ()))
