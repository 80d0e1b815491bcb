"""JSON Schema of a space, for editors: a design document in which any value may be a hole instead."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel

from dse.space.described import described_keys, sections_in
from dse.space.hole import KINDS_OF_HOLE
from dse.space.samplers import sampler_names
from dse.space.sections import SOFTWARE_SECTIONS
from dse.space.settings import StudySettings
from simcore import catalog
from simcore.design.design import Design
from simcore.design.include import CONFIGURATION
from simcore.design.workload import KINDS, WorkloadForm
from simcore.metrics import METRICS
from simcore.policy.control import CONTROLS

_HOLE = {"$ref": "#/$defs/Hole"}


def space_schema() -> dict[str, Any]:
    """The schema (draft 2020-12)."""
    design = Design.model_json_schema()
    _describe(design, Design)
    definitions = {name: _open_schema(name, spec) for name, spec in design.pop("$defs").items()}
    definitions["Hole"] = {
        "description": "a hole: what may vary",
        "oneOf": [
            {
                "type": "object",
                "required": [keys[0]],
                "properties": {key: {} for key in keys},
                "additionalProperties": False,
            }
            for keys in KINDS_OF_HOLE.values()
        ],
    }
    metric = {"anyOf": [{"enum": list(METRICS)}, {"type": "string", "description": "an expression over metrics"}]}
    metrics = {"anyOf": [metric, {"type": "array", "items": metric, "minItems": 1}]}
    study = StudySettings.model_json_schema()
    _describe(study, StudySettings)
    study["properties"]["sampler"]["enum"] = list(sampler_names())
    root: dict[str, Any] = _open_schema("Design", design)["anyOf"][0]
    entry = {
        "name": {"type": "string"},
        "weight": {"type": "number", "exclusiveMinimum": 0},
        **{key: root["properties"][key] for key in SOFTWARE_SECTIONS},
    }
    root["properties"] |= {
        "objectives": {
            "type": "object",
            "properties": {"minimize": metrics, "maximize": metrics},
            "additionalProperties": False,
        },
        "constraints": {"type": "array", "items": {"type": "string"}},
        "workloads": _listed("what a cluster is bought for, instead of 'workload'", entry, ["workload"]),
        "futures": _listed("what may come: each with a probability and what it changes", _future_schema(entry)),
        "phases": _phases_schema(),
        "study": study,
    }
    root["required"] = [key for key in root["required"] if key != "workload"]
    root["anyOf"] = [{"required": [key]} for key in ("workload", "jobs", "workloads", "futures")]
    head: dict[str, Any] = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "space of designs"}
    return head | root | {"$defs": definitions}


def _listed(description: str, properties: dict[str, Any], required: Sequence[str] = ()) -> dict[str, Any]:
    entry = {"type": "object", "required": list(required), "properties": properties, "additionalProperties": False}
    return {"description": description, "type": "array", "minItems": 1, "items": entry}


def _future_schema(entry: dict[str, Any]) -> dict[str, Any]:
    """The keys of a future, whose workloads have those of `entry`."""
    change = {"description": "path -> value: workload.sequence_length, cost.electricity", "type": "object"}
    year = {"type": "number", "minimum": 0}
    return {
        "name": entry["name"],
        "weight": {"description": "how likely it is; scaled to 1 over all futures", **entry["weight"]},
        "change": change,
        "workloads": _listed("what runs in it; by its name alone, one of the space", {**entry, "change": change}),
        "years": {
            "description": "years of the cluster's life in which it holds",
            "type": "array",
            "prefixItems": [year, year],
            "minItems": 2,
            "maxItems": 2,
        },
    }


def _phases_schema() -> dict[str, Any]:
    phase = {"year": {"type": "number"}, "npus": {"type": "integer"}, "price": {"type": "number"}}
    plan = _listed("what is bought when: year from today, NPUs in all, price over today's", phase, ["year", "npus"])
    return {"description": "a plan, or several, of buying in phases", "anyOf": [plan, {"type": "array", "items": plan}]}


def _describe(schema: dict[str, Any], root: type[BaseModel]) -> None:
    """Put into each key of a schema what it means, which editors show where it is written."""
    sections: dict[str, type[BaseModel]] = {}
    open_ones = [root, *(form.section for form in KINDS.values())]
    while open_ones:
        section = open_ones.pop()
        if section.__name__ not in sections:
            sections[section.__name__] = section
            open_ones += [inner for field in section.model_fields.values() for inner in sections_in(field.annotation)]
    for name, spec in ((root.__name__, schema), *schema.get("$defs", {}).items()):
        for key, text in described_keys(sections[name]).items():
            if key in spec["properties"]:
                spec["properties"][key]["description"] = text


def _open_schema(name: str, spec: dict[str, Any]) -> dict[str, Any]:
    """The schema with a hole allowed in place of the object and of each of its values."""
    spec = dict(spec)
    if "properties" in spec:
        spec["properties"] = {key: _or_hole(name, key, value) for key, value in spec["properties"].items()}
    if name == "Cluster":
        spec["properties"] |= {"fabric": {}, "npus": {}, "domain": {}, "bandwidth": _HOLE}
        spec["required"] = [key for key in spec.get("required", []) if key != "dimensions"]
    for key, row in _rows(name).items():
        rows = {"type": "array", "items": {"$ref": f"#/$defs/{row}"}}
        spec["properties"][key]["anyOf"][:0] = [rows, {"type": "string"}]
        if models := _models(name):
            spec["properties"]["model"] = {"anyOf": [{"enum": list(catalog.section(models))}, _HOLE]}
        spec["required"] = [other for other in spec["required"] if other != key]
    for key in next((form.files for form in KINDS.values() if form.section.__name__ == name), {}):
        spec["properties"][key]["anyOf"].insert(0, {"type": "string"})
    if name == "ComputeModel":
        spec["properties"]["table"]["anyOf"].insert(0, {"type": "string"})
    if name == "Parallelism":
        spec["properties"]["degrees"] = _HOLE
    if name == "Dimension":
        spec["required"] = [key for key in spec.get("required", []) if key != "bandwidth"]
    return {"anyOf": [spec, _HOLE]}


_NAMED = {
    "npu": "npus",
    "cost": "prices",
    "software": "software",
    "library": "libraries",
    "curve": "curves",
    "reliability": "reliability",
}


def _models(name: str) -> str | None:
    """The section of the catalogue that has the models of a workload's section of that name."""
    return next((form.catalogue for form in KINDS.values() if form.section.__name__ == name), None)


