"""The log of the flow engine: what is logged is what was played."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from sharing_designs import draw_iteration

from simcore.check.load import design_from
from simcore.design.design import Design
from simcore.engine.flow import run as flow
from simcore.engine.flow.classes import find_classes
from simcore.engine.flow.links import find_sharing, links_of
from simcore.engine.flow.spans import FlowLog
from simcore.engine.trace import write_trace
from simcore.memory.plan import program_of
from simcore.simulate import log_flows, simulate
from simcore.system.placement import place

JOB = {"workload": {"collective": "all_reduce", "size": "64 MiB"}, "npus": 8, "placement": "spread"}
JOBS: dict[str, Any] = {
    "jobs": [{**JOB, "name": "one"}, {**JOB, "name": "two"}],
    "cluster": {
        "npu": "a100-80gb",
        "dimensions": [
            {
                "topology": "clos",
                "size": 16,
                "leaf": 4,
                "oversubscription": 4,
                "bandwidth": "25 GB/s",
                "latency": "1 us",
                "tier": "pod",
            }
        ],
    },
}


def sharing_design(seed: int) -> Design:
    design = draw_iteration(seed, ["ring", "clos"])
    assert design is not None
    assert find_sharing(design)
    return design


def logged(design: Design) -> FlowLog:
    log = log_flows(design)
    assert log is not None
    assert log.lost == 0
    return log


def busy(log: FlowLog, track: int, dimension: int) -> float:
    """How long a dimension of a class serves, by its spans [s]."""
    name = f"dimension {dimension}:"
    return sum(s.end - s.begin for s in log.spans if s.track == track and s.thread.startswith(name)) / 1e12


@pytest.mark.parametrize("seed", [10, 16, 30])
def test_spans_of_a_stage_sum_to_what_the_result_says_of_it(seed: int) -> None:
    design = sharing_design(seed)
    log, result = logged(design), simulate(design, "flow")
    assert max(span.end for span in log.spans) == round(result.iteration_time_s * 1e12)
    sums = [[busy(log, track, number) for number in range(len(result.network))] for track in range(len(log.tracks))]
    assert any(
        all(math.isclose(its, use.busy_s, rel_tol=1e-9) for its, use in zip(each, result.network, strict=True))
        for each in sums
    )


@pytest.mark.parametrize("seed", [10, 30])
def test_what_is_served_is_served_one_after_the_other_and_slower_where_links_are_shared(seed: int) -> None:
    by_thread: dict[tuple[int, str], list[Any]] = defaultdict(list)
    spans = logged(sharing_design(seed)).spans
    for span in spans:
        by_thread[span.track, span.thread].append(span)
    for its in by_thread.values():
        assert all(one.end <= other.begin for one, other in pairwise(its))
    paces = [span.pace for span in spans if span.pace is not None]
    assert all(0.0 < pace <= 1.0 for pace in paces)
    assert min(paces) < 1.0


def test_a_log_without_room_says_how_much_it_lost() -> None:
    design = sharing_design(10)
    classes = find_classes(design, place(design)[0])
    job = flow.Job(design, program_of(design), classes)
    log = flow.log_jobs([job], links_of(design), [1], [""], 100)
    assert 0 < len(log.spans) <= 100
    assert log.lost > 0


def test_a_trace_draws_the_flows_of_jobs_that_meet(tmp_path: Path) -> None:
    design = design_from(JOBS)
    log, path = logged(design), tmp_path / "trace.json"
    assert [track.name for track in log.tracks] == ["one all NPUs", "two all NPUs"]
    assert write_trace(design, simulate(design, "flow"), log, path) == 0
    events = json.loads(path.read_text())["traceEvents"]
    flows = [event for event in events if event["ph"] == "X" and event["tid"].startswith("dimension")]
    assert {event["pid"] for event in flows} == {0, 1}
    assert 0.0 < min(event["args"]["pace"] for event in flows) < 1.0


def test_where_nothing_is_shared_the_fast_engine_has_the_log() -> None:
    packed = [{**job, "placement": "packed"} for job in JOBS["jobs"]]
    assert log_flows(design_from({**JOBS, "jobs": packed})) is None
