"""The groups that reuse ranks: gradients over data x context, experts on its innermost NPUs."""

from __future__ import annotations

import math
from typing import Any

import pytest
from designs import dimension, model, training
from hypothesis import given
from hypothesis import strategies as st

from simcore.check.load import design_from
from simcore.design.design import Design
from simcore.engine.reference.cluster import NpuGroups
from simcore.system.placement import Placement, place

MOE = {"experts": 16, "top_k": 2, "feed_forward": 256}


def placed(sizes: list[int], **parallelism: Any) -> tuple[Design, Placement]:
    shape = model(heads=16, mixture_of_experts=MOE)
    document = training(
        parallelism, [dimension(size=size) for size in sizes], workload={"model": shape, "global_batch": 64}
    )
    design = design_from(document)
    return design, place(design)[0]


def taken(placement: Placement, group: str) -> list[tuple[int, int, int]]:
    return [(where.dimension, where.part.members, where.part.stride) for where in placement[group]]


def test_experts_take_the_innermost_npus_of_data_and_context() -> None:
    _, placement = placed([8, 8], tensor=2, context=2, data=16, expert=8)
    assert taken(placement, "data_context") == [(0, 4, 2), (1, 8, 1)]
    assert taken(placement, "expert") == [(0, 4, 2), (1, 2, 1)]
    assert taken(placement, "expert_data") == [(1, 4, 2)]


@pytest.mark.parametrize("expert", [1, 2, 4, 8, 16])
def test_experts_and_their_copies_make_up_data_and_context(expert: int) -> None:
    design, placement = placed([4, 8], context=2, data=16, expert=expert)

    def members(group: str) -> int:
        return math.prod(where.part.members for where in placement[group])

    assert members("data_context") == design.copies == 32
    assert members("expert") == expert
    assert members("expert") * members("expert_data") == 32


@given(st.sampled_from([1, 2]), st.sampled_from([1, 2, 4]), st.sampled_from([1, 2, 4, 8]), st.booleans())
def test_every_npu_has_one_rank_among_the_experts_of_its_group(t: int, c: int, e: int, flat: bool) -> None:
    sizes = [t * c * 8] if flat else [t * c, 8]
    design, placement = placed([size for size in sizes if size > 1], tensor=t, context=c, data=8, expert=e)
    if c == e == 1:
        return
    cluster = NpuGroups(design, placement)
    for npu in range(design.cluster.npus):
        group = set(cluster.members(npu, "expert"))
        copies = set(cluster.members(npu, "expert_data"))
        assert {cluster.rank(member, "expert") for member in group} == set(range(e))
        assert {cluster.rank(member, "expert") for member in copies} == {cluster.rank(npu, "expert")}
        assert len(group) * len(copies) == design.copies
        assert group & copies == {npu}
