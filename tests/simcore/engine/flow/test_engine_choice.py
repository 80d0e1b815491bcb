"""Which engine plays a design, and why the result says so."""

from __future__ import annotations

from typing import Any

import pytest

from simcore.check.load import design_from
from simcore.design.design import Design
from simcore.simulate import simulate


def training(topology: str = "switch", **cluster: Any) -> Design:
    dimension = {"topology": topology, "size": 8, "bandwidth": "1 GB/s", "latency": "1 us", "tier": "node"}
    document = {
        "workload": {
            "model": {"hidden": 256, "layers": 4, "heads": 8, "vocabulary": 500, "sequence_length": 64},
            "global_batch": 8,
        },
        "parallelism": {"pipeline": 4, "data": 2},
        "cluster": {"npu": "a100-80gb", "dimensions": [dimension], **cluster},
    }
    return design_from(document)


def test_the_fast_engine_is_chosen_where_it_is_exact() -> None:
    result = simulate(training())
    assert result.engine == "fast"
    assert result.engine_reason is not None
    assert "all NPUs of a stage do the same" in result.engine_reason
    assert result.iteration_time_s == simulate(training(), "fast").iteration_time_s


def test_the_flow_engine_is_chosen_where_npus_are_slow_and_says_so() -> None:
    slow = training(stragglers=[{"npu": 3, "slowdown": 1.5}])
    result = simulate(slow)
    assert result.engine == "flow"
    assert result.engine_reason is not None
    assert "slower" in result.engine_reason
    assert result.iteration_time_s == simulate(slow, "reference").iteration_time_s


def test_the_flow_engine_is_chosen_where_stages_share_links() -> None:
    ring = training("ring")
    result = simulate(ring)
    assert result.engine == "flow"
    assert "share links" in str(result.engine_reason)
    assert result.iteration_time_s >= simulate(ring, "fast").iteration_time_s


@pytest.mark.parametrize("engine", ["fast", "flow", "reference"])
def test_an_engine_that_was_asked_for_has_no_reason(engine: str) -> None:
    result = simulate(training(), engine)
    assert result.engine == engine
    assert "engine_reason" not in result.document()
