"""Peak memory against what Megatron-core took on B200s (`b200.csv`, the SimuMax project): every row within 1 %."""

from __future__ import annotations

from pathlib import Path

import pytest
from measured_designs import Row, measured_design, rows

from simcore.memory.footprint import footprint
from simcore.workload.transformer.activations import layer_activations, layer_kept
from simcore.workload.transformer.layer import LayerKind
from simcore.workload.transformer.layers import Shapes
from simcore.workload.transformer.program import transformer_program

GIB = 2.0**30
ROWS = rows(Path(__file__).parents[1] / "data" / "b200.csv")


def error(row: Row) -> float:
    design = measured_design(row)
    measured = float(row["measured_memory_gib"])
    return footprint(design, transformer_program(design)).peak / GIB / measured - 1


@pytest.mark.parametrize("row", ROWS, ids=[row["case"] for row in ROWS])
def test_the_peak_is_the_measured_one(row: Row) -> None:
    assert abs(error(row)) < 0.01


def test_the_mean_error_of_all_rows_is_small() -> None:
    assert sum(abs(error(row)) for row in ROWS) / len(ROWS) < 0.005


def test_the_terms_of_a_layer_have_names_and_add_up() -> None:
    design = measured_design(next(row for row in ROWS if row["model"] == "deepseekv2"))
    shapes = Shapes(design.workload, design.parallelism, design.software)  # type: ignore[arg-type]
    kind = LayerKind(experts=True)
    terms = layer_kept(shapes, kind)
    assert {"latents", "log-sum-exp", "dispatched rows", "router scores and choices"} <= terms.keys()
    assert sum(terms.values()) == layer_activations(shapes, kind)
    assert terms["dispatched rows"] == 4096 * 6 * 5120 * 2
    assert terms["queries"] == 4096 * 128 * 192 * 2
