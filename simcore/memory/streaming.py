"""What a design must satisfy whose weights stream in from an expanded memory (`simcore.system.streamed`)."""

from __future__ import annotations

from collections.abc import Iterator

from simcore.design.design import Design
from simcore.document.problem import Path, Problem
from simcore.schedule import SCHEDULES
from simcore.workload.base import kind_of

RULE = "weights that stream in"
_AT: Path = ("cluster", "memory", "expanded", "place")


def updating_problems(design: Design) -> Iterator[Problem]:
    """What keeps a memory from updating what lies in it: that no weights do."""
    memory = design.expanded_memory
    if memory is not None and memory.updates and not memory.streams:
        expected = "false where no weights lie in the memory"
        yield Problem((*_AT[:-1], "updates"), expected, "true", "use place: [weights, optimizer]", rule=RULE)


def streaming_problems(design: Design) -> Iterator[Problem]:
    """What of the design cannot be combined with weights that stream in."""
    memory, p = design.streamed, design.parallelism
    assert memory is not None
    if not memory.updates and design.data and design.microbatches > 1:
        expected = "true where gradients of several microbatches are to be summed: a memory without compute cannot add"
        fix = f"set it, or use a microbatch of {p.microbatch * design.microbatches}"
        yield Problem((*_AT[:-1], "updates"), expected, "false", fix, rule=RULE)
    if set(memory.place) != {"weights", "optimizer"}:
        expected = "[weights, optimizer] where weights stream in: what the memory updates lies there whole"
        yield Problem(_AT, expected, ", ".join(memory.place), rule=RULE)
    if kind_of(design.workload).explicit:
        yield Problem(_AT, "[spill] beside a trace", ", ".join(memory.place), rule=RULE)
        return
    wanted = {
        "zero": (p.zero, 3, "the memory holds what ZeRO-3 shards"),
        "gather": (p.gathers, "twice", "weights are dropped after each use"),
        "accumulate": ("sharded" if p.reduces_each else "local", "sharded", "gradients leave in every microbatch"),
        "shard_group": (p.shard_group, None, "all copies share one shard each"),
    }
    for key, (found, value, why) in wanted.items():
        if found != value:
            expected = f"{'nothing' if value is None else value} where weights stream in: {why}"
            yield Problem(("parallelism", key), expected, f"{found}", rule=RULE)
    schedule = SCHEDULES[p.schedule]
    if not schedule.flushes or schedule.splits:
        expected = "a schedule that flushes, and keeps backward passes whole, where weights stream in"
        yield Problem(("parallelism", "schedule"), expected, p.schedule, "use 1f1b", rule=RULE)
    if memory.edge and len(design.cluster.dimensions) > 2:
        expected = "false where weights stream in beyond one mesh, over whose links alone a controller sends to all"
        yield Problem(("cluster", "memory", "expanded", "edge"), expected, "true", rule=RULE)
