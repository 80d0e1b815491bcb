"""Serving a transformer as a Program: prefill, then a pass through all stages for each further token.

Chunk c of the Program makes token c + 1 of every request in one pass (see `simcore.schedule.forward_only`): chunk 0
reads the prompts, chunk c > 0 one token of each request against a cache of prompt + c tokens. In a continuous batch
requests are at different tokens: each pass has caches of all lengths, whose mean is that of the passes here, and
prompts come between passes, as many as requests end. These are the same passes in another order.

Products of a prefill are those of training's forward pass (Narayanan et al. 2021, arXiv 2104.04473, appendix); of a
decode they have one row a request, so that weights and cache are read for few FLOPs (Pope et al. 2022, arXiv
2211.05102, section 2): heads that share keys and values are the rows of one product. Latent attention and experts:
`simcore.workload.serving.decode`. Only the last token of a prompt goes through the head.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial

from simcore.design.design import Design
from simcore.design.parallelism import Parallelism
from simcore.design.same import Same
from simcore.design.software import Software, usual_software
from simcore.document.field import HELD_BYTES
from simcore.program import Compute, ModelPart, Operator, Program, Segment
from simcore.workload.base import Sample
from simcore.workload.serving.decode import (
    Frame,
    Replacement,
    cache_heads,
    decode_attention,
    decoded_width,
    fill_frame,
    frame_of,
    replaced,
    served_experts,
)
from simcore.workload.serving.document import InferenceWorkload
from simcore.workload.serving.weights import end_width, layer_bytes, wide_precision, with_held_weights
from simcore.workload.transformer.counts import attention_flops, layers_by_kind, token_flops
from simcore.workload.transformer.document import TransformerWorkload
from simcore.workload.transformer.ends import embedding_forward, embedding_parameters, head_forward, head_parameters
from simcore.workload.transformer.layer import LayerKind, layer_forward, layer_parameters
from simcore.workload.transformer.layers import Shapes
from simcore.workload.transformer.moe import dispatched_rows
from simcore.workload.transformer.stages import Runs, stage_runs

_FEW = 4
"""So many tokens or fewer are all looked at."""
TOKEN_BYTES = 4
"""Bytes of a token on its way from the last stage to the first."""


def _served(operators: tuple[Operator, ...]) -> tuple[Operator, ...]:
    """Without what only training does, and with experts as servers run them.

    Kernels of a server's experts read how many tokens each has on the NPU, so a graph has them, too: what vLLM leaves
    out of its graphs is mainly attention (its documentation, "CUDA Graphs").
    """
    return tuple(
        op._replace(routed=False) if isinstance(op, Compute) and op.routed else op
        for op in operators
        if getattr(op, "name", "") != "attention-dropout"
    )


@dataclass(frozen=True)
class _Builder:
    workload: InferenceWorkload
    parallelism: Parallelism
    software: Software
    batch: int
    """Requests of a microbatch."""
    experts: float = 1.0
    """Rate of the stack's fused experts, over that of products."""

    def shapes(self, sequence: int) -> Shapes:
        """Shapes of `sequence` tokens of each request at a time."""
        workload = TransformerWorkload(
            model=self.workload.model,
            global_batch=self.workload.global_batch,
            sequence_length=sequence,
            precision=self.workload.precision,
        )
        parallelism = self.parallelism.model_copy(update={"microbatch": self.batch})
        return Shapes(workload, parallelism, self.software, served=True)

    @cached_property
    def one(self) -> Shapes:
        """One token of each request."""
        return self.shapes(1)

    @cached_property
    def prompts(self) -> Shapes:
        """The whole prompt of each request."""
        return self.shapes(self.workload.prompt_length)

    @cached_property
    def _around(self) -> dict[LayerKind, tuple[Operator, ...]]:
        return {}

    @cached_property
    def _decoding(self) -> dict[tuple[LayerKind, int], tuple[Operator, ...]]:
        return {}

    @cached_property
    def _attention(self) -> dict[int, Replacement]:
        return {}

    @cached_property
    def _frames(self) -> dict[LayerKind, Frame]:
        return {}

    @cached_property
    def cache_width(self) -> float:
        """Bytes of one number of the cache."""
        return HELD_BYTES[self.workload.cache_precision or wide_precision(self.workload)]

    def around(self, kind: LayerKind) -> tuple[Operator, ...]:
        """A layer's forward pass of one token of each request, its attention against itself."""
        if kind not in self._around:
            made = replaced(_served(layer_forward(self.one, kind)), served_experts(self.one, self.experts))
            self._around[kind] = with_held_weights(made, self.workload)
        return self._around[kind]

    def layer(self, token: int, kind: LayerKind) -> tuple[Operator, ...]:
        """A layer in the pass that makes token `token` + 1."""
        if token == 0:
            prompts = self.prompts
            made = replaced(_served(layer_forward(prompts, kind)), served_experts(prompts, self.experts))
            return with_held_weights(made, self.workload)
        context = self._attended(self.workload.prompt_length + token, kind)
        if (kind, context) not in self._decoding:  # attention reads the cache, and no weights
            if context not in self._attention:
                self._attention[context] = decode_attention(self.one, context, self.cache_width)
            attention = self._attention[context]
            if kind not in self._frames:
                self._frames[kind] = frame_of(self.around(kind), attention)
            self._decoding[kind, context] = fill_frame(self._frames[kind], attention)
        return self._decoding[kind, context]

    def _attended(self, context: int, kind: LayerKind) -> int:
        """Tokens that a layer's attention of a further token reads, itself among them.

        Where it attends to chunks the mean of all further tokens: requests of a batch are at different places of one.
        """
        window = self.workload.model.window
        if window is None or not kind.windowed:
            return context
        further = further_contexts(self.workload)
        return round(window.attended(further) / len(further)) if window.chunked else window.kept(context)

    def hidden(self, token: int) -> float:
        """Bytes of the hidden states of the pass that makes token `token` + 1."""
        return self.one.hidden_bytes * (1 if token else self.workload.prompt_length)

    @cached_property
    def head(self) -> tuple[Operator, ...]:
        """Logits of one token of each request, and the choice of the next."""
        share = self.one.vocabulary / self.parallelism.tensor
        kept = tuple(op for op in head_forward(self.one) if getattr(op, "name", "") != "cross-entropy")
        return (*kept, self.one.moves("sampling", self.one.tokens * share))

    def segments(
        self, token: int, operators: dict[LayerKind, tuple[Operator, ...]], stage: _Stage, passes: int
    ) -> list[Segment]:
        """A stage in the `passes` that make token `token` + 1; `operators` are those of a layer of each kind.

        Runs of as many layers of a kind are one object.
        """
        _, first, last = stage
        different, order = _runs_in_order(Same(stage))
        embedding = self._embedding_of_one if token else embedding_forward(self.prompts)
        segments = [Segment("embedding", embedding, passes)] if first else []
        made = [Segment("layer", operators[kind], count * passes) for kind, count in different]
        segments += map(made.__getitem__, order)
        return segments + ([Segment("head", self.head, passes)] if last else [])

    @cached_property
    def _embedding_of_one(self) -> tuple[Operator, ...]:
        return embedding_forward(self.one)

    def parameters(self, stage: _Stage) -> float:
        """Parameters of a stage on one NPU."""
        return self._held(stage, lambda own, routed: own + routed, 1.0)

    def weights(self, stage: _Stage) -> float:
        """Bytes of a stage's parameters on one NPU."""
        return self._held(stage, partial(layer_bytes, self.workload), end_width(self.workload))

    def _held(self, stage: _Stage, layer: Callable[[float, float], float], end: float) -> float:
        """Parameters of a stage on one NPU: `layer` weighs its own ones and its experts', `end` embedding and head."""
        runs, first, last = stage
        ends = embedding_parameters(self.one) if first else 0.0
        ends += head_parameters(self.one, shares_embedding=first) if last else 0.0
        each = {kind: layer(*layer_parameters(self.one, kind)) for kind in dict(runs)}
        return sum(count * each[kind] for kind, count in runs) + ends * end

    def working(self, token: int, stage: _Stage, handed: float) -> float:
        """Bytes of a layer at work: hidden states twice, and the widest of what is between; the logits in fp32.

        `handed` are those of the hidden states that stages hand on, if these are more than what a pass has.
        """
        runs, _, last = stage
        shapes = self.one if token else self.prompts
        t = shapes.parallelism.tensor
        between = max((self._between(shapes, kind) for kind in dict(runs)), default=0.0)
        logits = 4.0 * self.batch * shapes.vocabulary / t if last else 0.0
        return 2 * max(shapes.hidden_bytes, handed) + max(between * shapes.width, logits)

    def _between(self, shapes: Shapes, kind: LayerKind) -> float:
        """Numbers between a layer's hidden states: of its attention or of its feed-forward half."""
        model, moe, t = shapes.model, shapes.model.mixture_of_experts, shapes.parallelism.tensor
        products = 3 if model.gated else 2
        latent = model.latent_attention
        attention = (model.query_width if latent else model.hidden) + 2 * shapes.kv_width * t
        if latent and shapes.sequence == 1:
            attention = model.query_width + 2 * model.heads * latent.kv_lora_rank
        if moe is None or not kind.experts:
            return shapes.tokens * max(products * model.ffn, attention) / t
        routed = dispatched_rows(shapes) * (2 * model.hidden + products * moe.feed_forward / shapes.expert_tensor)
        return max(routed, shapes.tokens * max(products * moe.shared_feed_forward, attention) / t)

    def cache(self, requests: int, runs: Runs) -> float:
        """Bytes of the cache of a stage's layers for all requests of an NPU, when they end."""
        kept = cache_heads(self.workload.model, self.parallelism.tensor)
        length, window = self.workload.length, self.workload.model.window
        tokens = sum(count * (window.kept(length) if window and kind.windowed else length) for kind, count in runs)
        return requests * tokens * kept.heads * kept.width * self.cache_width


