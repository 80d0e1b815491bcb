"""What waits for a straggler is told as such, not as communication alone."""

from __future__ import annotations

from typing import Any

import pytest

from dse.evaluate.evaluate import Evaluator
from dse.evaluate.record import TrialRecord
from dse.report.straggling import describe_straggling
from simcore.check.load import design_from
from simcore.simulate import simulate

DESIGN: dict[str, Any] = {
    "workload": {"model": "llama3-8b", "global_batch": 64, "precision": "bf16"},
    "parallelism": {"tensor": 2, "data": 8, "zero": 1, "recompute": "full"},
    "cluster": {"npu": "h100-80gb", "fabric": "dgx-h100", "npus": 16},
}


def trial_of(**cluster: Any) -> TrialRecord:
    outcome = Evaluator((), ())({**DESIGN, "cluster": {**DESIGN["cluster"], **cluster}})
    return TrialRecord(0, "feasible", {}, {}, {}, outcome.design, outcome.metrics)


def test_the_share_is_that_of_the_design_without_the_straggler() -> None:
    slow = trial_of(stragglers=[{"npu": 5, "slowdown": 1.5}])
    assert slow.metrics is not None
    waits = 1 - simulate(design_from(DESIGN)).iteration_time_s / slow.metrics["iteration_time_s"]
    assert describe_straggling(slow) == (
        f"{100 * waits:.0f} % of the time waits for the stragglers, as communication or bubble"
    )


@pytest.mark.parametrize("cluster", [{}, {"stragglers": [{"npu": 5, "slowdown": 1.0001}]}])
def test_nothing_is_told_without_one_or_where_it_hardly_slows(cluster: dict[str, Any]) -> None:
    assert describe_straggling(trial_of(**cluster)) == ""
