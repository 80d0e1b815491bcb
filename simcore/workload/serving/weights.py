"""Weights of a served model that take fewer bits in memory than products compute in.

A kernel reads them narrow and widens them on their way to the tensor cores (Frantar et al. 2024, *MARLIN*, arXiv
2408.11743): a decode of few requests, which mostly reads weights, gains by nearly the ratio of the bits; a prefill
computes as before. What published checkpoints leave in 16 bits stays so: embedding and head, and of a mixture of
experts all but the routed experts (gpt-oss, arXiv 2508.10925, section 2.1; NVIDIA's nvfp4 checkpoints of DeepSeek-R1).
"""

from __future__ import annotations

from simcore.document.field import BYTES, HELD_BYTES, NARROW
from simcore.program import Compute, Operator
from simcore.workload.serving.document import InferenceWorkload, WeightPrecision
from simcore.workload.transformer.layers import CORE_PRODUCTS

WEIGHT_BYTES: dict[WeightPrecision, float] = {
    "int8": 1.0,
    "fp8": 1.0,
    "nvfp4": HELD_BYTES["nvfp4"],
    "mxfp4": (4 + 8 / 32) / 8,
    "int4": (4 + 20 / 128) / 8,
}
"""Bytes of a weight with its share of what is kept of its block: a scale of 8 bits for 16 numbers (nvfp4) or 32 (mxfp4:
OCP Microscaling Formats 1.0), a scale of 16 bits and a zero of 4 for 128 (int4: AWQ, arXiv 2306.00978)."""
_EXPERTS = frozenset({"expert-in", "expert-out"})
_WIDE = frozenset({*CORE_PRODUCTS, "router", "absorb-keys", "expand-values"})
"""Products without weights, and those whose weights stay as wide as the products compute."""


def layer_bytes(workload: InferenceWorkload, own: float, routed: float) -> float:
    """Bytes of a layer's parameters: `own` numbers that all requests meet, and `routed` ones of experts."""
    width = HELD_BYTES[workload.precision]
    held = width if workload.weight_precision is None else WEIGHT_BYTES[workload.weight_precision]
    return own * (width if workload.model.mixture_of_experts else held) + routed * held


def wide_precision(workload: InferenceWorkload) -> str:
    """The precision of what servers do not narrow with the products: embedding, head and, unless given, the cache."""
    return "bf16" if workload.precision in NARROW else workload.precision


def end_width(workload: InferenceWorkload) -> float:
    """Bytes of a number of the embedding and of the head."""
    return BYTES[wide_precision(workload)]


def with_held_weights(operators: tuple[Operator, ...], workload: InferenceWorkload) -> tuple[Operator, ...]:
    """The operators of a layer, whose products read weights as they are held."""
    own, held = workload.precision, workload.weight_precision
    width = HELD_BYTES[own] if held is None else WEIGHT_BYTES[held]
    if width == BYTES[own]:
        return operators
    return tuple(_narrowed(op, BYTES[own] - width) if _has_held_weights(op, workload) else op for op in operators)


def _has_held_weights(operator: Operator, workload: InferenceWorkload) -> bool:
    if not isinstance(operator, Compute) or operator.kind != "gemm":
        return False
    experts_alone = workload.model.mixture_of_experts and workload.weight_precision is not None
    return operator.name in _EXPERTS if experts_alone else operator.name not in _WIDE


def _narrowed(operator: Operator, less: float) -> Operator:
    """A product [m,k]x[k,n] that reads `less` bytes of each weight, or more where that is negative."""
    assert isinstance(operator, Compute)
    assert operator.shape is not None
    batch, _, n, k = operator.shape
    return operator._replace(bytes=operator.bytes - less * batch * k * n)
