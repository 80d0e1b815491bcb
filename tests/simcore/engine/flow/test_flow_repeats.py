"""Layers that leave in flight what the layer before them left are waited for, and come out as if they were played."""

from __future__ import annotations

import random

from sharing_designs import draw_iteration
from test_flow_sharing import OneLink, job_of
from test_flow_waiting import timing_of_everything

from simcore.check.load import design_from
from simcore.design.design import Design
from simcore.engine.flow.links import links_of
from simcore.engine.flow.run import time_job


def draw_deep(seed: int) -> Design | None:
    """A training iteration with a pipeline whose stages have many layers alike."""
    design, draw = draw_iteration(seed, ["ring", "clos", "mesh"]), random.Random(seed)
    if design is None:
        return None
    return design.with_("workload.model.layers", design.parallelism.pipeline * draw.choice([6, 12, 20]))


def test_deep_stages_on_drawn_links_take_as_long_as_if_everything_were_played() -> None:
    compared = skipped = 0
    for seed in range(120):
        design = draw_deep(seed)
        if design is None or not (shared := links_of(design)).links:
            continue
        timing, counts = time_job(job_of(design), shared)
        assert timing == timing_of_everything(job_of(design), shared), f"seed {seed}"
        compared, skipped = compared + 1, skipped + counts.skipped
    assert compared > 40
    assert skipped > 1000


def test_deep_stages_that_meet_on_a_link_take_as_long_as_if_everything_were_played() -> None:
    replayed = 0
    for seed in range(200):
        design = draw_deep(seed)
        if design is None or len(design.cluster.dimensions) > 1:  # a link is one dimension's
            continue
        shared = OneLink(random.Random(seed).choice([1.0, 1.5, 2.0, 3.0]))
        timing, counts = time_job(job_of(design), shared)
        assert timing == timing_of_everything(job_of(design), shared), f"seed {seed}"
        replayed += counts.replayed
    assert replayed > 100


def test_gradients_beside_more_layers_cost_no_more_instants() -> None:
    document = {
        "workload": {
            "model": {"hidden": 2048, "layers": 16, "heads": 16, "vocabulary": 500, "sequence_length": 2048},
            "global_batch": 16,
        },
        "parallelism": {"tensor": 2, "pipeline": 2, "data": 2},
        "cluster": {
            "npu": "a100-80gb",
            "dimensions": [{"topology": "switch", "size": 8, "bandwidth": "100 GB/s", "latency": "1 us"}],
        },
    }
    shallow = design_from(document)
    deep = shallow.with_("workload.model.layers", 128)
    instants = []
    for design in (shallow, deep):
        timing, counts = time_job(job_of(design), OneLink(100.0))
        assert timing == timing_of_everything(job_of(design), OneLink(100.0))
        instants.append(counts.instants)
    assert instants[1] <= instants[0]
