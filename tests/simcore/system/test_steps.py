"""Phases that are served step by step: parts of a phase are the phase, and change nothing where nobody goes first."""

from __future__ import annotations

import pytest

from simcore.check.load import design_from
from simcore.design.design import Design
from simcore.simulate import simulate
from simcore.system.chunks import Chunker
from simcore.system.placement import place
from simcore.system.steps import MOST_PARTS, as_served

LINKS = {"bandwidth": "25 GB/s", "latency": "1 us"}


def collective(policy: str, algorithm: str = "ring", topology: str = "switch", size: int = 8) -> Design:
    return design_from(
        {
            "workload": {"collective": "all_reduce", "size": "64 MiB"},
            "cluster": {
                "npu": "a100-80gb",
                "dimensions": [
                    {"topology": topology, "size": size, **LINKS},
                    {"topology": "switch", "size": 4, **LINKS},
                ],
            },
            "system": {"collective": [algorithm, "ring"], "chunks": 4, "intra_dimension": policy},
        }
    )


@pytest.mark.parametrize(
    ("algorithm", "size", "steps"),
    [("ring", 4, 3), ("ring", 8, 7), ("direct", 8, 7), ("halving_doubling", 8, 3), ("direct[2]", 8, 7)],
)
def test_a_phase_has_a_step_for_each_message_of_its_busiest_link(algorithm: str, size: int, steps: int) -> None:
    design = collective("preemptive", algorithm, size=size)
    (path,) = Chunker(design).split_collective("all_reduce", place(design)[0]["all"], 1e6).paths
    assert path[0].steps == steps


def test_parts_of_a_phase_add_up_to_it_and_fly_once() -> None:
    design = collective("preemptive", size=16)
    split = Chunker(design).split_collective("all_reduce", place(design)[0]["all"], 1e6)
    (whole,), (cut,) = split.paths, as_served(design, split).paths
    assert as_served(collective("priority", size=16), split) is split
    parts = [phase for phase in cut if phase.dimension == 0 and phase.kind == "reduce_scatter"]
    assert len(parts) == MOST_PARTS
    assert [part.begun for part in parts] == [False] + [True] * (MOST_PARTS - 1)
    assert [part.latency for part in parts] == [0] * (MOST_PARTS - 1) + [whole[0].latency]
    assert sum(part.serialization for part in parts) == whole[0].serialization
    assert sum(phase.sent for phase in cut) == sum(phase.sent for phase in whole)


@pytest.mark.parametrize("engine", ["fast", "reference"])
@pytest.mark.parametrize("topology", ["switch", "ring", "fully_connected"])
def test_a_collective_alone_takes_as_long(engine: str, topology: str) -> None:
    times = [simulate(collective(policy, topology=topology), engine).iteration_time_s for policy in POLICIES]
    assert times[0] == times[1]


POLICIES = ("priority", "preemptive")


def trained(policy: str, tensor: int, pipeline: int, data: int) -> Design:
    """Gradients in one chunk beside what blocks, on one switch."""
    model = {"layers": 4, "hidden": 4096, "heads": 8, "vocabulary": 1000, "sequence_length": 1024, "tied": False}
    document = {
        "workload": {"model": model, "global_batch": 16},
        "parallelism": {"tensor": tensor, "pipeline": pipeline, "data": data, "microbatch": 1},
        "cluster": {"npu": "a100-80gb", "dimensions": [{"topology": "switch", "size": 16, **LINKS}]},
        "software": {"base": "megatron-core", "overlap": {"node": 0.0, "nodes": 0.0}},
        "system": {"chunks": 1, "collective": ["ring"], "intra_dimension": policy},
    }
    return design_from(document)


@pytest.mark.parametrize("degrees", [(1, 2, 8), (2, 1, 8)])
def test_what_blocks_waits_for_a_step_of_the_gradients_and_not_for_all_of_them(degrees: tuple[int, int, int]) -> None:
    held, passed = (simulate(trained(policy, *degrees), "fast") for policy in POLICIES)
    exposed = [each.exposed_communication_s for each in (held, passed)]
    waits = [each.bubble_s + each.exposed_communication_s.tensor for each in (held, passed)]
    assert waits[1] < 0.7 * waits[0]
    assert exposed[1].pipeline == exposed[0].pipeline
    assert passed.network[0].busy_s == held.network[0].busy_s
    messages = [simulate(trained(policy, *degrees), "reference_links").iteration_time_s for policy in POLICIES]
    assert messages[0] == messages[1]
    assert abs(passed.iteration_time_s / messages[0] - 1) < 0.01 < held.iteration_time_s / messages[0] - 1
