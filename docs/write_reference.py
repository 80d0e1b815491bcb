"""Write `docs/reference.md`, every key of a document, from the schema: `python docs/write_reference.py`.

A section of the page is a section of a document. Kinds of values, limits and defaults are those of its JSON Schema, the
sentences those below the fields of its class (`dse.space.described`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from dse.space.described import described_keys, sections_in
from dse.space.settings import StudySettings
from simcore.design.design import Design
from simcore.design.parallelism import Parallelism
from simcore.design.workload import KINDS
from simcore.document.field import MOST

HEAD = """\
# Reference of keys

Every key of a design and of a space. `python docs/write_reference.py` writes this page from the schema;
[spaces.md](spaces.md) introduces the keys by topic, and editors show the same sentences
([in an editor](spaces.md#in-an-editor)).

- A *quantity* is a number with its unit; the unit shown is one of several ([quantities](spaces.md#quantities)).
- *By the software*: the stack named under `software` decides, unless the key is given
  ([catalogue](catalogue.md#software)).
- In a space any value may be a hole ([holes](spaces.md#holes)).
- A *section* has keys of its own, further down. Where it says *a name*, an entry of the [catalogue](catalogue.md) may
  stand.
"""

COMMON = {
    "name": "What reports call it.",
    "source": "Where its numbers were read.",
    "sources": "Where its numbers were read, by key; or *assumed*.",
}
"""Keys that mean the same wherever they stand."""

TOP = ("parallelism", "cluster", "system", "software", "cost", "reliability", "jobs")
NAMED = {"npu", "model", "cost", "software", "library", "curve", "layers", "node", "reliability", "transport"}
"""Keys whose section may be named instead: an entry of the catalogue, a congestion control."""
BY_SOFTWARE = {"flash_attention", "cross_entropy_fusion", "data_overlap", "gradient_precision", "dispatch", "schedule"}

_FABRIC = "Instead of `dimensions`: the network of a machine."
_DOMAIN = "NPUs of each NVLink domain or slice that take part."
_BUDGET = "In a space: a budget that the dimensions without a bandwidth share."
WRITTEN: dict[str, tuple[tuple[str, str, str, str], ...]] = {
    "cluster": (
        ("fabric", "a name, a section with `dimensions`, or a YAML file", "", _FABRIC),
        ("npus", "whole number from 1", "", "NPUs of the fabric, whose last dimension takes what is left."),
        ("domain", "whole number from 1", "the largest that divides `npus`", _DOMAIN),
        ("bandwidth", "`{split: …, step: …}`", "", _BUDGET),
    ),
    "parallelism": (
        (
            "degrees",
            "`{product: …, of: […], limits: {…}}`",
            "",
            "In a space: all ways to multiply degrees to a number.",
        ),
    ),
}
"""Keys that documents have and designs have no more: they become others at the door."""

_USUAL = "minimize `iteration_time`, `cost.total`"
_METRICS = "What the search trades: metrics, or [expressions](spaces.md#expressions-as-objectives)."
SPACE = (
    ("objectives", "`{minimize: [metric, …], maximize: […]}`", _USUAL, _METRICS),
    (
        "constraints",
        "list of comparisons",
        "`[fits]`",
        "What a design must meet, `fits` beside what is said ([constraints](spaces.md#constraints)).",
    ),
    (
        "workloads",
        "list of `{name, weight, workload, …}`",
        "",
        "What one cluster is bought for, each alone on it ([buying](buying.md)).",
    ),
    (
        "futures",
        "list of `{name, weight, change, workloads, years}`",
        "",
        "What may come ([futures](buying.md#several-futures)).",
    ),
    (
        "phases",
        "list of `{year, npus, price}`, or of such lists",
        "",
        "What is bought when ([phases](buying.md#in-phases)).",
    ),
    (
        "hypothetical",
        "`true false`",
        "see [orders](orderable.md)",
        "Whether clusters may be ones that nobody sells; a key of designs, too.",
    ),
    ("study", "[section](#study)", "", "How to search."),
)
TABLE = "| key | value | default | meaning |\n|---|---|---|---|"

_SI_UNIT = re.compile(r" \[(s|B|B/s|FLOP|FLOP/s|W|Hz|1|\$|\$ per (B/s|B|J))\]")
"""What a docstring says of the number inside; a document has units of its own."""


def reference() -> str:
    """The page."""
    sections = dict(_sections())
    contents = [place for place in sections if "." not in place]
    parts = [
        HEAD,
        "\n".join(f"- [{place}](#{_anchor(place)})" for place in (*contents, "keys of a space alone")) + "\n",
    ]
    parts += ["\n".join(_section(place, section, sections)) + "\n" for place, section in sections.items()]
    return "\n".join([*parts, "## Keys of a space alone\n", TABLE, *(_row(*row) for row in SPACE)]) + "\n"


def _sections() -> Iterator[tuple[str, type[BaseModel]]]:
    """Place in a document -> section, each class once, in the order in which documents are read."""
    seen: set[type[BaseModel]] = set()
    for kind, form in KINDS.items():
        yield from _below(f"workload ({kind})", form.section, seen)
    for key in TOP:
        for section in sections_in(Design.model_fields[key].annotation):
            yield from _below(key, section, seen)
    yield from _below("study", StudySettings, seen)


def _below(place: str, section: type[BaseModel], seen: set[type[BaseModel]]) -> Iterator[tuple[str, type[BaseModel]]]:
    if section in seen or not section.model_fields:
        return
    seen.add(section)
    yield place, section
    for key, field in section.model_fields.items():
        for inner in sections_in(field.annotation):
            within, _, kind = place.partition(" ")
            yield from _below(f"{within}.{key} {kind}".rstrip(), inner, seen)


def _section(place: str, section: type[BaseModel], sections: Mapping[str, type[BaseModel]]) -> Iterator[str]:
    yield f"## {place}\n\n{' '.join((section.__doc__ or '').split(chr(10) + chr(10))[0].split())}\n"
    yield TABLE
    schema = section.model_json_schema(mode="serialization")
    schema = schema["$defs"][section.__name__] if "$ref" in schema else schema  # a section that holds itself
    places = {inner.__name__: where for where, inner in sections.items()}
    said = COMMON | described_keys(section)
    for key, spec in schema["properties"].items():
        value = _value(spec, places)
        if key in NAMED and section is not Parallelism and (inner := sections_in(section.model_fields[key].annotation)):
            value = f"a name, or [section](#{_anchor(places[inner[0].__name__])})"
        default = "by the software" if key in BY_SOFTWARE and spec.get("default", "") is None else _default(spec)
        required = "**required**" if key in schema.get("required", ()) else default
        yield _row(key, value, required, _SI_UNIT.sub("", said[key]))
    yield from (_row(*row) for row in WRITTEN.get(place, ()))


def _row(key: str, value: str, default: str, meaning: str) -> str:
    return f"| `{key}` | {value} | {default} | {meaning.replace('|', chr(92) + '|')} |"


def _value(spec: Mapping[str, Any], places: Mapping[str, str]) -> str:
    """What may stand there, in words, by the JSON Schema of a key."""
    if "$ref" in spec:
        place = places[spec["$ref"].rpartition("/")[2]]
        return f"[section](#{_anchor(place)})"
    if "anyOf" in spec:
        options = [_value(option, places) for option in spec["anyOf"] if option.get("type") != "null"]
        return " or ".join(dict.fromkeys(option for option in options if option))
    if "enum" in spec:
        return f"`{' '.join(map(str, spec['enum']))}`"
    return _plain(spec, places)


def _plain(spec: Mapping[str, Any], places: Mapping[str, str]) -> str:
    kind = spec.get("type")
    if kind == "array":
        items = spec.get("items") or {}
        return "two numbers" if "prefixItems" in spec else f"list of: {_value(items, places)}"
    if kind == "object":
        names = spec.get("propertyNames", {}).get("enum")
        by = f"by {' '.join(names)}" if names else "by name"
        return f"{_value(spec.get('additionalProperties') or {}, places)}, {by}"
    if kind == "string":
        unit = spec["examples"][0].removeprefix("1 ") if "examples" in spec else ""
        return f"quantity [{unit}]" if unit else f"`{spec['description']}`" if "description" in spec else "text"
    if kind in ("integer", "number"):
        return _number(spec)
    return "`true false`" if kind == "boolean" else str(spec.get("const", "section"))


def _number(spec: Mapping[str, Any]) -> str:
    """A number within its limits."""
    whole = spec["type"] == "integer"
    low = spec.get("minimum", spec.get("exclusiveMinimum", 0) + 1 if whole and "exclusiveMinimum" in spec else None)
    above, high = (None if whole else spec.get("exclusiveMinimum")), spec.get("maximum", spec.get("exclusiveMaximum"))
    limits = [f"from {low:,}"] if low is not None else [f"above {above:,}"] if above is not None else []
    limits += [f"to {high:,}"] if high is not None and high < MOST else []
    return " ".join(["whole number" if whole else "number", *limits])


def _default(spec: Mapping[str, Any]) -> str:
    default = spec.get("default")
    if default in (None, "", {}, [], ()):
        return ""
    if isinstance(default, Mapping):
        return "as below"
    if isinstance(default, list):
        return f"`[{', '.join(map(str, default))}]`"
    if isinstance(default, bool):
        return f"`{str(default).lower()}`"
    number, _, unit = str(default).partition(" ")
    return f"`{float(number):g} {unit}`" if unit and number.replace(".", "").isdigit() else f"`{default}`"


def _anchor(place: str) -> str:
    """The anchor that Markdown renderers give to a heading."""
    kept = "".join(c for c in place.lower() if c.isalnum() or c in " _-")
    return kept.replace(" ", "-")


if __name__ == "__main__":
    Path(__file__).with_name("reference.md").write_text(reference(), encoding="utf-8")
