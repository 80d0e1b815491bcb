"""Tables of measured training iterations: CSV to checked designs, or one error with every problem in the table.

A row is one job: a model by its shape (`hidden, layers, heads, vocab`) or by a name of the catalogue (`model`; `layers`
then says how many of them; a cut model of experts keeps one dense layer), a device and a fabric of the catalogue, the
degrees, and `measured_s`. Columns beyond `REQUIRED` may be left out or left empty.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dse.software import STACKS, Stack, assumed_stack
from simcore import catalog
from simcore.check import check
from simcore.design import Design, TransformerWorkload
from simcore.load import parse_design
from simcore.problem import InputError, Problem, nearest
from simcore.spec import preset

Row = Mapping[str, str]

REQUIRED = (
    "device", "fabric", "layers", "seq", "npus", "global_batch", "microbatch",
    "tensor", "pipeline", "data", "interleave", "recompute", "zero", "measured_s",
)  # fmt: skip
SHAPE = ("hidden", "heads", "vocab")
OPTIONAL = (
    "case", "model", "software", "context", "expert", "sequence_parallel", "precision", "gradient_precision",
    "measured_memory_gib", *SHAPE,
)  # fmt: skip
COUNTS = (
    "layers", "seq", "npus", "global_batch", "microbatch", "tensor", "pipeline", "data", "interleave",
    "hidden", "heads", "vocab", "context", "expert",
)  # fmt: skip
SEQUENCE_PARALLEL = "+sequence_parallel"
"""What `recompute` may end in."""
MOST_BYTES = 64 << 20


@dataclass(frozen=True)
class Measured:
    """A measured iteration."""

    case: str
    design: Design
    seconds: float
    memory: float | None
    """Peak memory of the fullest NPU [B], where it was measured."""
    software: str = ""
    """The software stack it is predicted for (see `dse.software`), and whether that was assumed."""
    assumed: bool = False

    @property
    def job(self) -> tuple[Any, ...]:
        """What rows that only differ in how the job was spread share: device, network, model, NPUs, batch."""
        workload = self.design.workload
        assert isinstance(workload, TransformerWorkload)
        cluster = self.design.cluster
        network = tuple((d.bandwidth, d.latency) for d in cluster.dimensions)
        return cluster.npu.name, network, workload.model, cluster.npus, workload.global_batch, workload.sequence


def read_measured(path: str | Path, device: str | None = None) -> list[Measured]:
    """The rows of a table, on `device` in place of the table's where it is given.

    Raises `InputError` with every problem: line, column, expected, found; `OSError` where it cannot be read.
    """
    file = Path(path)
    if file.stat().st_size > MOST_BYTES:
        raise InputError([Problem((), f"a table of at most {MOST_BYTES >> 20} MiB", "a larger one")], str(path))
    try:
        with file.open(newline="", encoding="utf-8-sig") as stream:
            reader = csv.DictReader(stream, strict=True)
            columns = list(reader.fieldnames or ())
            rows = [(reader.line_num, row) for row in reader]
    except (csv.Error, UnicodeDecodeError) as error:
        raise InputError([Problem((), "a table of comma-separated values in UTF-8", str(error))], str(path)) from None
    problems = list(_header(columns))
    measured: list[Measured] = []
    if not problems:
        for line, row in rows:
            one, wrong = _row(line, row if device is None or "device" not in row else {**row, "device": device})
            problems += wrong
            if one is not None:
                measured.append(one)
        if not rows:
            problems.append(Problem((), "at least one row", "a header alone"))
    if problems:
        raise InputError(problems, str(path))
    return measured


def _header(columns: list[str]) -> Iterator[Problem]:
    known = (*REQUIRED, *OPTIONAL)
    for name in REQUIRED:
        if name not in columns:
            yield Problem((name,), "this column", "none", line=1)
    if "model" not in columns:
        for name in SHAPE:
            if name not in columns:
                yield Problem((name,), "this column, or a column 'model'", "none", line=1)
    for name in columns:
        if name not in known:
            yield Problem((name,), "a known column", f"'{name}'", nearest(name, known), line=1)
        elif columns.count(name) > 1:
            yield Problem((name,), "each column once", f"'{name}' twice", line=1)


def _row(line: int, row: Mapping[str | None, Any]) -> tuple[Measured | None, list[Problem]]:
    """The row as a checked design, or what is wrong with it."""
    if None in row or None in row.values():
        given = sum(value is not None for key, value in row.items() if key is not None) + len(row.get(None, ()))
        wanted = sum(key is not None for key in row)
        return None, [Problem((), f"{wanted} values", f"{given}", line=line, rule="table")]
    cells = {str(key): str(value).strip() for key, value in row.items()}
    problems = [replace(problem, line=line, rule="table") for problem in _cells(cells)]
    if problems:
        return None, problems
    design, problems = parse_design(_document(cells))
    problems += check(design) if design is not None else []
    if problems or design is None:
        return None, [replace(problem, line=line) for problem in problems]
    memory = cells.get("measured_memory_gib")
    case, seconds = cells.get("case") or str(line), float(cells["measured_s"])
    software, assumed = _software(cells)
    return Measured(case, design, seconds, float(memory) * 2**30 if memory else None, software, assumed), []


def _cells(cells: Row) -> Iterator[Problem]:
    """Problems of single cells."""
    for name in COUNTS:
        text = cells.get(name, "")
        if not text and (name not in REQUIRED or name in SHAPE):
            if name in SHAPE and not cells.get("model"):
                yield Problem((name,), "a whole number of at least 1, or a 'model'", "nothing")
        elif not (text.isascii() and text.isdigit() and 0 < int(text) < 2**53):
            yield Problem((name,), "a whole number of at least 1", f"'{text}'")
    yield from _choices(cells)
    for name in ("measured_s", "measured_memory_gib"):
        text = cells.get(name, "")
        if text or name in REQUIRED:
            number = _number(text)
            if not 0 < number < math.inf:
                yield Problem((name,), "a number above 0", f"'{text}'")


def _choices(cells: Row) -> Iterator[Problem]:
    recompute = ("none", "selective", "full")
    allowed = {
        "device": tuple(catalog.section("npus")),
        "fabric": tuple(catalog.section("fabrics")),
        "recompute": (*recompute, *(name + SEQUENCE_PARALLEL for name in recompute)),
        "zero": ("0", "1", "2", "3"),
        "sequence_parallel": ("true", "false"),
        "software": tuple(STACKS),
        "precision": ("fp32", "fp16", "bf16", "fp8"),
        "gradient_precision": ("fp16", "fp32"),
    }
    for name, values in allowed.items():
        text = cells.get(name, "")
        if (text or name in REQUIRED) and text.lower() not in values:
            yield Problem((name,), f"one of {', '.join(values)}", f"'{text}'", nearest(text, values))
    if cells.get("model") and _model(cells["model"]) is None:
        models = tuple(catalog.section("models"))
        yield Problem(("model",), "a model of the catalogue", f"'{cells['model']}'", nearest(cells["model"], models))


def _software(cells: Row) -> tuple[str, bool]:
    """The stack of a row, and whether it was assumed: given, or that of the device's time."""
    given = cells.get("software", "").lower()
    return (given, False) if given else (assumed_stack(preset("npus", cells["device"].lower())), True)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def _model(name: str) -> dict[str, Any] | None:
    """The catalogue's entry, however it is hyphenated: `deepseekv2` is `deepseek-v2`."""
    bare = name.lower().replace("-", "").replace("_", "")
    for known, entry in catalog.section("models").items():
        if known.replace("-", "") == bare:
            return entry
    return None


