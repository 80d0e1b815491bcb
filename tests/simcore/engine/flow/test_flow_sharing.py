"""Streams on links made by hand, against times worked out by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pytest
from forced import flow_timing
from test_groups import collective

from simcore.check.load import design_from
from simcore.design.design import Design
from simcore.engine.flow.links import links_of
from simcore.engine.flow.run import Job, find_classes, time_job, time_jobs
from simcore.engine.flow.shared import Link, Served, Stream
from simcore.memory.plan import program_of
from simcore.system.placement import place

TRAINING = {
    "workload": {
        "model": {"hidden": 256, "layers": 4, "heads": 8, "vocabulary": 500, "sequence_length": 64, "tied": False},
        "global_batch": 64,
    },
    "parallelism": {"pipeline": 4, "data": 2},
    "cluster": {
        "npu": "a100-80gb",
        "dimensions": [{"topology": "switch", "size": 8, "bandwidth": "20 MB/s", "latency": "1 us", "tier": "node"}],
    },
}


@dataclass(frozen=True)
class OneLink:
    """A link of `capacity` messages that every phase sends one message of rate 1 over, or `share` of one."""

    capacity: float
    share: float = 1.0

    @property
    def links(self) -> Sequence[Link]:
        return [Link(self.capacity, "by hand")]

    def stream(self, served: Served) -> Stream:
        return Stream(1.0, ((0, self.share),))


def job_of(design: Design) -> Job:
    return Job(design, program_of(design), find_classes(design, place(design)[0]))


def single_phase(groups: list[int]) -> Design:
    return collective(groups, "switch", "all_gather").with_("system.chunks", 1)


def test_two_groups_on_a_link_for_one_take_turns_fairly() -> None:
    latency = {members: (members - 1) * 700_000 for members in (2, 5)}
    alone = {members: flow_timing(single_phase([members])).total - latency[members] for members in (2, 5)}
    assert alone[2] < alone[5]
    timing, counts = time_job(job_of(single_phase([2, 5])), OneLink(1.0))
    # At half pace until the small group is done; what is left of the large one goes at full pace.
    assert timing.total == alone[2] + alone[5] + latency[5]
    assert (counts.solved, counts.met) == (1, 0)


@pytest.mark.parametrize(("capacity", "slower"), [(2.0, 1.0), (1.0, 1.0), (0.5, 2.0), (0.125, 8.0)])
def test_a_stream_alone_is_slowed_by_what_it_exceeds_its_link_by(capacity: float, slower: float) -> None:
    latency = 4 * 700_000
    alone = flow_timing(single_phase([5])).total - latency
    timing, _ = time_job(job_of(single_phase([5])), OneLink(capacity))
    assert timing.total - latency == slower * alone
    assert timing.busy[0] == slower * alone


def test_a_link_that_has_room_for_all_changes_nothing() -> None:
    design = design_from(TRAINING)
    assert time_job(job_of(design), OneLink(1000.0))[0] == flow_timing(design)


def test_states_of_contention_are_solved_once_and_met_again() -> None:
    timing, counts = time_job(job_of(design_from(TRAINING)), OneLink(1.0))
    assert timing.total > flow_timing(design_from(TRAINING)).total
    assert 0 < counts.solved < counts.met


def test_a_steady_pipeline_is_added_and_comes_out_as_if_it_were_played() -> None:
    document = {**TRAINING, "workload": {**TRAINING["workload"], "global_batch": 256}}
    job = job_of(design_from(document))
    added, counts = time_job(job, OneLink(2.0))
    ((played,),) = time_jobs([job], OneLink(2.0), [1])
    assert counts.added > 64
    assert added == played


def test_a_pipeline_that_repeats_after_three_periods_is_added_too() -> None:
    document = {
        "workload": {
            "model": {"hidden": 4096, "layers": 8, "heads": 16, "vocabulary": 32000, "sequence_length": 1024},
            "global_batch": 96,
        },
        "parallelism": {"tensor": 4, "pipeline": 8, "data": 2, "microbatch": 1},
        "cluster": {
            "npu": "a100-80gb",
            "dimensions": [
                {"topology": "ring", "size": 2, "bandwidth": "100 GB/s", "latency": "700 ns"},
                {"topology": "ring", "size": 32, "bandwidth": "275 GB/s", "latency": "700 ns"},
            ],
        },
        "system": {"chunks": 4, "intra_dimension": "fifo", "inter_dimension": "themis"},
        "software": {"base": "megatron-core", "measured_sequence_parallel": False},  # times that repeat so
    }
    design = design_from(document)
    job = job_of(design)
    added, counts = time_job(job, links_of(design))
    ((played,),) = time_jobs([job], links_of(design), [1])
    assert counts.added > 24
    assert added == played


def test_two_jobs_on_one_link_share_it_evenly_and_alone_they_do_not() -> None:
    one, other = (job_of(single_phase([members])) for members in (2, 5))
    (first,), (second,) = time_jobs([one, other], OneLink(1.0), [1, 1])
    together, _ = time_job(job_of(single_phase([2, 5])), OneLink(1.0))
    assert first.total < second.total == together.total


def test_repeated_iterations_of_one_job_take_equally_long() -> None:
    design = design_from(TRAINING)
    (timings,) = time_jobs([job_of(design)], None, [3])
    assert [timing.total for timing in timings] == [flow_timing(design).total] * 3
    assert all(timing.spent == timings[0].spent for timing in timings)
