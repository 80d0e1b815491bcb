"""Which part of which dimension each group takes: contiguous innermost, then strided, or a sentence why it cannot."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from designs import dimension, training, trainings
from hypothesis import given

from simcore.check.load import parse_design
from simcore.design.design import Design
from simcore.system.placement import place


def design(sizes: list[int], placement: list[str] | None = None, **degrees: Any) -> Design:
    document = training(degrees, [dimension(size=n) for n in sizes])
    if placement:
        document["cluster"]["placement"] = placement
    found, problems = parse_design(document)
    assert found is not None, problems
    return found


def slices(found: Design) -> dict[str, list[tuple[int, int, int]]]:
    placement, problems = place(found)
    assert problems == []
    return {
        group: [(taken.dimension, taken.part.members, taken.part.stride) for taken in placement[group]]
        for group in ("tensor", "data", "pipeline")
    }


def test_groups_take_whole_dimensions_innermost_first() -> None:
    assert slices(design([4, 2, 8], tensor=4, data=2, pipeline=8)) == {
        "tensor": [(0, 4, 1)],
        "data": [(1, 2, 1)],
        "pipeline": [(2, 8, 1)],
    }


def test_a_group_that_takes_a_factor_is_contiguous_and_the_next_one_strided() -> None:
    assert slices(design([16], tensor=4, data=2, pipeline=2)) == {
        "tensor": [(0, 4, 1)],
        "data": [(0, 2, 4)],
        "pipeline": [(0, 2, 8)],
    }


def test_a_group_may_span_dimensions() -> None:
    # GPT-3 in LIBRA: tensor 16 = 4 x 4 of the block of 8, data 2 x 4 x 32.
    found = design([4, 8, 4, 32], tensor=16, data=256)
    assert slices(found)["tensor"] == [(0, 4, 1), (1, 4, 1)]
    assert slices(found)["data"] == [(1, 2, 4), (2, 4, 1), (3, 32, 1)]


def test_the_placement_says_which_group_is_innermost() -> None:
    found = design([4, 8], ["data", "pipeline", "tensor", "context"], tensor=4, data=8)
    assert slices(found)["data"] == [(0, 4, 1), (1, 2, 1)]
    assert slices(found)["tensor"] == [(1, 4, 2)]


def test_a_degree_that_does_not_divide_names_both_sizes() -> None:
    _, problems = place(design([6, 2], tensor=4, data=3))
    assert str(problems[0]) == (
        "parallelism.tensor: expected a degree that fills or divides cluster.dimensions[0] (6 NPUs), got 4; "
        "choose sizes that divide each other, or another placement"
    )


def test_a_degree_that_does_not_divide_what_is_left_says_what_is_left() -> None:
    _, problems = place(design([8, 6], tensor=4, data=12))
    assert problems == []
    _, problems = place(design([4, 6, 2], tensor=16, data=3))
    assert "cluster.dimensions[1] (6 NPUs), got 16 (of which 4 are left)" in str(problems[0])


@given(trainings())
def test_the_groups_fill_every_dimension_exactly(found: Design) -> None:
    placement, problems = place(found)
    assert problems == []
    for index, dim in enumerate(found.cluster.dimensions):
        parts = [
            taken.part for group in found.cluster.placement for taken in placement[group] if taken.dimension == index
        ]
        offsets = [[member * part.stride for member in range(part.members)] for part in parts]
        assert sorted(sum(choice) for choice in product(*offsets)) == list(range(dim.size))
        assert all(part.size == dim.size for part in parts)


@given(trainings())
def test_a_group_has_as_many_members_as_its_degree(found: Design) -> None:
    placement, _ = place(found)
    p = found.parallelism
    for group, degree in (("tensor", p.tensor), ("data", found.data), ("pipeline", p.pipeline), ("context", p.context)):
        members = 1
        for taken in placement[group]:
            members *= taken.part.members
        assert members == degree


def test_a_collective_of_all_npus_takes_all_dimensions() -> None:
    cluster = {"npu": "a100-80gb", "dimensions": [dimension(size=n) for n in (4, 8, 2)]}
    found, problems = parse_design({"workload": {"collective": "all_reduce", "size": "1 MB"}, "cluster": cluster})
    assert found is not None, problems
    taken = place(found)[0]["all"]
    assert [(slice_.dimension, slice_.part.members, slice_.part.stride) for slice_ in taken] == [
        (0, 4, 1),
        (1, 8, 1),
        (2, 2, 1),
    ]


@pytest.mark.parametrize("missing", ["tensor", "data", "pipeline"])
def test_a_group_of_one_takes_nothing(missing: str) -> None:
    degrees: dict[str, Any] = {"tensor": 4, "data": 4, "pipeline": 4} | {missing: 1}
    assert slices(design([16], **degrees))[missing] == []
