"""What a decision rests on that was not measured or has no source: prices, devices, networks, in a line each."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from math import inf
from typing import Any

from dse.evaluate.read import price_list
from dse.evaluate.record import StudyRecord, TrialRecord
from dse.report.aspects import short_name, value_at
from dse.report.launching import describe_launching
from dse.report.nearest import READ
from dse.report.runnable import describe_unrunnable, describe_unscheduled
from dse.report.spared import describe_spared
from dse.report.summary import Summary
from dse.report.units import clean_text, format_brief, format_percent, list_words, scale
from dse.whatif.machines import stack_of
from simcore import catalog
from simcore.catalog.preset import preset
from simcore.check.load import parse_design
from simcore.cost.bill import UNUSED as BOUGHT_IDLE
from simcore.cost.materials import bill_of
from simcore.cost.ownership import YEAR
from simcore.design.design import Design
from simcore.design.node import node_of
from simcore.design.prices import PriceList
from simcore.metrics import exponent_of
from simcore.network import TOPOLOGIES
from simcore.provenance import AS_DESIGNED
from simcore.reliability.waiting import spare_nodes
from simcore.result import NOTICES, notices_in

WORTH_SAYING = 0.01
"""Share of the cost below which a price is not named."""
_SENDS_BESIDE, _SENDS_WORTH = frozenset({"megatron-core"}), 0.02
"""Stacks that send between interleaved stages beside what these compute (`docs/launch.md`), and the share of the time
from which that is said."""


def describe_assumptions(record: StudyRecord, summary: Summary, trial: TrialRecord) -> tuple[str, ...]:
    """Lines on prices, on what the times rest on, on tokens, on what its stack does otherwise; then notices."""
    notes = [*describe_launching(record, summary, trial), *describe_tokens(trial)]
    notes += [*describe_unrunnable(record, trial, summary.what_if.as_run), *describe_unscheduled(record, trial)]
    notes += [*describe_sends(trial), *describe_notices(trial)]
    notes += describe_spared(record, trial, summary.what_if.wider)
    lines = (_prices(record, trial), _times(trial), *notes)
    return (*(line for line in lines if line), *(f"Note: {clean_text(notice)}" for notice in record.notices))


def describe_tokens(trial: TrialRecord) -> Iterator[str]:
    """What each training of a trial needs in tokens, where that depends on the batch or the precision."""
    for name, part in trial.parts:
        metrics, why = part.metrics or {}, clean_text(_provenance(part).get("tokens", ""))
        if why:
            needed, ends = metrics["tokens_to_train"], metrics.get("tokens_to_train_interval")
            unit = scale("tokens", ends or (needed,))
            told = [unit.number(end) for end in ends or ()]
            between = f" ({' to '.join(told)})" if len({*told}) > 1 else ""
            yield f"Tokens to train{_of(name)}: {unit.text(needed)}{between}; {why}."


def describe_sends(trial: TrialRecord) -> Iterator[str]:
    """A line where sends between stages are waited for and the stack does not wait, if they take some of the time."""
    for name, part in trial.parts:
        metrics, document = part.metrics or {}, part.design or {}
        waited = (metrics.get("exposed_communication_s") or {}).get("pipeline") or 0.0
        stack, interleave = stack_of(document), value_at(document, "parallelism.interleave") or 1
        share = waited / (metrics.get("iteration_time_s") or inf)
        if stack in _SENDS_BESIDE and interleave > 1 and share >= _SENDS_WORTH:
            yield (
                f"Sends between stages{_of(name)} are waited for here, {format_percent(share)} of the time; "
                f"{clean_text(stack)} sends beside what interleaved stages compute: slower uplinks cost it less."
            )


def describe_notices(trial: TrialRecord) -> Iterator[str]:
    """What the results of a trial say beside their numbers (`simcore.result.NOTICES`), each once."""
    said: dict[tuple[str, str], list[str]] = {}
    for name, part in trial.parts:
        for words, texts in notices_in(part.metrics or {}):
            for text in texts:
                said.setdefault((words, text), []).append(name)
    for words in NOTICES.values():
        for (kind, text), names in said.items():
            if kind == words:
                yield f"{kind}{_of(list_words(names))}: {clean_text(text)}."


def _of(name: str) -> str:
    return f" of {clean_text(name)}" if name else ""


def _prices(record: StudyRecord, trial: TrialRecord) -> str:
    listed = price_list(trial)
    if listed is None or trial.metrics is None:
        return ""
    told = list(_parts(trial, trial.metrics, listed))
    sources = {source for _, source in told}
    same = len(sources) == 1 < len(told)
    parts = [f"{what})" if same else f"{what}, {source})" for what, source in told]
    if any(exponent_of(name, "tco") for objective in record.objectives for name in objective.names):
        parts += _terms(listed)
    said = f"Prices per NPU by {sources.pop()}" if same else "Prices per NPU"
    return f"{said}: {', '.join(parts)}.{_whole(record, trial)}" if parts else ""


def _whole(record: StudyRecord, trial: TrialRecord) -> str:
    """What whole nodes come to: NPUs that are bought and not used, or a single node with nothing beside it."""
    design = _design_of(trial)
    if design is None:
        return ""
    idle = sum(item.count for item in bill_of(design).items if item.where == BOUGHT_IDLE)
    unused = f" They pay for {idle:,.0f} more NPUs, which the nodes have and the job does not use" if idle else ""
    if unused:
        unused += f"{_describe_spares(design, idle)}."
    if _is_one_node(design):
        return f"{unused} A single node is priced without storage, network and management; two have them."
    members = record.front[:READ] if design.cost.by_parts else ()
    alone = next((other for other in members if _is_one_node(_design_of(other))), None)
    beside = "is priced without storage, network and management, which more nodes have"
    return f"{unused} The single node of trial {alone.number} {beside}." if alone is not None else unused


def _describe_spares(design: Design, idle: float) -> str:
    """How many of the NPUs that a job does not use are its spares."""
    node = node_of(design.cluster)
    spares = 0 if node is None else min(idle, spare_nodes(design) * node.size)
    return f", {spares:,.0f} of them its spares" if spares else ""


def _is_one_node(design: Design | None) -> bool:
    """Whether a design is one node, priced by its parts."""
    return design is not None and design.cost.by_parts and sum(item.count for item in bill_of(design).at_work) == 1


def _design_of(trial: TrialRecord) -> Design | None:
    """The design of a trial; None where it has none of sound form."""
    return None if trial.design is None else parse_design(trial.design)[0]


def _has_own_price(trial: TrialRecord, listed: PriceList) -> bool:
    """Whether the price of an NPU is that of its own section, and not that of a list or of the catalogue."""
    npu = value_at(trial.design or {}, "cluster.npu")
    return isinstance(npu, Mapping) and "price" in npu and not listed.by_parts


def _parts(trial: TrialRecord, metrics: Mapping[str, Any], listed: PriceList) -> Iterator[tuple[str, str]]:
    """What is paid for each part worth saying with its share, the bracket still open, and the price's source."""
    cost, npus = metrics["cost"], metrics["npus"]
    said = {
        "npu": _dollars(cost["npu"] / npus),
        "network": f"network {_dollars(cost['network'] / npus)}",
        "memory": f"expanded memory {_dollars(cost['memory'] / npus)} at {_dollars(listed.memory * 1e9)}/GB",
        "storage": f"storage {_dollars(cost.get('storage', 0.0) / npus)}",
        "other": f"racks and management {_dollars(cost.get('other', 0.0) / npus)}",
    }
    paid, own = {part: cost.get(part, 0.0) for part in said}, _has_own_price(trial, listed)
    worth = {part for part in said if paid[part] > WORTH_SAYING * cost["total"] or (own and part == "npu")}
    for place, part in enumerate(sorted(worth, key=lambda name: (-paid[name], name))):
        share = format_percent(paid[part] / cost["total"]) + ("" if place else " of cost")
        told = f"NPU {said[part]}" if place and part == "npu" else said[part]
        yield f"{told} ({share}", "as the space has it" if own and part == "npu" else _source(listed, part)


