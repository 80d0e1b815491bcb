"""Serving a transformer as a Program: prefill, then a pass through all stages for each further token.

Chunk c of the Program makes token c + 1 of every request in one pass (see `simcore.schedule.forward_only`): chunk 0
reads the prompts, chunk c > 0 one token of each request against a cache of prompt + c keys and values. Products of a
prefill are those of training's forward pass (Narayanan et al. 2021, arXiv 2104.04473, appendix); of a decode they have
one row a request, so that weights and cache are read for few FLOPs (Pope et al. 2022, arXiv 2211.05102, section 2):
heads that share keys and values are the rows of one product. Only the last token of a prompt goes through the head.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from simcore.design import Design, Parallelism, TransformerWorkload
from simcore.problem import Path, Problem
from simcore.program import Compute, Operator, Part, Program, Segment
from simcore.schedule.base import CHUNK_SHIFT
from simcore.spec import BYTES
from simcore.workload import layers
from simcore.workload.base import Totals, WorkloadKind
from simcore.workload.counts import forward_flops
from simcore.workload.layer import layer_forward, layer_parameters
from simcore.workload.layers import Shapes
from simcore.workload.network import precision, unused
from simcore.workload.stages import part_layers
from simcore.workload_spec.inference import InferenceWorkload

TOKEN_BYTES = 4
"""Bytes of a token on its way from the last stage to the first."""

MOST_TOKENS = 1 << CHUNK_SHIFT
_ATTENTION = ("scores", "softmax", "attention")


def _served(operators: tuple[Operator, ...]) -> tuple[Operator, ...]:
    """Without what only training does."""
    return tuple(op for op in operators if getattr(op, "name", "") != "attention-dropout")


@dataclass(frozen=True)
class _Builder:
    workload: InferenceWorkload
    parallelism: Parallelism
    batch: int
    """Requests of a microbatch."""

    def shapes(self, sequence: int) -> Shapes:
        """Shapes of `sequence` tokens of each request at a time."""
        workload = TransformerWorkload(
            model=self.workload.model,
            global_batch=self.workload.global_batch,
            sequence_length=sequence,
            precision=self.workload.precision,
        )
        return Shapes(workload, self.parallelism.model_copy(update={"microbatch": self.batch}))

    @cached_property
    def one(self) -> Shapes:
        """One token of each request."""
        return self.shapes(1)

    @cached_property
    def _around(self) -> tuple[Operator, ...]:
        """A layer's forward pass of one token of each request, its attention against itself."""
        return _served(layer_forward(self.one))

    @cached_property
    def cache_width(self) -> int:
        """Bytes of one number of the cache."""
        return BYTES[self.workload.cache_precision or self.workload.precision]

    @cached_property
    def heads(self) -> tuple[float, float, float]:
        """Of one NPU: key-value heads, query heads that share each, width of a head."""
        model, t = self.workload.model, self.parallelism.tensor
        kv = max(1.0, (model.kv_heads or model.heads) / t)
        return kv, model.heads / t / kv, model.hidden / model.heads

    def attention(self, context: int) -> tuple[Operator, ...]:
        """One token of each request against its cache."""
        kv, shared, d = self.heads
        width, products = self.one.width, self.batch * kv
        cached = products * context * d * self.cache_width
        queries, scores = products * shared * d * width, products * shared * context * width
        flops = 2.0 * products * shared * context * d
        return (
            Compute("scores", "gemm", flops, queries + cached + scores, shape=(products, shared, context, d)),
            Compute("softmax", "memory", 0.0, 3.0 * scores),
            Compute("attention", "gemm", flops, queries + cached + scores, shape=(products, shared, d, context)),
        )

    def layer(self, token: int) -> tuple[Operator, ...]:
        """A layer in the pass that makes token `token` + 1."""
        if token == 0:
            return _served(layer_forward(self.shapes(self.workload.prompt_length)))
        attention = dict(zip(_ATTENTION, self.attention(self.workload.prompt_length + token), strict=True))
        return tuple(attention.get(getattr(operator, "name", ""), operator) for operator in self._around)

    def head(self) -> tuple[Operator, ...]:
        """Logits of one token of each request, and the choice of the next."""
        share = self.one.vocabulary / self.parallelism.tensor
        kept = tuple(op for op in layers.head_forward(self.one) if getattr(op, "name", "") != "cross-entropy")
        return (*kept, self.one.moves("sampling", self.one.tokens * share))

    def part(self, token: int, layer: tuple[Operator, ...], count: int, first: bool, last: bool) -> Part:
        """`count` layers in the pass that makes token `token` + 1."""
        shapes = self.one if token else self.shapes(self.workload.prompt_length)
        segments = [Segment("embedding", layers.embedding_forward(shapes))] if first else []
        segments += [Segment("layer", layer, count)] if count else []
        segments += [Segment("head", self.head())] if last else []
        parameters = count * sum(layer_parameters(shapes))
        parameters += layers.embedding_parameters(shapes) if first else 0.0
        parameters += layers.head_parameters(shapes, shares_embedding=first) if last else 0.0
        return Part(tuple(segments), (), (), parameters, 0.0, self._working(shapes, last))

    def _working(self, shapes: Shapes, last: bool) -> float:
        """Bytes of a layer at work: hidden states twice, and the widest of what is between; the logits in fp32."""
        model, t = shapes.model, shapes.parallelism.tensor
        between = max((3 if model.gated else 2) * model.ffn, model.hidden + 2 * model.kv_width) / t
        logits = 4.0 * self.batch * shapes.vocabulary / t if last else 0.0
        return 2 * shapes.hidden_bytes + max(shapes.tokens * between * shapes.width, logits)

    def cache(self, requests: int) -> float:
        """Bytes of the keys and values of one layer for all requests of an NPU, when they end."""
        kv, _, d = self.heads
        length = self.workload.prompt_length + self.workload.output_length
        return 2.0 * requests * length * kv * d * self.cache_width


