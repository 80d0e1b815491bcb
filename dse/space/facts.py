"""What of a space is no decision: facts of the world that it leaves open, what costs nothing, batches of no training.

A search would take the rosiest of the facts, which nobody can choose, and the best of what has one price. A batch given
in tokens where sequences are asked for is some thousand times too large, and every design of it is sound.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from dse.space.fill import template_count
from dse.space.hole import ExpressionHole, alternatives_of
from dse.space.variations import designs_of
from simcore.design.design import Design
from simcore.design.reliability import Reliability
from simcore.workload.base import kind_of

MOST_TOKENS = 5e8
"""Tokens of a batch, several times as many as the largest batches that trainings were reported with."""


def fact_notices(template: Mapping[str, Any]) -> Iterator[str]:
    """Sentences on what nobody chooses, or that will surprise.

    It is open how often things fail, how soon that is found or mended, or what an NPU is at one price; a batch is of no
    training; a server replays no graph. How a job is saved and begun again may well be open.
    """
    found = [*designs_of(template)]
    if template_count(template.get("reliability", {})) > 1:
        yield from _open_reliability([design.reliability for design in found])
        if not all(design.cost.by_parts for design in found):
            yield from _unpriced_reliability([design.reliability for design in found])
    if unpriced := dict.fromkeys(path for npu in _npus_of(template.get("cluster")) for path in _unpriced(npu)):
        by_parts = any(design.cost.by_parts for design in found)
        first = "Take a list of prices of NPUs, cost: libra, and let" if by_parts else "Let"
        yield (
            f"cluster.npu leaves open {' and '.join(unpriced)} at one price, so a search has the best for nothing. "
            f"{first} the price follow, npu: {{name: mine, ..., price: "
            '{expr: "9000 + 50 * cluster.npu.memory.capacity / 1e9"}}, or list whole NPUs, '
            "npu: {choice: [{name: small, ...}, {name: large, ...}]}."
        )
    largest = max(found, key=_tokens, default=None)
    if largest is not None and (tokens := _tokens(largest)) > MOST_TOKENS:
        yield (
            f"workload.global_batch counts sequences: {largest.workload.global_batch:,} of them are "
            f"{tokens / 1e9:,.1f} billion tokens, more than any known training has in a batch."
        )
    launched = next((design for design in found if _launches_decodes(design)), None)
    if launched is not None:
        name = launched.software.name or "software"
        yield (
            f"{name} launches each kernel of a decode by itself here, which takes most of the time of a token; vLLM "
            "and TensorRT-LLM replay a graph of them. For that leave software out, or write software: vllm."
        )


_FOUND: dict[str, Callable[[Reliability], Any]] = {
    "how often things fail": lambda its: its.mtbf,
    "how long a repair takes": lambda its: its.repair,
    "how soon a failure is found": lambda its: its.restart and its.restart.detection,
}
"""What nobody chooses of how things fail."""


def _left_open(looks: Mapping[str, Callable[[Reliability], Any]], found: Sequence[Reliability]) -> str:
    """What has several values among those `found`, in words; empty where nothing has."""
    return " and ".join(what for what, look in looks.items() if len({*map(look, found)}) > 1)


def _open_reliability(found: Sequence[Reliability]) -> Iterator[str]:
    if told := _left_open(_FOUND, found):
        yield (
            f"reliability leaves open {told}, and a search takes the value under which least is lost, "
            "which nobody can choose. Write one, and search again with another to see what changes."
        )


_BOUGHT: dict[str, Callable[[Reliability], Any]] = {
    "how many nodes stand by": lambda its: its.spares,
    "how fast the storage is": lambda its: (
        its.checkpoint and (its.checkpoint.bandwidth, its.checkpoint.bandwidth_per_npu)
    ),
}
"""What is bought against failures, at a list of parts alone."""


def _unpriced_reliability(found: Sequence[Reliability]) -> Iterator[str]:
    if told := _left_open(_BOUGHT, found):
        yield (
            f"reliability leaves open {told}, which costs nothing at a list of prices without parts, so "
            "a search has the most for nothing. Write one value, or, of machines that are sold, 'cost: street-2025'."
        )


def _launches_decodes(design: Design) -> bool:
    """Whether a design is served by a stack that launches kernels one by one, on an NPU where that takes time."""
    served = not kind_of(design.workload).trained and getattr(design.workload, "output_length", None) is not None
    return served and design.software.execution != "graph" and not design.cluster.npu.is_ideal


def _tokens(design: Design) -> int:
    """Tokens of a batch; 0 of what is not trained on any."""
    sequence = getattr(design.workload, "sequence", 0)
    return design.workload.global_batch * sequence if sequence and kind_of(design.workload).trained else 0


def _npus_of(cluster: Any) -> Iterator[Mapping[str, Any]]:
    """The NPUs of a cluster's template that are spelled out."""
    for one in alternatives_of(cluster):
        npu = one.get("npu") if isinstance(one, Mapping) else None
        yield from (spelled for spelled in alternatives_of(npu) if isinstance(spelled, Mapping))


def _unpriced(npu: Mapping[str, Any]) -> Iterator[str]:
    """What an NPU's template leaves open, as paths, where its price is one for all."""
    price = npu.get("price")
    if isinstance(price, ExpressionHole) or template_count(price) > 1:
        return
    for key, value in npu.items():
        inner = value.items() if isinstance(value, Mapping) else ()
        yield from (f"{key}.{name}" for name, its in inner if template_count(its) > 1)
        if not isinstance(value, Mapping) and template_count(value) > 1:
            yield key
