"""What must be reserved for a design: its tensors, what the allocator loses around them, and what is no tensor.

Model states are allocated once and whole. Activations and transients come and go in sizes that differ, so the
allocator reserves `slack` times what is allocated of them at the peak. Beside them lie the context of the process and
the buffers of each communicator, one for each parallel group of more than one NPU. The numbers are those of the
design's software.
"""

from __future__ import annotations

from dataclasses import replace

from simcore.design.degrees import views_of
from simcore.design.design import Design
from simcore.policy.groups import group_kind
from simcore.result import Memory
from simcore.workload.base import kind_of


def add_reserved(design: Design, memory: Memory, elsewhere: float = 0.0) -> Memory:
    """The memory of a stage with what must be reserved for it; `elsewhere` [B] of it no allocator of the NPU places."""
    allocated = memory.weights + memory.gradients + memory.optimizer + (memory.kv_cache or 0.0)
    loose = max(0.0, memory.peak - allocated - elsewhere)
    return replace(memory, reserved=memory.peak + (slack_of(design) - 1.0) * loose + bytes_beside_tensors(design))


def slack_of(design: Design) -> float:
    """Reserved over allocated; 1 where the design says itself which share of the memory is lost."""
    memory = design.cluster.memory
    given = memory is not None and memory.fragmentation is not None
    return 1.0 if given else design.software.memory.slack


def bytes_beside_tensors(design: Design) -> float:
    """Bytes of the process's context and of the buffers of its communicators."""
    return design.software.memory.beside_tensors(design.cluster.npu.platform, count_communicators(design))


def count_communicators(design: Design) -> int:
    """Parallel groups of more than one NPU that communicate, and so have buffers of their own."""
    p, kind = design.parallelism, kind_of(design.workload)
    degrees = kind.degrees(design)
    groups = [p.tensor, p.context, p.pipeline, p.expert, *(degrees[group] for group in kind.same_group.values())]
    groups += [design.sharding_npus, design.copies // design.sharding_npus]
    if p.folded:
        groups.append(p.expert_tensor or 1)
    if p.expert > 1 or p.folded:
        groups.append(design.expert_copies)
    return sum(size > 1 for size in groups) + len(_groups_of_layers(design))


def _groups_of_layers(design: Design) -> set[str]:
    """The names of the groups that layers with degrees of their own have beside those of the section."""
    found = set[str]()
    if not design.parallelism.layers:
        return found
    section = design.parallelism.degrees
    for degrees, view in views_of(design).items():
        its = view.parallelism
        sizes = {"tensor": its.tensor, "data": view.copies, "expert": its.expert}
        if its.folded:
            sizes["expert_tensor"] = its.folds
        if its.expert > 1 or its.folded:
            sizes["expert_data"] = view.expert_copies
        found |= {degrees.name_group(group, section) for group, size in sizes.items() if size > 1}
    tensors = sorted({section.tensor, *(degrees.tensor for degrees in views_of(design))})
    return {group for group in found if group != group_kind(group)} | {f"reshard {t}" for t in tensors[1:]}
