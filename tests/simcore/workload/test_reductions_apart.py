"""Sharded gradients that are reduced before the layer before them begins, where layers are the turns of a loop."""

from __future__ import annotations

from typing import Any

import pytest

from simcore.check.load import design_from
from simcore.design.design import Design
from simcore.simulate import simulate

TPU = {"npu": "tpu-v6e", "fabric": "tpu-v6e-pod", "npus": 64}
H100 = {"npu": "h100-80gb", "fabric": "dgx-h100", "npus": 64}


def design(cluster: dict[str, Any], apart: list[str], **parallelism: Any) -> Design:
    return design_from(
        {
            "workload": {"model": "llama3-8b", "global_batch": 64, "sequence_length": 8192, "precision": "bf16"},
            "parallelism": {"zero": 3, "recompute": "full", **parallelism},
            "cluster": cluster,
            "software": {"base": "maxtext", "reduces_apart_on": apart},
        }
    )


def seconds(cluster: dict[str, Any], apart: list[str], **parallelism: Any) -> tuple[float, float]:
    """Iteration time, and what of it is exposed communication of data-parallel NPUs [s]."""
    result = simulate(design(cluster, apart, **parallelism))
    return result.iteration_time_s, result.exposed_communication_s.data


def test_nothing_is_computed_beside_them() -> None:
    beside, apart = seconds(TPU, []), seconds(TPU, ["xla"])
    assert apart[1] > beside[1] + 0.01
    longer, exposed = apart[0] - beside[0], apart[1] - beside[1]
    assert longer < exposed  # computation is slower beside a collective
    assert longer == pytest.approx(exposed, rel=0.2)


def test_maxtext_does_so_on_tpus() -> None:
    assert design_from({**design(TPU, []).document(), "software": "maxtext"}).software.reduces_apart_on == ("xla",)


def test_other_platforms_and_gradients_that_are_reduced_once_are_as_before() -> None:
    assert seconds(H100, ["xla"]) == seconds(H100, [])
    assert seconds(TPU, ["xla"], zero=1) == seconds(TPU, [], zero=1)