class InferenceKind(WorkloadKind):
    """Serving a transformer."""

    def problems(self, design: Design) -> Iterator[Problem]:
        """See `WorkloadKind.problems`."""
        workload, p = design.workload, design.parallelism
        assert isinstance(workload, InferenceWorkload)
        model = workload.model
        yield from unused(
            design, ("context", "expert", "zero", "schedule", "interleave", "recompute", "sequence_parallel")
        )
        yield from precision(design)
        path: Path = ("parallelism", "tensor")
        kv = model.kv_heads or model.heads
        for whole, what in ((model.heads, "attention heads"), (model.ffn, "feed-forward width")):
            if whole % p.tensor:
                expected = f"a degree that divides the {what} ({whole})"
                yield Problem(path, expected, str(p.tensor), rule="tensor divides the heads")
        if kv % p.tensor and p.tensor % kv:
            expected = f"a degree that divides the {kv} key-value heads, or is a multiple"
            yield Problem(path, expected, str(p.tensor), rule="tensor divides the heads")
        if model.hidden % model.heads or model.heads % kv:
            yield Problem(
                ("workload", "model"), "heads that divide the hidden size, and kv_heads the heads", model.name
            )
        if p.pipeline > model.layers:
            expected, rule = f"at most {model.layers} stages, one a layer", "stages have layers"
            yield Problem(("parallelism", "pipeline"), expected, str(p.pipeline), rule=rule)
        if workload.output_length > MOST_TOKENS:
            expected = f"at most {MOST_TOKENS} tokens"
            yield Problem(("workload", "output_length"), expected, str(workload.output_length))
        length = workload.prompt_length + workload.output_length
        if model.position == "learned" and length > model.sequence_length:
            expected = f"prompt and output of at most {model.sequence_length} tokens together"
            yield Problem(("workload", "prompt_length"), expected, str(length), rule="positions")
        if model.mixture_of_experts or model.latent_attention:
            expected = "a model without experts and latent attention (those are not served yet)"
            yield Problem(("workload", "model"), expected, model.name)
            return
        names = [getattr(operator, "name", "") for operator in _Builder(workload, p, 1).layer(0)]
        if any(names.count(name) != 1 for name in _ATTENTION):
            expected = "a model whose attention is scores, softmax and weighted values (others are not served yet)"
            yield Problem(("workload", "model"), expected, model.name)

    def program(self, design: Design) -> Program:
        """See `WorkloadKind.program`."""
        workload, p = design.workload, design.parallelism
        assert isinstance(workload, InferenceWorkload)
        builder = _Builder(workload, p, design.microbatch)
        counts = part_layers(workload.model.layers, p.pipeline)
        kinds = [(count, s == 0, s == p.pipeline - 1) for s, count in enumerate(counts)]
        unique = list(dict.fromkeys(kinds))
        steps = workload.output_length
        parts: list[Part] = []
        for token in range(steps):
            layer = builder.layer(token)
            parts += [builder.part(token, layer, *kind) for kind in unique]
        part_of = tuple(token * len(unique) + unique.index(kind) for token in range(steps) for kind in kinds)
        hidden = builder.one.hidden_bytes
        inside = [[hidden * (1 if token else workload.prompt_length)] * (p.pipeline - 1) for token in range(steps)]
        back = float(TOKEN_BYTES * design.microbatch)
        return Program(
            parts=tuple(parts),
            part_of=part_of,
            stages=p.pipeline,
            chunks=steps,
            microbatches=design.microbatches,
            schedule="forward",
            send_bytes=hidden,
            final=((),) * p.pipeline,
            model_flops=served_flops(workload),
            tokens=workload.global_batch * steps,
            sends=tuple(size for sizes in inside for size in (*sizes, back)),
            trained=False,
            cache=tuple(builder.cache(workload.global_batch // design.data) * count for count in counts),
        )

    def totals(self, workload: Any) -> Totals:
        """See `WorkloadKind.totals`."""
        model = workload.model
        shapes = _Builder(workload, Parallelism(), 1).one
        parameters = model.layers * sum(layer_parameters(shapes)) + layers.embedding_parameters(shapes)
        return Totals(served_flops(workload), workload.global_batch * workload.output_length, parameters, trained=False)


def served_flops(workload: InferenceWorkload) -> float:
    """FLOPs of a batch: every prompt token once, every further token against its cache, the head once a token."""
    model, requests, prompt = workload.model, workload.global_batch, workload.prompt_length
    one = TransformerWorkload(model=model, global_batch=requests, sequence_length=1, precision=workload.precision)
    attended = 4.0 * model.hidden * model.layers * requests  # of one token against one key and value
    head = 2.0 * model.hidden * model.vocabulary * requests
    token = forward_flops(one) - attended - head
    further = workload.output_length - 1
    against = prompt * prompt + further * prompt + further * (further + 1) / 2
    return (prompt + further) * token + workload.output_length * head + against * attended
