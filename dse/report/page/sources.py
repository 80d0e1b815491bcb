"""Where the numbers come from: prices as numbers with their sources, and what stands behind each prediction."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dse.evaluate.record import StudyRecord, TrialRecord
from dse.report.page.base import Column, Section, escape_html, paragraphs, table, trial_name
from dse.report.summary import Summary
from dse.report.units import MISSING, clean_text, format_brief
from dse.report.words import is_assumed
from simcore import catalog
from simcore.catalog.preset import preset
from simcore.cost.ownership import YEAR
from simcore.design.prices import PriceList

TERMS = ("residual", "discount", "utilization", "building", "building_life", "support", "staff", "staff_per_npu")
"""Keys of a price list that say what it costs to own a cluster; they are told where they are not neutral."""
_NEUTRAL = PriceList.model_fields


def prices(record: StudyRecord, summary: Summary) -> str:
    """The price lists of the front's designs as numbers, then the source of each price of the study."""
    return _numbers(summary) + _sources(record)


def _numbers(summary: Summary) -> str:
    lists = {_name(cost): cost for trial in summary.front if (cost := (trial.design or {}).get("cost")) is not None}
    blocks = [(name, rows) for name, cost in lists.items() if (rows := _prices_of(cost, summary))]
    columns = [Column("price"), Column("", number=True)]
    return "".join(
        f"<h3>Prices of {escape_html(name)}</h3>{table(f'Prices of {name}', columns, rows)}" for name, rows in blocks
    )


def _name(cost: Any) -> str:
    return clean_text(cost.get("name") or "the design's own list" if isinstance(cost, Mapping) else cost)


def _prices_of(cost: Any, summary: Summary) -> list[list[str]]:
    """Each price of a list that the front's designs pay; none where the catalogue does not have it."""
    if isinstance(cost, str):
        if cost not in catalog.section("prices"):
            return []
        document: Mapping[str, Any] = preset(PriceList, "prices", cost).model_dump(exclude_none=True)
    else:
        document = cost
    rows = [
        [f"network, {tier}: {element} [$ per GB/s]", _price(price, 1e9)]
        for tier, elements in document.get("network", {}).items()
        if isinstance(elements, Mapping)
        for element, price in elements.items()
        if price is not None
    ]
    used = _npus(summary)
    rows += [[f"NPU {name} [$]", _price(price, 1)] for name, price in document.get("npu", {}).items() if name in used]
    kept = ("memory", "electricity", "pue", "lifetime", *TERMS)
    units = {
        "memory": ("[$ per GB]", 1e9),
        "electricity": ("[$ per kWh]", 3.6e6),
        "lifetime": ("[years]", 1 / YEAR),
        "building": ("[$ per W of the machines' peak]", 1),
        "building_life": ("[years]", 1 / YEAR),
        "support": ("[a year, of the price]", 1),
        "discount": ("[a year]", 1),
        "staff": ("[$ a year]", 1),
        "staff_per_npu": ("[$ a year]", 1),
    }
    for key in kept:
        if document.get(key) is not None and not (key in TERMS and document[key] == _NEUTRAL[key].default):
            unit, factor = units.get(key, ("", 1))
            rows.append([f"{key.replace('_', ' ')} {unit}", _price(document[key], factor)])
    return [[escape_html(cell) for cell in row] for row in rows]


def _price(price: Any, factor: float) -> str:
    return format_brief(price * factor) if isinstance(price, int | float) else clean_text(price)


def _npus(summary: Summary) -> set[str]:
    """Names of the NPUs on the front that have no price of their own."""
    named = [((trial.design or {}).get("cluster") or {}).get("npu") for trial in summary.front]
    listed = [npu for npu in named if not isinstance(npu, Mapping) or npu.get("price") is None]
    return {str(npu.get("name") if isinstance(npu, Mapping) else npu) for npu in listed}


def _sources(record: StudyRecord) -> str:
    if not record.prices:
        return ""
    rows = [_source(name, source) for name, source in record.prices.items()]
    return f"<h3>Sources</h3>{table('Sources of prices', [Column('price'), Column('source')], rows)}"


def _source(name: str, source: str) -> list[str]:
    badge = "<span class='badge'>assumed</span> " if is_assumed(source) else ""
    rest = "" if clean_text(source).strip("* ").lower() == "assumed" else escape_html(source)
    return [escape_html(name), f"{badge}{rest}"]


def provenance_section(summary: Summary) -> Section | None:
    """What stands behind the predictions of the front: each different text once, with its designs."""
    found: dict[tuple[str, str], list[TrialRecord]] = {}
    for trial in summary.front:
        for name, part in trial.parts:
            for key, said in _told(part).items():
                found.setdefault((f"{name}: {key}" if name else key, str(said)), []).append(trial)
    if not found:
        return None
    count = len(summary.front)
    rows = [
        [escape_html(key), escape_html(said), _designs(trials, count)] for (key, said), trials in sorted(found.items())
    ]
    columns = [Column("numbers of"), Column("come from"), Column("in")]
    title = "Where the numbers come from"
    return Section("provenance", title, paragraphs([_PROVENANCE]) + table(title, columns, rows), "Provenance")


_PROVENANCE = (
    "What stands behind each part of a prediction: fitted on measurements, read from a data sheet, or assumed."
)
_FEW = 6


def _told(trial: TrialRecord) -> Mapping[str, Any]:
    told = (trial.metrics or {}).get("provenance")
    return told if isinstance(told, dict) else {}


def _designs(trials: list[TrialRecord], count: int) -> str:
    if len(trials) == count:
        return "all designs" if count > 1 else "the design"
    named = " ".join(trial_name(trial.number) for trial in trials[:_FEW])
    return named if len(trials) <= _FEW else f"{named} {MISSING} {len(trials)} designs"
