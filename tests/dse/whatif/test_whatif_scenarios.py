"""How sure a front is: regrets and the robust pick by hand, and a whole study."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from asked_studies import answer_what_if
from tiny_spaces import TINY

from dse.evaluate.pareto import front_mask
from dse.evaluate.record import StudyRecord, TrialRecord
from dse.run.drive import optimize
from dse.run.record import load_record
from dse.run.settings import Settings
from dse.space.objective import Objective
from dse.space.space import space_from
from dse.whatif import scenarios as asking
from dse.whatif.answers import Scenarios
from dse.whatif.batches import rivals
from dse.whatif.drawn import _told_apart, draw_trials
from dse.whatif.scenarios import COUNT, Compared, ask_scenarios, regret, shortfall
from simcore import simulate
from simcore.check.load import design_from, parse_design
from simcore.document.text import parse_document
from simcore.uncertainty import draws


def run(folder: Path, objectives: list[str], trials: int = 60, text: str = TINY) -> StudyRecord:
    document = yaml.safe_load(text) | {"objectives": {"minimize": objectives}}
    space = space_from(parse_document(yaml.safe_dump(document, sort_keys=False), "space"), "tiny")
    optimize(space, Settings(sampler="exhaustive", trials=trials, seed=0), folder, resume=False)
    return load_record(folder)


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> tuple[StudyRecord, Path]:
    folder = tmp_path_factory.mktemp("study") / "run"
    return run(folder, ["iteration_time", "cost.total"]), folder


def asked(record: StudyRecord) -> Scenarios:
    return ask_scenarios(record, record.front, rivals(record, asking.CONTENDERS))


def test_regret_is_by_which_share_another_is_better_in_every_objective_at_once() -> None:
    lost = np.array([[[10.0], [8.0], [9.0]], [[12.0], [11.0], [6.0]]])  # [objectives, designs, scenarios]
    # The first is 25 % slower and 9 % dearer than the second, 11 % slower and twice as dear as the third.
    assert regret(lost)[:, 0] == pytest.approx([1 / 9, 0.0, 0.0])


def test_regret_of_one_objective_is_how_much_worse_than_the_best() -> None:
    lost = np.array([[[10.0, 8.0], [8.0, 8.0], [9.0, 16.0]]])
    assert regret(lost) == pytest.approx(np.array([[0.25, 0.0], [0.0, 0.0], [0.125, 1.0]]))


def test_a_price_that_both_pay_hides_no_regret() -> None:
    lost = np.array([[[10.0], [8.0], [7.0]], [[3.0], [3.0], [4.0]]])
    assert regret(lost)[:, 0] == pytest.approx([0.25, 0.0, 0.0])  # the third one is dearer


def test_a_rival_of_which_little_is_known_makes_no_dear_design_the_pick() -> None:
    """The first costs a half more than the second and is 1 % faster: not worth it because the second may be slow."""
    front = np.array([[10.0, 3.0], [10.1, 1.9], [12.0, 1.0]])
    times = [[10.0, 10.0], [5.0, 15.0], [12.0, 12.0]]
    prices = [[3.0, 3.0], [1.9, 1.9], [1.0, 1.0]]
    assert shortfall(front, np.array([times, prices])).max(axis=1).argmin() == 2


def test_a_design_that_misses_a_limit_in_a_scenario_is_nobodys_rival_there() -> None:
    lost = np.array([[[1.0, 1.0], [1.2, 1.2], [1.5, 1.5]]])  # one objective, three designs, two scenarios
    counting = np.array([[True, False], [True, True], [True, False]])
    compared = Compared(lost, counting)
    assert compared.on_front.tolist() == [[True, False], [False, True], [False, False]]
    assert regret(lost, compared.rivals) == pytest.approx(np.array([[0.0, 0.0], [0.2, 0.0], [0.5, 0.25]]))
    assert shortfall(np.array([[1.0], [1.2], [1.5]]), lost, counting)[1, 1] == 0.0


def test_where_all_miss_a_limit_in_a_scenario_all_count() -> None:
    kept = [{"limit": np.array([True, False])}, {"limit": np.array([False, False])}]
    assert asking._counting(kept, 2).tolist() == [[True, True], [False, True]]
    assert asking._counting([{}, {}], 2).all()


def test_what_is_to_be_maximised_and_what_has_no_value_have_regrets_too() -> None:
    lost = np.array([[[-8.0], [-10.0], [np.nan]]])
    assert regret(lost)[:, 0] == pytest.approx([0.2, 0.0, 0.0])


def test_every_member_is_compared_with_what_is_nearest_to_the_front(study: tuple[StudyRecord, Path]) -> None:
    record, folder = study
    found = answer_what_if(record, folder).scenarios
    assert found is not None
    members = {trial.number for trial in record.front}
    assert set(found.members) == members
    assert set(found.others) == set(found.contenders) - members
    assert members < set(found.contenders)
    assert found.robust in members
    for number, sure in {**found.members, **found.others}.items():
        assert 0 <= sure.on_front <= 1
        assert sure.regret >= 0
        trial = next(trial for trial in record.trials if trial.number == number)
        assert sure.interval == tuple((trial.metrics or {})["iteration_time_interval_s"])


def test_the_same_study_has_the_same_answers_and_other_trials_change_nothing_of_two_designs(
    study: tuple[StudyRecord, Path],
) -> None:
    record, _ = study
    found = asked(record)
    assert asked(record) == found
    alone = ask_scenarios(record, record.front, ())
    assert alone.better["cost.total"] == {
        pair: share for pair, share in found.better["cost.total"].items() if set(pair) <= set(found.members)
    }


def test_a_share_of_scenarios_is_that_in_which_the_values_say_so(study: tuple[StudyRecord, Path]) -> None:
    """Worked out once more, with the front of every scenario."""
    record, _ = study
    found = asked(record)
    trials = {trial.number: trial for trial in record.trials}
    chosen = [trials[number] for number in found.contenders]
    designs = [parse_design(trial.design or {})[0] for trial in chosen]
    drawn = draw_trials(chosen, [design for design in designs if design is not None], draws.Scenarios(COUNT))
    values = np.array([[one.objective(objective) for one in drawn] for objective in record.objectives])
    on_front = np.zeros(len(chosen))
    for scenario in range(COUNT):
        on_front += front_mask(values[:, :, scenario].T)
    sure = {**found.members, **found.others}
    assert [sure[number].on_front for number in found.contenders] == pytest.approx(on_front / COUNT, abs=1e-6)
    a, b = found.contenders[:2]
    assert found.better["iteration_time"][a, b] == (values[0, 0] < values[0, 1]).mean()
    assert found.better["iteration_time"][a, b] + found.better["iteration_time"][b, a] <= 1


def test_an_objective_that_is_an_expression_is_as_sure_as_the_metric_in_it(study: tuple[StudyRecord, Path]) -> None:
    record, _ = study
    own = replace(
        record,
        objectives=tuple(Objective(f"{o.name} * 1", o.direction, o.unit) for o in record.objectives),
        trials=tuple(
            replace(trial, values={f"{name} * 1": value for name, value in trial.values.items()})
            for trial in record.trials
        ),
    )
    one, other = asked(record), asked(own)
    assert {n: replace(m, intervals={}) for n, m in one.members.items()} == {
        n: replace(m, intervals={}) for n, m in other.members.items()
    }
    for number, member in one.members.items():
        assert member.intervals["cost.total"] == other.members[number].intervals["cost.total * 1"]
    assert list(one.better["iteration_time"].values()) == list(other.better["iteration_time * 1"].values())


def test_prices_that_are_not_known_make_the_dearer_device_less_sure(study: tuple[StudyRecord, Path]) -> None:
    """Two devices have prices of their own; designs on one device differ by their network alone."""
    record, _ = study
    found = asked(record)
    device = {t.number: (t.design or {})["cluster"]["npu"] for t in record.trials if t.number in found.contenders}
    cost = {t.number: t.values["cost.total"] for t in record.trials}
    pairs = found.better["cost.total"]
    same = [share for (a, b), share in pairs.items() if device[a] == device[b] and cost[a] < cost[b]]
    assert same
    assert min(same) == 1.0


def test_with_one_objective_the_robust_pick_has_the_least_regret_of_all_contenders(tmp_path: Path) -> None:
    record = run(tmp_path / "run", ["iteration_time"])
    found = answer_what_if(record, tmp_path / "run").scenarios
    assert found is not None
    sure = {**found.members, **found.others}
    assert len(sure) > 10
    assert found.robust is not None
    assert sure[found.robust].regret_p90 == min(one.regret_p90 for one in sure.values())


def test_an_objective_that_never_differs_changes_nothing(tmp_path: Path) -> None:
    alone = run(tmp_path / "alone", ["iteration_time"])
    found = asked(alone)
    both = replace(
        alone,
        objectives=(*alone.objectives, Objective("memory.capacity", "minimize", "B")),
        trials=tuple(replace(t, values={**t.values, "memory.capacity": 80e9}) for t in alone.trials),
    )
    constant = asked(both)
    assert constant.robust == found.robust
    assert {n: s.regret_p90 for n, s in {**constant.members, **constant.others}.items()} == {
        n: s.regret_p90 for n, s in {**found.members, **found.others}.items()
    }


def test_what_was_taken_to_be_wrong_is_told_with_its_width_and_its_basis(study: tuple[StudyRecord, Path]) -> None:
    record, _ = study
    found = asked(record)
    names = {assumption.name for assumption in found.assumptions}
    assert {"rate of matrix products", "rate between nodes", "price of NPUs"} < names
    assert {assumption.basis for assumption in found.assumptions} == {"measured", "assumed"}
    for assumption in found.assumptions:
        assert 0 < assumption.low < 1 < assumption.high
        assert len(assumption.of) in (0, assumption.things)


def test_members_beyond_what_is_compared_are_counted(
    study: tuple[StudyRecord, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    record, _ = study
    monkeypatch.setattr(asking, "MOST", 1)
    found = ask_scenarios(record, record.front, ())
    assert (len(found.members), found.left_out) == (1, len(record.front) - 1)
    assert found.robust in found.members


@pytest.fixture
def engines(study: tuple[StudyRecord, Path], tmp_path: Path) -> Any:
    _, folder = study
    text = (folder / "study.yaml").read_text()

    def with_engine(name: str) -> Path:
        (tmp_path / "study.yaml").write_text(text.replace("engine: auto", f"engine: {name}"))
        return tmp_path

    return with_engine


def test_times_of_an_engine_from_elsewhere_have_no_scenarios_and_the_reason_is_told(
    study: tuple[StudyRecord, Path], engines: Any
) -> None:
    record, _ = study
    found = answer_what_if(record, engines("os:getcwd"))
    assert found.scenarios is None
    assert "os:getcwd" in found.no_scenarios


def test_an_engine_that_is_too_slow_to_be_asked_again_has_scenarios_all_the_same(
    study: tuple[StudyRecord, Path], engines: Any
) -> None:
    record, _ = study
    found = answer_what_if(record, engines("reference"))
    assert found.note
    assert found.scenarios is not None


COLLECTIVE = """\
workload: {collective: all_reduce, size: 64 MB}
cluster:
  npu: a100-80gb
  dimensions:
    - {topology: switch, size: 4, bandwidth: {choice: [100 GB/s, 200 GB/s]}, latency: 700 ns, tier: node}
    - {topology: ring, size: 2, bandwidth: {choice: [25 GB/s, 50 GB/s]}, latency: 1.7 us, tier: pod}
