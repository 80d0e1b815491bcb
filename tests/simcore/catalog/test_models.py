"""Models: their parameters come to what is published of them."""

from __future__ import annotations

import pytest

from simcore import catalog
from simcore.catalog.preset import preset
from simcore.workload.transformer.counts import active_matrices, layer_matrices, layer_vectors, layers_by_kind
from simcore.workload.transformer.model import Transformer

PUBLISHED = {
    "transformer-1t": 1008,
    "gpt3-175b": 175,
    "gpt3-13b": 13.0,
    "gpt3-6.7b": 6.7,
    "gpt3-1.3b": 1.3,
    "opt-175b": 175,
    "bloom-176b": 176.247,
    "falcon-180b": 180,
    "turing-nlg-17b": 17.2,
    "mt-nlg-530b": 530,
    "megatron-22b": 22,
    "llama2-7b": 6.74,
    "llama2-13b": 13.02,
    "llama2-70b": 68.98,
    "mistral-7b": 7.242,
    "mistral-large-123b": 123,
    "llama3-8b": 8.03,
    "llama3-70b": 70.6,
    "llama3-405b": 405.9,
    "llama3.2-1b": 1.236,
    "llama3.2-3b": 3.213,
    "mixtral-8x7b": 46.7,
    "mixtral-8x22b": 140.6,
    "deepseek-v2-lite": 15.7,
    "deepseek-v2": 235.7,
    "deepseek-v3": 671,
    "kimi-k2": 1026,
    "qwen2.5-7b": 7.616,
    "qwen2.5-14b": 14.77,
    "qwen2.5-32b": 32.764,
    "qwen2.5-72b": 72.706,
    "qwen3-0.6b": 0.6,
    "qwen3-1.7b": 2.032 - 0.311,  # its checkpoint has the embedding twice
    "qwen3-4b": 4.022,
    "qwen3-8b": 8.191,
    "qwen3-14b": 14.768,
    "qwen3-32b": 32.762,
    "qwen3-30b-a3b": 30.5,
    "qwen3-235b-a22b": 235.1,
    "glm-4.5-355b": 355,
    "minimax-m2-230b": 230,
    "gpt-oss-20b": 20.9,
    "gpt-oss-120b": 116.8,
    "grok1-314b": 314,
    "llama4-maverick-400b": 400,
    "llama4-scout-109b": 107.8,
    "nemotron4-15b": 15.6,
    "nemotron4-340b": 341,
    "gemma2-9b": 9.242,
    "gemma2-27b": 27.227,
    "gemma3-27b": 27.016,
    "mpt-7b": 6.65,
    "mpt-30b": 29.96,
}
"""Parameters [1e9], as papers and model cards give them."""

ACTIVE = {
    "mixtral-8x7b": 12.9,
    "mixtral-8x22b": 39.1,
    "deepseek-v2": 21,
    "deepseek-v3": 37,
    "kimi-k2": 32.6,
    "qwen3-30b-a3b": 3.3,
    "qwen3-235b-a22b": 22,
    "llama4-maverick-400b": 17,
    "llama4-scout-109b": 17,
}
"""Of them those that a token passes, with both embedding matrices [1e9]."""


def model(name: str) -> Transformer:
    found = preset(Transformer, "models", name)
    assert isinstance(found, Transformer)
    return found


def embeddings(given: Transformer) -> int:
    """Numbers in the embedding and output matrices, which some models share."""
    return given.vocabulary * given.hidden * (1 if given.shares_embedding else 2)


@pytest.mark.parametrize(("name", "published"), PUBLISHED.items())
def test_a_model_has_its_published_parameters(name: str, published: float) -> None:
    given = model(name)
    layers = sum(
        count * (sum(layer_matrices(given, experts)) + layer_vectors(given, experts))
        for experts, count in layers_by_kind(given)
    )
    assert (layers + embeddings(given)) / 1e9 == pytest.approx(published, rel=0.01)


@pytest.mark.parametrize(("name", "published"), ACTIVE.items())
def test_a_token_passes_the_published_part_of_a_mixture_of_experts(name: str, published: float) -> None:
    given = model(name)
    layers = sum(count * active_matrices(given, experts) for experts, count in layers_by_kind(given))
    assert (layers + embeddings(given)) / 1e9 == pytest.approx(published, rel=0.02)


def test_every_large_model_is_compared() -> None:
    small = {name for name in catalog.section("models") if name.startswith("mpt-")}
    assert set(catalog.section("models")) - small <= set(PUBLISHED)


@pytest.mark.parametrize(
    ("name", "head_dim", "query_width", "kv_width"),
    [
        ("qwen3-30b-a3b", 128, 4096, 512),
        ("qwen3-235b-a22b", 128, 8192, 512),
        ("gpt-oss-120b", 64, 4096, 512),
        ("grok1-314b", 128, 6144, 1024),
        ("nemotron4-340b", 192, 18432, 1536),
        ("llama4-scout-109b", 128, 5120, 1024),
        ("llama3.2-1b", 64, 2048, 512),
        ("qwen3-0.6b", 128, 2048, 1024),
        ("qwen3-32b", 128, 8192, 1024),
        ("glm-4.5-355b", 128, 12288, 1024),
        ("minimax-m2-230b", 128, 6144, 1024),
        ("falcon-180b", 64, 14848, 512),
        ("gemma3-27b", 128, 4096, 2048),
    ],
)
def test_heads_have_their_published_widths(name: str, head_dim: int, query_width: int, kv_width: int) -> None:
    given = model(name)
    assert (given.qk_head_dim, given.query_width, given.kv_width) == (head_dim, query_width, kv_width)