_Stage = tuple[Runs, bool, bool]
"""The layers of a stage, whether it is the first, and whether it is the last."""


@lru_cache(maxsize=64)
def _runs_in_order(stage: Same[_Stage]) -> tuple[tuple[tuple[LayerKind, int], ...], tuple[int, ...]]:
    """The different runs of layers of a stage, and which of them follow one another."""
    runs = stage.value[0]
    different = tuple(dict.fromkeys(runs))
    return different, tuple(map(different.index, runs))


def sample_program(design: Design) -> Sample | None:
    """The first token, the second and the last one; None where there are few tokens.

    What a token takes grows evenly with the tokens before it, but for windows and kernels that have steps.
    """
    steps = InferenceWorkload.of(design.workload).output_length
    if steps <= _FEW:
        return None
    between = (steps - 1) / 2
    return Sample(serving_program(design, (0, 1, steps - 1)), (1.0, between, between))


def serving_program(design: Design, tokens: Sequence[int] | None = None) -> Program:
    """The Program of a design that serves a transformer; of some of its `tokens`, counted from 0, in order.

    Of a continuous batch the prompts of a microbatch are read in several passes, one after the other; the Program of
    one of these, which waits for no other, is its `opening`.
    """
    workload, each = InferenceWorkload.of(design.workload), design.microbatch
    made = tokens or range(workload.output_length)
    if workload.batching == "static":
        return _program(design, made, design.microbatches, ((each, 1),))
    together = min(max(1, workload.pass_tokens // workload.prompt_length), each)
    passes = [(together, each // together), (each % together, 1)]
    whole = _program(design, made, design.microbatches, [(prompts, often) for prompts, often in passes if prompts])
    return replace(whole, opening=_program(design, (0,), 1, ((together, 1),)))


def _program(design: Design, made: Sequence[int], microbatches: int, passes: Sequence[tuple[int, int]]) -> Program:
    """The Program of so many `microbatches`, whose prompts are read in `passes`: of how many each, and how often."""
    workload, p = InferenceWorkload.of(design.workload), design.parallelism
    requests = sum(prompts * often for prompts, often in passes)
    stack = design.running_software
    experts = stack.experts_on(
        design.cluster.npu, workload.precision
    )  # held in fewer bits: no quicker, as far as known
    builder = _Builder(workload, p, stack, requests, experts)
    reading = [(replace(builder, batch=prompts), often) for prompts, often in passes]
    runs = stage_runs(workload.model, p, workload.length)
    stages: list[_Stage] = [(own, s == 0, s == p.pipeline - 1) for s, own in enumerate(runs)]
    unique = list(dict.fromkeys(stages))
    kinds = list(dict.fromkeys(kind for own in runs for kind, _ in own))
    parameters = [builder.parameters(stage) for stage in unique]
    handed = [builder.hidden(token) if p.pipeline > 1 else 0.0 for token in (0, 1)]
    decoding = [builder.working(1, stage, handed[1]) for stage in unique]  # the same for every further token
    parts: list[ModelPart] = []
    for token in made:
        read = [
            (by, {kind: by.layer(token, kind) for kind in kinds}, often)
            for by, often in ([(builder, 1)] if token else reading)
        ]
        for number, stage in enumerate(unique):
            segments = [each for by, layer, often in read for each in by.segments(token, layer, stage, often)]
            working = decoding[number] if token else max(by.working(0, stage, handed[0]) for by, *_ in read)
            parts.append(ModelPart(tuple(segments), (), (), parameters[number], 0.0, working))
    places = [unique.index(stage) for stage in stages]
    part_of = tuple(number * len(unique) + place for number in range(len(made)) for place in places)
    hidden = builder.one.hidden_bytes
    inside = [[builder.hidden(token)] * (p.pipeline - 1) for token in made]
    back = float(TOKEN_BYTES * requests)
    held = workload.global_batch // design.data
    return Program(
        parts=tuple(parts),
        part_of=part_of,
        stages=p.pipeline,
        chunks=len(made),
        microbatches=microbatches,
        schedule="forward",
        send_bytes=hidden,
        final=((),) * p.pipeline,
        model_flops=served_flops(workload, p.flash_attention),
        tokens=workload.global_batch * workload.output_length,
        sends=tuple(size for sizes in inside for size in (*sizes, back)),
        trained=False,
        cache=tuple(builder.cache(held, own) for own in runs),
        weights=tuple(builder.weights(stage) for stage in stages),
    )


def served_parameters(workload: InferenceWorkload) -> float:
    """Parameters of the model."""
    return _Builder(workload, Parallelism(), usual_software(), 1).parameters(_whole(workload))


def served_weights(workload: InferenceWorkload) -> float:
    """Bytes of the parameters of `served_parameters`."""
    return _Builder(workload, Parallelism(), usual_software(), 1).weights(_whole(workload))


def _whole(workload: InferenceWorkload) -> _Stage:
    """All layers as one stage, whose head, if it has weights of its own, stays out."""
    runs = tuple((LayerKind(experts), count) for experts, count in layers_by_kind(workload.model))
    return runs, True, False


def served_flops(workload: InferenceWorkload, flash: bool = False) -> float:
    """FLOPs of a batch: every prompt token once, every further token against its cache, the head once a token.

    `flash` attention skips the masked half of a prompt's scores.
    """
    model = workload.model.model_copy(update={"multi_token_prediction": 0})  # served one token at a time
    requests, prompt = workload.global_batch, workload.prompt_length
    token = token_flops(model, 0) - 2.0 * model.hidden * model.vocabulary
    further = workload.output_length - 1
    head = 2.0 * model.hidden * model.vocabulary * workload.output_length
    prefill = prompt * attention_flops(model, prompt, flash)
    each = 2.0 * decoded_width(model)
    return requests * ((prompt + further) * token + head + prefill + each * _attended(workload))


def _attended(workload: InferenceWorkload) -> int:
    """Tokens of the cache that the further tokens of a request attend to, over them and over all layers."""
    model, window = workload.model, workload.model.window_of(workload.length)
    contexts = further_contexts(workload)
    windowed = model.windowed_layers(workload.length)
    return (model.layers - windowed) * sum(contexts) + (windowed * window.attended(contexts) if window else 0)


def further_contexts(workload: InferenceWorkload) -> range:
    """The tokens of a request up to each further one, itself among them."""
    return range(workload.prompt_length + 1, workload.length)
