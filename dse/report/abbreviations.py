"""The abbreviations of a text, each explained once: degrees of parallelism, topologies, algorithms."""

from __future__ import annotations

import re

from dse.report.aspects import DEGREES, short_names


def explain_abbreviations(text: str) -> str:
    """A sentence on the abbreviations that `text` uses; empty where it uses none."""
    letters = set(re.findall(r"\b([a-z])\d+\b(?!:)", text))  # a name and a colon is that of the space
    degrees = {short: name for name, short in DEGREES.items() if short in letters}
    names = {short: name.replace("_", " ") for name, short in short_names().items() if _is_used(short, name, text)}
    said = [f"{', '.join(degrees)}: {', '.join(degrees.values())} parallel"] if degrees else []
    return "; ".join([*said, *(f"{short}: {name}" for short, name in names.items())])


def _is_used(short: str, name: str, text: str) -> bool:
    return short.casefold() != name.casefold() and re.search(rf"\b{re.escape(short)}\b", text) is not None
