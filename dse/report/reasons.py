"""Why a design is as good as it is: the parts of its iteration time, its memory use, and the network's share of cost.

The shares are those of the breakdown of `simcore.result.Result`, which sums to the iteration time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from dse.evaluate.fullness import memory_shares, spills
from dse.evaluate.record import TrialRecord
from dse.report.aspects import value_at
from dse.report.jobs import name_fullest
from dse.report.units import clean_text, format_percent, format_with_unit, list_words
from dse.report.values import read_result
from simcore.check.load import parse_design
from simcore.result import Cost, ExposedCommunication, Memory, Result
from simcore.system.placement import place

GROUPS: tuple[str, ...] = tuple(field.name for field in fields(ExposedCommunication))
_WORTH_SAYING = 0.05
_BUSY = 0.75
"""A dimension that is busy for such a share of an iteration behind the computing has little slack."""
_UNEQUAL = 1.3
"""How many times the mean idle time a bubble is that its stage has to itself."""
_LARGE, _FEW = 0.2, 4
"""A bubble of this share is large, and microbatches are few that are not so many times the stages."""
_OF_PIPELINE = ("workload.global_batch", "parallelism.pipeline", "parallelism.data", "parallelism.microbatch")


def breakdown(outcome: Result) -> dict[str, float]:
    """Part -> time [s] of an iteration: compute, communication by group, bubble, optimizer, other."""
    exposed = {f"{group} communication": getattr(outcome.exposed_communication_s, group) for group in GROUPS}
    rest = {"bubble": outcome.bubble_s, "optimizer": outcome.optimizer_s, "other": outcome.other_s}
    return {"compute": outcome.compute_s, **exposed, **rest}


def memory_parts(memory: Memory) -> dict[str, float]:
    """Part -> bytes of what must be reserved on an NPU, which they add up to.

    Working space is what remains up to the peak; what is reserved beside it is what the allocator loses, the context
    and the buffers of communicators.
    """
    held = {name: float(getattr(memory, name)) for name in ("weights", "gradients", "optimizer", "activations")}
    held["keys and values"] = memory.kv_cache or 0.0
    working = max(0.0, memory.peak - sum(held.values()))
    return {**held, "working space": working, "reserved beside": max(0.0, memory.reserved - memory.peak)}


def cost_parts(cost: Cost) -> dict[str, float]:
    """Part -> dollars of the price, which they add up to; electricity where the total has it."""
    bought = {"NPUs": cost.npu, "network": cost.network, "memory": cost.memory}
    bought |= {"storage": cost.storage, "racks and management": cost.other}
    rest = cost.total - sum(bought.values())
    return {**bought, "electricity": rest if rest > 1e-9 * cost.total else 0.0}


def describe_reason(metrics: Mapping[str, Any] | None) -> str:
    """A sentence about one simulated design, from its result's document; empty where there is none.

    *Bound by compute (62 %), then data communication (20 %) and bubble (11 %); memory 76 % full; network 34 % of
    cost.*
    """
    if metrics is None:
        return ""
    outcome = read_result(metrics)
    clauses = [_describe_bound(outcome), _describe_memory(outcome), _describe_cost(outcome)]
    text = "; ".join(clause for clause in clauses if clause)
    return f"{text[0].upper()}{text[1:]}." if text else ""


def describe_load(metrics: Mapping[str, Any] | None, document: Mapping[str, Any] | None = None) -> str:
    """The first two clauses of `describe_reason`, in short: *bound by compute (62 %), then …; memory 76 % full*.

    With the design's complete `document` a large bubble has its reason beside it.
    """
    if metrics is None:
        return ""
    outcome = read_result(metrics)
    bound = _describe_bound(outcome, 2, _of_bubble(outcome, document or {}))
    told = bound, _describe_busy(outcome), _describe_unused(outcome, document or {}), _describe_memory(outcome)
    return "; ".join(clause for clause in told if clause)


def _describe_busy(outcome: Result) -> str:
    """The dimension of the network that is busy nearly all the time, as much as that is behind computing."""
    busiest = max(outcome.network, key=lambda use: use.busy_s, default=None)
    seen = sum(getattr(outcome.exposed_communication_s, group) for group in GROUPS)
    if busiest is None or busiest.busy_s - seen < _BUSY * (outcome.iteration_time_s or 1.0):
        return ""
    often = format_percent(busiest.busy_s / outcome.iteration_time_s)
    return f"network {clean_text(busiest.dimension)} is busy {often} of the time behind that: a slower one would show"


def _describe_unused(outcome: Result, document: Mapping[str, Any]) -> str:
    """The dimensions of the network that carry nothing, as between replicas that serve each by itself.

    The use is that of one stage: another one may send to the next one over a dimension that this one does not need.
    """
    design, _ = parse_design(document)
    sent = set() if design is None else {where.dimension for where in place(design)[0].get("pipeline", ())}
    unused = [
        clean_text(use.dimension)
        for number, use in enumerate(outcome.network)
        if use.busy_s == 0 and number not in sent
    ]
    if not unused or len(unused) == len(outcome.network):
        return ""
    return f"network {list_words(unused)} carries nothing: the least that is sold would do"


def _of_bubble(outcome: Result, document: Mapping[str, Any]) -> str:
    """Where a large bubble comes from: few microbatches, which a larger batch would mend, or stages of unequal length.

    With several times as many microbatches as stages little of it is the time that filling and draining takes. The
    stage that ends last may have fewer layers than others, and idle far more than NPUs do on average.
    """
    found = [value_at(document, path) for path in _OF_PIPELINE]
    if not all(isinstance(number, int) and number > 0 for number in found):
        return ""
    batch, stages, data, each = found
    count, share = batch // (data * each), outcome.bubble_s / (outcome.iteration_time_s or 1.0)
    if stages == 1 or share < _LARGE:
        return ""
    idle = None if outcome.power is None else outcome.power.activity.idle / outcome.iteration_time_s
    if idle is not None and share > _UNEQUAL * idle:
        return f" on the stage that ends last, {format_percent(idle)} on average: stages take unequally long"
    if count < _FEW * stages:
        return f": {count:,} microbatches on {stages:,} stages"
    return ": stages take unequally long" if share > 2 * (stages - 1) / (count + stages - 1) else ""


def describe_bounds(trial: TrialRecord) -> str:
    """What bounds a trial. If a cluster is bought for several workloads, that of each, after its name."""
    texts = [(name, describe_bound(part.metrics)) for name, part in trial.parts]
    return "; ".join(f"{clean_text(name)}: {text}" if name else text for name, text in texts if text)


def describe_bound(metrics: Mapping[str, Any] | None) -> str:
    """The two largest parts of an iteration: `compute 62 %, data communication 20 %`."""
    shares = _shares(read_result(metrics)) if metrics is not None else []
    return ", ".join(f"{part} {format_percent(share)}" for part, share in shares[:2])


def _shares(outcome: Result) -> list[tuple[str, float]]:
    """Parts of at least `_WORTH_SAYING` and their shares of the iteration, the largest first."""
    if outcome.iteration_time_s <= 0:
        return []
    named = {"expert communication": "exchange of embeddings"} if outcome.throughput_counts == "samples" else {}
    spent = breakdown(outcome).items()
    shares = [(named.get(part, part), time / outcome.iteration_time_s) for part, time in spent]
    return sorted((pair for pair in shares if pair[1] >= _WORTH_SAYING), key=lambda pair: -pair[1])


def _describe_bound(outcome: Result, most: int = 3, of_bubble: str = "") -> str:
    beside = {"compute": _reading(outcome), "bubble": of_bubble}
    told = [f"{part} ({format_percent(share)}{beside.get(part, '')})" for part, share in _shares(outcome)[:most]]
    first, *others = told or [""]
    then = f", then {' and '.join(others)}" if others else ""
    return f"bound by {first}{then}" if first else ""


def _reading(outcome: Result) -> str:
    """How much of its computing the memory bounds, where that is most of it: more FLOP/s would be of no use there."""
    activity = None if outcome.power is None else outcome.power.activity
    if activity is None or activity.memory <= activity.tensor:
        return ""
    share = activity.memory / (activity.memory + activity.tensor)
    return f", {format_percent(share)} of it at the memory's bandwidth"


def _describe_memory(outcome: Result) -> str:
    memory, shares = outcome.memory_bytes, memory_shares(outcome)
    if memory is None or not shares:
        return ""
    whose = f" of {name}" if (name := name_fullest(outcome.jobs)) else ""
    of_it = "of it" if spills(memory) else "more"
    held = f", {format_with_unit(memory.expanded, 'B')} {of_it} beside the NPU's own" if memory.expanded else ""
    if max(shares) > 1:
        return f"memory{whose} {format_percent(max(shares) - 1)} over its capacity"
    return f"memory{whose} {format_percent(shares[0])} full{held}"


def _describe_cost(outcome: Result) -> str:
    return (
        f"network {format_percent(outcome.cost.network / outcome.cost.total)} of cost" if outcome.cost.total > 0 else ""
    )