def _rows(name: str) -> dict[str, str]:
    """The keys of a workload's section of that name that may name a model or a file, and what their rows are called."""
    rows = next((form.rows for form in KINDS.values() if form.section.__name__ == name), {})
    return {key: row.__name__ for key, row in rows.items()}


_CONFIGURED = ({"type": "object", "required": [CONFIGURATION], "properties": {CONFIGURATION: {"type": "string"}}},)
"""A model as the file that describes it, with keys of its own."""


def _read_from_files() -> set[str | None]:
    """The sections of the catalogue whose models may be configuration files of other programs instead."""
    return {form.catalogue for form in KINDS.values() if type(form).model_from is not WorkloadForm.model_from}


def _or_hole(name: str, key: str, value: dict[str, Any]) -> dict[str, Any]:
    value = dict(value)
    text = {"description": value.pop("description")} if "description" in value else {}
    options = [_items(value), _HOLE]
    named = {} if name == "FailureTimes" else _NAMED
    section = _models(name) if key == "model" else named.get(key)
    if section is not None:
        names = {"enum": list(catalog.section(section))}
        varied = {"type": "object", "required": ["base"], "properties": {"base": {"anyOf": [names, _HOLE]}}}
        options = [names, varied, *(_CONFIGURED if key == "model" and section in _read_from_files() else ()), *options]
    if key == "transport":
        options.insert(0, {"enum": list(CONTROLS)})
    return {**text, "anyOf": options}


def _items(value: dict[str, Any]) -> dict[str, Any]:
    if "oneOf" in value:  # a hole may stand for alternatives of several kinds
        return {"anyOf": value["oneOf"]}
    if "anyOf" in value:
        return {**value, "anyOf": [_items(option) for option in value["anyOf"]]}
    if "items" in value:
        return {**value, "items": {"anyOf": [value["items"], _HOLE]}}
    return value
