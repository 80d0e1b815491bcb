"""Tensor groups of more NPUs than divide the heads: `attention_split: queries`.

With a heads, a tensor group of t NPUs is g = gcd(t, a) groups of heads, each of r = t / g neighbours (group `query`).
Weights stay split over all t: an NPU's columns of queries, keys and values are a part of its heads', for all tokens.
Then an all-to-all among the r gives each of them whole queries of 1 / r of the tokens, every r-th one, so that the
causal mask leaves all the same work; and every one of them gathers the keys and values of all tokens. Another
all-to-all brings the outputs back to columns. Backward all of that goes the other way, and the gradients of keys and
values are reduced and scattered. So nothing is computed twice, and what is sent, gathered and held beyond whole heads
counts: (r - 1) / r of queries and outputs, and r - 1 times an NPU's own keys and values. What is exchanged is copied as
around the all-to-alls of context parallelism: by destination before, in its order after; what is gathered comes by
NPU and is put in the order of tokens, and gradients back before they are scattered.
"""

from __future__ import annotations

from collections.abc import Iterator

from simcore.design.design import Design
from simcore.document.problem import Path, Problem
from simcore.workload.rules import divides
from simcore.workload.transformer.context import copying, exchange
from simcore.workload.transformer.document import TransformerWorkload
from simcore.workload.transformer.layers import Piece, Shapes

_KEY: Path = ("parallelism", "attention_split")
_TENSOR: Path = ("parallelism", "tensor")
_RULE = "queries to split"


def split_queries(shapes: Shapes, attention: Piece) -> tuple[Piece, ...]:
    """Attention from 1 / r of the tokens to all of them, between the exchanges of its group."""
    model, members = shapes.model, shapes.query_npus
    each = shapes.tokens / shapes.parallelism.tensor
    queries = exchange(shapes, "query", members, [each * model.query_width])
    outputs = exchange(shapes, "query", members, [each * model.output_width])
    own = 2.0 * each * model.kv_width
    ordered = copying(shapes, "pack", 2.0 * own * members)
    gathered = (*shapes.blocking("all_gather", "query", own * shapes.width, members), ordered)
    reduced = (ordered, *shapes.blocking("reduce_scatter", "query", own * members * shapes.width, members))
    return Piece((*queries, *gathered), (*reduced, *queries)), attention, Piece(outputs, outputs)


def query_problems(design: Design) -> Iterator[Problem]:
    """What keeps a tensor group from sharing out the tokens of queries; nothing where it shares out whole heads."""
    workload, p = TransformerWorkload.of(design.workload), design.parallelism
    model, members = workload.model, p.query_npus(workload.model.heads)
    if members == 1:
        return
    for name, found in (
        ("latent_attention", model.latent_attention is not None),
        ("qk_norm", model.qk_norm != "none"),
        ("context parallelism", p.context > 1),
    ):
        if found:
            fix = f"use a tensor degree that divides the {model.heads} heads"
            yield Problem(_KEY, f"heads beside {name}", "queries", fix, rule=_RULE)
    groups = p.tensor // members
    if model.key_heads % groups:
        expected = f"heads where the {groups} groups of heads do not divide the {model.key_heads} key-value heads"
        yield Problem(_KEY, expected, "queries", rule=_RULE)
    rotated = 2 if model.position == "rotary" else 1  # a pair of columns, which turn together
    for width, what in ((model.query_width, "queries"), (model.key_heads * model.qk_head_dim, "keys")):
        yield from divides(p.tensor * rotated, width, _TENSOR, "a degree", f"the columns of {what}", _RULE)
    yield from divides(members, workload.sequence, _TENSOR, "a degree", "the sequence length", _RULE)
