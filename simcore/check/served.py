"""Where parameter servers can stand: what of the network of a design they rule out."""

from __future__ import annotations

from collections.abc import Iterator

from simcore.design.design import Design
from simcore.document.problem import Problem
from simcore.network import ratios_of
from simcore.system.placement import place
from simcore.workload.servers import AT, RULE


def served_network_problems(design: Design) -> Iterator[Problem]:
    """What of the network of a design that is sound else servers cannot stand at."""
    served = design.parallelism.parameter_server
    if served is None or not design.workload.computes:
        return
    group = place(design)[0]["data"]
    index = group[-1].dimension
    dimension, path = design.cluster.dimensions[index], ("cluster", "dimensions", index)
    if dimension.topology != "switch" or max(ratios_of(dimension.oversubscription)) > 1:
        expected = "a switch without oversubscription, to which parameter servers are connected as NPUs are"
        found = dimension.topology if dimension.topology != "switch" else "an oversubscribed one"
        yield Problem((*path, "topology"), expected, found, rule=RULE)
    if served.asynchronous and len(group) > 1:
        expected = "false, where data parallelism takes several dimensions: the inner ones wait for each other"
        yield Problem((*AT, "asynchronous"), expected, "true", "place data on one dimension", rule=RULE)
