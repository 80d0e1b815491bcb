"""Cells of a row of the common form: text to values.

A cell is read where it can only mean one thing (`2.0`, `True`, `yes`, blank where there is a usual value), and is wrong
otherwise. A name that the catalogue lacks is no wrong cell: the row is well written, and cannot be expressed.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, get_args

from simcore import catalog
from simcore.catalog.preset import preset
from simcore.design.npu import Npu
from simcore.document.field import Precision
from simcore.document.problem import Problem, suggest_nearest

REQUIRED = (
    "device", "fabric", "seq", "npus", "global_batch", "microbatch", "tensor", "pipeline", "data", "measured_s",
)  # fmt: skip
LEAST_SECONDS = 1e-12
"""Shortest measured time: the simulator counts in picoseconds."""
SHAPE = ("hidden", "layers", "heads", "vocab")
"""What a row says of its model; `layers` beside a `model` cuts it."""
USUAL: dict[str, Any] = {"interleave": 1, "recompute": "none", "zero": 0}
"""What a blank cell, or a column that is not there, means."""
COUNTS = (
    "layers", "seq", "npus", "global_batch", "microbatch", "tensor", "pipeline", "data", "interleave",
    "hidden", "heads", "vocab", "context", "expert", "expert_tensor", "shard_group", "first_stage_layers",
    "last_stage_layers", "gpus_per_nvlink_domain", "slices",
)  # fmt: skip
KNOWN = (
    *REQUIRED, *SHAPE, *USUAL, "case", "model", "software", "context", "expert", "expert_tensor", "shard_group",
    "schedule", "first_stage_layers", "last_stage_layers", "sequence_parallel", "recompute_modules", "precision",
    "gradient_precision", "fp8_recipe", "param_gather_dtype", "tp_comm_overlap", "cuda_graph",
    "gpus_per_nvlink_domain", "measured_memory_gib", "memory_kind", "notes",
)  # fmt: skip
LACKING = "lacking"
"""Rule of the problems of what designs cannot say: names that the catalogue lacks, policies without a counterpart."""
SEQUENCE_PARALLEL = "+sequence_parallel"
"""What `recompute` may end in."""
RECOMPUTE = tuple(name + more for more in ("", SEQUENCE_PARALLEL) for name in ("none", "selective", "full"))
MODULES = ("core_attn", "layernorm", "mla_up_proj", "mlp", "moe", "moe_act", "shared_experts")
"""What Megatron-core recomputes by name (`--recompute-modules`); a cell may have several, whatever stands between."""
FLAGS = {"true": True, "yes": True, "1": True, "1.0": True, "false": False, "no": False, "0": False, "0.0": False}
GRADIENTS = {"fp16": "fp16", "bf16": "fp16", "fp32": "fp32"}
"""Precisions of gradients, and the one of as many bits that a design knows."""
PRECISIONS = {
    **{name: name for name in get_args(Precision)},
    "float32": "fp32",
    "float16": "fp16",
    "bfloat16": "bf16",
    "mxfp8": "fp8_block",
    "fp4": "nvfp4",
}
"""Precisions as tables spell them, and as designs do."""
_WHOLE = re.compile(r"[0-9]{1,15}(\.0*)?")
_MODULE = re.compile(r"[a-z_]+")
_SLIP = 0.9
"""How alike a name is to one of the catalogue (of 1), with the same digits, to be taken for a slip of the pen."""

Values = dict[str, Any]
Cells = Mapping[str, str]
Devices = Mapping[str, Npu]
_Reader = Callable[[str, str, Devices], Any]


def read_cells(cells: Cells, npu: Npu | None, devices: Devices) -> tuple[Values, list[Problem]]:
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
    elif "model" in values:
        values.setdefault("layers", values["model"]["layers"])
    return values, problems


def _read_count(name: str, text: str, devices: Devices) -> Any:
    number = int(text.split(".")[0]) if _WHOLE.fullmatch(text) else 0
    return number or Problem((name,), "a whole number of at least 1", f"'{text}'")


def _read_zero(name: str, text: str, devices: Devices) -> Any:
    number = int(text.split(".")[0]) if _WHOLE.fullmatch(text) else -1
    return number if 0 <= number <= 3 else Problem((name,), "one of 0, 1, 2, 3", f"'{text}'")


def _read_positive(name: str, text: str, devices: Devices) -> Any:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    return number if 0 < number < math.inf else Problem((name,), "a number above 0", f"'{text}'")


def _read_seconds(name: str, text: str, devices: Devices) -> Any:
    number = _read_positive(name, text, devices)
    if isinstance(number, Problem) or number >= LEAST_SECONDS:
        return number
    return Problem((name,), f"a time of at least {LEAST_SECONDS:g} s", f"'{text}'")


def _read_text(name: str, text: str, devices: Devices) -> str:
    return text


def _read_device(name: str, text: str, devices: Devices) -> Any:
    if text.lower() in devices:
        return devices[text.lower()]
    if text.lower() in catalog.section("npus"):
        return preset(Npu, "npus", text.lower())
    return lacking_problem(name, text, (*devices, *catalog.section("npus")), "a device")


def _read_model(name: str, text: str, devices: Devices) -> Any:
    """The catalogue's entry, however it is hyphenated: `deepseekv2` is `deepseek-v2`."""
    bare = text.lower().replace("-", "").replace("_", "")
    for known, entry in catalog.section("models").items():
        if known.replace("-", "") == bare:
            return entry
    return lacking_problem(name, text, catalog.section("models"), "a model")


