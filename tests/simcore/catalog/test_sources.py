"""Every price and every watt of the catalogue has a source, or is assumed within a range."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from simcore import catalog
from simcore.document.ranges import is_ranged

RANGE = re.compile(r"[\d.,]+( W [\w ]+)? to [\d.,]+|half to ")
"""`2 to 2.9 kW`, `66 W where it spins to 120 W`, `0.8 to 1.2 times of it`, `half to twice`."""
ASIDE = re.compile(r"\((?![\d.,]+ to )[^)]*\)")
"""A source in brackets, but no range."""
OWNED = ("memory", "electricity", "building", "support", "staff", "staff_per_npu", "residual")
"""Prices of a list beside those of the network, NPUs, nodes and parts."""


def is_vague(said: str) -> bool:
    """Whether a text assumes something, and does not say between what."""
    clauses = re.sub(r"\s+", " ", ASIDE.sub("", said)).split(";")
    return any("assumed" in clause and not RANGE.search(clause) for clause in clauses)


def watts_of(section: str) -> Iterator[tuple[str, str]]:
    """Each watt of a section and what stands behind it."""
    for name, entry in catalog.section(section).items():
        said = entry["source"] if section == "parts" else entry["sources"].get("power", "")
        for key in entry["power"]:
            yield f"{section} {name}: {key}", said


def prices_of(name: str, listed: Mapping[str, Any]) -> Iterator[tuple[str, str, bool]]:
    """Each price of a list, what stands behind it, and whether it has a range."""
    ranges, sources = listed.get("ranges", {}), listed["sources"]
    for group in ("nodes", "parts"):
        for thing, price in listed.get(group, {}).items():
            low, high = (float(price[end].split()[0]) for end in ("low", "high"))
            yield f"{name} {group}.{thing}", price["source"], low < high
    for tier, elements in listed.get("network", {}).items():
        for element in elements:
            path = f"network.{tier}.{element}"
            yield f"{name} {path}", sources.get("network", ""), is_ranged(ranges, path)
    for npu in listed.get("npu", {}):
        yield f"{name} npu.{npu}", sources.get("npu", ""), is_ranged(ranges, f"npu.{npu}")
    for key in OWNED:
        if key in listed:
            yield f"{name} {key}", sources.get(key, ""), is_ranged(ranges, key)


def without_source_or_range() -> list[str]:
    """All prices and watts that have neither."""
    found = [where for section in ("npus", "nodes", "parts") for where, said in watts_of(section) if unsaid(said)]
    for name, listed in catalog.section("prices").items():
        found += [where for where, said, ranged in prices_of(name, listed) if not said or (unsaid(said) and not ranged)]
    for name, npu in catalog.section("npus").items():
        found += [f"npus {name}: price"] if "price" in npu and unsaid(npu["sources"].get("price", "")) else []
    return found


def unsaid(said: str) -> bool:
    return not said or is_vague(said)


def test_no_price_and_no_watt_of_the_catalogue_is_without_a_source_or_a_range() -> None:
    assert without_source_or_range() == []


def test_there_is_something_to_count() -> None:
    watts = [where for section in ("npus", "nodes", "parts") for where, _ in watts_of(section)]
    prices = [where for name, listed in catalog.section("prices").items() for where, *_ in prices_of(name, listed)]
    assert len(watts) > 150
    assert len(prices) > 100


@pytest.mark.parametrize(
    ("said", "vague"),
    [
        ("NVIDIA H100 datasheet", False),
        ("maximum: NVIDIA H100 datasheet; idle assumed", True),
        ("maximum: NVIDIA H100 datasheet; idle 60 to 90 W: assumed", False),
        ("assumed: as the like, 0.8 to 1.2 times of it", False),
        ("assumed", True),
    ],
)
def test_what_is_assumed_says_between_what(said: str, vague: bool) -> None:
    assert is_vague(said) == vague