def _terms(listed: PriceList) -> Iterator[str]:
    """On which terms the cluster is owned: those of the list with their source, then those of the space."""
    told = {
        "electricity": f"electricity {_dollars(listed.electricity * 3.6e6)}/kWh",
        "pue": f"PUE {format_brief(listed.pue)}",
        "lifetime": f"{format_brief(listed.lifetime / YEAR)} years",
        "residual": f"worth {format_percent(listed.residual)} of its price at the end" if listed.residual else "",
        "discount": f"money at {format_percent(listed.discount)}" if listed.discount else "",
        "building": f"building {_dollars(listed.building)}/W" if listed.building else "",
        "support": f"support {format_percent(listed.support)} a year" if listed.support else "",
        "utilization": f"in use {format_percent(listed.utilization)} of the time" if listed.utilization < 1 else "",
    }
    usual = preset(PriceList, "prices", listed.name) if listed.name in catalog.section("prices") else None
    own = {key for key in told if usual is None or getattr(usual, key) != getattr(listed, key)}
    for keys, source in ((told.keys() - own, _source(listed, "electricity")), (own, "as the space has it")):
        if texts := [text for key, text in told.items() if key in keys and text]:
            yield f"{', '.join(texts)} ({source})"


def _dollars(value: float) -> str:
    return f"{format_brief(value)} $"


def _source(listed: PriceList, part: str) -> str:
    """The first words of a source: *assumed*, *LIBRA*; a list of parts has one beside each price."""
    if listed.by_parts and part not in listed.sources:
        return clean_text(listed.name or "parts")
    return re.split(r"[:(,]", clean_text(listed.sources.get(part, "assumed")))[0].strip()


def _times(trial: TrialRecord) -> str:
    said = _provenance(trial)
    told = [clean_text(said["operators"])] if "operators" in said else []
    stacks = (_provenance(part).get("software") for _, part in trial.parts)
    told += dict.fromkeys(clean_text(stack) for stack in stacks if stack)
    if said.get("operators", "").startswith("data sheet"):
        told[0] += " (off by up to a half, and with it what is proven)"
    unmeasured = _unmeasured(trial, said)
    told += [f"network {', '.join(unmeasured)} not calibrated"] if unmeasured else []
    return f"Times: {'; '.join(told)}." if told else ""


def _unmeasured(trial: TrialRecord, said: Mapping[str, str]) -> list[str]:
    """The dimensions whose collectives no measurement stands behind."""
    dimensions = ((trial.design or {}).get("cluster") or {}).get("dimensions") or ()
    return [
        f"{short_name(TOPOLOGIES, entry.get('topology'))}({clean_text(entry.get('size'))})"
        for index, entry in enumerate(dimensions)
        if said.get(f"network {index}") == AS_DESIGNED
    ]


def _provenance(trial: TrialRecord) -> Mapping[str, str]:
    found: Mapping[str, str] = (trial.metrics or {}).get("provenance") or {}
    return found