def _read_fabric(name: str, text: str, devices: Devices) -> Any:
    known = catalog.section("fabrics")
    return text.lower() if text.lower() in known else lacking_problem(name, text, known, "a fabric")


def _read_stack(name: str, text: str, devices: Devices) -> Any:
    known = catalog.section("software")
    return text.lower() if text.lower() in known else lacking_problem(name, text, known, "a software stack")


def _read_precision(name: str, text: str, devices: Devices) -> Any:
    return PRECISIONS.get(text.lower()) or lacking_problem(name, text, get_args(Precision))


def _read_recompute(name: str, text: str, devices: Devices) -> Any:
    """A kind of recomputation, or the modules that are recomputed."""
    return text.lower() if text.lower() in RECOMPUTE else _read_modules(name, text, devices)


def _read_modules(name: str, text: str, devices: Devices) -> Any:
    modules = tuple(dict.fromkeys(word for word in _MODULE.findall(text.lower()) if word != "selective"))
    kinds = RECOMPUTE if name == "recompute" else ()
    if modules and set(modules) <= set(MODULES):
        return modules
    return lacking_problem(name, text, (*kinds, *MODULES))


def inexpressible(name: str, expected: str, found: str) -> Problem:
    """The problem of what a row says and no design can."""
    return Problem((name,), expected, found, rule=LACKING)


def lacking_problem(name: str, text: str, known: Sequence[str] | Mapping[str, Any], what: str = "") -> Problem:
    """The problem of a word that designs do not know, of one of theirs with a slip of the pen.

    The former is what no design can say, the latter a wrong cell. `what` of the catalogue the word would be, if any.
    """
    words = tuple(dict.fromkeys(known))
    every = f"one of {', '.join(words)}"
    for near in difflib.get_close_matches(text.lower(), words, 1, _SLIP):
        if re.findall(r"\d+", near) == re.findall(r"\d+", text):
            return Problem((name,), every, f"'{text}'", suggest_nearest(text, words))
    return inexpressible(name, f"{what} of the catalogue" if what else every, f"'{text}'")


def _make_choice_reader(values: Mapping[str, Any]) -> _Reader:
    def read(name: str, text: str, devices: Devices) -> Any:
        return values[text.lower()] if text.lower() in values else lacking_problem(name, text, values)

    return read


def _make_names_reader(*names: str) -> _Reader:
    return _make_choice_reader({name: name for name in names})


_READERS: dict[str, _Reader] = {
    "device": _read_device,
    "fabric": _read_fabric,
    "model": _read_model,
    **dict.fromkeys(COUNTS, _read_count),
    "recompute": _read_recompute,
    "recompute_modules": _read_modules,
    "zero": _read_zero,
    "sequence_parallel": _make_choice_reader(FLAGS),
    "software": _read_stack,
    "schedule": _read_text,
    "precision": _read_precision,
    "gradient_precision": _make_choice_reader(GRADIENTS),
    "fp8_recipe": _read_text,
    "param_gather_dtype": _read_text,
    "tp_comm_overlap": _make_choice_reader(FLAGS),
    "cuda_graph": _make_choice_reader({**FLAGS, "full": True, "layer": True, "partial": True}),
    "measured_s": _read_seconds,
    "measured_memory_gib": _read_positive,
    "memory_kind": _make_names_reader("allocated", "reserved"),
    "notes": _read_text,
    "case": _read_text,
}
