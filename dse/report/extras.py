"""What dimensions have beyond topology, size, bandwidth, latency and tier, in few words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dse.report.aspects import Document, dimensions_of, say_ratios, shorten_value
from dse.report.units import MISSING, clean_text

_DIMENSION = ("topology", "size", "bandwidth", "latency", "tier")
_DIMENSION_DEFAULTS: dict[str, Any] = {
    "oversubscription": 1.0,
    "in_network": False,
    "efficiency": 1.0,
    "affinity": 1.0,
    "at_once": False,
}


def dimension_extras(design: Document) -> dict[str, str]:
    """What the dimensions have beyond topology, size, bandwidth, latency and tier: key -> `a/b`."""
    dimensions = dimensions_of(design)
    keys = dict.fromkeys(key for entry in dimensions for key in entry if key not in _DIMENSION)
    return {
        clean_text(key): "/".join(
            _shorten_levels(entry.get(key, _DIMENSION_DEFAULTS.get(key, MISSING))) for entry in dimensions
        )
        for key in keys
    }


def _shorten_levels(value: Any) -> str:
    """A dimension's value; one with several levels has commas between them, as slashes are between dimensions."""
    if isinstance(value, list | tuple):
        return ",".join(f"{entry:g}" if isinstance(entry, float) else shorten_value(entry) for entry in value)
    return shorten_value(value)


def say_nics(count: str) -> str:
    """So many NICs."""
    return f"{count} NIC{'s' * (count != '1')}"


def say_oversubscription(ratios: Sequence[str]) -> str:
    """How thin uplinks are, level by level."""
    return f"{':1, then '.join(ratios)}:1 oversubscribed"


def say_uplinks(ratios: Sequence[str]) -> str:
    """The same in short."""
    return f"uplinks {say_ratios(ratios)}"


def is_default_extra(name: str, text: str) -> bool:
    """Whether `text` of the extra `name` only says that every dimension has its default."""
    return name in _DIMENSION_DEFAULTS and set(text.split("/")) == {shorten_value(_DIMENSION_DEFAULTS[name])}
