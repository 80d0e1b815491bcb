"""Interleaved stages of layers that do not divide: the ends of the model have a layer fewer, as in Megatron-core."""

from __future__ import annotations

from typing import Any

import pytest
from designs import dimension, model, training

from simcore import Design, bound, check, simulate
from simcore.check.load import design_from
from simcore.design.parallelism import Parallelism
from simcore.workload.transformer.document import TransformerWorkload
from simcore.workload.transformer.stages import stage_layers

NODE = dimension(size=8)


def design(layers: int, **parallelism: Any) -> Design:
    """Two tensor ranks and four stages on 8 NPUs."""
    sections = {"tensor": 2, "pipeline": 4, "interleave": 2, **parallelism}
    return design_from(training(sections, [NODE], workload={"model": model(layers=layers)}))


def layers_of(given: Design) -> list[int]:
    return stage_layers(TransformerWorkload.of(given.workload).model, given.parallelism)


@pytest.mark.parametrize(
    ("layers", "counts"),
    [
        (16, [2, 2, 2, 2, 2, 2, 2, 2]),
        (15, [2, 2, 2, 2, 2, 2, 2, 1]),
        (14, [1, 2, 2, 2, 2, 2, 2, 1]),
        (8, [1, 1, 1, 1, 1, 1, 1, 1]),
        (7, [1, 1, 1, 1, 1, 1, 1, 0]),
        (6, [0, 1, 1, 1, 1, 1, 1, 0]),
    ],
)
def test_the_loss_counts_as_a_layer_and_then_the_embedding(layers: int, counts: list[int]) -> None:
    assert layers_of(design(layers)) == counts


def test_llama_3_405b_is_cut_as_its_makers_cut_it() -> None:
    """126 layers on 16 x 8 virtual stages: arXiv 2407.21783, section 3.3.2."""
    big = Parallelism(tensor=8, pipeline=16, interleave=8)
    llama = TransformerWorkload.model_validate({"model": "llama3-405b", "global_batch": 64}).model
    assert stage_layers(llama, big) == [0, *[1] * 126, 0]


def test_a_pipeline_that_folds_has_both_ends_on_its_first_stage() -> None:
    folded = design(14, schedule="zbv")
    assert layers_of(folded) == [1, 2, 2, 2, 2, 2, 2, 1]


@pytest.mark.parametrize("layers", [6, 7, 14, 15])
def test_the_same_layers_by_hand_take_the_same_time(layers: int) -> None:
    by_rule = design(layers)
    by_hand = design(layers, stages=layers_of(by_rule))
    assert simulate(by_rule).iteration_time_s == simulate(by_hand).iteration_time_s
    assert simulate(by_rule).memory_bytes == simulate(by_hand).memory_bytes


@pytest.mark.parametrize("layers", [6, 15])
def test_engines_agree_and_no_bound_is_beyond_them(layers: int) -> None:
    given = design(layers)
    fast = simulate(given)
    assert simulate(given, engine="reference").iteration_time_s == fast.iteration_time_s
    least = bound(given)["iteration_time"]
    assert least is not None
    assert 0 < least <= fast.iteration_time_s


@pytest.mark.parametrize("layers", [13, 12, 9, 17])
def test_layers_that_lack_more_are_refused(layers: int) -> None:
    problems = [problem for problem in check(unchecked(layers)) if problem.path == ("parallelism", "interleave")]
    assert [problem.rule for problem in problems] == ["interleaved stages divide the layers"]


def unchecked(layers: int) -> Design:
    """A design that need not hold together."""
    return Design.model_validate(
        training({"tensor": 2, "pipeline": 4, "interleave": 2}, [NODE], workload={"model": model(layers=layers)})
    )
