"""How old the weights are that a design computes its gradients with, and what it cannot be asked for that reason.

A pipeline that never empties (`simcore.schedule.pipedream`) applies gradients to newer weights than those that they
were computed with. How many more tokens a training takes then follows from no rule. So the age of weights is said
beside every time, and no time of a whole training is. Asynchronous parameter servers do it too: while a worker is busy,
each of the W - 1 others changes the weights once, and a slow worker's gradients are older by as much as it is slower.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from simcore.design.design import Design
from simcore.design.jobs import shares_of
from simcore.document.problem import Path, Problem
from simcore.result import Staleness
from simcore.schedule import SCHEDULES
from simcore.workload.base import kind_of

RULE = "stale weights"


def staleness_of(design: Design) -> Staleness | None:
    """The age of the weights of a checked design; None where every gradient is of the weights that it changes.

    Of several jobs that of the one whose weights are oldest.
    """
    if design.jobs is not None:
        found = [staleness_of(share.design) for share in shares_of(design)[0]]
        return max(filter(None, found), key=lambda staleness: staleness.updates, default=None)
    if not design.workload.computes or not kind_of(design.workload).trained:
        return None
    p = design.parallelism
    served = p.parameter_server
    if served is not None and served.asynchronous and design.data > 1:
        slowest = max((straggler.slowdown for straggler in design.cluster.stragglers), default=1.0)
        return Staleness(math.ceil((design.data - 1) * slowest), design.workload.global_batch // design.data, 1)
    schedule = SCHEDULES[p.schedule]
    updates = schedule.staleness(p.pipeline)
    if not updates:
        return None
    batch = design.workload.global_batch // schedule.updates(design.microbatches)
    return Staleness(updates, batch, max(schedule.versions(stage, p.pipeline) for stage in range(p.pipeline)))


def unflushed_problems(design: Design) -> Iterator[Problem]:
    """What a pipeline that never empties cannot do, of a design that trains."""
    p = design.parallelism
    schedule = SCHEDULES[p.schedule]
    path: Path = ("parallelism", "schedule")
    if schedule.flushes:
        return
    if p.pipeline == 1:
        expected = f"a pipeline of at least 2 stages for schedule {p.schedule}"
        yield Problem(("parallelism", "pipeline"), expected, "1", "use schedule 1f1b", rule=RULE)
    if p.zero >= 2:
        expected = f"0 or 1 with schedule {p.schedule}, whose versions of weights are whole"
        yield Problem(("parallelism", "zero"), expected, str(p.zero), "use 1", rule=RULE)
    if design.workload.tokens_needed is not None:
        expected = (
            "a schedule that flushes, where training_tokens are given: what old weights cost in tokens is unknown"
        )
        yield Problem(path, expected, p.schedule, "use 1f1b, or leave training_tokens out", rule=RULE)
