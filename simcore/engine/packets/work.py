"""The graph of what is to be done: gates, tasks that occupy a resource, and messages.

A piece of work begins `LAG` after all that it waits for is over. A resource does one task at a time, of those that wait
the one of the least order first, then the one that came first.
"""

from __future__ import annotations

from simcore.compiled import borrowing, inlined
from simcore.engine.packets.heap import push
from simcore.engine.packets.layout import (
    AMOUNT,
    BEGIN,
    CLOCK,
    DEPENDENTS,
    DEPENDENTS_AT,
    DEPENDENTS_END,
    DOING,
    DONE,
    ENDS_AT,
    FINISH,
    FIRST_WAITING,
    GATE,
    KIND,
    LAG,
    LAST_WAITING,
    MISSING,
    NEXT_WORK,
    NOW,
    ORDER,
    RESOURCE_BUSY,
    RESOURCES,
    STACK,
    TASK,
    WHERE,
    WORK,
    WORK_LEFT,
    Ints,
    Reals,
)
from simcore.engine.packets.pairs import add_message
from simcore.engine.packets.processor import compute, serve_more


@inlined
def finish(w: Ints, f: Reals, work: int) -> None:
    """A piece of work is over, and so are the gates that waited for nothing else."""
    its, clock = w[WORK], w[CLOCK]
    clock[0, STACK] = -1
    done = work
    while done >= 0:
        its[done, FINISH] = clock[0, NOW]
        clock[0, DONE] += 1
        for i in range(its[done, DEPENDENTS_AT], its[done, DEPENDENTS_END]):
            later = w[DEPENDENTS][i, 0]
            its[later, MISSING] -= 1
            if its[later, MISSING] == 0:
                if its[later, LAG] > 0:
                    push(w, clock[0, NOW] + its[later, LAG], BEGIN, later)
                elif its[later, KIND] == GATE:
                    its[later, NEXT_WORK] = clock[0, STACK]
                    clock[0, STACK] = later
                else:
                    start(w, f, later)
        done = clock[0, STACK]
        if done >= 0:
            clock[0, STACK] = its[done, NEXT_WORK]


@inlined
def start(w: Ints, f: Reals, work: int) -> None:
    """A task or a message begins."""
    if w[WORK][work, KIND] == TASK:
        _queue_task(w, work)
    else:
        add_message(w, f, work)


@inlined
def _queue_task(w: Ints, work: int) -> None:
    """A task waits for its resource."""
    its, resource = w[WORK], w[RESOURCES][w[WORK][work, WHERE]]
    before, after = -1, resource[FIRST_WAITING]
    if after >= 0 and its[resource[LAST_WAITING], ORDER] <= its[work, ORDER]:
        before, after = resource[LAST_WAITING], -1
    while after >= 0 and its[after, ORDER] <= its[work, ORDER]:
        before, after = after, its[after, NEXT_WORK]
    its[work, NEXT_WORK] = after
    if before < 0:
        resource[FIRST_WAITING] = work
    else:
        its[before, NEXT_WORK] = work
    if after < 0:
        resource[LAST_WAITING] = work
    if resource[DOING] < 0 and before < 0 and after < 0:
        push(w, w[CLOCK][0, NOW], BEGIN, -1 - its[work, WHERE])  # once all that happens now is known


@inlined
def pick(w: Ints, resource: int) -> None:
    """A resource that is free takes the next task."""
    its, row = w[WORK], w[RESOURCES][resource]
    task = row[FIRST_WAITING]
    if row[DOING] >= 0 or task < 0:
        return
    row[FIRST_WAITING] = its[task, NEXT_WORK]
    row[DOING], row[WORK_LEFT] = task, its[task, AMOUNT] * 1000
    row[RESOURCE_BUSY] -= w[CLOCK][0, NOW]
    serve_more(w, resource, 1)
    compute(w, resource)


@inlined
def end_task(w: Ints, resource: int) -> int:
    """A resource has done its task: that task."""
    row = w[RESOURCES][resource]
    task = row[DOING]
    row[DOING] = row[ENDS_AT] = -1
    row[RESOURCE_BUSY] += w[CLOCK][0, NOW]
    serve_more(w, resource, -1)
    if row[FIRST_WAITING] >= 0:
        push(w, w[CLOCK][0, NOW], BEGIN, -1 - resource)
    return int(task)


@borrowing
def begin_all(w: Ints, f: Reals) -> None:
    """Begin what waits for nothing."""
    its, clock = w[WORK], w[CLOCK]
    for work in range(its.shape[0]):
        if its[work, MISSING] == 0 and its[work, FINISH] < 0:
            if its[work, LAG] > 0 or its[work, KIND] == GATE:
                push(w, clock[0, NOW] + its[work, LAG], BEGIN, work)
            else:
                start(w, f, work)
