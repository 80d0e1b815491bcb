"""Designs that a program can run, drawn; and what it is told, as its own parser would check it."""

from __future__ import annotations

import json
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from dse.export.command_line import read_script
from simcore.check.load import design_from
from simcore.design.design import Design
from simcore.document.problem import InputError, InputWarning

DATA = Path(__file__).parent / "data"
DENSE = {
    "workload": {"model": "llama3-70b", "global_batch": 512, "sequence_length": 8192, "precision": "bf16"},
    "parallelism": {"tensor": 8, "pipeline": 4, "zero": 1, "sequence_parallel": True},
    "cluster": {"npu": "h100-80gb", "fabric": "dgx-h100", "npus": 256},
}
EXPERTS = {
    "workload": {"model": "deepseek-v3", "global_batch": 2048, "sequence_length": 4096, "precision": "fp8_block"},
    "parallelism": {"tensor": 2, "expert_tensor": 1, "pipeline": 8, "expert": 32, "zero": 1, "sequence_parallel": True},
    "cluster": {"npu": "h100-80gb", "fabric": "dgx-h100", "npus": 1024},
}


def dense(software: str = "megatron-core", **parallelism: Any) -> Design:
    document = {**DENSE, "parallelism": {**DENSE["parallelism"], **parallelism}, "software": software}
    return design_from(document)


def drawn(seed: int, choices: dict[str, list[Any]], document: dict[str, Any], software: str) -> Design | None:
    """A design with a random value for each key; None where these do not go together."""
    rng = np.random.default_rng(seed)
    keys = {key: values[rng.integers(len(values))] for key, values in choices.items()}
    workload = {**document["workload"]}
    if "precision" in keys:
        workload["precision"] = keys.pop("precision")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", InputWarning)  # of modules to recompute beside 'full'
            return design_from({**document, "workload": workload, "parallelism": keys, "software": software})
    except InputError:
        return None


@cache
def arguments(target: str) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = json.loads((DATA / f"{target}.json").read_text())["arguments"]
    return found


def refused(target: str, text: str) -> list[str]:
    """What the program would not take of a script: unknown flags, too many or too few values, other values."""
    said, bare = read_script(text)
    known, wrong = arguments(target), []
    for flag, values in said.items():
        if "=" in flag:  # torchrun's
            continue
        count, *allowed = known.get(flag, [None])
        if count is None:
            wrong.append(f"{flag}: unknown")
        elif count != "+" and len(values) != count:
            wrong.append(f"{flag}: {len(values)} values")
        elif allowed and "None" not in allowed and not set(values) <= set(allowed):
            wrong.append(f"{flag}: {values}")
    return wrong + [f"{word}: unknown" for word in bare if word.startswith("activation-") and word not in known]
