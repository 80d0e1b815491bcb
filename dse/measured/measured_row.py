"""A row of a table of measured iterations: cells to values, values to the document of a design.

A cell is read where it can only mean one thing (`2.0`, `True`, `yes`, blank where there is a usual value), and is wrong
otherwise. A row with wrong cells is a design all the same once something stands in for them: what is wrong with it
whatever stands there is told beside the cells.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from dse.measured.stack import STACKS, StackSettings, assumed_stack
from simcore import catalog
from simcore.catalog.preset import preset
from simcore.check.check import check
from simcore.check.load import parse_design
from simcore.design.npu import Npu
from simcore.document.problem import Problem, suggest_nearest

REQUIRED = (
    "device", "fabric", "layers", "seq", "npus", "global_batch", "microbatch", "tensor", "pipeline", "data",
    "measured_s",
)  # fmt: skip
USUAL: dict[str, Any] = {"interleave": 1, "recompute": "none", "zero": 0}
"""What a blank cell, or a column that is not there, means."""
SHAPE = ("hidden", "heads", "vocab")
OPTIONAL = (
    *USUAL, "case", "model", "software", "context", "expert", "sequence_parallel", "precision", "gradient_precision",
    "measured_memory_gib", *SHAPE,
)  # fmt: skip
KNOWN = (*REQUIRED, *OPTIONAL)
COUNTS = (
    "layers", "seq", "npus", "global_batch", "microbatch", "tensor", "pipeline", "data", "interleave",
    *SHAPE, "context", "expert",
)  # fmt: skip
SEQUENCE_PARALLEL = "+sequence_parallel"
"""What `recompute` may end in."""
RECOMPUTE = tuple(name + more for more in ("", SEQUENCE_PARALLEL) for name in ("none", "selective", "full"))
FLAGS = {"true": True, "yes": True, "1": True, "1.0": True, "false": False, "no": False, "0": False, "0.0": False}
GRADIENTS = {"fp16": "fp16", "bf16": "fp16", "fp32": "fp32"}
"""Precisions of gradients, and the one of as many bits that a design knows."""
_WHOLE = re.compile(r"[0-9]{1,15}(\.0*)?")

Values = dict[str, Any]
Cells = Mapping[str, str]


def read_cells(cells: Cells, npu: Npu | None, devices: Mapping[str, Npu]) -> tuple[Values, list[Problem]]:
    """The values of a row's cells, and a problem for each cell that has none; `npu` stands for the row's device."""
    values: Values = dict(USUAL)
    problems: list[Problem] = []
    if npu is not None:
        values["device"] = npu
    for name, read in _READERS.items():
        text = cells.get(name, "")
        if name in values and (name == "device" or not text):
            continue
        if not text and name not in REQUIRED:
            continue
        value = read(name, text, devices)
        if isinstance(value, Problem):
            problems.append(value)
            values.pop(name, None)
        else:
            values[name] = value
    if not cells.get("model"):
        problems += [
            Problem((name,), "a whole number of at least 1, or a 'model'", "nothing")
            for name in SHAPE
            if not cells.get(name)
        ]
    return values, problems


def _read_count(name: str, text: str, devices: Mapping[str, Npu]) -> Any:
    number = int(text.split(".")[0]) if _WHOLE.fullmatch(text) else 0
    return number or Problem((name,), "a whole number of at least 1", f"'{text}'")


def _read_zero(name: str, text: str, devices: Mapping[str, Npu]) -> Any:
    number = int(text.split(".")[0]) if _WHOLE.fullmatch(text) else -1
    return number if 0 <= number <= 3 else Problem((name,), "one of 0, 1, 2, 3", f"'{text}'")


def _read_positive(name: str, text: str, devices: Mapping[str, Npu]) -> Any:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    return number if 0 < number < math.inf else Problem((name,), "a number above 0", f"'{text}'")


def _read_device(name: str, text: str, devices: Mapping[str, Npu]) -> Any:
    if text.lower() in devices:
        return devices[text.lower()]
    if text.lower() in catalog.section("npus"):
        return preset(Npu, "npus", text.lower())
    return _unknown_problem(name, text, (*devices, *catalog.section("npus")))


def _read_model(name: str, text: str, devices: Mapping[str, Npu]) -> Any:
    """The catalogue's entry, however it is hyphenated: `deepseekv2` is `deepseek-v2`."""
    bare = text.lower().replace("-", "").replace("_", "")
    for known, entry in catalog.section("models").items():
        if known.replace("-", "") == bare:
            return entry
    return Problem((name,), "a model of the catalogue", f"'{text}'", suggest_nearest(text, catalog.section("models")))


def _make_choice_reader(values: Mapping[str, Any]) -> Callable[[str, str, Mapping[str, Npu]], Any]:
    def read(name: str, text: str, devices: Mapping[str, Npu]) -> Any:
        return values[text.lower()] if text.lower() in values else _unknown_problem(name, text, tuple(values))

    return read


def _unknown_problem(name: str, text: str, known: Sequence[str]) -> Problem:
    return Problem((name,), f"one of {', '.join(dict.fromkeys(known))}", f"'{text}'", suggest_nearest(text, known))


def _make_names_reader(*names: str) -> Callable[[str, str, Mapping[str, Npu]], Any]:
    return _make_choice_reader({name: name for name in names})


