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
    "turing-nlg-17b": 17.2,
    "mt-nlg-530b": 530,
    "megatron-22b": 22,
    "llama2-7b": 6.74,
    "llama2-13b": 13.02,
    "llama2-70b": 68.98,
    "llama3-8b": 8.03,
    "llama3-70b": 70.6,
    "llama3-405b": 405.9,
    "mixtral-8x7b": 46.7,
    "mixtral-8x22b": 140.6,
    "deepseek-v2-lite": 15.7,
    "deepseek-v2": 235.7,
    "deepseek-v3": 671,
    "kimi-k2": 1026,
    "qwen3-30b-a3b": 30.5,
    "qwen3-235b-a22b": 235.1,
    "gpt-oss-20b": 20.9,
    "gpt-oss-120b": 116.8,
    "grok1-314b": 314,
    "llama4-maverick-400b": 400,
    "llama4-scout-109b": 107.8,
    "nemotron4-15b": 15.6,
    "nemotron4-340b": 341,
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
    """Numbers in the embedding and output matrices, which models with learned positions share."""
    return given.vocabulary * given.hidden * (1 if given.position == "learned" else 2)


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
    ],
)
def test_heads_have_their_published_widths(name: str, head_dim: int, query_width: int, kv_width: int) -> None:
    given = model(name)
    assert (given.qk_head_dim, given.query_width, given.kv_width) == (head_dim, query_width, kv_width)
