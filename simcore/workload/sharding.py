"""What the keys of ZeRO must satisfy: what is sharded, when it is moved, and over how many NPUs.

Under a pipeline the microbatches of a stage alternate between forward and backward, so gradients reduced and parameters
gathered in each of them would be sent as often as there are microbatches. No stack does that: PyTorch's FSDP
accumulates locally and keeps parameters gathered, DeepSpeed refuses ZeRO-2 and 3 with a pipeline. ZeRO-2 would be
ZeRO-1 there.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from simcore.design.design import Design
from simcore.document.problem import Path, Problem


def sharding_problems(design: Design) -> Iterator[Problem]:
    """Every problem of `zero`, `accumulate`, `gather` and `shard_group` of a design that trains."""
    p = design.parallelism
    if p.zero == 2 and p.pipeline > 1:
        expected = f"0, 1 or 3 under a pipeline of {p.pipeline} stages, where whole gradients make ZeRO-2 the same as 1"
        yield Problem(("parallelism", "zero"), expected, "2", "use 1", rule="ZeRO-2 under a pipeline")
        return
    yield from _accumulate(design)
    yield from _gather(design)
    yield from _shard_group(design)


def _accumulate(design: Design) -> Iterator[Problem]:
    p = design.parallelism
    path: Path = ("parallelism", "accumulate")
    if not p.reduces_each:
        return
    if p.zero < 2:
        expected = f"local with ZeRO-{p.zero}, which keeps whole gradients"
        yield Problem(path, expected, "sharded", "leave it out, or use zero: 2", rule="gradients to shard")
    elif p.pipeline > 1 and design.streamed is None:
        expected = f"local under a pipeline of {p.pipeline} stages, which no stack combines with sharded gradients"
        yield Problem(path, expected, "sharded", "leave it out", rule="sharded gradients under a pipeline")


def _gather(design: Design) -> Iterator[Problem]:
    p = design.parallelism
    path: Path = ("parallelism", "gather")
    if p.zero < 3 and p.gather not in (None, "twice"):
        expected = f"nothing with ZeRO-{p.zero}, which keeps whole parameters"
        yield Problem(path, expected, f"{p.gather}", "leave it out, or use zero: 3", rule="parameters to gather")
    elif p.pipeline > 1 and p.gathers in ("twice", "microbatch") and design.streamed is None:
        expected = f"once under a pipeline of {p.pipeline} stages, which no stack combines with gathers in between"
        yield Problem(path, expected, p.gathers, "leave it out", rule="gathers under a pipeline")


def _shard_group(design: Design) -> Iterator[Problem]:
    p = design.parallelism
    path: Path = ("parallelism", "shard_group")
    if p.shard_group is None:
        return
    found, rule = str(p.shard_group), "shard group"
    if p.zero == 0:
        yield Problem(path, "nothing with ZeRO-0, which shards nothing", found, "leave it out", rule=rule)
    elif design.copies and design.copies % p.shard_group:
        what = f"data x context ({design.data} x {p.context})"
        fix = f"choose a divisor of {design.copies}"
        yield Problem(path, f"a number of NPUs that divides {what}", found, fix, rule=rule)
    elif p.shard_group * p.tensor % p.expert_npus:
        least = p.expert_npus // math.gcd(p.expert_npus, p.tensor)
        which = f"{least} ({p.expert_npus} NPUs have all experts, {p.tensor} are a tensor group)"
        if not p.folded:
            which = f"the expert degree ({p.expert}), whose NPUs have different experts"
        yield Problem(path, f"a multiple of {which}", found, f"choose a multiple of {least}", rule=rule)