_READERS: dict[str, Callable[[str, str, Mapping[str, Npu]], Any]] = {
    "device": _read_device,
    "fabric": _make_names_reader(*catalog.section("fabrics")),
    "model": _read_model,
    **dict.fromkeys(COUNTS, _read_count),
    "recompute": _make_names_reader(*RECOMPUTE),
    "zero": _read_zero,
    "sequence_parallel": _make_choice_reader(FLAGS),
    "software": _make_names_reader(*STACKS),
    "precision": _make_names_reader("fp32", "fp16", "bf16", "fp8"),
    "gradient_precision": _make_choice_reader(GRADIENTS),
    "measured_s": _read_positive,
    "measured_memory_gib": _read_positive,
}


def software_of(values: Values) -> tuple[str, bool]:
    """The software stack of a row, and whether it was assumed: given, or that of the device's time."""
    return (values["software"], False) if "software" in values else (assumed_stack(values["device"]), True)


def row_document(values: Values) -> dict[str, Any]:
    """The design document of a row."""
    stack = STACKS[software_of(values)[0]]
    npu: Npu = values["device"]
    workload: dict[str, Any] = {"model": _model_section(values)}
    workload |= {"global_batch": values["global_batch"], "sequence_length": values["seq"]}
    if stack.gradient_precision:
        workload["gradient_precision"] = stack.gradient_precision
    if "fp16" not in npu.peak and "bf16" in npu.peak:
        workload["precision"] = "bf16"
    workload |= {key: values[key] for key in ("precision", "gradient_precision") if key in values}
    degrees = ("tensor", "pipeline", "data", "context", "expert", "microbatch", "interleave", "zero")
    parallelism: dict[str, Any] = {name: values[name] for name in degrees if name in values}
    if parallelism["pipeline"] == 1:
        parallelism["interleave"] = 1  # chunks that follow each other on one stage are the whole model
    recompute: str = values["recompute"]
    parallelism |= {
        "recompute": recompute.removesuffix(SEQUENCE_PARALLEL),
        "sequence_parallel": recompute.endswith(SEQUENCE_PARALLEL) or values.get("sequence_parallel", False),
        **stack.parallelism,
        **_context_section(workload["model"], parallelism),
        **_end_layers(workload["model"]["layers"], parallelism, stack),
    }
    cluster = {"npu": npu, "fabric": values["fabric"], "npus": values["npus"]}
    return {"workload": workload, "parallelism": parallelism, "cluster": cluster}


def _model_section(values: Values) -> dict[str, Any]:
    """The model, with as many layers as the row says; a cut model of experts keeps one dense layer."""
    model: dict[str, Any] = dict(values.get("model", {}))
    experts = model.get("mixture_of_experts")
    if experts and values["layers"] < model["layers"]:
        model["mixture_of_experts"] = {**experts, "dense_layers": min(1, experts.get("dense_layers", 0))}
    keys = {"hidden": "hidden", "layers": "layers", "heads": "heads", "vocab": "vocabulary"}
    model |= {key: values[name] for name, key in keys.items() if name in values}
    model["sequence_length"] = max(values["seq"], model.get("sequence_length", 1))
    return model


def _context_section(model: Mapping[str, Any], parallelism: Mapping[str, Any]) -> dict[str, Any]:
    """All-to-alls where they give each NPU whole heads; else keys and values go round the context group."""
    context = parallelism.get("context", 1)
    heads = model["heads"], model.get("kv_heads") or model["heads"]
    divide = all(count % (parallelism["tensor"] * context) == 0 for count in heads)
    return {"context_communication": "all_to_all"} if context > 1 and divide else {}


def _end_layers(layers: int, parallelism: Mapping[str, Any], stack: StackSettings) -> dict[str, int]:
    """Layers of the first and the last stage, where the layers divide over all only if ends of the model count too.

    Megatron-core's `account_for_embedding_in_pipeline_split` and `account_for_loss_in_pipeline_split`: both, or the
    latter.
    """
    stages, chunks = parallelism["pipeline"], parallelism["interleave"]
    if stages == 1 or layers % (stages * chunks) == 0 or not (stack.uneven or chunks > 1):
        return {}
    for names in (("first_stage_layers", "last_stage_layers"), ("last_stage_layers",)):
        whole = layers + len(names)
        if whole % (stages * chunks) == 0 and whole > stages:
            return dict.fromkeys(names, whole // stages - 1)
    return {}


def check_structure(values: Values) -> Iterator[Problem]:
    """What is wrong with the design of a row whatever its wrong cells say: wrong with either of two stand-ins."""
    found = [_problems(row_document({**others, **values})) for others in _stand_ins()]
    yield from (problem for problem in found[0] if problem in found[1])


def _problems(described: dict[str, Any]) -> list[Problem]:
    design, problems = parse_design(described)
    return problems if design is None else check(design)


@cache
def _stand_ins() -> tuple[Values, Values]:
    """Two rows that have nothing in common."""
    models = catalog.section("models")
    one: Values = dict.fromkeys(COUNTS, 1)
    other: Values = dict.fromkeys(COUNTS, 2)
    one |= {"device": preset(Npu, "npus", "a100-80gb"), "fabric": "dgx-a100", "model": models["gpt3-175b"]}
    other |= {"device": preset(Npu, "npus", "h100-80gb"), "fabric": "tpu-v4-pod", "model": models["llama3-8b"]}
    for name in SHAPE:
        del one[name], other[name]
    return one | {"recompute": "none", "zero": 0}, other | {"recompute": "full", "zero": 3}
