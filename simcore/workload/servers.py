"""What a job must satisfy whose gradients meet at parameter servers."""

from __future__ import annotations

from collections.abc import Iterator

from simcore.design.design import Design
from simcore.document.problem import Path, Problem
from simcore.schedule import SCHEDULES

RULE = "parameter server"
AT: Path = ("parallelism", "gradients", "parameter_server")


def server_problems(design: Design) -> Iterator[Problem]:
    """What of the job cannot be combined with parameter servers."""
    p = design.parallelism
    served = p.parameter_server
    if served is None:
        return
    if design.data == 1:
        expected = "data-parallel NPUs, whose gradients meet at the servers"
        yield Problem(("parallelism", "data"), expected, "1", "leave gradients out", rule=RULE)
    for name, alone in (("zero", 0), ("expert", 1), ("context", 1)):
        found = getattr(p, name)
        if found != alone:
            expected = f"{alone} with a parameter server"
            yield Problem(("parallelism", name), expected, str(found), f"use {alone}", rule=RULE)
    if not served.dedicated and design.data and served.servers > design.data:
        expected = f"at most the {design.data} NPUs of a data-parallel group, where servers are colocated"
        yield Problem((*AT, "servers"), expected, str(served.servers), rule=RULE)
    if not served.asynchronous:
        return
    if not SCHEDULES[p.schedule].flushes:
        expected = "a schedule that flushes with an asynchronous parameter server"
        yield Problem(("parallelism", "schedule"), expected, p.schedule, "use 1f1b", rule=RULE)
    if design.workload.tokens_needed is not None:
        expected = "false, where training_tokens are given: what old weights cost in tokens is unknown"
        yield Problem((*AT, "asynchronous"), expected, "true", "leave training_tokens out", rule=RULE)
