"""What a study comes to, in words."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
import report_studies as studies

from dse.evaluate.evaluate import Evaluator
from dse.evaluate.record import StudyRecord, TrialRecord
from dse.evaluate.trial import TunedRecord
from dse.report import decision as decisions
from dse.report.assumptions import describe_notices
from dse.report.built import describe_build
from dse.report.choice import brim, knees_at_prices, recommended
from dse.report.decision import Decision, describe_decision
from dse.report.families import Family, families
from dse.report.measured_rival import describe_measured_rival
from dse.report.nearest import describe_changes
from dse.report.orders import describe_orders
from dse.report.payoff import Payoff, paying, payoff
from dse.report.reasons import GROUPS, describe_load
from dse.report.rival import _differences
from dse.report.speed import describe_speed
from dse.report.summary import summarize
from dse.report.terminal import screen
from dse.space.objective import Objective
from dse.whatif.answers import NOTHING, AtBatch, Machine, Scenarios, Sureness, WhatIf
from simcore import simulate
from simcore.check.load import design_from
from simcore.document.problem import InputError
from simcore.layout.solve import NEARLY_FULL


def decided(record: StudyRecord, what_if: WhatIf = NOTHING) -> Decision:
    return describe_decision(record, summarize(record, what_if))


def trial(number: int, time: float, cost: float, tensor: int = 8, **metrics: Any) -> TrialRecord:
    made = studies.simulated(number, time, cost, document=studies.design(tensor))
    return replace(made, metrics={**(made.metrics or {}), **metrics})


def three(**metrics: Any) -> StudyRecord:
    """A front with a clear knee, trial 1."""
    return studies.record([trial(0, 1.0, 3e7), trial(1, 1.1, 2e7, 4, **metrics), trial(2, 2.0, 1.9e7, 16)])


def test_the_first_sentence_says_what_to_build_and_how_to_run_it() -> None:
    decision = decided(three())
    assert decision.trial == 1
    assert decision.sentences[0] == (
        "Build trial 1 for transformer-1t, batch 1024, sequence 2048, fp16: 1024 x a100-80gb on SW(8)_SW(128), "
        "300/25 GB/s an NPU, with tensor 4 x pipeline 16 x data 16, microbatch 1, 64 chunks."
    )


def test_the_second_sentence_gives_every_objective_and_the_intervals_of_time_and_money() -> None:
    decision = decided(three(iteration_time_interval_s=[0.9, 1.6]))
    assert decision.sentences[1].startswith(
        "Expect iteration time 1.1 s (nine times in ten 0.9000 to 1.600) and total cost 20 M$ (nine times in ten 15.84 "
        "to 25.75); MFU 42 %; bound by compute (60 %)"
    )
    assert "iteration time 1.1 s and total cost" in decided(three()).sentences[1]


def test_the_second_sentence_says_that_weights_are_old_where_they_are() -> None:
    stale = decided(three(staleness={"updates": 3, "batch": 8, "versions": 4})).sentences
    assert stale[1] == (
        "Its gradients are of weights up to 3 updates old: iterations are compared here, not trainings, and how many "
        "more tokens it needs is not modelled ('constraints: [staleness <= 0]' leaves such designs out)."
    )
    assert not any("of old weights" in sentence for sentence in decided(three()).sentences)


OLD = {"updates": 1, "batch": 8, "versions": 2}


def stale_front(*others: TrialRecord) -> StudyRecord:
    """A front whose knee, trial 1, has old weights, and other feasible designs."""
    return studies.record([trial(0, 1.0, 3e7), trial(1, 1.1, 2e7, 4, staleness=OLD), trial(2, 2.0, 1.9e7, 16), *others])


def test_of_designs_that_are_as_good_the_one_with_current_weights_is_built() -> None:
    decision = decided(stale_front(trial(3, 1.105, 2.001e7, 2)))
    assert decision.trial == 3
    assert decision.sentences[1] == (
        "Trial 1 of the front is better by less than 1.0 %, but its gradients are of old weights, and how many more "
        "tokens it needs is not modelled."
    )
    assert decided(stale_front(trial(3, 1.1, 2e7, 2))).trial == 3


def test_old_weights_of_others_on_the_front_are_told_where_the_design_to_build_has_none() -> None:
    front = [trial(0, 1.0, 3e7, staleness=OLD), trial(1, 1.1, 2e7, 4), trial(2, 2.0, 1.9e7, 16)]
    decision = decided(studies.record(front))
    assert decision.trial == 1
    assert decision.sentences[1] == (
        "1 of the 3 designs on the front have gradients of old weights: iterations are compared, not trainings, and "
        "how many more tokens these need is not modelled ('constraints: [staleness <= 0]' leaves such designs out)."
    )


@pytest.mark.parametrize(
    ("time", "cost", "metrics"), [(1.13, 2e7, {}), (1.1, 2.05e7, {}), (1.1, 2e7, {"staleness": OLD})]
)
def test_old_weights_are_built_where_nothing_else_is_as_good(time: float, cost: float, metrics: dict[str, Any]) -> None:
    decision = decided(stale_front(trial(3, time, cost, 2, **metrics)))
    assert decision.trial == 1
    assert decision.sentences[1].startswith("Its gradients are of weights up to 1 update old")


def filled(share: float) -> dict[str, Any]:
    """Metrics of a design whose memory is so full."""
    parts = {"weights": 4e10, "gradients": 0.0, "optimizer": 0.0, "activations": 0.0, "working": 0.0, "peak": 4e10}
    return {"memory_bytes": {**parts, "reserved": share * 8e10}, "memory_capacity_bytes": 8e10}


@pytest.mark.parametrize(
    ("full", "other", "time", "built"),
    [(0.99, 0.9, 1.12, 3), (0.99, 0.97, 1.12, 1), (0.94, 0.9, 1.12, 1), (0.99, 0.9, 1.13, 1)],
)
def test_a_memory_with_room_is_worth_little_time(full: float, other: float, time: float, built: int) -> None:
    front = [trial(0, 1.0, 3e7), trial(1, 1.1, 2e7, 4, **filled(full)), trial(2, 2.0, 1.9e7, 16)]
    decision = decided(studies.record([*front, trial(3, time, 2e7, 2, **filled(other))]))
    assert decision.trial == built
    told = "Trial 1 of the front is better by less than 2.5 %, but its memory is 99 % full"
    assert decision.sentences[1].startswith(told) is (built == 3)


@pytest.mark.parametrize(("other", "time", "built"), [(0.9, 1.2, 3), (0.9, 1.22, 1), (0.97, 1.15, 1)])
def test_a_memory_that_is_full_to_the_brim_is_not_built_for_a_tenth_of_the_time(
    other: float, time: float, built: int
) -> None:
    front = [trial(0, 1.0, 3e7), trial(1, 1.1, 2e7, 4, **filled(0.999)), trial(2, 2.0, 1.9e7, 16)]
    decision = decided(studies.record([*front, trial(3, time, 2e7, 2, **filled(other))]))
    assert decision.trial == built
    told = "Trial 1 of the front is better by less than 10 %, but its memory is 100 % full"
    assert decision.sentences[1].startswith(told) is (built == 3)


def test_room_in_the_memory_is_found_on_the_same_machines_first() -> None:
    front = [trial(0, 1.0, 3e7), trial(1, 1.1, 2e7, 4, **filled(0.999)), trial(2, 2.0, 1.9e7, 16)]
    elsewhere = trial(3, 1.15, 2e7, 2, **filled(0.5))
    design: dict[str, Any] = dict(elsewhere.design or {})
    elsewhere = replace(elsewhere, design={**design, "cluster": {**design["cluster"], "npu": "h100-80gb"}})
    assert decided(studies.record([*front, elsewhere])).trial == 3
    assert decided(studies.record([*front, elsewhere, trial(4, 1.2, 2e7, 2, **filled(0.5))])).trial == 4


def test_how_much_better_the_pick_is_is_told_where_the_brim_takes_the_choice_further(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    front = [trial(0, 1.0, 3e7), trial(1, 1.1, 2e7, 4), trial(2, 2.0, 1.9e7, 16)]
    behind = [trial(3, 1.12, 2e7, 2, **filled(0.995)), trial(4, 1.22, 2e7, 2, **filled(0.5))]
    for module in ("choice", "decision"):
        monkeypatch.setattr(f"dse.report.{module}.runs_otherwise", lambda its: its.number == 1)
    decision = decided(studies.record([*front, *behind]))
    assert decision.trial == 4
    assert decision.sentences[1].startswith("Trial 1 of the front is better by 11 %, but ")


def test_what_money_buys_is_told_of_the_design_that_is_built_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where that is another one than money leads to, the pick's full memory is why it is not built either."""
    monkeypatch.setattr(decisions, "paid_from", lambda *_: 0)
    front = [trial(0, 2.0, 1e7, **filled(0.99)), trial(1, 1.1, 2e7, 4), trial(2, 1.0, 3e7, 16)]
    study = studies.record(front)
    for dearer, said in ((1, "Trial 0, the knee, is cheaper, but"), (2, "The memory of trial 0, the knee, is 99 %")):
        monkeypatch.setattr(decisions, "paying", lambda *_, dearer=dearer: dearer)
        decision = decided(study)
        assert decision.trial == 1
        assert decision.sentences[1].startswith(said)


