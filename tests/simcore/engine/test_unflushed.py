"""Pipelines that never empty: closed forms of PipeDream and PipeDream-2BW, both engines, bounds, memory, staleness."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from designs import dimension, model, training
from drawn_designs import trainings
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from simcore.bounds.design import bound
from simcore.check.load import design_from
from simcore.design.design import Design
from simcore.document.problem import InputError
from simcore.engine.fast.iteration import Timing, time_program
from simcore.metrics import metrics
from simcore.program import Compute, ModelPart, Segment
from simcore.schedule import SCHEDULES
from simcore.simulate import simulate
from simcore.system.placement import place
from simcore.workload.transformer.program import transformer_program

UNFLUSHED = ("pipedream", "pipedream_2bw")


def designed(schedule: str, p: int, data: int = 1, m: int = 4, layers: int = 8, **more: Any) -> Design:
    parallelism = {"pipeline": p, "data": data, "schedule": schedule, "bucket": "100 kB", **more}
    workload = {"model": model(layers=layers), "global_batch": m * data}
    return design_from(training(parallelism, [dimension(size=p * data)], workload=workload, system={"chunks": 2}))


def timed(schedule: str, m: int, stages: list[tuple[float, float]], update: float = 0.0) -> Timing:
    """Stages with seconds of a forward and a backward pass, that send nothing; `update` follows each update [s]."""
    p = len(stages)
    network = [dimension(size=p, bandwidth="1000000 EB/s", latency="0 s")]
    workload = {"model": model(layers=64), "global_batch": m}
    parallelism = {"pipeline": p, "schedule": schedule}
    design = design_from(training(parallelism, network, workload=workload, system={"chunks": 1}))

    def block(seconds: float) -> tuple[Segment, ...]:
        return (Segment("block", (Compute("block", "gemm", seconds * 1e14, 0.0),)),)

    parts = tuple(
        ModelPart(block(f), block(b), block(b), parameters=1.0, activations=1.0, working=1.0) for f, b in stages
    )
    final = (block(update) if update else (),) * p
    program = replace(transformer_program(design), parts=parts, part_of=tuple(range(p)), final=final, send_bytes=0.0)
    return time_program(design, program, place(design)[0])[0]


# Closed forms


@pytest.mark.parametrize("schedule", UNFLUSHED)
@pytest.mark.parametrize(("p", "m"), [(2, 2), (4, 4), (4, 16), (8, 8)])
def test_equal_stages_have_no_bubble(schedule: str, p: int, m: int) -> None:
    timing = timed(schedule, m, [(1.0, 2.0)] * p)
    assert timing.total / 1e12 == pytest.approx(3 * m, rel=1e-9)
    assert timing.bubble == 0


@pytest.mark.parametrize("schedule", UNFLUSHED)
@pytest.mark.parametrize("slow", [0, 1, 3])
def test_an_iteration_is_its_microbatches_on_the_slowest_stage(schedule: str, slow: int) -> None:
    stages = [(1.0, 1.5) if stage == slow else (0.75, 1.25) for stage in range(4)]
    timing = timed(schedule, 8, stages)
    assert timing.total / 1e12 == pytest.approx(8 * 2.5, rel=1e-9)
    assert timing.stage == slow
    assert timing.bubble == 0


def test_pipedream_updates_weights_after_every_microbatch_and_2bw_once_a_batch() -> None:
    stages = [(1.0, 2.0)] * 4
    each, once = (timed(schedule, 8, stages, update=0.5) for schedule in UNFLUSHED)
    assert each.total / 1e12 == pytest.approx(8 * (3 + 0.5), rel=1e-9)
    assert 8 * 3 + 0.5 <= once.total / 1e12 < 8 * (3 + 0.5)
    assert once.total / 1e12 < timed("1f1b", 8, stages, update=0.5).total / 1e12


@given(
    st.lists(st.tuples(st.integers(1, 9), st.integers(1, 9)), min_size=2, max_size=5),
    st.integers(1, 6),
    st.sampled_from(UNFLUSHED),
)
@settings(max_examples=40, deadline=None)
def test_no_iteration_is_shorter_than_what_any_stage_does_in_it(
    stages: list[tuple[int, int]], m: int, schedule: str
) -> None:
    m = max(m, SCHEDULES[schedule].least(len(stages)))
    timing = timed(schedule, m, [(f / 10, b / 10) for f, b in stages])
    least = m * max(f + b for f, b in stages) / 10
    assert timing.total / 1e12 >= least * (1 - 1e-9)
    # p microbatches in flight are enough to hide the way there and back of equal stages, never less than half of it.
    assert timing.total / 1e12 <= least + m * sum(f + b for f, b in stages) / 10


# Both engines, bounds


@given(st.data())
@settings(max_examples=12, deadline=None)
def test_engines_agree_and_bounds_hold_on_drawn_designs(data: st.DataObject) -> None:
    drawn = data.draw(trainings(tensor=2, pipeline=4, data=2, zero=1))
    p = drawn.parallelism
    schedule = data.draw(st.sampled_from(UNFLUSHED))
    assume(p.pipeline > 1 and p.interleave == 1 and not p.expert_overlap)
    assume(drawn.microbatches >= SCHEDULES[schedule].least(p.pipeline))
    try:
        design = drawn.with_("parallelism.schedule", schedule)
    except InputError:  # shared links
        assume(False)
    fast, reference = simulate(design, "fast"), simulate(design, "reference")
    one, other = fast.document(), reference.document()
    sent = [[used.pop("bytes_per_npu") for used in each["network"]] for each in (one, other)]
    assert sent[0] == pytest.approx(sent[1])  # sums of floats, in another order
    for each in (one, other):
        for used in each["network"]:
            used.pop("utilization")
        for key in ("engine", "network_utilization"):
            each.pop(key)
    assert one == other
    proven, found = bound(design), metrics(fast)
    for name in ("iteration_time", "energy", "memory.peak"):
        least, value = proven[name], found[name]
        assert least is not None
        assert value is not None
        assert least <= value * (1 + 1e-12)


# Memory


@pytest.mark.parametrize("p", [2, 4, 8])
def test_stage_s_of_pipedream_keeps_p_less_s_versions_and_microbatches(p: int) -> None:
    schedule = SCHEDULES["pipedream"]
    assert [schedule.versions(s, p) for s in range(p)] == list(range(p, 0, -1))
    assert [schedule.in_flight(s, p, 1, 1) for s in range(p)] == [(n,) for n in range(p, 0, -1)]


@pytest.mark.parametrize(("schedule", "versions"), [("pipedream", 4), ("pipedream_2bw", 2)])
def test_versions_of_weights_are_in_memory_and_nothing_else_is_held_more_often(schedule: str, versions: int) -> None:
    plain, stashed = simulate(designed("1f1b", 4)).memory_bytes, simulate(designed(schedule, 4)).memory_bytes
    assert plain is not None
    assert stashed is not None
    assert stashed.weights == pytest.approx(versions * plain.weights)
    assert (stashed.gradients, stashed.optimizer, stashed.activations) == (
        plain.gradients,
        plain.optimizer,
        plain.activations,
    )
    assert stashed.peak == pytest.approx(plain.peak + (versions - 1) * plain.weights)


# Staleness


@pytest.mark.parametrize(
    ("schedule", "said"),
    [
        ("1f1b", None),
        ("pipedream", {"updates": 3, "batch": 2, "versions": 4}),
        ("pipedream_2bw", {"updates": 1, "batch": 8, "versions": 2}),
    ],
)
def test_the_age_of_weights_is_in_the_result(schedule: str, said: dict[str, int] | None) -> None:
    result = simulate(designed(schedule, 4, data=2))
    assert result.document().get("staleness") == said
    assert metrics(result)["staleness"] == (0 if said is None else said["updates"])
    assert bool(said) == any("old (schedule" in text for text in result.not_modelled)


def problem_of(document: dict[str, Any]) -> str:
    with pytest.raises(InputError) as error:
        design_from(document)
    assert len(error.value.problems) == 1
    return str(error.value.problems[0])


@pytest.mark.parametrize("schedule", UNFLUSHED)
def test_time_to_train_is_refused(schedule: str) -> None:
    document = designed(schedule, 4).document()
    document["workload"]["training_tokens"] = 1e9
    assert "what old weights cost in tokens is unknown" in problem_of(document)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"pipeline": 1, "data": 4}, "a pipeline of at least 2 stages"),
        ({"zero": 3, "data": 2, "pipeline": 2, "gather": "once"}, "0 or 1 with schedule pipedream_2bw"),
    ],
)
def test_what_versions_of_weights_rule_out_is_refused(changed: dict[str, Any], said: str) -> None:
    document = designed("pipedream_2bw", 4).document()
    document["parallelism"] |= changed
    assert said in problem_of(document)


def test_a_batch_of_2bw_has_a_microbatch_for_each_stage() -> None:
    document = designed("pipedream_2bw", 4).document()
    document["workload"]["global_batch"] = 3
    assert "at least 4 microbatches for schedule pipedream_2bw on 4 stages" in problem_of(document)


def test_engines_of_one_batch_refuse_it() -> None:
    for engine in ("flow", "packets"):
        with pytest.raises(InputError, match="a schedule that flushes"):
            simulate(designed("pipedream", 4), engine)


def test_links_that_are_shared_are_refused_before_a_search_counts_on_them() -> None:
    document = designed("pipedream", 4, data=2).document()
    document["cluster"]["dimensions"][0]["topology"] = "ring"
    document["system"]["collective"] = ["ring"]
    assert "where phases share links" in problem_of(document)
