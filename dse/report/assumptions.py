"""What a decision rests on that was not measured or has no source: prices, devices, networks, in a line each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from dse.evaluate.record import StudyRecord, TrialRecord
from dse.report.aspects import short_name
from dse.report.units import clean_text, format_percent, format_with_unit
from simcore.catalog.preset import preset
from simcore.design.prices import PriceList
from simcore.metrics import moves
from simcore.network import TOPOLOGIES

WORTH_SAYING = 0.01
"""Share of the cost below which a price is not named."""
_UNSOURCED = "assumed"


def describe_assumptions(record: StudyRecord, trial: TrialRecord) -> tuple[str, ...]:
    """At most a line each on prices, times, networks."""
    lines = (_prices(record, trial), _times(trial), _networks(trial))
    return tuple(line for line in lines if line)


def _price_list(trial: TrialRecord) -> PriceList | None:
    cost = (trial.design or {}).get("cost")
    if isinstance(cost, str):
        return preset(PriceList, "prices", cost)
    return PriceList.model_validate(cost) if isinstance(cost, Mapping) else None


def _prices(record: StudyRecord, trial: TrialRecord) -> str:
    listed = _price_list(trial)
    if listed is None or trial.metrics is None:
        return ""
    return f"Prices: {'; '.join(_parts(record, trial.metrics, listed))}."


def _parts(record: StudyRecord, metrics: Mapping[str, Any], listed: PriceList) -> Iterator[str]:
    cost, npus = metrics["cost"], metrics["npus"]
    each = {
        "npu": "NPU " + format_with_unit(cost["npu"] / npus, "$"),
        "memory": "memory " + format_with_unit(listed.memory * 1e9, "$") + "/GB",
        "network": "network " + format_with_unit(cost["network"] / npus, "$") + " an NPU",
    }
    for part in sorted(each, key=lambda name: -cost[name]):
        if cost["total"] > 0 and cost[part] > WORTH_SAYING * cost["total"]:
            source = clean_text(listed.sources.get(part, _UNSOURCED)).split(":")[0]
            yield f"{each[part]} ({format_percent(cost[part] / cost['total'])} of the cost; {source})"
    if any(moves(name, "running") or moves(name, "energy") for o in record.objectives for name in o.names):
        yield f"electricity {format_with_unit(listed.electricity * 3.6e6, '$')}/kWh"


def _times(trial: TrialRecord) -> str:
    said = _provenance(trial)
    told = [said[key] for key in ("operators", "software") if key in said]
    return f"Times: {'; '.join(map(clean_text, told))}." if told else ""


def _networks(trial: TrialRecord) -> str:
    said = _provenance(trial)
    dimensions = ((trial.design or {}).get("cluster") or {}).get("dimensions") or ()
    free = [
        f"{short_name(TOPOLOGIES, entry.get('topology'))}({clean_text(entry.get('size'))})"
        for index, entry in enumerate(dimensions)
        if said.get(f"network {index}") == "as the design says it"
    ]
    return f"Networks: {', '.join(free)} as the space says, not calibrated on any." if free else ""


def _provenance(trial: TrialRecord) -> Mapping[str, str]:
    found: Mapping[str, str] = (trial.metrics or {}).get("provenance") or {}
    return found