def test_a_network_that_is_busy_behind_the_computing_is_told() -> None:
    def used(share: float) -> list[dict[str, Any]]:
        return [{"dimension": "1: switch(64)", "busy_s": share, "utilization": 0.1, "bytes_per_npu": 1e9}]

    def told(share: float, seen: float = 0.0) -> str:
        exposed = {**dict.fromkeys(GROUPS, 0.0), "data": seen}
        metrics = {"network": used(share), "exposed_communication_s": exposed}
        return " ".join(decided(studies.record([trial(0, 1.0, 2e7, **metrics)])).sentences)

    said = "network 1: switch(64) is busy 80 % of the time behind that: a slower one would show;"
    assert said in told(0.8)
    assert "a slower one" not in told(0.7) + told(0.8, 0.1)


def test_a_dimension_that_carries_nothing_is_told() -> None:
    def told(*busy: float, pipeline: int = 1) -> str:
        use = [
            {"dimension": f"{place}: switch(8)", "busy_s": share, "utilization": 0.1, "bytes_per_npu": 1e9}
            for place, share in enumerate(busy)
        ]
        made = trial(0, 1.0, 2e7, network=use)
        split = {**studies.design()["parallelism"], "pipeline": pipeline, "data": 128 // pipeline}
        made = replace(made, design={**studies.design(), "parallelism": split})
        return " ".join(decided(studies.record([made])).sentences)

    said = "network 1: switch(8) carries nothing: the least that is sold would do;"
    assert said in told(0.1, 0.0)
    assert "carries nothing" not in told(0.1, 0.1) + told(0.0)
    assert "carries nothing" not in told(0.1, 0.0, pipeline=4)  # other stages than the one that is told send over it


def test_the_mfu_of_several_jobs_is_that_of_each_on_its_own_npus() -> None:
    job = {"model": "llama3-8b", "sequence_length": 2048, "precision": "bf16"}
    document = {
        "jobs": [
            {"name": name, "npus": 8, "workload": {**job, "global_batch": 8}, "parallelism": {"tensor": 8, "zero": 1}}
            for name in ("dense", "other")
        ],
        "cluster": {"npu": "h100-80gb", "fabric": "dgx-h100", "npus": 32},
    }
    result = simulate(design_from(document)).document()
    one = replace(trial(0, 1.0, 2e7), metrics=result)
    each = [f"{its['name']} {its['mfu']:.0%}".replace("%", " %") for its in result["jobs"]]
    assert describe_speed(studies.record([one]), one) == f"MFU {', '.join(each)}"
    assert result["mfu"] < min(its["mfu"] for its in result["jobs"])  # counts NPUs without a job


def test_a_note_names_every_workload_that_it_is_about() -> None:
    tuned = tuple(
        TunedRecord(name, "feasible", {}, {}, {}, None, {"not_modelled": texts}) for name, texts in _NOTED.items()
    )
    told = list(describe_notices(replace(trial(0, 1.0, 2e7), workloads=tuned)))
    assert told == ["Not counted of a and b: x.", "Not counted of b: y."]


_NOTED = {"a": ["x"], "b": ["x", "y"]}


def test_a_memory_without_room_is_told_with_the_nearest_design_that_has_some() -> None:
    front = [trial(0, 1.0, 3e7), trial(1, 1.1, 2e7, 4, **filled(0.99)), trial(2, 2.0, 1.9e7, 16)]
    roomy = trial(3, 1.2, 2e7, 2, **filled(0.6))
    decision = decided(studies.record([*front, roomy, trial(4, 1.3, 2e7, 2, **filled(0.5))]))
    assert decision.trial == 1
    assert (
        "trial 3 (t2 p16 d32), time +9.1 %, cost =; trial 3 has room in its memory (60 % full)" in decision.sentences[2]
    )
    near = trial(4, 1.14, 2e7, 16, **filled(0.99))  # the rival, and as full
    apart = decided(studies.record([*front, roomy, near])).sentences[2]
    assert "with room in its memory (60 % full): trial 3, time +9.1 %, cost =" in apart
    full = decided(studies.record([*front[:1], trial(1, 1.1, 2e7, 4), roomy])).sentences[2]
    assert "with room" not in full
    assert "has room" not in full


def test_a_rival_that_its_stack_runs_otherwise_is_not_called_as_good(monkeypatch: pytest.MonkeyPatch) -> None:
    near = studies.record([trial(0, 1.0, 4e7), trial(1, 1.1, 2e7, 4), trial(2, 1.12, 1.99e7, 16)])
    picked = decided(near).trial
    monkeypatch.setattr("dse.report.rival.runs_otherwise", lambda trial: trial.number != picked)
    told = decided(near).sentences[2]
    assert ", which its stack does not run as it is" in told
    assert "as good a choice" not in told


def test_a_rival_whose_memory_is_full_to_the_brim_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    near = studies.record([trial(0, 1.0, 4e7), trial(1, 1.1, 2e7, 4), trial(2, 1.12, 1.99e7, 16)])
    picked = decided(near).trial
    assert "full" not in decided(near).sentences[2].split("closest rival")[1]
    monkeypatch.setattr("dse.report.rival.fullness", lambda trial: 0.5 if trial.number == picked else 1.0)
    assert ", its memory 100 % full" in decided(near).sentences[2]


def test_a_usual_value_tells_a_rival_where_nothing_else_does() -> None:
    one, other = trial(0, 1.0, 4e7), trial(1, 1.01, 4e7)
    documents = [{**(each.design or {})} for each in (one, other)]
    for document, zero in zip(documents, (1, 0), strict=True):
        document["parallelism"] = {**document["parallelism"], "zero": zero}
    told = _differences(*(replace(one, design=document) for document in documents))
    assert told == "ZeRO 0"


def scheduled(number: int, time: float, cost: float, schedule: str, **metrics: Any) -> TrialRecord:
    made = trial(number, time, cost, **metrics)
    parallelism = {**(made.design or {})["parallelism"], "schedule": schedule}
    return replace(made, design={**(made.design or {}), "parallelism": parallelism})


def test_a_schedule_is_named_where_it_is_not_the_usual_one() -> None:
    flushed = studies.record([scheduled(0, 1.0, 3e7, "gpipe")])
    assert "microbatch 1, gpipe, 64 chunks." in decided(flushed).sentences[0]
    assert "1f1b" not in decided(three()).sentences[0]


def test_families_name_the_schedule_where_it_differs_or_weights_are_old() -> None:
    usual, gpipe = scheduled(0, 1.0, 3e7, "1f1b"), scheduled(1, 2.0, 1e7, "gpipe")
    assert [family.name for family in found_families(usual, gpipe)] == ["", "gpipe"]
    old = [scheduled(n, 1.0 + n, 3e7 - n * 2e7, "pipedream_2bw", staleness=OLD) for n in (0, 1)]
    assert all("pipedream_2bw" in family.name for family in found_families(*old))
    same = [scheduled(n, 1.0 + n, 3e7 - n * 2e7, "1f1b") for n in (0, 1)]
    assert not any("1f1b" in family.name for family in found_families(*same))


def test_families_that_the_usual_aspects_do_not_tell_apart_are_named_by_what_differs() -> None:
    def chunked(number: int, chunks: int, interleave: int) -> TrialRecord:
        made = trial(number, 1.0 + number, 3e7 - number * 1e7)
        design = dict(made.design or {})
        parallelism = {**design["parallelism"], "interleave": interleave}
        return replace(made, design={**design, "parallelism": parallelism, "system": {"chunks": chunks}})

    names = [family.name for family in found_families(chunked(0, 16, 2), chunked(1, 16, 3), chunked(2, 64, 3))]
    assert names == ["interleave 2, 16 chunks", "interleave 3, 16 chunks", "interleave 3, 64 chunks"]


@pytest.mark.parametrize(("other", "told"), [(0.9, "full: trial 0."), (0.96, "full: all rows."), (None, "")])
def test_rows_without_room_in_their_memory_are_named(other: float | None, told: str) -> None:
    full = 0.97 if other else 0.9
    front = [trial(0, 1.0, 3e7, 8, **filled(full)), trial(1, 2.0, 1e7, 16, **filled(other or 0.9))]
    record = studies.record(front)
    said = " ".join(text for text, _ in screen(record, summarize(record), 80))
    assert (f"Memory more than 95 % {told}" in said) if told else ("Memory more than" not in said)


def found_families(*trials: TrialRecord) -> tuple[Family, ...]:
    record = studies.record(list(trials))
    return families(record, summarize(record))


def test_the_second_sentence_says_that_the_model_was_open_where_it_was() -> None:
    record = three()

    def of_models(*names: str) -> StudyRecord:
        trials = zip(record.trials, names * len(record.trials), strict=False)
        return replace(record, trials=tuple(replace(each, params={"workload.model": name}) for each, name in trials))

    said = decided(of_models("llama2-7b", "llama2-13b")).sentences
    assert said[1].startswith("The space leaves the model open, too: an iteration of one model counts as much")
    for closed in (record, of_models("llama2-7b")):
        assert not any("model open" in sentence for sentence in decided(closed).sentences)


def test_an_open_batch_is_told_where_objectives_count_by_the_iteration() -> None:
    record = three()

    def said(*paths: str) -> list[str]:
        trials = tuple(replace(each, params=dict.fromkeys(paths, 64)) for each in record.trials)
        told = decided(replace(record, trials=trials)).sentences
        return [one for one in told if one.startswith("The space leaves")]

    (one,) = said("workload.global_batch")
    assert one.startswith("The space leaves the batch open, too: 'iteration_time' takes an iteration of few tokens for")
    (both,) = said("workload.sequence_length", "workload.global_batch")
    assert "leaves the batch and the sequence length open" in both
    assert said("parallelism.tensor") == []


def test_an_interval_of_the_throughput_is_that_of_the_time_turned_round() -> None:
    names = ("throughput", "cost.total")
    made = studies.simulated(0, 2.0, 2e7, names)
    slow = replace(made, metrics={**(made.metrics or {}), "iteration_time_interval_s": [1.0, 4.0]})
    assert "(nine times in ten 0.5243 to 2.097)" in decided(studies.record([slow], names)).sentences[1]


def test_what_is_built_names_what_its_fabric_is_of_and_how_each_of_several_jobs_is_cut() -> None:
    """How thin a network is, and how it routes, is often the question."""
    made = trial(0, 1.0, 1e7)
    design = dict(made.design or {})
    uplinks = {"topology": "clos", "size": 4, "bandwidth": "50 GB/s", "leaf": 2, "oversubscription": [2.0, 4.0]}
    uplinks |= {"routing": "ecmp", "connections": 1, "nics": 1, "switch": "qm9700"}
    inner = {"topology": "switch", "size": 8, "bandwidth": "450 GB/s", "oversubscription": 1.0, "in_network": False}
    fabric = {**design, "cluster": {"npu": "h100-80gb", "dimensions": [inner, uplinks]}}
    told = describe_build(replace(made, design=fabric))
    assert "(leaves of 2, 2:1, then 4:1 oversubscribed, ecmp routing, 1 NIC a node, qm9700 switches), with " in told
    jobs = [{"name": "a", "npus": 8, "parallelism": {"tensor": 2}, "placement": "spread"}, {"npus": 24}]
    several = {**{k: v for k, v in fabric.items() if k not in ("workload", "parallelism")}, "jobs": jobs}
    told = describe_build(replace(made, design=several))
    assert told.endswith("with a in tensor 2, placed spread; job 1 in no parallelism.")
    jobs[1]["npus"] = 8
    told = describe_build(replace(made, design=several))
    assert told.endswith("job 1 in no parallelism; 16 NPUs have no job.")


def test_a_thin_network_that_saves_less_than_a_percent_is_not_built() -> None:
    def on(number: int, cost: float, ratio: float | list[float]) -> TrialRecord:
        made = trial(number, 2.0, cost)
        design: dict[str, Any] = dict(made.design or {})
        inner, outer = design["cluster"]["dimensions"]
        thin = {**outer, "topology": "fat_tree", "leaf": 8, "oversubscription": ratio}
        return replace(made, design={**design, "cluster": {**design["cluster"], "dimensions": [inner, thin]}})

    decision = decided(studies.record([on(0, 2e7, [2.0, 8.0]), on(1, 2.01e7, 1.0), on(2, 2.005e7, 4.0)]))
    assert decision.trial == 1
    assert decision.sentences[1].startswith(
        "Trial 0 of the front is better by less than 1.0 %, but its network is 8:1 oversubscribed, which costs more "
    )
    thin = decided(studies.record([on(0, 2e7, 8.0), on(1, 2.03e7, 1.0)]))
    assert thin.trial == 0
    (told,) = [sentence for sentence in thin.sentences if sentence.startswith("Its network is 8:1 oversubscribed: ")]
    assert "not modelled" in told
    assert not any(told.startswith("Its network") for told in decision.sentences)
    assert decided(studies.record([on(0, 2e7, 1.0), on(1, 2.01e7, 1.0)])).trial == 0


def test_times_that_are_limited_are_said_where_no_objective_says_them() -> None:
    made = replace(trial(0, 2.0, 2e7), violations={"valid": 0.0, "fits": -0.1, "iteration_time <= 3 s": -0.3})
    assert describe_speed(studies.record([made], ("cost.total", "memory.peak")), made) == "iteration time 2 s, MFU 42 %"
    assert describe_speed(studies.record([made]), made) == "MFU 42 %"
    assert describe_speed(studies.record([made], ("mfu", "cost.total")), made) == "iteration time 2 s"


def test_a_large_bubble_has_its_reason_beside_it() -> None:
    made = trial(0, 2.0, 2e7, bubble_s=0.9)
    assert made.design is not None
    narrow = {**made.design, "workload": {**made.design["workload"], "global_batch": 256}}
    narrow["parallelism"] = {**made.design["parallelism"], "pipeline": 16, "data": 8, "microbatch": 1}
    assert "bubble (45 %: 32 microbatches on 16 stages)" in describe_load(made.metrics, narrow)
    wide = {**narrow, "workload": {**narrow["workload"], "global_batch": 1024}}
    assert "bubble (45 %: stages take unequally long)" in describe_load(made.metrics, wide)
    assert "bubble (20 %)" in describe_load(trial(0, 2.0, 2e7, bubble_s=0.404).metrics, wide)
    assert "bubble (45 %)" in describe_load(made.metrics, {**narrow, "jobs": []} | {"parallelism": {}})


def test_a_choice_known_by_its_data_sheet_has_the_nearest_measured_device_beside_it() -> None:
    def on(number: int, time: float, npu: str) -> TrialRecord:
        made = trial(number, time, 2e7)
        design: dict[str, Any] = dict(made.design or {})
        return replace(made, design={**design, "cluster": {**design["cluster"], "npu": npu}})

    sheet, measured = on(0, 2.0, "mi355x"), on(1, 2.2, "h100-80gb")
    record = studies.record([sheet, measured, on(2, 2.1, "mi300x"), on(3, 2.4, "b200")])
    told = describe_measured_rival(record, sheet)
    assert told == (
        "The times of mi355x rest on its data sheet alone: a pilot comes before an order. On devices whose kernels "
        "were measured, trial 1 (1024 x h100-80gb, t8 p16 d8) is the nearest: time +10 %, cost =."
    )
    nearer = Machine("h100-80gb", {**measured.values, "iteration_time": 2.1}, measured.design or {}, 0.5)
    farther, same = (replace(nearer, values={**measured.values, "iteration_time": time}) for time in (2.3, 2.2))
    assert describe_measured_rival(record, sheet, [farther, same]) == told
    assert describe_measured_rival(record, sheet, [farther, nearer]) == told.replace(
        "trial 1 (", "a design that is no trial ("
    ).replace("+10 %", "+5.0 %")
    assert describe_measured_rival(record, measured) == ""
    assert describe_measured_rival(studies.record([sheet, on(2, 2.1, "mi300x")]), sheet) == ""


def test_the_measured_device_beside_it_is_one_of_the_front_where_that_has_one() -> None:
    def on(number: int, time: float, cost: float, npu: str) -> TrialRecord:
        made = trial(number, time, cost)
        design: dict[str, Any] = dict(made.design or {})
        return replace(made, design={**design, "cluster": {**design["cluster"], "npu": npu}})

    sheet, member, behind = on(0, 2.0, 1e7, "mi355x"), on(1, 1.7, 2.3e7, "h100-80gb"), on(2, 3.2, 2.1e7, "h100-80gb")
    told = describe_measured_rival(studies.record([sheet, member, behind]), sheet)
    assert "trial 1 (1024 x h100-80gb, t8 p16 d8) is the nearest: time −15 %, cost +130 %." in told


def test_the_measured_device_beside_it_has_a_design_that_its_stack_runs_if_any_does() -> None:
    def on(number: int, time: float, npu: str, schedule: str = "1f1b") -> TrialRecord:
        made = trial(number, time, 2e7)
        design: dict[str, Any] = dict(made.design or {})
        job = {**design["parallelism"], "schedule": schedule}
        its = {**design, "cluster": {**design["cluster"], "npu": npu}, "parallelism": job, "software": "megatron-core"}
        return replace(made, design=its)

    sheet, stuck, runs = on(0, 2.0, "mi355x"), on(1, 2.1, "h100-80gb", "dualpipe-v"), on(2, 2.4, "h100-80gb")
    assert "trial 2 (" in describe_measured_rival(studies.record([sheet, stuck, runs]), sheet)
    told = describe_measured_rival(studies.record([sheet, stuck]), sheet)
    assert "trial 1 (" in told
    assert "megatron-core does not run it as it is: schedule dualpipe-v (1f1b instead)." in told


def test_a_precision_whose_loss_nobody_made_up_for_is_not_built_for_less_than_it_may_cost() -> None:
    def in_precision(number: int, cost: float, precision: str) -> TrialRecord:
        made = trial(number, 2.0, cost)
        design: dict[str, Any] = dict(made.design or {})
        return replace(made, design={**design, "workload": {**design["workload"], "precision": precision}})

    narrow, wide = in_precision(0, 2e7, "nvfp4"), in_precision(1, 2.09e7, "fp8")
    decision = decided(studies.record([narrow, wide]))
    assert decision.trial == 1
    assert decision.sentences[1] == (
        "Trial 0 of the front is better by less than 5.0 %, but in nvfp4, whose loss no published run has made up for: "
        "the tokens that it takes are counted at the least."
    )
    assert decided(studies.record([narrow, in_precision(1, 2.11e7, "fp8")])).trial == 0
    assert decided(studies.record([in_precision(0, 2e7, "fp8"), in_precision(1, 2.09e7, "bf16")])).trial == 0
    little = decided(studies.record([in_precision(0, 2e7, "fp8"), in_precision(1, 2.04e7, "bf16")]))
    assert little.trial == 1
    assert little.sentences[1] == (
        "Trial 0 of the front is better by less than 2.5 %, but what fp8 with a scale for each tensor may cost in loss "
        "is not counted."
    )


def test_what_is_built_names_all_that_it_needs_to_run() -> None:
    made = trial(0, 1.0, 1e7)
    design: dict[str, Any] = dict(made.design or {})
    beside = {"capacity": "256 GB", "bandwidth": "63 GB/s", "place": ["activations", "optimizer"]}
    design["cluster"] = {**design["cluster"], "memory": {"expanded": beside}}
    design["parallelism"] |= {"context": 2, "context_communication": "all_to_all", "dispatch": "node", "expert": 4}
    said = describe_build(replace(made, design={**design, "software": "pytorch-fsdp"}))
    assert said.endswith(
        "context by all_to_all, activations/optimizer in expanded memory, software pytorch-fsdp, 64 chunks."
    )
    chosen = replace(made, design=design, params={"parallelism.dispatch": "node"})
    assert describe_build(chosen).endswith("in expanded memory, dispatch by node.")
    usual = {**design, "software": "megatron-core"}
    assert "software" not in describe_build(replace(made, design=usual))
    chosen = replace(made, design=usual, params={"software": "megatron-core"})
    assert describe_build(chosen).endswith(", software megatron-core.")


def test_latency_and_efficiency_are_named_where_the_space_leaves_them_open() -> None:
    made = trial(0, 1.0, 2e7)
    design = dict(made.design or {})
    cluster = design["cluster"]
    first, *others = cluster["dimensions"]
    fast = {**design, "cluster": {**cluster, "dimensions": [{**first, "latency": 0.0, "efficiency": 0.5}, *others]}}
    assert "latency" not in describe_build(replace(made, design=fast))
    paths = {"cluster.dimensions[0].latency": 0.0, "cluster.dimensions[0].efficiency": 0.5}
    assert "latency 0/" in (told := describe_build(replace(made, design=fast, params=paths)))
    assert "efficiency 0.5/1" in told


def test_the_first_sentence_says_how_the_network_is_used_where_that_was_open() -> None:
    made = trial(0, 1.0, 1e7)
    design: dict[str, Any] = dict(made.design or {})
    design["system"] = {"collective": ["direct", "halving_doubling"], "chunks": 64, "inter_dimension": "themis"}
    design["parallelism"] |= {"sequence_parallel": True}
    kept = {"parallelism.zero": 1}
    assert describe_build(replace(made, design=design, params=kept)).endswith("microbatch 1.")
    params = {"parallelism.sequence_parallel": True, "system.collective": "direct, halving_doubling"}
    chosen = replace(made, design=design, params=params | {"system.inter_dimension": "themis"})
    said = "microbatch 1, sequence parallel, collectives direct/halving_doubling, scheduling themis."
    assert describe_build(chosen).endswith(said)
    ring = {**design, "system": {"collective": ["ring", "ring"]}}
    chosen = replace(made, design=ring, params={"cluster.dimensions[1].collective": "ring"})
    assert describe_build(chosen).endswith("microbatch 1, collectives ring.")


@pytest.mark.parametrize(
    ("pipeline", "policies", "said"),
    [
        (1, {"intra_dimension": "lifo"}, "chunks."),  # one kind of collective: there is no order to choose
        (1, {"intra_dimension": "priority"}, "chunks, scheduling priority."),
        (8, {"intra_dimension": "lifo", "inter_dimension": "themis"}, "chunks, scheduling themis."),
    ],
)
def test_a_policy_is_said_where_it_is_the_usual_one_or_matters(
    pipeline: int, policies: dict[str, str], said: str
) -> None:
    document = {
        "workload": {"model": "megatron-22b", "global_batch": 64, "precision": "bf16"},
        "parallelism": {"tensor": 8, "pipeline": pipeline, "data_overlap": False, "sequence_parallel": True},
        "cluster": {
            "npu": "a100-80gb",
            "dimensions": [
                {"topology": "ring", "size": 4, "bandwidth": "100 GB/s", "latency": "1 us"},
                {"topology": "switch", "size": 16, "bandwidth": "25 GB/s", "latency": "1 us"},
            ],
        },
        "system": {"chunks": 4, **policies},
    }
    design = design_from(document)
    result = simulate(design)
    made = replace(
        trial(0, 1.0, 1e7),
        design=design.document(),
        metrics=result.document(),
        params={"system.chunks": 4, **{f"system.{key}": value for key, value in policies.items()}},
    )
    assert result.engine == "fast"
    assert describe_build(made).endswith(said)


def test_the_first_sentence_says_what_an_npu_is_where_that_was_open() -> None:
    params = {"cluster.npu.memory.capacity": "144 GB", "cluster.npu.memory.bandwidth": "4 TB/s"}
    said = describe_build(replace(trial(0, 1.0, 1e7), params=params))
    assert "1024 x a100-80gb (memory capacity 144 GB, memory bandwidth 4 TB/s) on SW(8)_SW(128), 300/25 GB/s" in said
    beside = {"cluster.memory.expanded.capacity": "256 GB", "cluster.memory.expanded.place": "optimizer"}
    said = describe_build(replace(trial(0, 1.0, 1e7), params=beside))
    assert "1024 x a100-80gb (memory expanded capacity 256 GB) on SW(8)_SW(128)" in said


@pytest.mark.parametrize(
    ("npu", "prices", "said"),
    [
        ("tpu-v6e", "libra", "tpu-v6e can be had in Google's cloud alone, whatever its price here."),
        (
            "tpu-v6e",
            "street-2025",
            "tpu-v6e can be had in Google's cloud alone, whatever its price here: between 4,375 and 16,250 $, assumed, "
            "so a choice by money needs an offer.",
        ),
        ("a100-80gb", "libra", "Servers with a100-80gb were sold until 2024."),
        ("h100-80gb", "libra", ""),
    ],
)
def test_where_or_until_when_an_npu_could_be_had_is_said(npu: str, prices: str, said: str) -> None:
    made = trial(0, 1.0, 1e7)
    design: dict[str, Any] = {**(made.design or {}), "cost": prices}
    record = studies.record([replace(made, design={**design, "cluster": {**design["cluster"], "npu": npu}})])
    assert describe_orders(record, record.trials[0]) == said


def test_what_is_built_names_the_shape_of_a_torus() -> None:
    made = trial(0, 1.0, 1e7)
    torus = {"topology": "torus", "size": 4096, "bandwidth": "600 GB/s", "sides": [8, 16, 32], "twisted": True}
    design = {**dict(made.design or {}), "cluster": {"npu": "tpu-v5p", "dimensions": [torus]}}
    assert "(a torus of 8 x 16 x 32, twisted), with " in describe_build(replace(made, design=design))
    switch = {"topology": "switch", "size": 8, "bandwidth": "450 GB/s", "in_network": True}
    design["cluster"] = {"npu": "h100-80gb", "dimensions": [switch]}
    assert "(reduction in switches), with " in describe_build(replace(made, design=design))


def test_the_robust_pick_is_built_where_it_is_not_the_knee() -> None:
    sure = {n: Sureness(None, 0.8, 0.01, 0.03) for n in range(3)}
    better = {(one, other): float(one < other) for one in range(3) for other in range(3)}
    scenarios = Scenarios(256, (0, 1, 2), sure, 0, {"iteration_time": better})
    decision = decided(three(), replace(NOTHING, scenarios=scenarios))
    assert decision.trial == 0
    assert "on the front in 80 % of the scenarios, at most 3.0 % behind it in nine of ten" in decision.sentences[1]


@pytest.mark.parametrize(("time", "built"), [(1.99, 0), (1.0, 1)])
def test_of_two_designs_the_one_is_built_where_more_money_stops_to_pay(time: float, built: int) -> None:
    record = studies.record([trial(0, 2.0, 1e7), trial(1, time, 1.5e7, 4)])
    assert decided(record).trial == built


def test_a_robust_pick_beside_the_hull_is_no_start_from_which_money_pays() -> None:
    # From the hull's point at its price, the next one takes 3.7 % more money for 0.5 % less time.
    record = studies.record([trial(0, 2.0, 1e7), trial(1, 1.9999, 1.03e7, 4), trial(2, 1.99, 1.0375e7, 2)])
    assert paying(record, summarize(record), 1) is None
    steep = studies.record([trial(0, 2.0, 1e7), trial(1, 1.99, 1.03e7, 4), trial(2, 1.8, 1.0375e7, 2)])
    assert paying(steep, summarize(steep), 1) == 2


def test_what_a_cluster_costs_to_own_is_a_price() -> None:
    names = ("iteration_time", "cost.tco")
    owned = [{"iteration_time": 4.55, "cost.tco": 1.59e7}, {"iteration_time": 4.43, "cost.tco": 1.6e7}]
    trials = [replace(trial(n, 4.5, 1e7), values=values) for n, values in enumerate(owned)]
    record = studies.record(trials, names)
    assert paying(record, summarize(record), 0) == 1


def gains(*front: tuple[float, float]) -> Payoff:
    record = studies.record([trial(n, time, cost) for n, (cost, time) in enumerate(front)])
    found = payoff(record, summarize(record))
    assert found is not None
    return found


def test_money_stops_to_pay_where_a_percent_buys_less_than_a_fifth_of_a_percent() -> None:
    found = gains((1e7, 2.0), (2e7, 1.5), (2.1e7, 1.499), (3e7, 1.49))
    assert found.trial.number == 1
    assert found.before == pytest.approx(math.log(2.0 / 1.5) / math.log(2))
    assert found.after == pytest.approx(math.log(1.5 / 1.49) / math.log(1.5))


def test_a_step_that_buys_little_before_one_that_buys_much_does_not_stop_it() -> None:
    assert gains((1e7, 2.0), (2e7, 1.99), (3e7, 1.0)).trial.number == 2


def test_designs_at_one_price_are_no_return_on_money() -> None:
    found = gains((1e7, 2.0), (1.0001e7, 1.0), (2e7, 0.9))
    assert found.trial.number == 1
    assert found.before is None
    assert found.after == pytest.approx(math.log(1.0 / 0.9) / math.log(2e7 / 1.0001e7))


def test_money_that_always_or_never_pays_has_no_other_side() -> None:
    always, never = gains((1e7, 2.0), (2e7, 1.0)), gains((1e7, 2.0), (2e7, 1.99))
    assert (always.trial.number, always.after) == (1, None)
    assert (never.trial.number, never.before) == (0, None)


def test_throughput_counts_as_time_does() -> None:
    names = ("throughput", "cost.total")
    trials = [studies.simulated(n, t, c, names) for n, (c, t) in enumerate([(1e7, 2.0), (2e7, 1.5), (3e7, 1.49)])]
    record = studies.record(trials, names)
    found = payoff(record, summarize(record))
    assert found is not None
    assert found.trial.number == 1


@pytest.mark.parametrize(
    ("names", "said"), [(("iteration_time",), True), (("iteration_time", "energy"), True), (("cost.total",), False)]
)
def test_the_price_of_the_cluster_is_said_where_no_objective_is_it(names: tuple[str, ...], said: bool) -> None:
    record = studies.record([studies.simulated(0, 1.0, 2e7, names)], names)
    assert ("; the cluster costs 20 M$" in decided(record).sentences[1]) is said


@pytest.mark.parametrize("names", [("iteration_time",), ("iteration_time", "energy")])
def test_without_a_price_nothing_is_said_of_money(names: tuple[str, ...]) -> None:
    record = studies.mixed(60, names)
    assert payoff(record, summarize(record)) is None
    assert "money" not in " ".join(decided(record).sentences)


def test_the_closest_rival_is_told_with_what_differs_and_whether_that_can_be_told() -> None:
    far = decided(studies.record([trial(0, 1.0, 4e7), trial(1, 1.1, 2e7, 4), trial(2, 1.5, 1.9e7, 16)]))
    assert "no rival is near; the closest is trial 2 (t16 p16 d4), time +36 %, cost −5.0 %" in far.sentences[2]
    near = decided(studies.record([trial(0, 1.0, 4e7), trial(1, 1.1, 2e7, 4), trial(2, 1.12, 1.99e7, 16)]))
    assert near.trial in (1, 2)
    assert "closest rival: trial " in near.sentences[2]
    assert "1.8 % (too near to tell), cost " in near.sentences[2]


def test_the_rival_is_the_nearest_that_its_stack_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    record = studies.record(
        [trial(0, 0.95, 2.4e7), trial(1, 1.1, 2e7, 4), trial(2, 1.3, 1.95e7, 16), trial(3, 2.2, 1.9e7, 2)]
    )
    assert decided(record).trial == 1
    assert "closest rival: trial 2" in decided(record).sentences[2]
    monkeypatch.setattr("dse.report.rival.runs_otherwise", lambda trial: trial.number == 2)
    assert "closest rival: trial 0" in decided(record).sentences[2]
    monkeypatch.setattr("dse.report.rival.runs_otherwise", lambda trial: True)
    assert "closest rival: trial 2" in decided(record).sentences[2]


def test_a_large_difference_that_the_model_is_not_sure_of_is_not_called_near() -> None:
    even = {(one, other): 0.5 for one in range(3) for other in range(3)}
    sure = {n: Sureness(None, 0.8, 0.01, 0.03) for n in range(3)}
    what_if = replace(NOTHING, scenarios=Scenarios(256, (0, 1, 2), sure, 1, {"iteration_time": even}))
    far = studies.record([trial(0, 1.0, 4e7), trial(1, 1.1, 2e7, 4), trial(2, 1.5, 1.9e7, 16)])
    assert "time +36 % (not sure), cost" in decided(far, what_if).sentences[2]


def test_of_the_dearest_design_it_is_said_that_nothing_dearer_is_known() -> None:
    record = studies.record([trial(0, 2.0, 1e7), trial(1, 1.0, 1.5e7, 4)])
    assert decided(record).trial == 1
    assert (
        decided(record)
        .sentences[2]
        .startswith("This design is the dearest of the front: 1 % of money buys 1.7 % of iteration time from 10 M$ on")
    )


def test_no_money_pays_for_a_design_that_its_stack_does_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    record = studies.record([trial(0, 1.05, 3e7, 2), trial(1, 1.1, 2e7, 4), trial(2, 2.0, 1.8e7, 16)])
    whole = payoff(record, summarize(record))
    assert whole is not None
    assert (whole.trial.number, whole.beyond, whole.after is None) == (1, False, False)
    monkeypatch.setattr("dse.report.payoff.runs_otherwise", lambda trial: trial.number == 0)
    told = payoff(record, summarize(record))
    assert told is not None
    assert (told.trial.number, told.beyond, told.after) == (1, True, None)
    assert "the dearest that its stack runs" in " ".join(decided(record).sentences)
    behind = studies.record([*record.trials, trial(3, 1.06, 3e7, 1)])  # what trial 0 dominates, and its stack runs
    told = payoff(behind, summarize(behind))
    assert told is not None
    assert told.after is not None
    assert math.isclose(told.after, math.log(1.1 / 1.06) / math.log(1.5))
    monkeypatch.setattr("dse.report.payoff.runs_otherwise", lambda trial: True)  # then it tells nothing apart
    assert payoff(record, summarize(record)) == whole


def test_what_money_buys_is_told_of_the_design_to_build_and_not_of_one_passed_over() -> None:
    record = studies.record([trial(0, 1.0, 2.6e7), trial(1, 1.05, 2e7, 4, **filled(0.98)), trial(3, 2.0, 1.9e7, 16)])
    record = studies.record([*record.trials, trial(4, 1.07, 2e7, 2, **filled(0.5))])
    assert decided(record).trial == 4
    told = payoff(record, summarize(record), 1, record.trials[3])
    assert told is not None
    assert told.trial.number == 0
    assert told.before is not None
    assert math.isclose(told.before, math.log(1.07) / math.log(1.3))


def test_energy_is_not_bought() -> None:
    record = studies.record([trial(0, 2.0, 1e7), trial(1, 1.0, 1.5e7, 4)])
    energy = Objective("energy", "minimize", "J")
    joules = [replace(each, values={**each.values, "energy": each.values["iteration_time"]}) for each in record.trials]
    asked = studies.record(joules, objectives=(energy, record.objectives[1]))
    assert payoff(record, summarize(record)) is not None
    assert payoff(asked, summarize(asked)) is None


def priced(number: int, time: float, network: float, npu: float) -> TrialRecord:
    made = trial(number, time, npu + network, 2**number)
    cost = {"network": network, "npu": npu, "memory": 0.0, "total": npu + network}
    return replace(made, metrics={**(made.metrics or {}), "cost": cost})


def test_prices_that_move_the_knee_are_named() -> None:
    record = studies.record(
        [priced(0, 1.0, 5e6, 1.5e7), priced(1, 1.5, 5e6, 8e6), priced(2, 1.9, 1e6, 9e6), priced(3, 3.0, 1e6, 6e6)]
    )
    assert record.knee is not None
    moved = {key: found.number for key, found in knees_at_prices(record).items() if found.number != record.knee.number}
    assert moved == {("network", 0.7): 1, ("npu", 1.3): 1}
    assert "with networks 30 % cheaper or NPUs 30 % dearer the choice is trial 1" in decided(record).sentences[2]


def test_a_design_that_was_passed_over_is_no_choice_at_other_prices(monkeypatch: pytest.MonkeyPatch) -> None:
    record = studies.record(
        [priced(0, 1.0, 5e6, 1.5e7), priced(1, 1.5, 5e6, 8e6), priced(2, 1.9, 1e6, 9e6), priced(3, 3.0, 1e6, 6e6)]
    )
    monkeypatch.setattr(decisions, "pick_of_front", lambda record, summary: 1)
    assert "the choice is trial 1" not in " ".join(decided(record).sentences)


def test_prices_that_do_not_move_it_are_said_not_to() -> None:
    record = studies.record([priced(0, 1.0, 9e6, 1e7), priced(1, 1.5, 4e6, 1e7), priced(2, 3.0, 1e6, 1e7)])
    assert {found.number for found in knees_at_prices(record).values()} == {1}
    assert "prices ±30 % keep it" in decided(record).sentences[2]


def batches(stays: bool, why: str = "") -> Mapping[int, tuple[AtBatch, ...]]:
    return {1: (AtBatch(0.5, 512.0, {}, why, stays), AtBatch(2.0, 2048.0, {}, "", True))}


@pytest.mark.parametrize(
    ("stays", "why", "said"),
    [
        (True, "", "half or twice the batch keep it"),
        (False, "", "at batch 512 other designs beat trial 1"),
        (False, "does not fit", "at batch 512 trial 1 does not fit"),
        (False, "microbatches fill the batch", "512 trial 1 cannot run (data x microbatch does not divide it)"),
    ],
)
def test_batches_that_change_the_choice_are_named(stays: bool, why: str, said: str) -> None:
    assert said in decided(three(), replace(NOTHING, batches=batches(stays, why))).sentences[2]


def test_a_batch_that_asks_for_more_than_itself_says_so() -> None:
    smaller = {1: (AtBatch(0.5, 512.0, {}, "", True, microbatch=1), AtBatch(2.0, 2048.0, {}, "", True))}
    said = decided(three(), replace(NOTHING, batches=smaller)).sentences[2]
    assert "half (with microbatch 1) or twice the batch keep it" in said
    late = {1: (AtBatch(0.5, 512.0, {}, "", True), AtBatch(2.0, 2048.0, {}, "time_to_train <= 45 d", False))}
    record = three()
    document = record.trials[1].design
    assert document is not None
    document["workload"] = {"model": "transformer-1t", "global_batch": 1024, "training_tokens": 3e11}
    said = decided(record, replace(NOTHING, batches=late)).sentences[2]
    missed = "at batch 2,048 trial 1 misses time_to_train <= 45 d, with the tokens that training takes at such a batch"
    assert missed in said
    large = {1: (AtBatch(2.0, 2048.0, {}, "memory.peak <= 60 GiB", False),)}
    said = decided(record, replace(NOTHING, batches=large)).sentences[2]
    assert "at batch 2,048 trial 1 misses memory.peak <= 60 GiB" in said
    assert "with the tokens" not in said


def test_a_limit_that_is_near_is_named() -> None:
    near = {"fits": -0.01, "cost.total <= 21e6": -0.04}
    made = studies.simulated(0, 1.0, 2e7, violations=near)
    assert "within 5 % of a limit: cost.total <= 21e6." in " ".join(decided(studies.record([made])).sentences)


def test_a_limit_of_the_mean_draw_is_told_from_one_of_the_building() -> None:
    for limit, is_of_mean in {"power <= 320e3": True, "power.peak <= 320e3": False}.items():
        made = studies.simulated(0, 1.0, 2e7, violations={limit: -0.01})
        said = " ".join(decided(studies.record([made])).sentences)
        assert f"a limit: {limit}" in said
        assert ("the mean draw falls where NPUs wait" in said) == is_of_mean


def test_assumptions_give_prices_with_their_numbers_and_what_was_not_measured() -> None:
    provenance = {
        "operators": "data sheet of a100-80gb alone",
        "software": "megatron-core: assumed",
        "network 0": "nccl-ampere: fitted on measured collectives",
        "network 1": "as the design says it",
    }
    prices, times = decided(three(provenance=provenance)).assumptions
    assert prices == "Prices per NPU: 13,672 $ (70 % of cost, assumed), network 5,859 $ (30 %, LIBRA)."
    npu = {"base": "a100-80gb", "name": "own", "price": "13672 $"}
    trials = three(provenance=provenance).trials
    designs = [{**(each.design or {}), "cluster": {**(each.design or {})["cluster"], "npu": npu}} for each in trials]
    spelled = [replace(each, design=design) for each, design in zip(trials, designs, strict=True)]
    assert "13,672 $ (70 % of cost, as the space has it), network" in decided(studies.record(spelled)).assumptions[0]
    assert times == (
        "Times: data sheet of a100-80gb alone (off by up to a half, and with it what is proven); "
        "megatron-core: assumed; network SW(128) not calibrated."
    )


def test_the_machine_to_build_is_no_other_machine() -> None:
    values = {"iteration_time": 1.2, "cost.total": 2.1e7}
    machines = tuple(Machine(npu, values, on(npu), 0.1) for npu in ("a100-80gb", "h200"))
    found = Scenarios(100, (1,), {1: Sureness(None, 0.8, 0.01, 0.03)}, 1, {}, machines=machines)
    said = next(s for s in decided(three(), replace(NOTHING, scenarios=found)).sentences if "Other machines" in s)
    assert "h200" in said
    assert "a100-80gb (" not in said


def on(npu: str) -> dict[str, Any]:
    document = studies.design()
    return {**document, "cluster": {**document["cluster"], "npu": npu}}


def test_a_rival_on_another_machine_says_on_which() -> None:
    far = trial(2, 1.12, 2.1e7, 16)
    record = studies.record([trial(0, 1.1, 2e7), replace(far, design=on("h100-80gb"))], ("iteration_time",))
    said = " ".join(decided(record).sentences)
    assert "losest rival: trial 2 (1,024 x h100-80gb" in said or "losest rival: trial 2 (1024 x h100-80gb" in said


@pytest.mark.parametrize(("time", "near"), [(1.2, True), (2.0, False)])
def test_rivals_are_all_far_only_where_other_machines_are(time: float, near: bool) -> None:
    record = studies.record([trial(0, 1.0, 4e7), trial(1, 1.1, 2e7, 4), trial(2, 1.5, 1.9e7, 16)])
    values = {"iteration_time": 1.1 * time, "cost.total": 2e7}
    machine = Machine("h200", values, studies.design(), 0.1)
    found = Scenarios(100, (1,), {1: Sureness(None, 0.8, 0.01, 0.03)}, 1, {}, machines=(machine,))
    said = " ".join(decided(record, replace(NOTHING, scenarios=found)).sentences).lower()
    assert "no rival is near; the closest is trial 2" in said
    assert ("beside other machines, no rival" in said) is near


def test_memory_that_is_there_is_used_where_an_objective_asks_for_little_of_it() -> None:
    names = ("iteration_time", "memory.peak")
    trials = []
    for number, (time, share) in enumerate([(1.0, 0.97), (1.1, 0.8), (2.0, 0.1)]):
        made = trial(number, time, 2e7, **filled(share))
        trials.append(replace(made, values={names[0]: time, names[1]: share}))
    found = decided(studies.record(trials, names))
    assert found.trial == 1
    assert any("trial 2 needs the least (10 % full)" in sentence for sentence in found.sentences)
    tight = decided(studies.record(trials[:2], names))
    assert tight.trial == 1
    assert any("Trial 0 is the best of the front beside memory, but that is 97 % full" in s for s in tight.sentences)


def owned(number: int, time: float, tco: float, tensor: int = 8, price: float = 2e7, **metrics: Any) -> TrialRecord:
    made = trial(number, time, price, tensor, **metrics)
    found = {**(made.metrics or {}), "throughput_tokens_per_s": 1e6 / time, "ownership_cost": tco}
    return replace(made, values={"cost.tco": tco}, metrics=found)


def test_where_money_alone_counts_the_same_machines_do_as_much_as_they_can() -> None:
    names = ("cost.tco",)
    slow, quick = owned(0, 3.0, 1.000e7), owned(1, 1.0, 1.008e7, 4)
    decision = decided(studies.record([slow, quick], names))
    assert decision.trial == 1
    assert decision.sentences[1] == (
        "Trial 0 of the front is better by less than 2.5 %, but it takes 3 times as long on the same machines: what it "
        "saves is power."
    )
    assert "iteration time 1 s" in decision.sentences[2]  # no objective says so
    bought = [
        replace(trial, values={"cost.capital": 2e7}) for trial in (replace(slow, number=0), owned(1, 2.9, 1e7, 4))
    ]
    assert decided(studies.record(bought, ("cost.capital",))).sentences[1] == (
        "Trial 0 of the front is as good, but it takes 3.4 % longer on the same machines."
    )
    for other in (
        owned(1, 1.0, 1.03e7, 4),  # dearer by more than what is no difference
        owned(1, 1.0, 1.008e7, 4, price=2.1e7),  # other machines
        owned(1, 2.99, 1.008e7, 4),  # as slow
        owned(1, 1.0, 1.008e7, 4, **filled(0.97)),  # without room
    ):
        assert decided(studies.record([slow, other], names)).trial == 0
    timed = [replace(t, values={**t.values, "iteration_time": 1.0}) for t in (slow, quick)]
    assert decided(studies.record(timed, (*names, "iteration_time"))).trial == 0


def test_of_designs_that_are_as_good_one_whose_zero_stage_was_fitted_is_built() -> None:
    def sharded(number: int, time: float, zero: int, **others: Any) -> TrialRecord:
        made = trial(number, time, 2e7, **others)
        section = {**(made.design or {})["parallelism"], "pipeline": 1, "data": 128, "zero": zero}
        return replace(made, design={**(made.design or {}), "parallelism": section, "software": "megatron-core"})

    decision = decided(studies.record([sharded(0, 1.0, 3), sharded(1, 1.02, 1)]))
    assert decision.trial == 1
    assert decision.sentences[1].endswith("the times of its stack were fitted on no iteration with its ZeRO stage.")
    assert decided(studies.record([sharded(0, 1.0, 3), sharded(1, 1.04, 1)])).trial == 0
    assert decided(studies.record([sharded(0, 1.0, 1), sharded(1, 1.02, 3)])).trial == 0
    full = [sharded(0, 1.0, 3, **filled(0.96)), sharded(1, 1.02, 1, **filled(0.97))]
    assert decided(studies.record(full)).sentences[1].endswith("fitted on no iteration with its ZeRO stage.")


def test_regrets_are_told_as_they_are_and_not_by_how_much_they_grow() -> None:
    made = [replace(trial(n, 1.0, 2e7), values={"cost_per_token.regret": share}) for n, share in enumerate((0.0, 0.19))]
    record = replace(studies.record(made), objectives=(Objective("cost_per_token.regret", "minimize", ""),))
    assert describe_changes(record, *made) == "regret 0 % to 19 %"


def test_electricity_has_its_price_where_running_costs_are_an_objective() -> None:
    names = ("iteration_time", "cost_per_token")
    made = replace(studies.simulated(0, 1.0, 2e7), values=dict.fromkeys(names, 1.0))
    said = decided(studies.record([made], names)).assumptions[0]
    assert said.endswith("electricity 0.1 $/kWh, PUE 1.2, 4 years (assumed).")


def test_nothing_feasible_has_no_decision() -> None:
    assert decided(studies.infeasible_only()) == Decision(None, (), ())
    record = studies.infeasible_only()
    assert recommended(record, summarize(record)) is None


def test_behind_a_front_of_one_design_the_nearest_of_another_kind_is_the_rival() -> None:
    record = studies.record(
        [trial(0, 1.0, 2e7), trial(1, 1.01, 2.01e7), trial(2, 1.02, 2.1e7, 4), trial(3, 1.2, 3e7, 4)]
    )
    assert len(record.front) == 1
    assert "closest rival: trial 2 (t4 p16 d16), time +2.0 % (too near to tell), cost +5.0 %" in " ".join(
        decided(record).sentences
    ).replace("Closest", "closest")


@pytest.mark.parametrize(("memory", "said"), [(0.7, True), (0.3, False)])
def test_computing_that_the_memory_bounds_is_said_to(memory: float, said: bool) -> None:
    made = trial(0, 1.0, 2e7)
    activity = {"tensor": 1.0 - memory, "memory": memory, "wait": 0.0, "idle": 0.0}
    power = {"mean": 1e6, "peak": 1e6, "rack": 1e4, "npus": 5e5, "rest": 5e5, "activity": activity}
    record = studies.record([replace(made, metrics={**(made.metrics or {}), "power": power})])
    assert (" 70 % of it at the memory's bandwidth)" in " ".join(decided(record).sentences)) is said


def test_a_job_that_would_leave_a_part_of_each_domain_empty_is_told_so_where_a_machine_is_barred() -> None:
    with pytest.raises(InputError) as caught:
        design_from(
            {
                "workload": {"model": "llama3-70b", "global_batch": 2048},
                "parallelism": {"data": 1152},
                "cluster": {"npu": "gb200", "fabric": "gb200-nvl72", "npus": 1152},
            }
        )
    scenarios = Scenarios(100, (0,), {}, 0, {}, barred={"gb200": str(caught.value.problems[0])})
    said = " ".join(decided(three(), replace(NOTHING, scenarios=scenarios)).sentences)
    assert "has 1152 x 1 = 1152; try 64 NPUs of each domain of 72: 'domain: 64' with 64/72 of the NPUs)." in said


def unrun(monkeypatch: pytest.MonkeyPatch, *numbers: int, fits: bool = True) -> None:
    for module in ("payoff", "choice", "rival", "decision"):
        monkeypatch.setattr(f"dse.report.{module}.runs_otherwise", lambda trial: trial.number in numbers)
    for module in ("choice", "decision"):
        monkeypatch.setattr(f"dse.report.{module}.fits_as_run", lambda trial: fits or trial.number not in numbers)


def robust(count: int) -> WhatIf:
    sure = {number: Sureness(None, 0.8, 0.01, 0.03) for number in range(count)}
    better = {name: {(a, b): 0.95 for a in sure for b in sure} for name in ("iteration_time", "cost.total")}
    return replace(NOTHING, scenarios=Scenarios(256, tuple(sure), sure, 0, better))


def test_no_dearer_and_slower_design_is_built_because_the_robust_pick_is_not_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    unrun(monkeypatch, 0)
    far = studies.record(
        [trial(0, 1.0, 2.5e7), trial(1, 1.5, 2.4e7, 4), trial(2, 1.05, 3.0e7, 2), trial(3, 4.0, 1.5e7, 16)]
    )
    assert paying(far, summarize(far, robust(4)), 0) is None
    assert decided(far, robust(4)).trial == 0
    slower = studies.record([trial(0, 1.0, 2e7), trial(1, 1.2, 2.1e7, 4), trial(2, 1.1, 2.6e7, 2)])
    assert "ore money" not in " ".join(decided(slower).sentences)


def test_what_does_not_fit_as_its_stack_runs_it_is_not_built_at_any_price(monkeypatch: pytest.MonkeyPatch) -> None:
    unrun(monkeypatch, 0, fits=False)
    monkeypatch.setattr("dse.report.decision.describe_otherwise", lambda document: "megatron-core has no dualpipe-v")
    record = studies.record([trial(0, 1.0, 2e7), trial(1, 1.5, 2e7, 4)])
    decision = decided(record, robust(2))
    assert decision.trial == 1
    assert any(text.endswith("has no dualpipe-v, and as it runs it, it does not fit.") for text in decision.sentences)


def test_a_stage_of_zero_that_was_fitted_is_sought_beside_what_took_the_place_of_the_pick(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    unrun(monkeypatch, 0)
    monkeypatch.setattr("dse.report.choice.has_unfitted_zero", lambda trial: trial.number == 1)
    near = [trial(0, 1.0, 2e7), trial(1, 1.024, 2e7, 4), trial(2, 1.0494, 2e7, 2)]
    assert decided(studies.record(near[:2]), robust(2)).trial == 1
    assert decided(studies.record(near), robust(3)).trial == 2  # 5 % behind the pick, 2.5 % behind what runs


def test_the_memory_of_a_mixture_of_experts_has_room_for_uneven_routing() -> None:
    def of(model: str) -> TrialRecord:
        workload = {**studies.design()["workload"], "model": model}
        return replace(trial(0, 1.0, 2e7), design={**studies.design(), "workload": workload})

    assert brim(of("transformer-1t")) > brim(of("mixtral-8x7b")) == NEARLY_FULL


def test_a_rival_behind_the_front_is_told_where_none_on_it_is_near() -> None:
    front = [trial(0, 1.0, 2e7), trial(1, 0.4, 2.25e7, 4), trial(2, 2.5, 1.95e7, 16)]
    said = " ".join(decided(studies.record([*front, trial(3, 1.15, 2.3e7, 2)])).sentences)
    assert "losest rival: trial 3 (" in said
    assert "no rival is near" in " ".join(decided(studies.record([*front, trial(3, 2.0, 4e7, 2)])).sentences).lower()


def test_a_design_that_was_passed_over_is_no_rival() -> None:
    full = trial(1, 1.1, 2e7, 4, **filled(0.99))
    record = studies.record([trial(0, 0.4, 4e7), full, trial(2, 2.5, 1.9e7, 16), trial(3, 1.105, 2.01e7, 2)])
    decision = decided(record)
    assert decision.trial == 3
    assert "Trial 1 of the front is better" in " ".join(decision.sentences)
    assert "rival: trial 1" not in " ".join(decision.sentences)


def served(number: int, time: float, cost: float, npu: str, batch: int = 1024) -> TrialRecord:
    document = studies.design(8)
    workload = {"model": "llama3-8b", "global_batch": batch, "prompt_length": 512, "output_length": 16}
    document |= {"workload": workload, "cluster": {**document["cluster"], "npu": npu}}
    made = studies.simulated(number, time, cost, document=document)
    return replace(made, params={**made.params, "workload.global_batch": batch})


def test_what_a_served_design_gains_at_a_larger_batch_than_the_space_has_is_told() -> None:
    def said(members: list[TrialRecord], *twice: AtBatch) -> str:
        asked = {0: (twice[0],), 1: (twice[1],)}
        return " ".join(decided(studies.record(members), replace(NOTHING, batches=asked)).sentences)

    slow, quick = served(0, 2.0, 1e7, "a100-80gb"), served(1, 1.9, 2e7, "h100-80gb")
    missed = AtBatch(2.0, 2048.0, {}, "time_per_output_token <= 25 ms", False)
    gains = AtBatch(2.0, 2048.0, {"iteration_time": 1.4, "cost.total": 2e7}, "", True)
    told = "at batch 2,048, beyond the space, trial 1 (1024 x h100-80gb) has time −30 %, cost +100 %"
    assert told in said([slow, quick], missed, gains)
    none = AtBatch(2.0, 2048.0, {"iteration_time": 1.9, "cost.total": 2e7}, "", True)
    assert "beyond the space" not in said([slow, quick], missed, none)
    dearer = AtBatch(2.0, 2048.0, {"iteration_time": 1.4, "cost.total": 3e7}, "", True)  # another choice, no gain
    assert "beyond the space" not in said([slow, quick], missed, dearer)
    smaller = served(1, 1.9, 2e7, "h100-80gb", 512)  # the space has batches beyond its own
    assert "beyond the space" not in said([slow, smaller], missed, gains)


def test_of_several_jobs_the_one_is_named_whose_iteration_it_is() -> None:
    sizes = {"small": "1 MB", "large": "1 GB"}
    exchanges = [
        {"name": name, "workload": {"collective": "all_to_all", "size": size}, "npus": 8}
        for name, size in sizes.items()
    ]
    cluster = {"npu": "h100-80gb", "fabric": "dgx-h100", "npus": 16}
    objectives = (Objective("iteration_time", "minimize", "s"),)
    for listed, said in ((exchanges, True), (exchanges[:1], False)):
        made = Evaluator(objectives, (), "fast")({"jobs": listed, "cluster": cluster})
        shared = TrialRecord(0, made.state, made.values, {}, {}, design=made.design, metrics=made.metrics)
        expected = " ".join(decided(studies.record([shared], objectives=objectives)).sentences)
        assert (" (iteration time: large's, the longest of its jobs)" in expected) is said
