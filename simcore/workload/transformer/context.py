"""Context parallelism: attention over c NPUs, each with s / c tokens, and what the two forms of it send and merge.

*Ring* (Liu et al. 2023, arXiv 2310.01889): keys and values go round, c - 1 exchanges, and each NPU attends from its
tokens to one part after the other. Backward they go round once more: the first exchange carries keys and values, the
last one their gradients on the way home, those between both; each is beside one of the c parts. What is computed of a
part is merged by kernels of their own, as Transformer Engine has them (`AttnFuncWithCPAndKVP2P`, v1.0 to v2.9):

- Forward keys and values are packed into one buffer. The log of a part's sum of exponentials is merged with that of the
  parts before it, and the part's output is rescaled and added up: two numbers read and one written.
- Backward the packed buffer is copied, and a part's gradients of queries, keys and values are added up.

Tokens are shared out so that the causal mask leaves all NPUs the same work: of each part but its own an NPU attends
either from all of its tokens to half of the part, or from half of them to all of it. It adds up only what it attends
from or to. Some NPUs of a ring do the one and some the other in each step, and the next step waits for both.

*All-to-all* (Jacobs et al. 2023, DeepSpeed-Ulysses, arXiv 2309.14509): all-to-alls before and after give each NPU 1 / c
of the heads and the whole sequence. Nothing is merged, but each tensor is copied twice around its all-to-all: by
destination before it, and in the order of tokens, or of heads, after it (`flash_attn_a2a_communicate`, same place).

In both an NPU does 1 / c of the FLOPs. Kernels that merge or copy are launched by the function that launches attention,
while that runs, so they cost the device's time alone.
"""

from __future__ import annotations

from collections.abc import Sequence

from simcore.document.field import BYTES
from simcore.program import LAUNCHED, Compute, Operator
from simcore.workload.transformer.layers import Piece, Shapes, backwards
from simcore.workload.transformer.overlap import beside

FP32 = BYTES["fp32"]


def ring(shapes: Shapes, part: tuple[Compute, ...]) -> Piece:
    """Attention to `part`s of the keys and values, one after the other, while the next one is on its way."""
    p, c = shapes.parallelism, shapes.parallelism.context
    size = _keys_and_values(shapes) * shapes.width
    back = backwards(part)
    forward: list[Operator] = [copying(shapes, "pack", 2.0 * _keys_and_values(shapes))]
    backward = list(forward)
    for step in range(c):
        forward += beside("shift", "context", size, part, p.context_overlap) if step < c - 1 else part
        travelling = size if step in (0, c - 1) else 2 * size
        added = (*back, *_gradients_of_part(shapes, step))
        backward += beside("shift", "context", travelling, added, p.context_overlap)
    merged = [kernel for step in range(c) for kernel in _outputs_of_part(shapes, step)]
    return Piece((*forward, *merged), tuple(backward))


def all_to_all(shapes: Shapes, attention: Piece) -> tuple[Piece, ...]:
    """Queries, keys and values by one all-to-all, the output by another; backward their gradients the other way."""
    model, each, c = shapes.model, shapes.tokens / shapes.parallelism.tensor, shapes.parallelism.context
    keys = shapes.tokens * shapes.kv_width
    before = exchange(shapes, "context", c, [each * model.query_width, keys, keys])
    after = exchange(shapes, "context", c, [each * model.output_width])
    return Piece(before, before), attention, Piece(after, after)


def ring_transient(shapes: Shapes) -> float:
    """Numbers that a ring's forward pass holds until the last part is done: all parts' outputs, keys and values."""
    outputs = shapes.tokens * shapes.model.output_width / shapes.parallelism.tensor
    return shapes.parallelism.context * (outputs + _keys_and_values(shapes))


def _keys_and_values(shapes: Shapes) -> float:
    """Numbers of an NPU's own keys and values."""
    return 2.0 * shapes.tokens * shapes.kv_width


def _outputs_of_part(shapes: Shapes, step: int) -> tuple[Compute, ...]:
    """Merge a part's sums, an fp32 number a query and head, and its output; those of the first one are copied."""
    model, each = shapes.model, shapes.tokens / shapes.parallelism.tensor
    sums = each * model.heads * FP32 / shapes.width
    reads_and_writes = 2.0 if step == 0 else 3.0
    return (
        copying(shapes, "merge-sums", reads_and_writes * sums),
        copying(shapes, "merge", reads_and_writes * each * model.output_width + 2.0 * sums),
    )


def _gradients_of_part(shapes: Shapes, step: int) -> tuple[Compute, ...]:
    """Add up a part's gradients; the first ones are copied. An NPU's own part, the last one, is whole."""
    queries = shapes.tokens * shapes.model.query_width / shapes.parallelism.tensor
    keys, c = _keys_and_values(shapes) / 2, shapes.parallelism.context
    reads_and_writes = 2.0 if step == 0 else 3.0
    # All queries and half of the keys and values, or the other way round: what is more.
    of_queries, of_keys = (1.0, 1.0) if step == c - 1 else (1.0, 0.5) if queries >= 2 * keys else (0.5, 1.0)
    numbers = {"queries": of_queries * queries, "keys": of_keys * keys, "values": of_keys * keys}
    return tuple(copying(shapes, f"add-{name}", reads_and_writes * count) for name, count in numbers.items())


def exchange(shapes: Shapes, group: str, members: int, tensors: Sequence[float]) -> tuple[Operator, ...]:
    """An all-to-all of tensors of so many numbers, each copied before and after."""
    copies = tuple(copying(shapes, "pack", 2.0 * numbers) for numbers in tensors)
    sent = shapes.blocking("all_to_all", group, sum(tensors) * shapes.width, members)
    return (*copies, *sent, *copies)


def copying(shapes: Shapes, name: str, numbers: float) -> Compute:
    """A kernel beside attention that reads and writes so many `numbers` in all."""
    return shapes.moves(name, numbers)._replace(pieces=LAUNCHED)
