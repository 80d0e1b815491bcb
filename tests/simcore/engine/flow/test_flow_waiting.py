"""What is waited for and not played comes out as if it had been played."""

from __future__ import annotations

import pytest
from sharing_designs import draw_iteration
from test_flow_sharing import TRAINING, OneLink, job_of

from simcore.check.load import design_from
from simcore.design.design import Design
from simcore.engine.fast.iteration import Timing
from simcore.engine.flow import run, tables
from simcore.engine.flow.links import links_of
from simcore.engine.flow.lowered import Job, lower
from simcore.engine.flow.plan import build_world
from simcore.engine.flow.run import time_job
from simcore.engine.flow.shared import Served, SharedLinks, Stream


def timing_of_everything(job: Job, shared: SharedLinks) -> Timing:
    """Time of a job of which every phase over shared links is played."""
    lowered = [lower(job)]
    world = build_world(lowered, shared, (1,))
    plan = world[4]
    for c in range(plan[tables.CLASSES]):
        its = tables.locate_class(plan, c)
        plan[its + tables.PATTERN] = -1
        solos = plan[plan[its + tables.PRIVATE_AT] :][: plan[tables.TYPES]]
        solos[solos == tables.SOLO_UNMET] = tables.NO_SOLO
    run.play_all(world)
    counts = run._count(world)
    assert (counts.skipped, counts.replayed) == (0, 0)
    return run._timing(lowered, world, 0, 0)


def test_drawn_iterations_take_as_long_as_if_everything_were_played() -> None:
    skipped = replayed = 0
    for seed in range(60):
        design = draw_iteration(seed, ["ring", "clos"])
        if design is None or not links_of(design).links:
            continue
        job, shared = job_of(design), links_of(design)
        timing, counts = time_job(job, shared)
        assert timing == timing_of_everything(job, shared), f"seed {seed}"
        skipped, replayed = skipped + counts.skipped, replayed + counts.replayed
    assert skipped > 100
    assert replayed > 10


@pytest.mark.parametrize("capacity", [1.0, 1.9, 2.0, 3.5, 4.0])
def test_links_for_a_few_streams_take_as_long_as_if_everything_were_played(capacity: float) -> None:
    job = job_of(design_from(TRAINING))
    assert time_job(job, OneLink(capacity))[0] == timing_of_everything(job, OneLink(capacity))


def test_streams_that_fit_on_a_link_together_are_waited_for_at_the_same_time() -> None:
    job = job_of(design_from(TRAINING))
    crowded, roomy = (time_job(job, OneLink(capacity))[1] for capacity in (1.0, 100.0))
    assert roomy.skipped > crowded.skipped
    assert roomy.instants < crowded.instants


class Faster(OneLink):
    """Streams that meet nobody go at one and a half times the pace that the times of their phases are for."""

    def stream(self, served: Served) -> Stream:
        return super().stream(served)._replace(fastest=1.5)


def test_what_a_stream_needs_of_a_link_is_what_it_asks_for_alone() -> None:
    job = job_of(design_from(TRAINING))
    assert time_job(job, Faster(4.0))[0] == timing_of_everything(job, Faster(4.0))


def deep_pipeline(stages: int) -> Design:
    """Stages of two layers each, which all reduce their gradients beside the last microbatch."""
    document = {
        "workload": {
            "model": {"hidden": 2048, "layers": 2 * stages, "heads": 16, "vocabulary": 500, "sequence_length": 2048},
            "global_batch": 32,
        },
        "parallelism": {"tensor": 2, "pipeline": stages, "data": 2},
        "cluster": {
            "npu": "a100-80gb",
            "dimensions": [{"topology": "switch", "size": 4 * stages, "bandwidth": "100 GB/s", "latency": "1 us"}],
        },
        "system": {"chunks": 16},
    }
    return design_from(document)


def test_what_stages_do_beside_their_own_gradients_is_played_for_one_of_them() -> None:
    instants = {}
    for stages in (4, 16):
        job = job_of(deep_pipeline(stages))
        timing, counts = time_job(job, OneLink(1000.0))
        assert timing == timing_of_everything(job, OneLink(1000.0))
        assert counts.replayed == 0
        instants[stages] = counts.instants
    assert instants[16] < 1.5 * instants[4]


def test_a_passage_is_known_that_another_class_found_not_worth_keeping() -> None:
    """Several classes record the same passage at once: what one of them keeps comes after what another gave up."""
    inner = {"topology": "switch", "size": 8, "bandwidth": "450 GB/s", "latency": "801 ns", "library": "nccl-hopper"}
    outer = {"topology": "clos", "size": 1024, "bandwidth": "50 GB/s", "efficiency": 0.74, "latency": "20 us"}
    outer |= {"leaf": 32, "oversubscription": 4, "routing": "ecmp", "tier": "pod"}
    design = design_from(
        {
            "workload": {"model": "llama3-405b", "global_batch": 1024, "sequence_length": 8192, "precision": "bf16"},
            "parallelism": {
                "tensor": 8,
                "pipeline": 8,
                "data": 128,
                "first_stage_layers": 15,
                "last_stage_layers": 15,
                "zero": 1,
                "interleave": 4,
                "sequence_parallel": True,
            },
            "cluster": {"npu": "h200", "dimensions": [inner, outer]},
            "cost": "network-only",
        }
    )
    job, shared = job_of(design), links_of(design)
    timing, counts = time_job(job, shared)
    assert counts.skipped > 0
    assert timing == timing_of_everything(job, shared)
