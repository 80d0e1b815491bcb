"""What is said of prices and of servers that are sold: nothing where a cluster is there and money decides nothing."""

from __future__ import annotations

from typing import Any

import pytest
import report_studies as studies

from dse.evaluate.record import TrialRecord
from dse.report.orders import describe_orders, is_bought
from dse.space.objective import Objective
from simcore.check.load import design_from
from simcore.simulate import simulate

TIME, COST = Objective("iteration_time", "minimize", "s"), Objective("cost.total", "minimize", "$")
PER_COST = Objective("perf_per_cost", "maximize", "tokens/s/$")


def trial(params: dict[str, Any], violations: dict[str, float]) -> TrialRecord:
    design = design_from(
        {
            "workload": {"model": "megatron-22b", "global_batch": 64},
            "parallelism": {"tensor": 8, "pipeline": 2, "zero": 1},
            "cluster": {"npu": "a100-80gb", "fabric": "dgx-a100", "npus": 32},
        }
    )
    result = simulate(design)
    values = {"iteration_time": result.iteration_time_s, "cost.total": result.cost.total, "perf_per_cost": 1.0}
    return TrialRecord(1, "feasible", values, params, violations, design=design.document(), metrics=result.document())


@pytest.mark.parametrize(
    ("objectives", "params", "limits", "bought"),
    [
        ((TIME,), {"parallelism.tensor": 8}, {"fits": -0.2}, False),
        ((TIME,), {"cluster.npu": "a100-80gb"}, {}, True),
        ((TIME, COST), {}, {}, True),
        ((PER_COST,), {}, {}, True),
        ((TIME,), {}, {"cost.total <= 3 M$": -0.5}, True),
    ],
)
def test_servers_that_are_sold_no_more_are_told_where_a_study_buys(
    objectives: tuple[Objective, ...], params: dict[str, Any], limits: dict[str, float], bought: bool
) -> None:
    own = trial(params, limits)
    record = studies.record([own], objectives=objectives)
    assert is_bought(record, own) == bought
    assert ("Servers with a100-80gb were sold until" in describe_orders(record, own)) == bought
