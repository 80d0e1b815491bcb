"""The fast engine adds up what it has already played; playing everything plainly gives the same picoseconds."""

from __future__ import annotations

from typing import Any

import naive
import pytest
from designs import dimension, model, training, trainings
from hypothesis import given, settings
from hypothesis import strategies as st

from simcore.check.load import design_from
from simcore.design.design import Design
from simcore.engine.fast import pipeline
from simcore.engine.fast.iteration import Timing, time_program
from simcore.schedule import SCHEDULES
from simcore.schedule import base as code
from simcore.system.placement import place
from simcore.workload.transformer.document import TransformerWorkload
from simcore.workload.transformer.program import transformer_program


def timing(design: Design, trace: bool = False) -> Timing:
    return time_program(design, transformer_program(design), place(design)[0], trace)[0]


def longer(design: Design, times: int) -> Design:
    """The design with `times` as many microbatches."""
    assert isinstance(design.workload, TransformerWorkload)
    workload = design.workload.model_copy(update={"global_batch": design.workload.global_batch * times})
    return design.model_copy(update={"workload": workload})


def assert_played_plainly(design: Design) -> None:
    fast, plain = timing(design), naive.play(design)
    assert (fast.total, fast.stage) == (plain.total, plain.stage)
    assert (fast.spent, fast.bubble) == (plain.spent, plain.bubble)


@settings(max_examples=150)
@given(trainings(), st.sampled_from([1, 1, 4]))
def test_the_fast_engine_takes_the_time_of_every_event_played_plainly(design: Design, times: int) -> None:
    assert_played_plainly(longer(design, times))


@settings(max_examples=200)
@given(trainings(), st.sampled_from([1, 5]))
def test_a_traced_run_takes_the_same_time(design: Design, times: int) -> None:
    design = longer(design, times)
    assert timing(design, trace=True) == timing(design)


@pytest.mark.parametrize("zero", [0, 3])
@pytest.mark.parametrize(
    "system",
    [
        {"intra_dimension": "fifo"},
        {"intra_dimension": "lifo", "active_chunks": 2},
        {"intra_dimension": "scf", "inter_dimension": "themis"},
        {"intra_dimension": "priority", "inter_dimension": "themis", "active_chunks": 1},
    ],
)
@pytest.mark.parametrize(
    "network", [[("ring", 4, 40), ("switch", 8, 1)], [("switch", 4, 3), ("fully_connected", 8, 300)]]
)
def test_gradients_that_outlive_many_layers_take_the_time_played_plainly(
    network: list[tuple[str, int, int]], system: dict[str, Any], zero: int
) -> None:
    dimensions = [dimension(topology, n, f"{rate} GB/s", tier="node") for topology, n, rate in network]
    document = training(
        {"tensor": 2, "pipeline": 2, "zero": zero, "bucket": "1 kB"},
        dimensions,
        workload={"model": model(layers=32), "global_batch": 256},
        system={"chunks": 3, **system},
    )
    assert_played_plainly(design_from(document))


@pytest.mark.parametrize("batch", [64, 512])
@pytest.mark.parametrize(("pipeline_degree", "interleave"), [(8, 2), (4, 4)])
@pytest.mark.parametrize(("policy", "slow"), [("lifo", 40), ("fifo", 4), ("scf", 2)])
def test_stages_that_part_while_gradients_are_on_their_way_take_the_time_played_plainly(
    batch: int, pipeline_degree: int, interleave: int, policy: str, slow: int
) -> None:
    dimensions = [dimension("ring", 4, "40 GB/s"), dimension("switch", 16, f"{slow} GB/s")]
    document = training(
        {"tensor": 2, "pipeline": pipeline_degree, "interleave": interleave, "bucket": "1 kB"},
        dimensions,
        workload={"model": model(layers=16), "global_batch": batch},
        system={"chunks": 3, "intra_dimension": policy},
    )
    assert_played_plainly(design_from(document))


@settings(max_examples=50)
@given(trainings())
def test_a_trace_lies_within_the_iteration_and_never_overlaps_itself_on_one_stage(design: Design) -> None:
    found, log = time_program(design, transformer_program(design), place(design)[0], True)
    blocks = log.rows[log.rows[:, 0] == pipeline.BLOCK_LEVEL]
    p = design.parallelism
    kinds = 3 if SCHEDULES[p.schedule].splits else 2
    assert len(blocks) == kinds * design.microbatches * p.pipeline * p.interleave
    assert blocks[:, 4].max() == found.total
    for stage in range(p.pipeline):
        own = blocks[blocks[:, 1] == stage]
        assert (own[1:, 3] >= own[:-1, 4]).all()
        done = own[:, 2].tolist()
        assert len(set(done)) == len(done)
        assert max(done) >> (code.CHUNK_SHIFT + 1) == design.microbatches - 1
