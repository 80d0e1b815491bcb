"""What of a design a written file leaves out or changes: the file is read back, and both designs are set side by side.

So whatever a target has no word for is found without anybody listing it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from dse.export.base import Said, Target, Unsaid, offloaded, stages_of
from simcore.design.design import Design
from simcore.design.workload import USUAL, Workload, workload_tag
from simcore.workload.base import kind_of
from simcore.workload.serving.document import InferenceWorkload
from simcore.workload.transformer.document import TransformerWorkload
from simcore.workload.transformer.model import Transformer
from simcore.workload.transformer.stages import Runs, stage_layers

_PLANS = {"training_tokens", "training_batch", "critical_batch", "training_precision"}
"""Keys of a workload about the whole training, which the user gives as a number of steps."""
_FOLLOWS = {"parallelism.zero": ("parallelism.accumulate", "parallelism.gather")}
"""Keys whose difference follows from another's."""
_OF_GROUP = {
    "tensor": ("sequence_parallel", "tensor_overlap", "expert_tensor"),
    "context": ("context_communication", "context_overlap"),
    "expert": ("dispatch", "expert_overlap"),
}
"""Keys that mean nothing where a group has one NPU."""
_OF_LAYERS = {f"parallelism.{key}" for key in ("layers", "recompute", "recompute_layers", "recompute_modules")}
"""Keys that say together how each layer is run."""


def unsaid(design: Design, target: Target, said: Said) -> tuple[Unsaid, ...]:
    """Where the design that a file says differs from the one it was written for."""
    back = read_back(design, target, said)
    here, there = _leaves_of(design), _leaves_of(back)
    found = [
        Unsaid(path, _text(here.get(path)), _text(there.get(path)))
        for path in here | there
        if _text(here.get(path)) != _text(there.get(path))
    ]
    if (order := _order(design, design.cluster.placement)) != (its := _order(design, said.placement)):
        found.append(Unsaid("cluster.placement", _text(order), _text(its)))
    if (place := offloaded(design)) != said.offloaded:
        found.append(Unsaid("cluster.memory.expanded.place", _text(place or None), _text(said.offloaded or None)))
    left = {entry.path for entry in found}
    follows = {path for key, paths in _FOLLOWS.items() if key in left for path in paths}
    elsewhere = target.elsewhere(design)
    inside = tuple(f"{path}." for path in elsewhere)
    aside = follows | elsewhere.keys() | _usual_of_groups(design, elsewhere)
    aside |= _OF_LAYERS if _runs_same_layers(design, back) else set()
    return tuple(entry for entry in found if entry.path not in aside and not entry.path.startswith(inside))


def _runs_same_layers(one: Design, other: Design) -> bool:
    """Whether each layer that is trained is in the same stage, cut and recomputed likewise, however that is said."""
    return (layers := _layers_of(one)) is not None and layers == _layers_of(other)


def _layers_of(design: Design) -> tuple[tuple[Runs, ...], frozenset[str]] | None:
    if workload_tag(design.workload) != USUAL:
        return None
    return stages_of(design), design.parallelism.recomputed_modules


def _usual_of_groups(design: Design, elsewhere: Mapping[str, str]) -> set[str]:
    """What a group of which the file does not tell does as all do: nothing is left out with it."""
    p, stack = design.parallelism, design.software
    keys = (key for group, its in _OF_GROUP.items() if f"parallelism.{group}" in elsewhere for key in its)
    return {
        f"parallelism.{key}"
        for key in keys
        if getattr(p, key) == getattr(stack, key, type(p).model_fields[key].default)
    }


def read_back(design: Design, target: Target, said: Said) -> Design:
    """The design that a file says, on the cluster of the one it was written for."""
    document, elsewhere = design.document(), target.elsewhere(design)
    workload = {
        key: value for key, value in document["workload"].items() if key in _PLANS or f"workload.{key}" in elsewhere
    }
    sections = {"workload": {**workload, **said.workload}, "parallelism": said.parallelism}
    return Design.model_validate({**document, **sections})


def _leaves_of(design: Design) -> dict[str, Any]:
    """What the sections that a target is told say, by path; the model by its shape, stages by their layers."""
    document = design.document()
    workload = document["workload"]
    model = _model_of(design.workload)
    settled: dict[str, Any] = {"feed_forward": model.ffn, "kv_heads": model.key_heads, "head_dim": model.qk_head_dim}
    settled |= {"tied": model.shares_embedding, "biases": sorted(model.biases)}
    workload["model"] = model.model_dump(exclude={"name", "source"}, exclude_none=True) | settled
    parallelism = document["parallelism"]
    for key in ("first_stage_layers", "last_stage_layers"):
        parallelism.pop(key, None)
    parallelism["stages"] = stage_layers(model, design.parallelism)
    parallelism["tensor_overlap"] &= parallelism["sequence_parallel"]  # it cuts the exchanges of sequence parallelism
    idle = {key for group, keys in _OF_GROUP.items() if parallelism[group] == 1 for key in keys}
    sections = {"workload": workload, "parallelism": {key: parallelism[key] for key in parallelism if key not in idle}}
    return {path: value for key, section in sections.items() for path, value in _leaves(section, key)}


def _leaves(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _leaves(inner, f"{path}.{key}")
    else:
        yield path, value


def _model_of(workload: Workload) -> Transformer:
    """The model of a workload that trains or serves one."""
    served = workload_tag(workload) != USUAL
    return (InferenceWorkload if served else TransformerWorkload).of(workload).model


def _order(design: Design, placement: tuple[str, ...]) -> tuple[str, ...]:
    """The groups of more than one NPU in the order in which they take the ranks."""
    degrees = kind_of(design.workload).degrees(design)
    return tuple(group for group in placement if degrees.get(group, 1) > 1)


def _text(value: Any) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(str(entry) for entry in value) + "]"
    return str(value).lower() if isinstance(value, bool) else str(value)
