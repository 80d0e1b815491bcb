"""The bound of a job on a network that costs and draws nothing holds on every network."""

from __future__ import annotations

import pytest

from dse.buy.software import ideal_loss, loss_bound
from dse.space.objective import Objective
from simcore.check.load import design_from
from simcore.metrics import METRICS, metrics
from simcore.simulate import simulate

NAMES = ("iteration_time", "cost.total", "cost.npu", "cost_per_token", "cost.tco", "energy", "power", "power.peak")


@pytest.mark.parametrize("cost", ["libra", "street-2025"])
def test_no_network_beats_one_that_costs_and_draws_nothing(cost: str) -> None:
    design = design_from(
        {
            "workload": {"model": "llama3-8b", "global_batch": 64, "sequence_length": 8192, "precision": "bf16"},
            "parallelism": {"tensor": 8, "zero": 1},
            "cluster": {"npu": "h100-80gb", "fabric": "dgx-h100", "npus": 64},
            "cost": cost,
        }
    )
    reached = metrics(simulate(design))
    for name in NAMES:
        objective, value = Objective(name, "minimize", METRICS[name].unit), reached[name]
        assert value is not None
        assert 0 < ideal_loss(design, objective) <= loss_bound(design, objective) * (1 + 1e-9)
        assert loss_bound(design, objective) <= value * (1 + 1e-9)
