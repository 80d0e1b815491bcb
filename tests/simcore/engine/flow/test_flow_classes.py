"""Classes of NPUs: the coarsest partition in which one NPU can speak for its class."""

from __future__ import annotations

import math
import time
from collections import Counter
from typing import Any

import numpy as np
import pytest
from test_groups import collective

from simcore.check.load import design_from
from simcore.design.design import Design
from simcore.engine.flow.classes import Classes, find_classes
from simcore.engine.reference.cluster import NpuGroups
from simcore.system.placement import place


def training(sizes: tuple[int, ...], tensor: int, pipeline: int, **cluster: Any) -> Design:
    dimensions = [
        {"topology": "switch", "size": size, "bandwidth": "10 GB/s", "latency": "1 us", "collective": "ring"}
        for size in sizes
    ]
    data = math.prod(sizes) // tensor // pipeline
    document = {
        "workload": {
            "model": {"hidden": 256, "layers": 2 * pipeline, "heads": 8, "vocabulary": 500, "sequence_length": 64},
            "global_batch": 4 * data,
        },
        "parallelism": {"tensor": tensor, "pipeline": pipeline, "data": data},
        "cluster": {"npu": "a100-80gb", "dimensions": dimensions, **cluster},
    }
    return design_from(document)


def classes_of(design: Design, colours: Any = None) -> Classes:
    return find_classes(design, place(design)[0], colours)


def test_without_anything_that_distinguishes_npus_the_classes_are_the_stages() -> None:
    classes = classes_of(training((4, 8), 2, 4))
    assert classes.stages == (0, 1, 2, 3)
    assert classes.sizes == (8,) * 4
    assert classes.simple
    assert [Counter(classes.numbers.tolist())[c] for c in range(4)] == [8] * 4


@pytest.mark.parametrize("slow", [[5], [0, 31], [3, 9, 17]])
def test_all_npus_of_a_class_meet_the_same_classes_equally_often(slow: list[int]) -> None:
    stragglers = [{"npu": npu, "slowdown": 1.5} for npu in slow]
    design = training((4, 8), 2, 4, stragglers=stragglers)
    classes = classes_of(design)
    groups = NpuGroups(design, place(design)[0])
    seen: dict[tuple[int, str, int], Counter[int]] = {}
    for npu in range(32):
        its = int(classes.numbers[npu])
        assert classes.slowdowns[its] == (1.5 if npu in slow else 1.0)
        assert classes.stages[its] == groups.rank(npu, "pipeline")
        for group, slices in groups.placement.items():
            for where in slices:
                met = Counter(classes.numbers[list(groups.peers(npu, where))].tolist())
                assert seen.setdefault((its, group, where.dimension), met) == met
                if group != "pipeline":
                    assert classes.meeting(its, group, where.dimension) == tuple(sorted(met))
        for stage in range(4):
            assert classes.receivers[its, stage] == classes.numbers[groups.npu_at(npu, "pipeline", stage)]


def test_one_straggler_makes_a_class_for_each_way_to_meet_it() -> None:
    classes = classes_of(training((4, 8), 2, 1, stragglers=[{"npu": 0, "slowdown": 2.0}]))
    # Itself, its tensor peer, its data peers, those peers' tensor peers; data lies on two dimensions.
    assert sorted(classes.sizes) == [1, 1, 1, 1, 7, 7, 7, 7]


def test_no_coarser_partition_would_do() -> None:
    design = training((4, 16), 2, 2)
    # In each stage: of its tensor rank or not, of its node or not, and on another node of its data rank or not.
    assert len(classes_of(design, np.arange(64) == 7).sizes) == 16
    assert len(classes_of(design, np.arange(64)).sizes) == 64


def test_groups_side_by_side_are_classes_of_their_own() -> None:
    design = collective([2, 3], "ring", outer=[2])
    classes = classes_of(design)
    assert (classes.sizes, classes.representatives) == ((4, 6), (0, 2))
    slow = classes_of(design.with_("cluster.stragglers", [{"npu": 3, "slowdown": 2.0}]))
    assert sorted(zip(slow.stages, slow.sizes, strict=True)) == [(0, 4), (1, 1), (1, 2), (1, 3)]


def test_more_npus_do_not_take_longer_where_they_are_all_alike() -> None:
    design = training((8, 8192), 8, 16)
    begin = time.perf_counter()
    for _ in range(20):
        classes_of(design)
    assert (time.perf_counter() - begin) / 20 < 5e-3
