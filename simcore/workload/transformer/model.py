"""A transformer by its shape, as the catalogue and documents have it."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from simcore.catalog.preset import named
from simcore.collective.routed import Routing
from simcore.document.field import Count, Flag, Frozen, Name, Natural
from simcore.workload.transformer.window import Window

MOST_LAYERS = 100_000
Biased = Literal["qkv", "projection", "mlp", "experts", "router", "norms", "head"]
"""Parts of a model that can have biases: products of attention, of dense and shared blocks, of routed experts, ..."""
BIASED_OF_GPT: tuple[Biased, ...] = ("qkv", "projection", "mlp", "norms")


class LatentAttention(Frozen):
    """Multi-head latent attention: queries, keys and values are expanded from low-rank latents.

    DeepSeek-V2 (arXiv 2405.04434), section 2.1; keys are named as in the models' published configurations.
    """

    q_lora_rank: Count | None = None
    """Width of the latent of the queries; none: they are projected from the hidden states."""
    kv_lora_rank: Count
    """Width of the latent of keys and values."""
    qk_nope_head_dim: Count
    """Part of each head's query and key without the position."""
    qk_rope_head_dim: Count
    """Part of each head's query and key that carries the position; of the key, all heads share it."""
    v_head_dim: Count
    """Width of a head's value."""


class MixtureOfExperts(Frozen):
    """Feed-forward layers of which every token takes `top_k` of `experts` (Shazeer et al. 2017, arXiv 1701.06538)."""

    experts: Count
    """Experts of a layer."""
    top_k: Count
    """Experts that a token takes."""
    feed_forward: Count
    """Width of one expert."""
    shared_feed_forward: Natural = 0
    """Width of the experts that every token takes, all together."""
    shared_gate: Flag = False
    """What the shared experts give is weighted by a gate, of one number a token (Qwen2-MoE)."""
    dense_layers: Natural = 0
    """The first layers, whose feed-forward block is dense."""
    every: Count = 1
    """Each `every`-th of the layers after these has experts, the others are dense (Llama 4 Maverick: 2)."""
    groups: Count = 1
    """Equal groups of experts, of which a token takes those of the best `top_groups` (DeepSeek-V3: 8, of which 4)."""
    top_groups: Count | None = None
    """All groups unless given; with groups on nodes, the most nodes to which a token goes."""
    capacity_factor: Annotated[float, Field(gt=0)] = 1.0
    """Tokens an expert takes, over its even share; what is routed to it beyond that is dropped."""

    @property
    def routing(self) -> Routing:
        """Which experts a token takes."""
        return Routing(self.experts, self.top_k, self.groups, self.top_groups or self.groups)


class Transformer(Frozen):
    """A decoder-only transformer by its shape."""

    name: Name = ""
    hidden: Count
    """Width of the hidden states."""
    layers: Annotated[Count, Field(le=MOST_LAYERS)]
    """Transformer layers."""
    heads: Count
    """Heads of the queries."""
    vocabulary: Count
    """Tokens that are known."""
    sequence_length: Count = 2048
    """Longest sequence: the default of `workload.sequence_length`, and the size of learned positions."""
    feed_forward: Count | None = None
    """Width of the feed-forward block; 4 x hidden unless given."""
    kv_heads: Count | None = None
    """Heads of keys and values; as many as of queries unless given."""
    head_dim: Count | None = None
    """Width of a head, hidden / heads unless given."""
    gated: Flag = False
    """The feed-forward block has a gate: three matrices (SwiGLU) in place of two."""
    bias: Flag = True
    """Layers are GPT's: products and norms have a bias, and both halves end in a dropout."""
    biases: tuple[Biased, ...] = ()
    """Parts that have a bias where `bias` is false, or beside those of GPT's layers."""
    tied: Flag | None = None
    """The output matrix is the embedding; unless given, where positions are learned."""
    layer_norms: Literal[1, 2, 4] = 2
    """Norms of a layer: one for both halves, one before each, or one before and one after each (Gemma 2)."""
    qk_norm: Literal["none", "head", "width"] = "none"
    """Norms of queries and keys: none, of each head with weights that all share, or over all heads."""
    attention_sinks: Flag = False
    """Each head has a learned score that takes part in its softmax (gpt-oss)."""
    window: Window | None = None
    """Layers that do not attend to the whole sequence."""
    position: Literal["learned", "rotary"] = "learned"
    """Positions are learned, or rotate queries and keys."""
    latent_attention: LatentAttention | None = None
    """Multi-head latent attention (DeepSeek-V2)."""
    mixture_of_experts: MixtureOfExperts | None = None
    """Feed-forward blocks of experts."""
    multi_token_prediction: Natural = 0
    """Further layers that each predict one more token, in training (DeepSeek-V3, arXiv 2412.19437, section 2.2)."""
    source: str = ""

    @property
    def ffn(self) -> int:
        """Width of the feed-forward block, 4 x hidden unless given."""
        return self.feed_forward or 4 * self.hidden

    @property
    def shares_embedding(self) -> bool:
        """Whether the output matrix is the embedding."""
        return self.position == "learned" if self.tied is None else self.tied

    def biased(self, part: Biased) -> bool:
        """Whether a part has a bias."""
        return part in self.biases or (self.bias and part in BIASED_OF_GPT)

    @property
    def norm_width(self) -> int:
        """Parameters of one norm of the hidden states."""
        return (2 if self.biased("norms") else 1) * self.hidden

    @property
    def qk_head_dim(self) -> int:
        """Width of a head's query and key."""
        latent = self.latent_attention
        return latent.qk_nope_head_dim + latent.qk_rope_head_dim if latent else self._head_dim

    @property
    def v_head_dim(self) -> int:
        """Width of a head's value and output."""
        return self.latent_attention.v_head_dim if self.latent_attention else self._head_dim

    @property
    def _head_dim(self) -> int:
        return self.head_dim or self.hidden // self.heads

    @property
    def key_heads(self) -> int:
        """Heads of keys and values."""
        return self.heads if self.latent_attention else self.kv_heads or self.heads

    @property
    def query_width(self) -> int:
        """Width of the queries over all heads."""
        return self.heads * self.qk_head_dim

    @property
    def output_width(self) -> int:
        """Width of what attention gives to its last projection, over all heads."""
        return self.heads * self.v_head_dim

    @property
    def kv_width(self) -> int:
        """Width of the keys and the values over all their heads, halved: of one of the two where they are equal."""
        return self.key_heads * (self.qk_head_dim + self.v_head_dim) // 2

    @property
    def dense_layers(self) -> int:
        """Layers, the first ones, whose feed-forward block is dense."""
        return min(self.layers, self.mixture_of_experts.dense_layers) if self.mixture_of_experts else self.layers

    @property
    def expert_layers(self) -> int:
        """Layers whose feed-forward block consists of experts."""
        moe = self.mixture_of_experts
        return (self.layers - self.dense_layers) // moe.every if moe else 0

    def windowed_layers(self, sequence: int) -> int:
        """Layers in which a token attends to less than a sequence of so many tokens."""
        window = self.window_of(sequence)
        return sum(map(window.covers, range(self.layers))) if window else 0

    def window_of(self, sequence: int) -> Window | None:
        """The window, where a sequence of so many tokens is longer."""
        return self.window if self.window and sequence > self.window.tokens else None


NamedTransformer = Annotated[Transformer, *named(Transformer, "models")]
