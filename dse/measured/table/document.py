"""A row's values as the document of a design."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from dse.measured.table.cells import SEQUENCE_PARALLEL, Values
from dse.measured.table.cluster import cluster_section, other_clusters
from dse.measured.table.software import OLD, fp8_recipe, software_section, stack_of
from simcore import catalog
from simcore.catalog.preset import preset
from simcore.check.check import check
from simcore.check.load import parse_design
from simcore.design.npu import Npu
from simcore.document.problem import Problem

_DEGREES = ("tensor", "pipeline", "data", "context", "expert", "microbatch", "interleave", "zero", "shard_group")
_ALTERNATE = "pytorch-fsdp"
"""Stacks whose selective recomputation is every other product."""
_MOST_ENDS = 3
"""What may count as a layer: embedding, loss, one layer that predicts a further token."""
_BEYOND = re.compile(r"expert (\d+) > data x context \d+")
"""How `notes` say that the experts are spread over tensor ranks too."""


def row_document(values: Values) -> dict[str, Any]:
    """The design document of a row."""
    npu: Npu = values["device"]
    workload: dict[str, Any] = {"model": _model_section(values)}
    workload |= {"global_batch": values["global_batch"], "sequence_length": values["seq"]}
    if "fp16" not in npu.peak and "bf16" in npu.peak:
        workload["precision"] = "bf16"
    workload |= {key: values[key] for key in ("precision", "gradient_precision") if key in values}
    if values.get("precision") == "fp8" and fp8_recipe(values) == "block":
        workload["precision"] = "fp8_block"
    parallelism: dict[str, Any] = {name: values[name] for name in _DEGREES if name in values}
    if parallelism["pipeline"] == 1:
        parallelism["interleave"] = 1  # chunks that follow each other on one stage are the whole model
    if "schedule" in values:
        parallelism["schedule"] = values["schedule"]
    parallelism |= {
        **_recompute_section(values, parallelism, workload["model"]),
        **_expert_section(values),
        **_context_section(workload["model"], parallelism),
        **_end_layers(workload["model"]["layers"], parallelism, values),
    }
    if values.get("tp_comm_overlap") and parallelism["sequence_parallel"] and parallelism["tensor"] > 1:
        parallelism["tensor_overlap"] = True
    return {
        "workload": workload,
        "parallelism": parallelism,
        "cluster": cluster_section(values),
        "software": software_section(values),
    }


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


def _recompute_section(values: Values, parallelism: Mapping[str, Any], model: Mapping[str, Any]) -> dict[str, Any]:
    """What is computed again, and whether what lies between tensor-parallel products is split by the sequence.

    Every other product (PyTorch's stacks, `selective`) is read as every product of half of the layers. Modules that the
    model has not are left out.
    """
    recompute = values["recompute"]
    modules = recompute if isinstance(recompute, tuple) else values.get("recompute_modules", ())
    text = "selective" if isinstance(recompute, tuple) else str(recompute)
    kind = text.removesuffix(SEQUENCE_PARALLEL)
    sequence_parallel = text.endswith(SEQUENCE_PARALLEL) or values.get("sequence_parallel", False)
    section: dict[str, Any] = {"recompute": kind, "sequence_parallel": sequence_parallel}
    if kind == "selective" and stack_of(values)[0].startswith(_ALTERNATE):
        each = model["layers"] // (parallelism["pipeline"] * parallelism["interleave"])
        section |= {"recompute": "full", "recompute_layers": max(1, each // 2)}
    elif modules and kind != "full":
        experts = model.get("mixture_of_experts") or {}
        absent = {"moe", "moe_act"} if not experts else set()
        absent |= set() if experts.get("shared_feed_forward") else {"shared_experts"}
        absent |= set() if model.get("latent_attention") else {"mla_up_proj"}
        kept = [module for module in modules if module not in absent]
        section |= {"recompute": "selective", "recompute_modules": kept} if kept else {"recompute": "none"}
    return section


def _expert_section(values: Values) -> dict[str, Any]:
    """The tensor degree of experts, and their degree where it is beyond data x context."""
    beyond = _BEYOND.search(values.get("notes", ""))
    if beyond:
        return {"expert": int(beyond[1]), "expert_tensor": 1}
    return {"expert_tensor": values["expert_tensor"]} if "expert_tensor" in values else {}


def _context_section(model: Mapping[str, Any], parallelism: Mapping[str, Any]) -> dict[str, Any]:
    """All-to-alls where they give each NPU whole heads; else keys and values go round the context group."""
    context = parallelism.get("context", 1)
    heads = model["heads"], model.get("kv_heads") or model["heads"]
    divide = all(count % (parallelism["tensor"] * context) == 0 for count in heads)
    return {"context_communication": "all_to_all"} if context > 1 and divide else {}


def _end_layers(layers: int, parallelism: Mapping[str, Any], values: Values) -> dict[str, int]:
    """Layers of the first and the last stage: given, or what follows where layers do not divide over all stages.

    They would divide if ends of the model counted as a layer each: the loss; it and the embedding; these and a layer
    that predicts a further token (Megatron-core's `account_for_loss_in_pipeline_split` and
    `account_for_embedding_in_pipeline_split`, and its layouts of DeepSeek-V3).
    """
    given: dict[str, int] = {
        name: values[name] for name in ("first_stage_layers", "last_stage_layers") if name in values
    }
    stages, chunks = parallelism["pipeline"], parallelism["interleave"]
    if given or stages == 1 or layers % (stages * chunks) == 0:
        return given
    if chunks == 1 and stack_of(values)[0] == OLD:
        return {}
    ends = -layers % (stages * chunks)
    even = (layers + ends) // stages
    if ends > _MOST_ENDS or even < 2:
        return {}
    first, last = ends // 2, ends - ends // 2
    return {"last_stage_layers": even - last} | ({"first_stage_layers": even - first} if first else {})


def fitting_document(values: Values) -> tuple[dict[str, Any], list[Problem]]:
    """The design document of a row, and what is wrong with it; the first cluster of those it may mean that it fits."""
    document = row_document(values)
    problems = design_problems(document)
    if problems and all(problem.path[:1] == ("parallelism",) for problem in problems):
        for cluster in other_clusters(document["cluster"]):
            turned = {**document, "cluster": cluster}
            if not design_problems(turned):
                return turned, []
    return document, problems


def check_structure(values: Values) -> Iterator[Problem]:
    """What is wrong with the design of a row whatever its wrong cells say: wrong with either of two stand-ins."""
    found = [design_problems(row_document({**others, **values})) for others in _stand_ins()]
    yield from (problem for problem in found[0] if problem in found[1])


def design_problems(described: dict[str, Any]) -> list[Problem]:
    """What is wrong with a design, by its document."""
    design, problems = parse_design(described)
    return problems if design is None else check(design)


@cache
def _stand_ins() -> tuple[Values, Values]:
    """Two rows that have nothing in common."""
    models = catalog.section("models")
    counts = ("layers", "seq", "npus", "global_batch", "microbatch", "tensor", "pipeline", "data", "interleave")
    one: Values = dict.fromkeys((*counts, "context", "expert"), 1)
    other: Values = dict.fromkeys((*counts, "context", "expert"), 2)
    one |= {"device": preset(Npu, "npus", "a100-80gb"), "fabric": "dgx-a100", "model": models["gpt3-175b"]}
    other |= {"device": preset(Npu, "npus", "h100-80gb"), "fabric": "tpu-v4-pod", "model": models["llama3-8b"]}
    return one | {"recompute": "none", "zero": 0}, other | {"recompute": "full", "zero": 3}
