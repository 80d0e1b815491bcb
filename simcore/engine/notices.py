"""Where the notices of a result come from: each kind from a question to the designs that an engine played."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from simcore.collective import FLAT_RING
from simcore.design.design import Design
from simcore.design.dimension import block_of
from simcore.engine.ranges import ranges_of
from simcore.system.trees import fallback_notes
from simcore.workload.base import kind_of
from simcore.workload.penalties import unmodelled_penalties
from simcore.workload.serving.decode import BUSIEST

UNEVEN = (
    "uneven routing: all experts have as many tokens here, and in training the NPU of the busiest ones takes longer "
    "and needs more memory"
)
"""What is said of experts on several NPUs in training."""
UNEVEN_SERVED = (
    f"how uneven routing is: all wait for the NPU of the busiest experts, which takes {1 / BUSIEST:.1f} times the mean "
    "here, whatever the model, its requests and the number of NPUs"
)
"""What is said of experts where a model is served."""
WIDE_SERVED = (
    "experts served over many nodes: stacks for that move the tokens of one half of a batch beside the computation of "
    "the other, and read prompts on NPUs of their own; here they do neither, so that such designs gain less"
)
"""What else is said of them: what large mixtures are served with."""
TOGETHER = (
    "prompts of copies that share experts: all copies read theirs at the same time here, and where prompts come one by "
    "one all wait for each, so that tokens come later"
)
"""What is said of them where prompts are read between tokens."""


PCIE = 64e9
"""Rate of a PCIe 5.0 x16 link [B/s], the fastest over which NPUs of today reach their host."""
ONE_LINK = (
    "messages and offloaded parts on one link: NPUs of this node send over PCIe, which leads to the host's memory as "
    "well, and here each of the two has a link of its own"
)
"""What is said of parts in a host's memory where NPUs have no links of their own."""
ONE_SLOT = (
    "messages inside a node and to other nodes on one link: NPUs of this node have one PCIe link for both, and here "
    "each of the two has a link of its own"
)
"""What is said of several such nodes."""


def _not_modelled(design: Design, engine: str, beside: bool) -> Iterator[str]:
    kind = kind_of(design.workload)
    yield from unmodelled_penalties(design)
    if design.parallelism.expert > 1:
        yield UNEVEN if kind.trained else UNEVEN_SERVED
        if not kind.trained and not design.parallelism.folded:
            yield WIDE_SERVED
            if getattr(design.workload, "batching", "") == "continuous":
                yield TOGETHER
    if kind.uneven and design.cluster.npus > 1:
        yield kind.uneven
    if kind.feeding:
        yield kind.feeding
    if _offloads_over_pcie(design):
        yield ONE_LINK
    if _sends_over_pcie(design) and len(design.cluster.dimensions) > 1:
        yield ONE_SLOT
    if engine == "flow":
        yield from ranges_of(design, beside)
    if engine != "reference_links":
        yield from _flat_rings(design)


def _offloads_over_pcie(design: Design) -> bool:
    """Whether parts lie in the host's memory, and NPUs of a node send over the links that lead there."""
    expanded = design.expanded_memory
    in_host = expanded is not None and expanded.shared_by == 1 and not (expanded.spills or expanded.edge)
    return in_host and _sends_over_pcie(design)


def _sends_over_pcie(design: Design) -> bool:
    """Whether NPUs of a node send to each other over their links to the host."""
    innermost = design.cluster.dimensions[0]
    return innermost.tier == "node" and innermost.bandwidth <= PCIE


def _flat_rings(design: Design) -> Iterator[str]:
    """Phases know one dimension, and a flat ring passes several."""
    dimensions = design.cluster.dimensions
    shared = [number for number, dimension in enumerate(dimensions) if block_of(dimension).shares]
    if shared and len(dimensions) > 1 and FLAT_RING in design.algorithms and design.workload.computes:
        where = f"cluster.dimensions[{shared[0]}], a {dimensions[shared[0]].topology}"
        yield f"what flat rings and others put on the same links at the same time ({where})"


def _fallbacks(design: Design, engine: str, beside: bool) -> Iterable[str]:
    del engine, beside
    return fallback_notes(design)


_ASKED: Mapping[str, Callable[[Design, str, bool], Iterable[str]]] = {
    "not_modelled": _not_modelled,
    "fallbacks": _fallbacks,
}
"""Kind (`simcore.result.NOTICES`) -> what a design has to say that an engine played, maybe beside other jobs."""


def notices_of(engine: str, *designs: Design, beside: bool = False) -> dict[str, Any]:
    """The notices of a result by kind, tuples of texts: of one design, or of several jobs, each text once.

    `beside`: whether jobs share links.
    """
    return {
        kind: tuple(dict.fromkeys(text for each in designs for text in ask(each, engine, beside)))
        for kind, ask in _ASKED.items()
    }
