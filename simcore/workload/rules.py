"""Rules that several kinds of workload have: the batch, the precision, keys without a meaning, sizes that divide."""

from __future__ import annotations

from collections.abc import Iterator

from simcore.design.design import Design
from simcore.design.layer_range import LayerRange
from simcore.design.node import nodes_sold_with
from simcore.design.software import HAVE_NODE_DISPATCH, Only
from simcore.document.field import OF_SOFTWARE
from simcore.document.problem import Path, Problem
from simcore.workload.base import kind_of

UNUSED = "kind of workload"
"""The rule that keys have a meaning for the kind of workload."""
NO_EXPERTS = "experts to spread"
"""The rule that what says how experts are spread has some."""
MODULES = "modules to recompute"
"""The rule that modules to recompute are the model's, and that they are recomputed."""


def batch_problems(design: Design) -> Iterator[Problem]:
    """Microbatches fill the batch."""
    workload = design.workload
    together = design.data * design.microbatch
    if together and workload.global_batch % together:
        yield Problem(
            ("parallelism", "microbatch"),
            f"data x microbatch that divides the global batch ({workload.global_batch})",
            f"{design.data} x {design.microbatch} = {together}",
            f"choose another microbatch, data degree or global batch{_smaller_domains(design, together)}",
            rule="microbatches fill the batch",
            violation=max(together / workload.global_batch - 1, 0.1),
        )


def _smaller_domains(design: Design, together: int) -> str:
    """A hint that a job may leave out NPUs of each domain, where their odd number is what does not divide the batch."""
    cluster, batch = design.cluster, design.workload.global_batch
    size = cluster.dimensions[0].size
    odd = size // (size & -size)
    whole = any(size in node.scale_up.domains for node in nodes_sold_with(cluster.npu.name))
    if not whole or odd == 1 or together % odd or batch % odd == 0:
        return ""
    part = 1 << size.bit_length() - 1
    number = max(part, round(cluster.npus / part) * part)
    while number > part and batch % (number // (number & -number)):
        number -= part
    many = f"{part}/{size} of the NPUs" if number * size == cluster.npus * part else f"{number:,} NPUs"
    return f", or {part} NPUs of each domain of {size}: 'domain: {part}' with {many}"


def precision_problems(design: Design) -> Iterator[Problem]:
    """The NPU computes in the workload's precision, and the software trains in it."""
    npu, asked, stack = design.cluster.npu, design.workload.precision, design.software
    if not npu.computes(asked):
        expected = f"one that {npu.name or 'the NPU'} computes in: {', '.join(npu.peak)}"
        yield Problem(("workload", "precision"), expected, asked)
    elif asked in stack.not_in and kind_of(design.workload).trained:
        expected, rule = f"a precision that {stack.name or 'the software'} trains in", "precisions of the software"
        yield Problem(("workload", "precision"), expected, asked, "choose another one, or another stack", rule=rule)


def stack_problems(design: Design) -> Iterator[Problem]:
    """The software has the degrees, the sharding, and where there is a pipeline its schedule."""
    stack, p = design.software, design.parallelism
    yield from _lacks(design, stack.only, "", () if p.pipeline > 1 else ("schedule", "interleave"))
    if p.pipeline > 1:
        yield from _lacks(design, stack.only_with.pipeline, " with a pipeline")
    if design.workload.measured_as == "moe":
        yield from _lacks(design, stack.only_with.experts, " for mixtures of experts")
    if p.expert > 1:
        yield from _lacks(design, stack.only_with.spread_experts, " with experts spread over NPUs")
        platform = design.cluster.npu.platform
        if p.dispatch == "node" and platform not in HAVE_NODE_DISPATCH:
            expected = f"rank: nothing that runs on {platform} sends a token once to all of its experts behind a link"
            yield Problem(
                ("parallelism", "dispatch"), expected, "node", "leave it out", rule="dispatch of the platform"
            )


def _lacks(design: Design, only: Only, where: str, without: tuple[str, ...] = ()) -> Iterator[Problem]:
    """A problem of each key of `parallelism` that has a value which the software has not."""
    for key, values in only.items():
        found = design.parallelism.folds if key == "expert_tensor" else getattr(design.parallelism, key)
        if key not in without and found not in values:
            has = " or ".join(map(_written, values))
            expected = f"{has}, which is all that {design.software.name or 'the software'} has{where}"
            whole = f"take tensor: 1, or expert: {design.parallelism.tensor} with expert_tensor: 1"
            fix = whole if key == "expert_tensor" else "choose another one, or another stack"
            yield Problem(("parallelism", key), expected, _written(found), fix, rule="parallelism of the software")


def _written(value: bool | int | str) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def unused_problems(design: Design, names: tuple[str, ...]) -> Iterator[Problem]:
    """Keys of `parallelism` that say something that this kind of workload does not do."""
    for name in names:
        field = type(design.parallelism).model_fields.get(name)
        if field is None:
            continue
        usual = getattr(design.software, name, None) if field.default is OF_SOFTWARE else field.default
        if (found := getattr(design.parallelism, name)) != usual:
            path: Path = ("parallelism", name)
            yield Problem(
                path,
                f"{usual} (this kind of workload has no other)",
                "{solve: true}" if name == "stages" and design.parallelism.solves_stages else _listed(found),
                "leave it out",
                rule=UNUSED,
            )


def _listed(found: object) -> str:
    return f"{len(found)} ranges" if isinstance(found, tuple) and isinstance(found[0], LayerRange) else str(found)


def divides(part: int, whole: int, path: Path, part_name: str, whole_name: str, rule: str) -> Iterator[Problem]:
    """A problem where `part` does not divide `whole`."""
    if part and whole % part:
        fix = f"choose a divisor of {whole}"
        yield Problem(path, f"{part_name} that divides {whole_name} ({whole})", str(part), fix, rule=rule)
