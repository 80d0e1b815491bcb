"""The best design on each machine that a front leaves out, and in how many scenarios it would be on the front."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from asked_studies import answer_what_if
from numpy.typing import NDArray
from tiny_spaces import TINY

from dse.evaluate.evaluate import Evaluator, Outcome
from dse.evaluate.record import StudyRecord, TrialRecord
from dse.report.decision import describe_decision
from dse.report.front import pareto_json
from dse.report.machines import describe_machines
from dse.report.summary import summarize
from dse.report.units import format_with_unit
from dse.run.document import open_study
from dse.run.drive import optimize
from dse.run.record import load_record
from dse.run.settings import Settings
from dse.space.space import Space, space_from
from dse.whatif.answers import Machine, Scenarios
from dse.whatif.ask import answers_about
from dse.whatif.batches import rivals
from dse.whatif.climb import Climb, find_starts
from dse.whatif.drawn import draw_trials
from dse.whatif.machines import NOWHERE, _why_barred, best_elsewhere, machine_of, stack_of, with_other_stacks
from dse.whatif.scenarios import CONTENDERS, COUNT
from simcore import simulate
from simcore.check.load import design_from
from simcore.document.text import parse_document
from simcore.uncertainty import draws

FASTEST, OTHERS = "h100-80gb", ("a100-80gb", "v100-32gb")


def tiny(*objectives: str) -> Space:
    document = yaml.safe_load(TINY) | {"objectives": {"minimize": list(objectives)}}
    return space_from(parse_document(yaml.safe_dump(document, sort_keys=False), "space"), "tiny")


def run(folder: Path, *objectives: str) -> StudyRecord:
    """Every design of the tiny space, which has three machines."""
    optimize(tiny(*objectives), Settings(sampler="exhaustive", trials=1000, seed=0), folder, resume=False)
    return load_record(folder)


@pytest.fixture(scope="module")
def fastest(tmp_path_factory: pytest.TempPathFactory) -> tuple[StudyRecord, Path]:
    """Time alone is asked for, so that one machine has the whole front."""
    folder = tmp_path_factory.mktemp("fastest") / "run"
    return run(folder, "iteration_time"), folder


def scenarios_of(record: StudyRecord, folder: Path, simulations: int | None = None) -> Scenarios:
    found = answer_what_if(record, folder, simulations).scenarios
    assert found is not None
    return found


def best_on(record: StudyRecord, machine: str) -> float:
    return min(t.values["iteration_time"] for t in record.feasible_trials if machine_of(t.design) == machine)


def without(record: StudyRecord, machine: str) -> StudyRecord:
    """The study as if the machine had not been tried."""
    return replace(record, trials=tuple(t for t in record.trials if machine_of(t.design) != machine))


def test_each_machine_off_the_front_comes_with_its_best_design(fastest: tuple[StudyRecord, Path]) -> None:
    record, folder = fastest
    assert {machine_of(trial.design) for trial in record.front} == {FASTEST}
    found = scenarios_of(record, folder).machines
    assert {machine.name for machine in found} == set(OTHERS)
    for machine in found:
        assert machine.values["iteration_time"] == best_on(record, machine.name)
        assert simulate(design_from(machine.design)).iteration_time_s == machine.values["iteration_time"]


def test_a_machine_of_which_nothing_was_tried_is_found_too(fastest: tuple[StudyRecord, Path]) -> None:
    record, folder = fastest
    found = scenarios_of(without(record, "a100-80gb"), folder).machines
    assert {machine.name: machine.values["iteration_time"] for machine in found}["a100-80gb"] == best_on(
        record, "a100-80gb"
    )


def test_its_share_is_that_of_the_scenarios_in_which_no_member_dominates_it(fastest: tuple[StudyRecord, Path]) -> None:
    record, folder = fastest
    found = next(m for m in scenarios_of(record, folder).machines if m.name == "a100-80gb")
    best = next(t for t in record.trials if t.design == found.design)
    near = rivals(record, CONTENDERS)[: CONTENDERS - len(record.front)]
    front = times_of(record, [*record.front, *near])[: len(record.front)]
    assert found.on_front == pytest.approx((times_of(record, [best])[0] <= front.min(axis=0)).mean(), abs=1e-6)


def times_of(record: StudyRecord, trials: list[TrialRecord]) -> NDArray[np.float64]:
    """Of trials in all scenarios, `[trials, COUNT]`; what designs have in common is drawn for all of them at once."""
    designs = [design_from(trial.design or {}) for trial in trials]
    return np.array(
        [one.objective(record.objectives[0]) for one in draw_trials(trials, designs, draws.Scenarios(COUNT))]
    )


def test_other_machines_make_no_design_surer_and_no_machine_less_sure_than_its_designs(
    fastest: tuple[StudyRecord, Path],
) -> None:
    record, folder = fastest
    asked, unasked = scenarios_of(record, folder), scenarios_of(record, folder, 0)
    assert not unasked.machines
    alike = {"machines": (), "built": {}, "members": {}, "others": {}}
    assert replace(asked, **alike) == replace(unasked, **alike)  # type: ignore[arg-type]
    assert asked.known.keys() == unasked.known.keys()
    for number, sure in asked.known.items():
        alone = unasked.known[number]
        assert replace(sure, on_front=0, regret=0, regret_p90=0) == replace(alone, on_front=0, regret=0, regret_p90=0)
        assert sure.on_front <= alone.on_front
        assert (sure.regret >= alone.regret, sure.regret_p90 >= alone.regret_p90) == (True, True)
    assert any(sure.regret > unasked.known[number].regret for number, sure in asked.known.items())
    assert 0 < asked.built[FASTEST] <= 1
    assert max(sure.on_front for sure in asked.members.values()) <= asked.built[FASTEST]


def test_a_front_of_all_machines_leaves_none_out(tmp_path: Path) -> None:
    record = run(tmp_path / "run", "iteration_time", "cost.total")
    on_front = {machine_of(trial.design) for trial in record.front}
    found = scenarios_of(record, tmp_path / "run").machines
    assert {machine.name for machine in found} == {*OTHERS, FASTEST} - on_front


def told(record: StudyRecord, folder: Path, **changes: Any) -> str:
    answers = answer_what_if(record, folder)
    assert answers.scenarios is not None
    machines = tuple(replace(machine, **changes) for machine in answers.scenarios.machines)
    asked = replace(answers, scenarios=replace(answers.scenarios, machines=machines))
    return describe_machines(record, summarize(record, asked))


def test_the_decision_says_how_often_another_machine_belongs_on_the_front(fastest: tuple[StudyRecord, Path]) -> None:
    record, folder = fastest
    text = told(record, folder, on_front=0.125)
    found = {machine.name: machine for machine in scenarios_of(record, folder).machines}
    values = {name: format_with_unit(machine.values["iteration_time"], "s") for name, machine in found.items()}
    assert text.startswith(
        f"Other machines, by the best designs found on them: a100-80gb ({values['a100-80gb']}) belongs on the front in "
        f"12 % of the scenarios, v100-32gb ({values['v100-32gb']}; data sheet alone) in 12 %; "
    )
    assert "; h100-80gb, which is to be built, " in text
    summary = summarize(record, answer_what_if(record, folder))
    assert describe_machines(record, summary) in describe_decision(record, summary).sentences
    assert describe_machines(record, summarize(record)) == ""


def test_a_machine_that_the_search_should_not_have_missed_is_named(fastest: tuple[StudyRecord, Path]) -> None:
    record, folder = fastest
    text = told(without(record, FASTEST), folder)
    assert text.endswith(f"The search missed {FASTEST}: give it more trials.")


def test_a_machine_that_the_front_has_was_not_missed(fastest: tuple[StudyRecord, Path]) -> None:
    record, folder = fastest
    member = max(record.front, key=lambda trial: machine_of(trial.design) == FASTEST)
    assert "missed" not in told(record, folder, values=member.values)


def test_a_machine_that_nothing_may_be_built_of_is_named_with_what_its_nearest_design_breaks(
    fastest: tuple[StudyRecord, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    record, folder = fastest
    asked = answer_what_if(record, folder)
    assert asked.scenarios is not None
    barred = {"gb300": "parallelism.data: expected 8, got 6; choose another", "l40s": "does not fit", "d1": ""}
    scenarios = replace(asked.scenarios, machines=(), barred=barred, unasked=("gaudi2",))
    assert describe_machines(record, summarize(record, replace(asked, scenarios=scenarios))) == (
        "No design that may be built was found on gb300 (the nearest: parallelism.data needs 8, has 6), l40s (the "
        "nearest: does not fit), d1. Not looked at: gaudi2."
    )
    monkeypatch.setattr("dse.whatif.machines.MOST", 1)
    found = scenarios_of(record, folder)
    assert (len(found.machines), len(found.unasked)) == (1, 1)


def test_the_best_design_that_the_study_has_on_a_machine_needs_no_search(fastest: tuple[StudyRecord, Path]) -> None:
    def refuse(document: Any) -> Any:
        raise AssertionError("nothing is left to simulate with")

    record, _ = fastest
    space = tiny("iteration_time")
    found = best_elsewhere(record, space, refuse, 0, find_starts(record, space))
    assert [machine_of(trial.design) for trial in found.best] == list(OTHERS)
    assert [trial.values["iteration_time"] for trial in found.best] == [best_on(record, name) for name in OTHERS]
    assert not found.barred


def test_a_machine_on_which_every_design_breaks_a_limit_has_none(tmp_path: Path) -> None:
    limit = "cost.npu >= 150e3"  # what the dearest NPUs of the space cost
    document = yaml.safe_load(TINY) | {"objectives": {"minimize": ["iteration_time"]}, "constraints": ["fits", limit]}
    space = space_from(parse_document(yaml.safe_dump(document, sort_keys=False), "space"), "tiny")
    optimize(space, Settings(sampler="exhaustive", trials=1000, seed=0), tmp_path / "run", resume=False)
    record = load_record(tmp_path / "run")
    found = scenarios_of(record, tmp_path / "run")
    assert {machine_of(trial.design) for trial in record.front} == {FASTEST}

    def missed(name: str) -> float:
        return min(trial.violations[limit] for trial in record.trials if machine_of(trial.design) == name)

    assert found.barred == {name: f"{limit} missed by {100 * missed(name):.2g} % at the least" for name in OTHERS}


def test_a_barred_machine_is_told_with_what_more_of_it_would_break(fastest: tuple[StudyRecord, Path]) -> None:
    record, space = fastest[0], tiny("iteration_time")
    nearest = replace(next(iter(record.feasible_trials)), error="iteration_time <= 1 s missed by 9 %")
    climb = Climb(record, space, lambda _: pytest.fail("nothing is simulated"), machine_of, FASTEST, 0)
    assert nearest.design is not None
    cluster = nearest.design["cluster"]
    inner, outer = cluster["dimensions"]
    on = {
        n: {**nearest.design, "cluster": {**cluster, "dimensions": [inner, {**outer, "size": n // 4}]}}
        for n in (8, 16, 32)
    }
    climb._missed = [
        (on[8], frozenset({"iteration_time <= 1 s"})),
        (on[16], frozenset({"power.peak <= 1 kW", "fits"})),
        (on[16], frozenset({"valid"})),
        (on[32], frozenset({"power.peak <= 1 kW"})),
    ]
    assert climb.limits_beyond(nearest) == ["power.peak <= 1 kW"]
    larger = "all larger ones that were looked at miss power.peak <= 1 kW"
    told = f"8 of them, iteration_time <= 1 s missed by 9 %, and {larger}"
    assert _why_barred(nearest, space, climb.limits_beyond(nearest)) == told
    climb._missed.append((on[16], frozenset()))
    assert climb.limits_beyond(nearest) == []
    assert _why_barred(nearest, space, []) == nearest.error


def test_what_misses_a_limit_by_far_is_nearer_than_what_does_not_fit(fastest: tuple[StudyRecord, Path]) -> None:
    climb = Climb(
        fastest[0], tiny("iteration_time"), lambda _: pytest.fail("nothing is simulated"), machine_of, FASTEST, 0
    )
    missed = Outcome("a", "infeasible", {"iteration_time": 9.0}, {"iteration_time <= 1 s": 0.9}, {}, metrics={})
    cut = Outcome("b", "cut", {"iteration_time": 1.0}, {"fits": 0.01}, {}, cut_by="fits")
    assert climb._rank(missed) < climb._rank(cut)


def test_a_stack_that_the_front_leaves_out_is_compared_by_the_best_design_of_the_study(tmp_path: Path) -> None:
    document = yaml.safe_load(TINY) | {"objectives": {"minimize": ["iteration_time"]}}
    document["cluster"]["npu"] = FASTEST
    document["software"] = {"choice": ["megatron-core", "pytorch-fsdp"]}
    space = space_from(parse_document(yaml.safe_dump(document, sort_keys=False), "space"), "tiny")
    optimize(space, Settings(sampler="exhaustive", trials=1000, seed=0), tmp_path / "run", resume=False)
    record = load_record(tmp_path / "run")
    built = stack_of(record.front[0].design)
    answers = answer_what_if(record, tmp_path / "run")
    assert answers.scenarios is not None
    (stack,) = answers.scenarios.stacks
    others = [trial for trial in record.feasible_trials if stack_of(trial.design) == stack.name]
    assert {stack.name, built} == {"megatron-core", "pytorch-fsdp"}
    assert stack.values["iteration_time"] == min(trial.values["iteration_time"] for trial in others)
    best = next(trial for trial in others if trial.design == stack.design)
    near = rivals(record, CONTENDERS)[: CONTENDERS - len(record.front)]
    front = times_of(record, [*record.front, *near])[: len(record.front)]
    assert stack.on_front == pytest.approx((times_of(record, [best])[0] <= front.min(axis=0)).mean(), abs=1e-6)
    said = f"Other stacks, by the best designs found with them: {stack.name} ("
    assert describe_machines(record, summarize(record, answers)).startswith(said)


def test_the_design_to_build_is_compared_with_itself_on_other_stacks(tmp_path: Path) -> None:
    document = yaml.safe_load(TINY) | {"objectives": {"minimize": ["iteration_time", "cost.total"]}}
    document["software"] = {"choice": ["megatron-core", "pytorch-fsdp"]}
    space = space_from(parse_document(yaml.safe_dump(document, sort_keys=False), "space"), "tiny")
    optimize(space, Settings(sampler="random", trials=30, seed=0), tmp_path / "run", resume=False)
    record = load_record(tmp_path / "run")
    built = next(trial for trial in record.front if trial.design is not None)
    assert built.design is not None
    opened = open_study(tmp_path / "run")
    without = answers_about(record, opened.space, opened.engine)
    found = answers_about(record, opened.space, opened.engine, choose=lambda _: built)
    assert without.scenarios is not None
    assert found.scenarios is not None
    starts, simulate = find_starts(record, space), Evaluator(space.objectives, space.constraints, opened.engine)
    (other,) = {"megatron-core", "pytorch-fsdp"} - {stack_of(built.design)}
    restacked = with_other_stacks(record, NOWHERE, built, simulate, starts)
    (twin,) = restacked.restacked
    assert twin.design is not None
    assert stack_of(twin.design) == other
    assert {**twin.design, "software": 0} == {**built.design, "software": 0}
    own = [trial for trial in record.front if stack_of(trial.design) == other]
    better = [trial for trial in own if (record.losses((trial,)) <= record.losses((twin,))).all()]
    assert [each.name for each in found.scenarios.stacks] == ([] if better else [other])
    assert found.scenarios.known[built.number].on_front <= without.scenarios.known[built.number].on_front
    quicker = replace(twin, number=built.number, values=dict.fromkeys(twin.values, 0.0))
    assert with_other_stacks(replace(record, trials=(quicker,)), NOWHERE, built, simulate, starts).stacks == ()


def test_the_files_have_the_machines(fastest: tuple[StudyRecord, Path]) -> None:
    record, folder = fastest
    written = json.loads(pareto_json(record, summarize(record, answer_what_if(record, folder))))
    assert [set(machine) for machine in written["scenarios"]["machines"]] == [set(Machine.__slots__)] * 2


@pytest.mark.parametrize(
    ("npu", "topology", "size", "name"),
    [
        ("gb200", "switch", 72, "gb200"),
        ("gb200", "switch", 36, "gb200 in domains of 36"),
        ("gb200", "fully_connected", 4, "gb200 in domains of 4"),
        ("gb200", "switch", 4, "gb200"),  # that is no NVL4
        ("h100-80gb", "switch", 8, "h100-80gb"),
        ("h100-80gb", "switch", 32, "h100-80gb"),  # nobody sells it
        ("my-own", "switch", 32, "my-own"),
    ],
)
def test_a_machine_is_an_npu_in_a_domain_that_is_sold(npu: str, topology: str, size: int, name: str) -> None:
    inner = {"topology": topology, "size": size, "tier": "node"}
    pod = {"topology": "switch", "size": 16, "tier": "pod"}
    assert machine_of({"cluster": {"npu": npu, "dimensions": [inner, pod]}}) == name
    assert machine_of({"cluster": {"npu": npu, "dimensions": [pod]}}) == npu


@pytest.mark.parametrize("wrong", [7, "switch", [None], [{"size": {}}]])
def test_dimensions_of_another_shape_leave_the_npu(wrong: Any) -> None:
    assert machine_of({"cluster": {"npu": "gb200", "dimensions": wrong}}) == "gb200"
