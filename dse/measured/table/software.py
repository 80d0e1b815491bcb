"""The software stack of a row: the one it names, or that of its device's time, with what its cells say of the stack.

FlashAttention (Dao et al. 2022, arXiv 2205.14135) came out in May 2022. Iterations that were published of devices of
an earlier year (V100, A100) ran attention operator by operator unless they say otherwise; those of devices since (H100,
B200) ran Megatron-core with Transformer Engine. The precision of gradients alone says nothing of attention: fp32
gradients are a switch of either stack.
"""

from __future__ import annotations

import re
from typing import Any

from dse.measured.table.cells import Values
from simcore.catalog.preset import preset
from simcore.design.npu import Npu
from simcore.design.software import Software

EIGHT_BITS = ("fp8", "fp8_block")
FLASH_ATTENTION = 2022
"""Year from which on a device is assumed to run fused attention."""
OLD, NEW = "megatron-lm-2021", "megatron-core"
"""The stacks that are assumed on devices before that year, and since."""
_RECIPES = (
    ("delayed", "delayed"),
    ("current", "current"),
    ("tensorwise", "current"),
    ("mx", "block"),
    ("block", "block"),
)
"""What an `fp8_recipe` has in it, and the recipe that it is."""
_LABELS = {"CS": "current", "DS": "delayed", "SC": "block", "MX": "block"}
"""Recipes as Megatron Bridge labels its cases: `FP8-CS`."""
_LABEL = re.compile(r"\bFP8-(CS|DS|SC|MX)\b")


def stack_of(values: Values) -> tuple[str, bool]:
    """The software stack of a row, and whether it was assumed: given, or that of the device's time."""
    return (values["software"], False) if "software" in values else (assumed_stack(values["device"]), True)


def assumed_stack(npu: Npu) -> str:
    """The stack of a device's time; of a device without a year, today's."""
    return OLD if npu.introduced is not None and npu.introduced < FLASH_ATTENTION else NEW


def software_section(values: Values) -> dict[str, Any]:
    """The section `software` of a row's design: a stack, and what the row says otherwise."""
    name = stack_of(values)[0]
    section: dict[str, Any] = {"base": name}
    if "cuda_graph" in values:
        execution = "graph" if values["cuda_graph"] else "eager"
        usual = preset(Software, "software", name).running_on(values["device"].name).execution or "eager"
        section |= {} if execution == usual else {"execution": execution}
    if values.get("precision") in EIGHT_BITS:
        recipe = fp8_recipe(values)
        fp8: dict[str, Any] = {"recipe": recipe} if recipe else {}
        if "param_gather_dtype" in values:
            fp8["gather"] = "fp8" in values["param_gather_dtype"].lower()
        if fp8:
            section["fp8"] = fp8
    return section


def fp8_recipe(values: Values) -> str | None:
    """How a row's 8-bit products are scaled, by its column or the label of its case; None where neither says."""
    text = values.get("fp8_recipe", "").lower()
    label = _LABEL.search(values.get("case", ""))
    named = _LABELS[label[1]] if label and not text else None
    return named or next((recipe for part, recipe in _RECIPES if part in text), None)
