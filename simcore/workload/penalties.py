"""What a design saves at a price that no metric has: precisions whose loss is known to be higher than that of 16 bits.

Nothing here is counted: for most of these runs no rule says what another model would pay. What is published is said,
so that a design that wins by such a precision is not taken for free. Pipeline schedules that flush compute what plain
gradient accumulation computes (arXiv 2401.10241), so none of them is named here; those that do not flush are. A
relative rise of the loss is worth tokens by Chinchilla's law (Hoffmann et al. 2022, arXiv 2203.15556): 1.69 +
406.4 / N^0.34 + 410.7 / D^0.28, solved for D at N = 8 to 405 billion, D = 1 to 15.6 trillion.
"""

from __future__ import annotations

from simcore.design.design import Design
from simcore.workload.base import kind_of
from simcore.workload.narrow import LAW, LOSSY
from simcore.workload.staleness import staleness_of

OF_PRECISION = {
    "fp8": (
        "fp8 with a scale for each tensor: no loss in short runs, but a 7B model diverged after 200 billion tokens "
        "with an unchanged SwiGLU (arXiv 2409.12517)"
    ),
    "fp8_block": (
        "fp8 by blocks: up to 0.25 % more loss than bf16 (DeepSeek-V3, arXiv 2412.19437), worth up to 11 to 22 % more "
        "tokens (arXiv 2203.15556)"
    ),
    "nvfp4": f"nvfp4: {LOSSY['nvfp4'].loss}, worth {LOSSY['nvfp4'].factor:g} times the tokens or more ({LAW})",
    "int8": (
        "int8 training: no published run of a large language model; 0 to 1 % more loss is assumed (small models: arXiv "
        "2304.13013, 2403.12422)"
    ),
}
"""What training in a precision is known to cost, by its name."""
OF_SERVED = {
    "fp8": (
        "fp8 where a model is served: no loss on benchmarks of Llama 3.1 8B to 405B (arXiv 2411.02355); other models "
        "have to be tried"
    ),
    "int8": (
        "int8 where a model is served: 1 to 3 % less on benchmarks of Llama 3.1 8B to 405B, well tuned (arXiv "
        "2411.02355)"
    ),
    "nvfp4": "nvfp4 where a model is served: what it loses differs from model to model, and no metric has it",
}
"""What serving in a precision is known to cost, by its name."""
OF_WEIGHTS = {
    "fp8": OF_SERVED["fp8"],
    "int8": OF_SERVED["int8"],
    "nvfp4": OF_SERVED["nvfp4"],
    "mxfp4": "mxfp4 weights: nothing where a model was trained to have them (gpt-oss); others have to be tried",
    "int4": (
        "int4 weights where a model is served: nearly what 8 bits lose on benchmarks of Llama 3.1 8B to 405B (arXiv "
        "2411.02355); other models have to be tried"
    ),
}
"""What holding weights in a precision is known to cost a served model, by its name."""
SUMS_IN_16_BITS = (
    "gradients of microbatches summed in 16 bits: no published size; Llama 3 keeps them in fp32 for convergence (arXiv "
    "2407.21783, 3.3.2), 0 to 0.5 % more loss is assumed"
)
"""What local accumulation in 16 bits may cost."""
OF_SCHEDULE = {
    "pipedream": (
        "an update after every microbatch; as many epochs as without for classifiers of images and translation (arXiv "
        "1806.03377), no published run of a large language model"
    ),
    "pipedream_2bw": "BERT and GPT of 24 layers trained as well as without (arXiv 2006.09503), larger ones unpublished",
}
"""What is known of schedules that never flush, by name."""


ASYNCHRONOUS = "Inception and PixelCNN ended less accurate than with synchronous updates (arXiv 1604.00981)"
"""What is known of asynchronous updates."""


def unmodelled_penalties(design: Design) -> tuple[str, ...]:
    """What a checked design is known to pay in loss or tokens that no metric counts, a sentence each."""
    kind = kind_of(design.workload)
    unknown = kind.unmodelled(design)
    return unknown if unknown and kind.trained else unknown + lost_accuracy(design)


def lost_accuracy(design: Design) -> tuple[str, ...]:
    """What its precision, its sums or old weights are known to cost a checked design in loss or tokens."""
    workload = design.workload
    if not workload.computes:
        return ()
    if not kind_of(workload).trained:
        held = getattr(workload, "weight_precision", None)
        found = OF_SERVED.get(workload.precision), OF_WEIGHTS.get(held or "")
        return tuple(dict.fromkeys(text for text in found if text))
    counted = getattr(workload, "training_precision", None) is not None and workload.precision in LOSSY
    narrow = None if counted else OF_PRECISION.get(workload.precision)
    sums = SUMS_IN_16_BITS if workload.gradient_precision == "fp16" and design.microbatches > 1 else None
    return tuple(text for text in (narrow, sums, _old_weights(design)) if text)


def _old_weights(design: Design) -> str | None:
    """What gradients of old weights may cost."""
    staleness = staleness_of(design)
    if staleness is None:
        return None
    age = f"weights up to {staleness.updates} update{'s' if staleness.updates > 1 else ''} old"
    served = design.parallelism.parameter_server
    if served is not None and served.asynchronous:
        return f"{age} (asynchronous parameter server): {ASYNCHRONOUS}; an iteration without may be worth more"
    said = OF_SCHEDULE.get(design.parallelism.schedule, "nothing is known of its convergence")
    return f"{age} (schedule {design.parallelism.schedule}): {said}; an iteration of another schedule may be worth more"
