"""Intervals of predictions: of the device's own residuals, the widest known of it, or the prior."""

from __future__ import annotations

import pytest

from simcore import catalog
from simcore.check.load import design_from
from simcore.design.npu import parse_npu
from simcore.prediction_interval import UNCALIBRATED, ratios
from simcore.simulate import simulate


@pytest.mark.parametrize("npu", list(catalog.section("npus")))
@pytest.mark.parametrize("npus", [8, 16])
def test_every_device_has_an_interval_around_each_prediction(npu: str, npus: int) -> None:
    precision = "fp16" if "fp16" in catalog.entry("npus", npu)["peak"] else "bf16"
    result = simulate(
        design_from(
            {
                "workload": {"model": "megatron-22b", "global_batch": 16, "precision": precision},
                "parallelism": {"tensor": 8},
                "cluster": {"npu": npu, "fabric": "dgx-a100", "npus": npus},
            }
        )
    )
    assert result.iteration_time_interval_s is not None
    low, high = result.iteration_time_interval_s
    assert low < result.iteration_time_s < high


def test_a_curve_of_another_device_has_the_interval_of_one_that_was_not_calibrated() -> None:
    assert ratios(parse_npu("b200"), "node") == UNCALIBRATED
    assert ratios(parse_npu({"base": "a100-80gb", "name": "mine"}), "nodes") == UNCALIBRATED
    assert ratios(parse_npu("a100-40gb"), "node") == UNCALIBRATED
    assert ratios(parse_npu("b200"), "node") == UNCALIBRATED
    assert ratios(parse_npu("v100-32gb"), "node") == UNCALIBRATED


def test_a_scope_without_residuals_takes_the_widest_known_of_the_device() -> None:
    h100 = parse_npu("h100-80gb")
    assert ratios(h100, "nodes") == ratios(h100, "node") != UNCALIBRATED
    a100 = parse_npu("a100-80gb")
    assert ratios(a100, "nodes") != ratios(a100, "node")


def test_the_prior_holds_what_the_calibrated_devices_have() -> None:
    low, high = UNCALIBRATED
    for npu in ("a100-80gb", "h100-80gb"):
        for scope in ("node", "nodes"):
            assert low <= ratios(parse_npu(npu), scope)[0] < ratios(parse_npu(npu), scope)[1] <= high
