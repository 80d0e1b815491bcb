"""LIBRA's closed form of a design: bytes by hand, and the optima of its own inputs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dse.space.split.bandwidth import optimal_split
from dse.space.split.closed_form import closed_form, together
from simcore.check.load import design_from, load_design
from simcore.document.problem import InputError
from simcore.simulate import simulate

STUDY = Path(__file__).parents[4] / "studies" / "libra"
DIMENSIONS = [
    {"topology": "ring", "size": 4, "bandwidth": "100 GB/s", "latency": "0 s", "tier": "node"},
    {"topology": "switch", "size": 8, "bandwidth": "10 GB/s", "latency": "0 s", "tier": "pod"},
]


def sent(kind: str, size: float) -> list[float]:
    """Bytes on each dimension of one collective over all 32 NPUs."""
    row = {"weight_gradient": "1 ms", "weight_gradient_collective": kind, "weight_gradient_size": f"{size} B"}
    design = design_from(
        {
            "workload": {"timed_layers": [row], "tensor": 1, "data": 32, "recorded_on": "a100-80gb"},
            "cluster": {"npu": "a100-80gb", "dimensions": DIMENSIONS},
            "cost": "network-only",
        }
    )
    form = closed_form(design)
    assert form.often.tolist() == [1.0]
    return list(form.table[0])


def test_bytes_shrink_by_the_inner_dimensions_and_grow_back() -> None:
    assert sent("reduce_scatter", 32e6) == pytest.approx([24e6, 8e6 * 7 / 8])
    assert sent("all_reduce", 32e6) == pytest.approx([48e6, 14e6])
    assert sent("all_gather", 1e6) == pytest.approx(sent("reduce_scatter", 32e6))
    assert sent("all_to_all", 32e6) == pytest.approx([24e6, 28e6])


@pytest.mark.parametrize(
    ("model", "budget", "shares", "milliseconds"),
    [
        ("msft-1t", 500e9, (321.75, 93.84, 10.05, 74.35), 209.686),
        ("gpt3", 500e9, (338.41, 84.60, 58.19, 18.79), 722.412),
    ],
)
def test_the_optima_of_libras_inputs_are_found(
    model: str, budget: float, shares: tuple[float, ...], milliseconds: float
) -> None:
    form = closed_form(load_design(STUDY / f"{model}.yaml"))
    found = optimal_split(form.table, budget, form.compute, weights=form.often)
    assert found / 1e9 == pytest.approx(shares, rel=1e-3)
    assert 1e3 * form.seconds(found) == pytest.approx(milliseconds, rel=2e-6)


def test_the_form_is_the_simulators_time_where_nothing_overlaps_and_one_dimension_carries_all() -> None:
    design = load_design(STUDY / "turing-nlg.yaml")
    form = closed_form(design)
    equal = np.full(4, 125e9)
    assert form.seconds(equal) == pytest.approx(simulate(design).iteration_time_s, rel=1e-6)


def test_several_designs_on_one_network_are_one_problem() -> None:
    forms = [closed_form(load_design(STUDY / f"{model}.yaml")) for model in ("gpt3", "msft-1t")]
    split = np.array([200e9, 150e9, 100e9, 50e9])
    assert together(forms).seconds(split) == pytest.approx(sum(form.seconds(split) for form in forms))


def test_a_pipeline_is_refused() -> None:
    model = {"hidden": 64, "layers": 4, "heads": 8, "vocabulary": 500, "sequence_length": 32}
    document: dict[str, Any] = {
        "workload": {"model": model, "global_batch": 32},
        "parallelism": {"pipeline": 2},
        "cluster": {"npu": "a100-80gb", "dimensions": DIMENSIONS},
    }
    with pytest.raises(InputError, match="no pipelines"):
        closed_form(design_from(document))
