"""What holds for every kind of workload: the engines agree, bounds hold, the breakdown sums, documents come back."""

from __future__ import annotations

import os

import pytest
from agreement import differences
from designs import assert_not_beaten
from drawn_kinds import KINDS
from hypothesis import given, settings

from simcore.bounds.design import bound
from simcore.check.load import design_from
from simcore.design.design import Design
from simcore.metrics import metrics
from simcore.simulate import simulate

EXAMPLES = int(os.environ.get("AGREEMENT_EXAMPLES", "150"))


@pytest.mark.parametrize("kind", KINDS)
def test_fast_and_reference_agree_to_the_picosecond(kind: str) -> None:
    @settings(max_examples=EXAMPLES)
    @given(KINDS[kind])
    def agree(design: Design) -> None:
        assert differences(design) == []

    agree()


@pytest.mark.parametrize("kind", KINDS)
def test_no_metric_beats_its_bound_and_the_breakdown_sums_to_the_iteration(kind: str) -> None:
    @settings(max_examples=80)
    @given(KINDS[kind])
    def holds(design: Design) -> None:
        result = simulate(design)
        found = metrics(result)
        document = design.document()
        partial = {
            "workload": document["workload"],
            "cluster": {"npu": document["cluster"]["npu"], "npus": design.cluster.npus},
        }
        for proven in (bound(design), bound(partial)):
            assert_not_beaten(proven, found)
        parts = result.compute_s + result.exposed_communication_s.total + result.bubble_s + result.optimizer_s
        assert parts + result.other_s == pytest.approx(result.iteration_time_s, rel=1e-9)

    holds()


@pytest.mark.parametrize("kind", KINDS)
def test_a_document_comes_back_as_the_same_design(kind: str) -> None:
    @settings(max_examples=40)
    @given(KINDS[kind])
    def comes_back(design: Design) -> None:
        again = design_from(design.document())
        assert again.key == design.key
        assert again.document() == design.document()

    comes_back()
