"""In how many bytes parameters, and their gradients, are held and gathered.

Where products of training take fewer than 16 bits, each reads its weights by rows in one pass and by columns in the
other, so both copies are there. The parameters themselves are in 16 bits beside them, and are gathered so; unless the
stack shards and gathers them in 8 (`software.fp8.gather`; Megatron-core: `--fp8-param-gather`, with the distributed
optimizer alone), and then they are these copies. In 4 bits none of the recipes that were published does so
(arXiv 2509.25149).
"""

from __future__ import annotations

from simcore.design.design import Design
from simcore.document.field import BYTES, HELD_BYTES, NARROW

_WIDE = BYTES["bf16"]


def held_bytes(design: Design) -> float:
    """Bytes of a parameter that is trained, and of its copies."""
    precision = design.workload.precision
    if precision not in NARROW:
        return BYTES[precision]
    copies = 2 * HELD_BYTES[precision]
    return copies if _is_narrow(design) else _WIDE + copies


def held_gradient_bytes(design: Design) -> float:
    """Bytes of a parameter's gradient, and of what stays beside it (`software.keeps_gradients`)."""
    precision, summed = design.workload.precision, BYTES[design.workload.gradient_precision]
    own = _WIDE if precision in NARROW else BYTES[precision]
    stays = design.software.keeps_gradients and design.parallelism.zero < 2 and own < summed
    return summed + own if stays else summed


def gathered_bytes(design: Design) -> float:
    """Bytes of a parameter on its way to those who need the whole of what is sharded."""
    precision = design.workload.precision
    return _WIDE if precision in NARROW and not _is_narrow(design) else BYTES[precision]


def _is_narrow(design: Design) -> bool:
    """Whether parameters are sharded in fewer than 16 bits."""
    return design.workload.precision != "nvfp4" and design.software.fp8.gather and design.parallelism.zero > 0
