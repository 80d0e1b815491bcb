"""Activations kept per layer: the formulas of Korthikanti et al. 2022 (arXiv 2205.05198), equations 1 to 4."""

from __future__ import annotations

from typing import Any

import pytest
from designs import UNFUSED, dimension, model, training
from hypothesis import given
from hypothesis import strategies as st

from simcore.check.load import design_from
from simcore.workload.transformer.activations import layer_activations
from simcore.workload.transformer.document import TransformerWorkload
from simcore.workload.transformer.layers import Shapes


def kept(h: int, a: int, s: int, b: int, parallelism: dict[str, Any]) -> float:
    sizes = model(hidden=h, heads=a, sequence_length=s)
    t = parallelism.get("tensor", 1)
    document = training(
        {**UNFUSED, **parallelism, "microbatch": b}, [dimension(size=t)], workload={"model": sizes, "global_batch": b}
    )
    design = design_from(document)
    assert isinstance(design.workload, TransformerWorkload)
    return layer_activations(Shapes(design.workload, design.parallelism, design.software))


SHAPES = st.tuples(
    st.integers(1, 16).map(lambda n: 128 * n), st.just(16), st.integers(1, 32).map(lambda n: 64 * n), st.integers(1, 4)
)
DEGREES = st.sampled_from([1, 2, 4, 8, 16])


@given(SHAPES, DEGREES)
def test_tensor_parallelism_splits_all_but_norms_and_dropouts(shape: tuple[int, int, int, int], t: int) -> None:
    h, a, s, b = shape
    assert kept(h, a, s, b, {"tensor": t}) == pytest.approx(s * b * h * (10 + 24 / t + 5 * a * s / (h * t)))


@given(SHAPES, DEGREES)
def test_sequence_parallelism_splits_everything(shape: tuple[int, int, int, int], t: int) -> None:
    h, a, s, b = shape
    found = kept(h, a, s, b, {"tensor": t, "sequence_parallel": True})
    assert found == pytest.approx(s * b * h / t * (34 + 5 * a * s / h))


@given(SHAPES, DEGREES, st.booleans())
def test_selective_recomputation_drops_the_attention_core(shape: tuple[int, int, int, int], t: int, sp: bool) -> None:
    h, a, s, b = shape
    found = kept(h, a, s, b, {"tensor": t, "sequence_parallel": sp, "recompute": "selective"})
    assert found == pytest.approx(s * b * h * (34 / t if sp else 10 + 24 / t))


@given(SHAPES, DEGREES)
def test_full_recomputation_keeps_the_input_alone(shape: tuple[int, int, int, int], t: int) -> None:
    h, a, s, b = shape
    assert kept(h, a, s, b, {"tensor": t, "recompute": "full"}) == pytest.approx(2 * s * b * h)


def test_one_npu_keeps_34_s_b_h_and_5_a_s_squared_b() -> None:
    assert kept(1024, 16, 512, 2, {}) == 512 * 2 * 1024 * 34 + 5 * 16 * 512**2 * 2
