"""The interval of a prediction: what measured over predicted iteration time is in nine of ten jobs, times the latter.

It follows from where the numbers come from (`simcore.provenance`). On a device whose iterations decided the numbers of
the software, it is that of the software's own rows, predicted without their job. On another device of a generation
whose kernels were measured it is wider by `OTHER_DEVICE`. A server to which nothing was fitted has the errors of
published throughputs that stand beside its predictions. Software whose numbers no iteration decided has the errors of
such predictions, and so has a kind of model of which none of a stack's iterations is. What is known less is no narrower
and no more hopeful than what is known better: such a kind than dense models on the same stack, and than the kind on the
stacks that were measured with it; a ZeRO stage that none of a stack's iterations has than one that some have; a device
known by its data sheet alone, which has a prior, than its stack on another device of a measured generation.
docs/accuracy.md says how they were found.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from simcore import catalog
from simcore.design.design import Design
from simcore.design.npu import Npu
from simcore.design.software import Software
from simcore.memory.plan import memory_needed
from simcore.provenance import Evidence, evidence_of, has_fitted_zero

Ratios = tuple[float, float]

OTHER_DEVICE: Ratios = (0.87, 1.29)
"""Of a device that no iterations were fitted to, beyond those of the software. The one that was left out, a machine
with B200s about 1.3 times slower than others (b200-simumax), took 1.13 to 1.29 times as long as its generation's
numbers say in nine of ten jobs; that a device may be faster by half as much is assumed."""
OTHER_STAGE: Ratios = (0.87, 1.29)
"""Of a ZeRO stage that none of a stack's iterations has, at the least: 61 jobs of ZeRO-3 (LLM Foundry on A100) took up
to 1.29 times as long as the numbers of megatron-core say, which stages 0 and 1 decided; down to 0.81 times, too, but
these numbers are those of another stack, and the one published row of megatron-core with ZeRO-3 took 0.91 times as
long. That a stage may be faster by half as much is assumed."""
OTHER_SOFTWARE: Ratios = (0.62, 1.29)
"""Of software without numbers of its own: 186 jobs of seven stacks, each with the numbers of another stack."""
DATA_SHEET: Ratios = (0.67, 1.53)
"""Of a device without a curve, at the least: ten jobs of TPU v5p reached 0.80 to 1.53; that others are as much faster
is assumed. Published rates of mixtures on MI300X are 1.15 and 1.54 of the predicted times."""
RECOMMENDER: Ratios = (1.0, 2.6)
"""Of recommenders on any stack, at the least: none was fitted to one. NVIDIA's DLRM takes 2.1 times as long as
predicted on 8 A100 (PyTorch, 8,192 samples an NPU in mixed precision: an epoch of 4.2 billion in 276 s), with
TensorFlow 3.1 times (403 s; DeepLearningExamples)."""

EXPANDED: Ratios = (0.95, 1.5)
"""Of a design that keeps tensors in memory beside the NPU's own, beyond the rest: no iteration with such a memory was
measured. Such a link may carry half of its rate, as where a host's memory serves all NPUs at once, reads and writes
together; half the rate took a 70B model on H100s 1.5 times as long (*assumed*)."""


def interval(design: Design, seconds: float) -> Ratios:
    """Where the measured time lies in nine of ten jobs [s], of `seconds` predicted."""
    low, high = ratios(design)
    return low * seconds, high * seconds


def ratios(design: Design) -> Ratios:
    """Measured over predicted time in nine of ten jobs."""
    npu, stack, kind = design.cluster.npu, design.software, design.workload.measured_as
    return ratios_of(npu, stack, kind, expanded=uses_expanded_memory(design), fitted_stage=has_fitted_zero(design))


def uses_expanded_memory(design: Design) -> bool:
    """Whether something lies in memory beside the NPUs' own."""
    memory = memory_needed(design) if design.expanded_memory else None
    return memory is not None and bool(memory.expanded)


def ratios_of(
    npu: Npu, software: Software, measured_as: str, expanded: bool = False, fitted_stage: bool = True
) -> Ratios:
    """The same of a stack on a device, for a kind of model.

    `expanded`: with tensors beside the NPU's own memory; `fitted_stage`: with a ZeRO stage that its iterations had.
    """
    found = evidence_of(npu, software)
    low, high = _of_software(software, measured_as, found)
    if not fitted_stage:
        low, high = _least_sure(OTHER_STAGE, (low, high))
    if found.device == "data sheet" or not found.iterations:
        low, high = low * OTHER_DEVICE[0], high * OTHER_DEVICE[1]
    if found.device == "data sheet":
        low, high = _least_sure(DATA_SHEET, (low, high))
    return (low * EXPANDED[0], high * EXPANDED[1]) if expanded else (low, high)


def _least_sure(*known: Ratios) -> Ratios:
    """The ratios that have the latest middle and the greatest width of all, as logarithms."""
    middle = max(math.sqrt(low * high) for low, high in known)
    width = max(math.sqrt(high / low) for low, high in known)
    return middle / width, middle * width


def _of_software(software: Software, measured_as: str, found: Evidence) -> Ratios:
    own: Mapping[Any, Ratios] = (software.interval or {}) if found.software else {}
    if measured_as in own:
        return own[measured_as]
    dense = [own["dense"]] if "dense" in own else []
    copied = catalog.entry("software", software.like).get("interval", {}) if software.like else {}
    of_model = [(low, high) for kind, (low, high) in copied.items() if kind == measured_as]
    of_kind = [RECOMMENDER] if measured_as == "recommender" else []
    return _least_sure(OTHER_SOFTWARE, *dense, *of_model, *of_kind, *_of_other_stacks(measured_as))


@lru_cache(maxsize=64)
def _of_other_stacks(measured_as: str) -> tuple[Ratios, ...]:
    """The ratios of a kind of model on the stacks of the catalogue that were measured with it; none of dense models.

    Those are what `OTHER_SOFTWARE` was found with.
    """
    if measured_as == "dense":
        return ()
    stacks = [entry for entry in catalog.section("software").values() if entry.get("trains", True)]
    intervals = [entry.get("interval") or {} for entry in stacks]
    return tuple((known[measured_as][0], known[measured_as][1]) for known in intervals if measured_as in known)