def _document(cells: Row) -> dict[str, Any]:
    """The design document of a row."""
    numbers = {name: int(cells[name]) for name in COUNTS if cells.get(name)}
    model: dict[str, Any] = {}
    if cells.get("model"):
        model = {**(_model(cells["model"]) or {})}
    if (whole := model.get("layers")) and numbers["layers"] < whole and "mixture_of_experts" in model:
        experts = model["mixture_of_experts"]
        model["mixture_of_experts"] = {**experts, "dense_layers": min(1, experts.get("dense_layers", 0))}
    model |= {
        key: numbers[name]
        for name, key in (("hidden", "hidden"), ("layers", "layers"), ("heads", "heads"), ("vocab", "vocabulary"))
        if name in numbers
    }
    model["sequence_length"] = max(numbers["seq"], model.get("sequence_length", 1))
    recompute = cells["recompute"].lower()
    sequence_parallel = recompute.endswith(SEQUENCE_PARALLEL) or cells.get("sequence_parallel", "").lower() == "true"
    workload = {"model": model, "global_batch": numbers["global_batch"], "sequence_length": numbers["seq"]}
    stack = STACKS[_software(cells)[0]]
    workload |= {key: cells[key].lower() for key in ("precision", "gradient_precision") if cells.get(key)}
    if stack.gradient_precision:
        workload.setdefault("gradient_precision", stack.gradient_precision)
    degrees = ("tensor", "pipeline", "data", "context", "expert", "microbatch", "interleave")
    parallelism: dict[str, Any] = {name: numbers[name] for name in degrees if name in numbers}
    parallelism |= {
        "zero": int(cells["zero"]),
        "recompute": recompute.removesuffix(SEQUENCE_PARALLEL),
        "sequence_parallel": sequence_parallel,
        **stack.parallelism,
    }
    if parallelism.get("context", 1) > 1 and _heads_divide(model, parallelism["tensor"] * parallelism["context"]):
        parallelism["context_communication"] = "all_to_all"
    parallelism |= _ends(model["layers"], parallelism, stack)
    cluster = {"npu": cells["device"].lower(), "fabric": cells["fabric"].lower(), "npus": numbers["npus"]}
    return {"workload": workload, "parallelism": parallelism, "cluster": cluster}


def _heads_divide(model: Mapping[str, Any], degree: int) -> bool:
    """Whether all-to-alls can give each NPU whole heads; else keys and values go round the context group."""
    counts = [model.get("heads"), model.get("kv_heads") or model.get("heads")]
    return all(isinstance(count, int) and count % degree == 0 for count in counts)


def _ends(layers: int, parallelism: Mapping[str, Any], stack: Stack) -> dict[str, int]:
    """Layers of the first and the last stage, where the layers divide over all only if ends of the model count too.

    Megatron-core's `account_for_embedding_in_pipeline_split` and `account_for_loss_in_pipeline_split`: both, or the
    latter.
    """
    stages, chunks = parallelism["pipeline"], parallelism.get("interleave", 1)
    if stages == 1 or layers % (stages * chunks) == 0 or not (stack.uneven or chunks > 1):
        return {}
    for names in (("first_stage_layers", "last_stage_layers"), ("last_stage_layers",)):
        whole = layers + len(names)
        if whole % (stages * chunks) == 0 and whole > stages:
            return dict.fromkeys(names, whole // stages - 1)
    return {}
