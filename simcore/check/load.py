"""The door: a YAML file or a mapping to a checked `Design`, or one error with every problem in it.

Problems of form (unknown key, missing unit, unknown preset) do not hide problems of meaning (degrees that cannot
multiply): where the form is broken, the offending parts are set aside, and what is left is checked all the same.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path as FilePath
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from simcore.catalog.entries import add_unknown_entries
from simcore.check.check import check
from simcore.check.reliability import reliability_warnings
from simcore.design.cluster import Cluster
from simcore.design.design import OF_JOB, Design
from simcore.design.dimension import Dimension
from simcore.design.include import UNREAD, include_files
from simcore.design.job import Job
from simcore.design.layer_range import LayerRange
from simcore.design.memory import ClusterMemory, ExpandedMemory
from simcore.design.npu import Npu, NpuMemory, NpuPower
from simcore.design.parallelism import Parallelism
from simcore.design.pool import PoolLevel
from simcore.design.reliability import Checkpoint, FailureTimes, Reliability, Restart
from simcore.design.software import Software
from simcore.design.system import System
from simcore.design.workload import KINDS, WorkloadForm
from simcore.document.form import describe_error
from simcore.document.problem import InputError, InputWarning, Path, Problem, Refusal, suggest_nearest
from simcore.document.text import Document, read_document

_STAND_INS: dict[str, Any] = {
    "npu": "a100-80gb",
    "power": {"max": "1 W", "idle": "1 W"},
    "model": "gpt3-175b",
    "global_batch": 1,
    "bandwidth": "1 GB/s",
    "latency": "1 us",
    "topology": "switch",
    "size": 8,
    "cost": "libra",
}
"""What takes the place of a broken required key while the rest is checked."""

_LENGTHS = ("sequence_length", "prompt_length", "output_length")
"""Keys of a workload that a model with other positions may take."""
_OF_MODEL = ("tensor", "pipeline", "context", "expert", "expert_tensor", "interleave", "recompute_modules", "stages")
"""Keys of `parallelism` that a model with other sizes may take."""
_OF_FIRST_JOB = tuple((key,) for key in OF_JOB)
SPACE_KEYS = ("objectives", "constraints", "study", "workloads", "futures", "phases")
"""Keys that a space has and a design has not."""
HOLES = ("choice", "range", "powers_of_two", "product", "split", "expr")
"""Keys by which the holes of a space are known."""


def load_design(source: str | FilePath | Mapping[str, Any]) -> Design:
    """Read, validate and check a design document: that of a YAML file, or the same keys in a mapping.

    Raises `InputError` with every problem: file, line, path, expected, found, and the likely fix.
    """
    if isinstance(source, Mapping):
        return design_from(source)
    document = read_document(source)
    return design_from(document.data, document)


def design_from(data: Mapping[str, Any], document: Document | None = None) -> Design:
    """A checked design from a mapping; see `load_design`. Warns (`InputWarning`) of what is hardly meant."""
    problems = list(_check_foreign_keys(data))
    data, unread = include_files(data, document.source if document else None)
    problems += unread
    design, broken = parse_design({key: value for key, value in data.items() if key not in SPACE_KEYS})
    problems += _independent_problems(broken, [problem for problem in problems if problem.rule in ("hole", UNREAD)])
    if design is None:
        repaired = _repair_design(data, broken)
        problems += [] if repaired is None else _independent_problems(check(repaired), broken)
    else:
        problems += check(design)
    if problems or design is None:
        told = add_unknown_entries(problems, data)
        raise InputError([_locate_problem(p, document) for p in told], document.source if document else "")
    for text in _hardly_meant(design):
        warnings.warn(text, InputWarning, stacklevel=2)
    return design


def _hardly_meant(design: Design) -> Iterable[str]:
    yield from reliability_warnings(design)
    p = design.parallelism
    if p.recompute_modules and not p.recomputes_modules:
        yield f"parallelism.recompute_modules: says nothing beside recompute: {p.recompute}; use recompute: selective"


def parse_design(data: Mapping[str, Any]) -> tuple[Design | None, list[Problem]]:
    """The design, or None and the problems of form."""
    try:
        return Design.model_validate(data), []
    except ValidationError as error:
        problems = problems_of(error)
        if "jobs" in data:  # the design has the sections of its first job, which has the same problems
            problems = [problem for problem in problems if problem.path[:1] not in _OF_FIRST_JOB]
        return None, problems


class UnsoundError(Refusal):
    """A document that is no design: a key is missing, say, or a value is of the wrong kind."""


def parse_sound(data: Mapping[str, Any]) -> Design:
    """The design of a document of sound form; raises `UnsoundError` where its form is not."""
    design, problems = parse_design(data)
    if design is None:
        raise UnsoundError("a document of sound form", "; ".join(map(str, problems)))
    return design


def _locate_problem(problem: Problem, document: Document | None) -> Problem:
    if document is None or problem.line is not None:
        return problem
    return replace(problem, line=document.line(problem.path))


def _check_foreign_keys(data: Mapping[str, Any]) -> Iterable[Problem]:
    """What belongs in a space and not in a design."""
    for key in SPACE_KEYS:
        if key in data:
            yield Problem((key,), "a design", f"'{key}', a key of a space", "use it with dse optimize")
    yield from _check_holes(data, ())


def _check_holes(value: Any, path: Path) -> Iterable[Problem]:
    if isinstance(value, dict):
        for name in HOLES:
            if name in value:
                yield Problem(path, "a value", f"a hole ({name})", "choose one value, or use dse optimize", rule="hole")
                return
        for key, inner in value.items():
            yield from _check_holes(inner, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _check_holes(inner, (*path, index))


_OF_FABRIC = ("npus", "domain")
"""Keys of `cluster` that only a fabric reads."""
_PRESETS = {
    "model": "a model",
    "npu": "an NPU",
    "cost": "a price list",
    "software": "a software stack",
    "reliability": "rates of failure",
}


def problems_of(error: ValidationError) -> list[Problem]:
    """A problem for each error of pydantic, in the words of this project."""
    entries = error.errors(include_url=False)
    inside = {tuple(entry["loc"])[:-1][:depth] for entry in entries for depth in range(1, len(entry["loc"]))}
    # A list is also "too short" when its items are broken: those say it better.
    kept = [entry for entry in entries if entry["type"] != "too_short" or tuple(entry["loc"]) not in inside]
    return [_translate_error(entry) for entry in kept]


def _translate_error(entry: Any) -> Problem:
    location: Path = tuple(entry["loc"])
    head: Path = location[:2] if location[:1] == ("jobs",) else ()
    inside = location[len(head) :]
    tagged = ""
    if inside[:1] == ("workload",) and inside[1:2] and inside[1] in KINDS:
        tagged, inside = str(inside[1]), (inside[0], *inside[2:])
    if inside[:3] == ("workload", "layers", "layers"):  # the rows stand in the table's place
        inside = (*inside[:2], *inside[3:])
    location = (*head, *inside)
    path = tuple(part for part in location if part not in ("[key]", "[name]"))
    kind = entry["type"]
    expected, found, fix = describe_error(entry)
    if kind == "extra_forbidden":
        fix = _place_of_key(path) or _suggest_key(path, tagged)
    elif kind == "literal_error":
        allowed = [word.strip("'") for word in entry["ctx"]["expected"].replace(" or ", ", ").split(", ")]
        expected, fix = f"one of {', '.join(allowed)}", suggest_nearest(str(entry["input"]), allowed)
        if path[-2:] == ("workload", "precision") and _is_of_weights(entry["input"]):
            fix = f"weights alone have so few bits: 'weight_precision: {entry['input']}' where a model is served"
    elif kind in ("model_type", "model_attributes_type", "dict_type"):
        expected = _PRESETS.get(str(path[-1]) if path else "", "a mapping of keys to values")
    elif kind == "missing" and path == ("cluster", "dimensions"):
        fix = "add a 'fabric' of the catalogue (dse catalogue fabrics) and 'npus', or list 'dimensions'"
    elif kind == "missing" and (within := _required_within(path)):
        fix += f" with {' and '.join(within)}"
    if kind == "missing" and (section := next((part for part in path[:-1] if part in _PRESETS), None)) is not None:
        fix += f", or to '{section}' a 'base', an entry of the catalogue whose other keys hold"
    return Problem(path, expected, found, fix)


def _required_within(path: Path) -> list[str]:
    """The keys that a section must have which is not there."""
    model = _MODELS.get(tuple(part for part in path if isinstance(part, str)))
    fields = {} if model is None else model.model_fields
    return [f"'{key}'" for key, field in fields.items() if field.is_required()]


def _is_of_weights(precision: Any) -> bool:
    """Whether weights of served models are held in a precision."""
    from simcore.workload.serving.document import WeightPrecision  # kinds of workload come with the first document

    return precision in get_args(WeightPrecision)


def _suggest_key(path: Path, kind: str) -> str:
    """The key that was meant, or all there are; in a workload those of its kind."""
    known = _known_keys(path[:-1], kind)
    return suggest_nearest(str(path[-1]), known) or (f"known keys: {', '.join(known)}" if known else "")


def _place_of_key(path: Path) -> str:
    """Where a key stands that is known, and not here; empty where there is no such key, or several."""
    key = str(path[-1])
    if path[:-1] == ("cluster",) and key in _OF_FABRIC:
        return "it stands beside 'fabric'; beside 'dimensions' their sizes say how many NPUs there are"
    if len(path) > 1 and key in Design.model_fields:
        return "it stands at the top of the document"
    places = [name for name in ("workload", "parallelism", "cluster", "system") if key in _known_keys((name,))]
    return f"it stands in '{places[0]}'" if len(places) == 1 and path[0] != places[0] else ""


_MODELS: dict[tuple[str, ...], type[BaseModel]] = {
    (): Design,
    ("jobs",): Job,
    ("parallelism",): Parallelism,
    ("parallelism", "layers"): LayerRange,
    ("cluster",): Cluster,
    ("cluster", "dimensions"): Dimension,
    ("cluster", "npu"): Npu,
    ("cluster", "npu", "memory"): NpuMemory,
    ("cluster", "npu", "power"): NpuPower,
    ("cluster", "memory"): ClusterMemory,
    ("cluster", "memory", "expanded"): ExpandedMemory,
    ("cluster", "memory", "expanded", "fabric"): PoolLevel,
    ("system",): System,
    ("software",): Software,
    ("reliability",): Reliability,
    ("reliability", "mtbf"): FailureTimes,
    ("reliability", "checkpoint"): Checkpoint,
    ("reliability", "restart"): Restart,
}


def _known_keys(path: Path, kind: str = "") -> list[str]:
    """Keys that a mapping of the design document may have; of a workload those of a kind, of all unless it is known."""
    names = tuple(part for part in path if isinstance(part, str))
    names = names[1:] if names[:1] == ("jobs",) and len(names) > 1 else names
    if names[:1] == ("workload",):
        forms = [KINDS[kind]] if kind else KINDS.values()
        specs = [spec for form in forms for spec in _specs(form, names)]
    else:
        specs = [_MODELS[names]] if names in _MODELS else []
    known = dict.fromkeys(key for spec in specs for key in spec.model_fields)
    extra = {(): SPACE_KEYS, ("cluster",): ("fabric", *_OF_FABRIC)}
    return [*known, *extra.get(names, ())]


def _specs(form: WorkloadForm, names: tuple[str, ...]) -> list[type[BaseModel]]:
    """What a kind of workload has at a place of the document: its section, or what a row of a table in it is."""
    return [form.section] if len(names) == 1 else [row for key, row in form.rows.items() if names == ("workload", key)]


def _repair_design(data: Mapping[str, Any], problems: list[Problem]) -> Design | None:
    """The design with what is broken dropped or replaced, or None where too little is left."""
    current: Any = copy.deepcopy(dict(data))
    for key in SPACE_KEYS:
        current.pop(key, None)
    for _ in range(4):
        for problem in problems:
            _repair_value(current, problem.path)
        design, problems = parse_design(current)
        if design is not None:
            return design
    return None


def _repair_value(data: Any, path: Path) -> None:
    for part in path[:-1]:
        try:
            data = data[part]
        except (KeyError, IndexError, TypeError):
            return
    key = path[-1] if path else None
    if isinstance(data, dict):
        if key in _STAND_INS:
            data[key] = _STAND_INS[key]
        else:
            data.pop(key, None)


def _independent_problems(problems: list[Problem], broken: list[Problem]) -> list[Problem]:
    """Problems that do not stem from what was set aside."""
    paths = [problem.path for problem in broken]
    if any(path[-1:] in (("size",), ("npus",), ("fabric",)) for path in paths):
        paths.append(("parallelism",))  # the degrees cannot be judged without the number of NPUs
    telling = {key for form in KINDS.values() for key in form.keys}.difference(_STAND_INS)
    if any(path[-2:-1] == ("workload",) and path[-1] in telling for path in paths):
        paths += [("workload",), ("parallelism",)]  # nor anything about a workload whose kind was set aside
    if any(path[-1:] == ("npu",) for path in paths):
        paths += [("workload", "precision"), ("cluster", "power_cap")]  # nor what another NPU would not do
    for path in [path for path in paths if path[-2:] == ("workload", "model")]:
        paths += [(*path[:-1], key) for key in _LENGTHS]
        paths += [(*path[:-2], "parallelism", key) for key in _OF_MODEL]  # nor what another model would not do
    paths += [path[:-1] for path in paths if path[-2:] == ("npu", "price")]  # nor whether the NPU has a price
    batches = [path for path in paths if path[-2:] == ("workload", "global_batch")]
    paths += [(*path[:-2], "parallelism", "microbatch") for path in batches]  # nor the microbatch without the batch
    return [problem for problem in problems if not any(problem.path[: len(path)] == path for path in paths)]
