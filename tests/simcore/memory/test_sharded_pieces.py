"""What ZeRO has whole for a while: of layers, and of an output matrix or an embedding that are larger than these."""

from __future__ import annotations

from typing import Any

import pytest
from designs import dimension, model, training

from simcore.check.load import design_from
from simcore.workload.moving import Moving
from simcore.workload.transformer.program import transformer_program

HIDDEN, LAYER = 512, 12 * 512 * 512


def working(vocabulary: int, **parallelism: Any) -> float:
    """Bytes that are in use for a while, of a model with so many words and 16-bit gradients."""
    small = model(vocabulary=vocabulary, hidden=HIDDEN, layers=8, sequence_length=16, bias=False)
    workload = {"model": small, "precision": "fp16", "gradient_precision": "fp16"}
    sections = {"data": 8, "cross_entropy_fusion": True, "bucket": "1 MB", **parallelism}
    design = design_from(training(sections, [dimension(size=8)], workload=workload))
    (part,) = transformer_program(design).parts
    return part.working


@pytest.mark.parametrize(("zero", "each"), [(2, 2), (3, 2 + 2)])
def test_the_output_matrix_is_whole_while_its_gradient_is_computed(zero: int, each: int) -> None:
    few, many = 65_536, 131_072  # both larger than all layers
    added = working(many, zero=zero) - working(few, zero=zero)
    assert added == pytest.approx(each * HIDDEN * (many - few), rel=0.05)
    assert working(many, zero=1) - working(few, zero=1) < 0.1 * added


def test_a_small_matrix_changes_nothing_of_large_layers() -> None:
    moving = Moving(gathered=2.0, reduced=4.0, bucket=1e6)
    assert moving.largest(LAYER) == 12 * LAYER
    assert moving.bytes_of(LAYER, 0.0, 0.0) == 6 * LAYER + 1e6
