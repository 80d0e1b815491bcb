"""The flow engine's loop against the fast engine, and against every NPU for itself where some are slower.

`benchmarks/bench_flow.py` runs far more of the first kind.
"""

from __future__ import annotations

import os
import random

import pytest
from drawn_designs import FAMILIES
from forced import agree, fast_timing, flow_timing, reference_timing
from hypothesis import given, settings
from hypothesis import strategies as st
from paced_level import paced_time
from sharing_designs import draw_iteration
from test_groups import collective

from simcore.check.check import check
from simcore.design.design import Design
from simcore.engine.flow.links import find_links
from simcore.engine.flow.run import Job, find_classes, time_job
from simcore.memory.plan import program_of
from simcore.system.placement import place

EXAMPLES = int(os.environ.get("AGREEMENT_EXAMPLES", "60"))


@pytest.mark.parametrize("family", FAMILIES)
def test_the_loop_finds_what_the_fast_engine_finds(family: str) -> None:
    @settings(max_examples=EXAMPLES, deadline=None)
    @given(FAMILIES[family])
    def equal(design: Design) -> None:
        assert agree(flow_timing(design), fast_timing(design))

    equal()


@pytest.mark.parametrize("family", FAMILIES)
def test_slow_npus_hold_up_whom_they_meet_as_in_the_reference(family: str) -> None:
    @settings(max_examples=max(1, EXAMPLES // 3), deadline=None)
    @given(FAMILIES[family], st.integers(1, 3), st.randoms(use_true_random=False))
    def equal(design: Design, count: int, draw: random.Random) -> None:
        npus = draw.sample(range(design.cluster.npus), min(count, design.cluster.npus))
        slow = [{"npu": npu, "slowdown": draw.choice([1.1, 1.37, 2.0])} for npu in npus]
        uneven = design.with_("cluster.stragglers", slow)
        assert agree(flow_timing(uneven), reference_timing(uneven))

    equal()


@pytest.mark.parametrize("groups", [[2, 3], [4, 2, 6], [5]])
@pytest.mark.parametrize("kind", ["all_reduce", "all_to_all", "send_recv"])
def test_groups_side_by_side_take_what_they_take_in_the_reference(groups: list[int], kind: str) -> None:
    design = collective(groups, "ring", kind, outer=[2])
    assert not check(design)
    slow = design.with_("cluster.stragglers", [{"npu": 1, "slowdown": 1.5}])
    for one in (design, slow):
        assert flow_timing(one).total == reference_timing(one).total


def test_a_loop_that_is_stopped_by_links_takes_what_a_process_for_each_npu_takes() -> None:
    changed = 0
    for seed in range(60):
        design = draw_iteration(seed, ["ring", "clos"], most=16)
        if design is None:
            continue
        program, classes = program_of(design), find_classes(design, place(design)[0])
        links = find_links(design, program, classes)
        if not links.links:
            continue
        alone, (together, _) = flow_timing(design), time_job(Job(design, program, classes), links)
        assert together.total * 1e-12 == pytest.approx(paced_time(design), rel=1e-9)
        changed += together.total != alone.total
    assert changed > 3
