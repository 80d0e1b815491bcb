"""A device that a command names: an NPU of the catalogue, or a YAML file with one (as `dse calibrate` writes it)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from simcore import catalog
from simcore.catalog.preset import preset
from simcore.design.include import npu_problems
from simcore.design.npu import Npu, parse_npu
from simcore.document.problem import InputError, Problem, suggest_nearest
from simcore.document.text import read_document


def read_device(text: str) -> tuple[Npu, dict[str, Any]]:
    """The NPU, and the mapping that describes it (`{base: NAME}` for one of the catalogue).

    Raises `InputError` where there is no such device, or the file describes none.
    """
    if text.lower() in catalog.section("npus"):
        return preset(Npu, "npus", text.lower()), {"base": text.lower()}
    path = Path(text)
    if path.suffix not in (".yaml", ".yml"):
        known = catalog.section("npus")
        fix = suggest_nearest(text, known, "npus")
        raise InputError([Problem((), "an NPU of the catalogue, or a .yaml file with one", f"'{text}'", fix)], "device")
    document = read_document(path)
    if problems := npu_problems(document.data):
        raise InputError([replace(problem, line=document.line(problem.path)) for problem in problems], text)
    npu = parse_npu(document.data)
    described = document.data if npu.name else {"name": path.stem, **document.data}
    return parse_npu(described), described