cost: libra
"""


def test_a_collective_alone_has_scenarios_without_an_interval(tmp_path: Path) -> None:
    record = run(tmp_path / "run", ["iteration_time", "cost.network"], text=COLLECTIVE)
    found = answer_what_if(record, tmp_path / "run").scenarios
    assert found is not None
    assert {sure.interval for sure in found.members.values()} == {None}
    assert max(sure.on_front for sure in found.members.values()) > 0.5


def test_replicas_of_a_server_are_alike_and_those_of_a_training_are_not() -> None:
    def key(workload: dict[str, Any], replicas: int) -> tuple[object, ...]:
        document = {
            "workload": {"model": "llama3-8b", **workload},
            "parallelism": {"data": replicas},
            "cluster": {"npu": "h100-80gb", "fabric": "dgx-h100", "npus": replicas},
        }
        design = design_from(document)
        metrics = simulate(design).document()
        return _told_apart(TrialRecord(0, "feasible", {}, {}, {}, document, metrics), design)

    served = {"prompt_length": 128, "output_length": 8}
    assert key({"global_batch": 8, **served}, 8) == key({"global_batch": 16, **served}, 16)
    assert key({"global_batch": 8, **served}, 8) != key({"global_batch": 32, **served}, 16)
    assert key({"global_batch": 8}, 8) != key({"global_batch": 16}, 16)
