"""The guided sampler: genes and moves, gain, what it proposes and what it rules out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given as drawn
from hypothesis import settings
from hypothesis import strategies as st
from tiny_spaces import search, space, tiny

from dse.evaluate.evaluate import Evaluator
from dse.evaluate.pareto import hypervolume
from dse.search import make_sampler
from dse.search.guided.gain import Box, choose_greedily, promise
from dse.search.guided.genome import GeneDraw, composite_holes, factor_moves, moves, share_moves, with_value
from dse.search.guided.sampler import OPENING, STAGES, Guided
from dse.search.guided.surrogate import fit
from dse.space.draw import RandomDraw, RecordedDraw, random_below
from dse.space.hole import Product, composition, composition_index, compositions
from dse.space.screen import ScreenedDesign
from dse.study.stop import Limits, StopRules
from simcore.bounds.estimate import estimate
from simcore.check.load import parse_design
from simcore.document.problem import InputError
from simcore.document.quantity import parse_quantity
from simcore.metrics import metrics
from simcore.simulate import simulate


@drawn(st.integers(2, 60), st.integers(1, 5), st.data())
def test_the_index_of_a_composition_leads_back_to_it(units: int, parts: int, data: st.DataObject) -> None:
    parts = min(parts, units)
    index = data.draw(st.integers(0, compositions(units, parts) - 1))
    assert composition_index(composition(units, parts, index)) == index


@drawn(st.integers(4, 40), st.integers(2, 4), st.data())
@settings(max_examples=30)
def test_a_move_of_shares_keeps_their_sum_and_changes_two(units: int, parts: int, data: st.DataObject) -> None:
    index = data.draw(st.integers(0, compositions(units, parts) - 1))
    before = composition(units, parts, index)
    for other in share_moves(units, parts, index):
        after = composition(units, parts, other)
        assert sum(after) == units
        assert min(after) >= 1
        assert sum(a != b for a, b in zip(before, after, strict=True)) == 2


def test_a_move_of_factors_changes_two_degrees_and_keeps_the_product() -> None:
    hole = Product(48, ("tensor", "pipeline", "data"), ((1, 48), (1, 48), (1, 48)))
    start = hole.factorisations.index((2, 6, 4))
    reached = {hole.factorisations[index] for index in factor_moves(hole, start)}
    assert {(1, 12, 4), (4, 3, 4), (2, 12, 2), (6, 2, 4)} <= reached
    assert all(np.prod(degrees) == 48 for degrees in reached)
    assert (2, 6, 4) not in reached


def test_every_design_of_a_space_is_reached_by_small_moves() -> None:
    given, generator = space(), np.random.default_rng(0)
    draw = GeneDraw(generator)
    given.fill(draw)
    found, queue = set(), [draw.genes]
    while queue:
        again = GeneDraw(generator, {name: gene.value for name, gene in queue.pop().items()})
        key = str(given.fill(again).document)
        if key not in found:
            found.add(key)
            found_moves = moves(again.genes, composite_holes(given.template), generator)
            queue += [with_value(again.genes, *move) for move in found_moves]
    assert len(found) == given.count() == 120


def test_a_number_below_more_than_64_bits_is_drawn() -> None:
    generator, most = np.random.default_rng(0), 10**30
    numbers = [random_below(generator, most) for _ in range(50)]
    assert max(numbers) > most // 4
    assert all(0 <= number < most for number in numbers)
    assert 0 <= RandomDraw(generator).index("huge", most, False) < most


def test_what_gains_most_hypervolume_is_chosen_first() -> None:
    front = np.array([[0.0, 10.0], [10.0, 0.0]])
    points = np.array([[9.0, 9.0], [4.0, 4.0], [11.0, 11.0], [4.5, 4.5], [1.0, 8.0]])
    box = Box.enclose(front, np.vstack([front, points[[1, 4]]]), np.random.default_rng(0))
    scaled = box.scale_losses(points)
    order = choose_greedily(box, scaled, scaled, np.ones(5), 2)
    best = max(range(5), key=lambda i: hypervolume(np.vstack([front, points[[i]]]), np.array([11.0, 11.0])))
    assert order[0] == best == 1
    assert order[1] == 4
    assert sorted(order) == [0, 1, 2, 3, 4]


def test_promise_is_positive_exactly_where_the_front_lacks_a_point() -> None:
    front = np.array([[0.0, 1.0], [1.0, 0.0]])
    assert (promise(np.array([[0.5, 0.5], [-1.0, 2.0]]), front) > 0).all()
    assert (promise(np.array([[1.0, 1.0], [2.0, 0.5]]), front) <= 0).all()


def test_the_surrogate_meets_what_it_was_told_and_is_unsure_elsewhere() -> None:
    generator = np.random.default_rng(0)
    features = generator.random((60, 3))
    trends = generator.random((60, 1))
    targets = (2.0 * trends[:, 0] + np.sin(4 * features[:, 0]))[:, None]
    model = fit(features, trends, targets)
    mean, near = model.predict(features, trends)
    assert np.median(np.abs(mean - targets)) < 0.05 * targets.std()
    _, far = model.predict(features + 10.0, trends)
    assert far.min() > near.max()


def test_nothing_that_memory_or_a_constraint_on_inputs_forbids_is_proposed(tmp_path: Path) -> None:
    changed = space(constraints=["fits", "parallelism.tensor <= 2", "cost.total <= 200e3"])
    ended, outcomes = search(changed, tmp_path, "guided", 400)
    assert ended == "exhausted"
    assert all(outcome.state == "feasible" for outcome in outcomes)
    allowed = sum(ScreenedDesign(_design(f.document), changed.constraints).violation == 0 for f in changed.enumerate())
    assert len(outcomes) == allowed > 0


@pytest.mark.parametrize("sampler", ["guided", "exact", "nsga2"])
def test_a_constraint_without_a_value_is_an_infeasible_trial_with_its_reason(tmp_path: Path, sampler: str) -> None:
    text = "cost.total / bubble <= 3"
    _, outcomes = search(space(constraints=["fits", text]), tmp_path, sampler, 5)
    assert {outcome.state for outcome in outcomes} == {"infeasible"}
    assert {outcome.violations[text] for outcome in outcomes} == {1.0}
    said = f"constraints[1]: '{text}': expected a divisor other than 0, got 0 for 'bubble'"
    assert {outcome.error for outcome in outcomes} == {said}


@pytest.mark.parametrize("sampler", ["guided", "exact", "random"])
def test_a_constraint_on_inputs_without_a_value_cuts(tmp_path: Path, sampler: str) -> None:
    text = "cost.total / (cost.total - cost.npu - cost.network - cost.memory) >= 3"
    given = space(constraints=[text])
    ended, outcomes = search(given, tmp_path, sampler, 30)
    assert ended in ("exhausted", "trials")
    for outcome in outcomes:
        assert outcome.state == "cut"
        assert (outcome.error or "").startswith(f"constraints[0]: '{text}': expected a divisor other than 0, got 0 for")


def test_a_small_space_is_screened_whole_and_its_best_design_comes_early(tmp_path: Path) -> None:
    given = space()
    _, outcomes = search(given, tmp_path, "guided", 8, engine="fast")
    judge = Evaluator(given.objectives, given.constraints)
    best = min(judge(filled.document).values["iteration_time"] for filled in given.enumerate())
    assert min(outcome.values["iteration_time"] for outcome in outcomes) == best


def test_a_front_that_is_a_line_takes_fewer_candidates() -> None:
    def count_looked_at(wanted: list[str]) -> int:
        notes: list[str] = []
        given = space(system={"chunks": {"range": [1, 40]}}, objectives={"minimize": wanted})
        sampler = make_sampler("guided", given, 0)
        sampler.on_note = lambda text, share: notes.append(text)
        for _ in range(OPENING + sum(stage.trials for stage in STAGES[:-1]) + 1):
            assert sampler.ask() is not None
        return int(notes[-1].split()[1].replace(",", ""))

    line = count_looked_at(["iteration_time", "cost.total"])
    surface = count_looked_at(["iteration_time", "cost.total", "memory.peak"])
    assert 100 < line < 0.8 * surface


def test_late_generations_hold_designs_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("dse.search.guided.sampler.LATE", 32)
    monkeypatch.setattr("dse.search.guided.sampler.SEEDS", 32)
    monkeypatch.setattr("dse.search.guided.sampler.ROUNDS", 1)
    _, outcomes = search(space(system={"chunks": {"range": [1, 40]}}), tmp_path, "guided", 160)
    assert len({outcome.key for outcome in outcomes}) == 160


def _design(document: Any) -> Any:
    return parse_design(document)[0]


def test_an_estimate_is_near_what_is_simulated() -> None:
    ratios = []
    for filled in space().enumerate():
        design = _design(filled.document)
        if ScreenedDesign(design, ()).violation > 0:
            continue
        found, result = estimate(design), metrics(simulate(design))
        ratios.append(result["iteration_time"] / found["iteration_time"])
        assert found["memory.peak"] == result["memory.peak"]
        for name, power in (("throughput", -1), ("perf_per_cost", -1), ("energy", 1), ("power", 0)):
            assert result[name] == pytest.approx(found[name] * ratios[-1] ** power, rel=0.3)
    assert min(ratios) > 0.7
    assert np.median(ratios) < 1.1


def test_a_sampler_by_import_path_is_used_and_a_wrong_one_is_one_message() -> None:
    sampler = make_sampler("optuna.samplers:RandomSampler", space(), 3)
    assert sampler.ask() is not None
    for name, said in (
        ("optuna.samplers:Nothing", "has no 'Nothing'"),
        ("no_such_module:Sampler", "install it"),
        ("optuna.samplers:PartialFixedSampler", "cannot be made"),
        ("dse.space.space:Space", "no optuna.samplers.BaseSampler"),
    ):
        with pytest.raises(InputError, match=said):
            make_sampler(name, space(), 0)


def test_gp_without_torch_names_the_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dse.search.optuna_sampler.find_spec", lambda name: None)
    with pytest.raises(InputError, match="pip install torch"):
        make_sampler("gp", space(), 0)


def test_a_space_may_not_choose_code() -> None:
    with pytest.raises(InputError, match="add --sampler os:system"):
        space(study={"sampler": "os:system"})


def _rules(limits: Limits) -> tuple[StopRules, Any]:
    given = space(tiny(objectives={"minimize": ["iteration_time"]}))
    judge = Evaluator(given.objectives, given.constraints)
    outcome = next(o for o in (judge(f.document) for f in given.enumerate()) if o.state == "feasible")
    return StopRules(limits, given.objectives), outcome


def test_a_front_that_does_not_grow_stops_a_study() -> None:
    rules, outcome = _rules(Limits(1000, stagnation=20))
    reasons = []
    for _ in range(6):
        for _ in range(10):
            rules.see(outcome)
        reasons.append(rules.reason())
    assert reasons[:2] == [None, None]
    assert reasons[2:] == ["stagnation"] * 4


def test_a_best_within_the_gap_of_its_bound_stops_a_study() -> None:
    for gap, expected in ((0.0, None), (0.6, "gap")):
        rules, outcome = _rules(Limits(1000, gap=gap))
        time = outcome.values["iteration_time"]
        rules = StopRules(Limits(1000, gap=gap, bounds={"iteration_time": time / 2}), rules.objectives)
        rules.see(outcome)
        assert rules.reason() == expected


def test_a_best_beyond_its_bound_is_not_near_it() -> None:
    rules, outcome = _rules(Limits(1000))
    time = outcome.values["iteration_time"]
    for beyond, expected in ((1.01, None), (1 + 1e-12, "gap")):
        limits = Limits(1000, gap=0.6, bounds={"iteration_time": time * beyond})
        rules = StopRules(limits, rules.objectives)
        rules.see(outcome)
        assert rules.reason() == expected


def test_what_another_driver_found_is_learned_and_not_proposed_again() -> None:
    given = space(system={"collective": ["ring", "ring"], "chunks": {"range": [1, 400]}})
    other, own = Guided(given, 0), Guided(given, 1)
    theirs = [proposal for _ in range(20) if (proposal := other.ask()) is not None]
    for number, proposal in enumerate(theirs):
        drawn = other.drawn_values(proposal)
        assert drawn is not None
        assert given.fill(RecordedDraw(drawn.values, drawn.smooth)) == proposal.filled
        own.learn(drawn, (1.0 + number, 2.0), {})
    assert len(own._judge.simulated) == len(theirs) == 20
    mine = [proposal for _ in range(20) if (proposal := own.ask()) is not None]
    assert not {given.key(p.filled) for p in mine} & {given.key(p.filled) for p in theirs}


def test_solved_splits_are_solved_when_they_are_proposed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dse.search.guided.sampler.SEEDS", 32)
    monkeypatch.setattr("dse.search.guided.sampler.ROUNDS", 1)
    dimensions = [{"topology": "switch", "size": size, "latency": "700 ns", "tier": "pod"} for size in (4, 2)]
    budget = {"split": {"range": ["100 GB/s", "400 GB/s"]}, "step": "1 GB/s", "solve": True}
    given = space(cluster={"npu": "a100-80gb", "bandwidth": budget, "dimensions": dimensions})
    _, outcomes = search(given, tmp_path, "guided", 24, engine=simulate)
    assert len({outcome.key for outcome in outcomes}) == 24
    shares = [
        tuple(
            parse_quantity(dimension["bandwidth"], "bandwidth") for dimension in outcome.design["cluster"]["dimensions"]
        )
        for outcome in outcomes
    ]
    assert sum(inner > outer for inner, outer in shares) > 12  # most bytes are those of the inner dimension


def test_a_generation_is_made_while_the_one_before_is_evaluated(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Proposals do not depend on the workers, though outcomes come late."""
    monkeypatch.setattr("dse.search.guided.sampler.LATE", 32)
    monkeypatch.setattr("dse.search.guided.sampler.SEEDS", 32)
    monkeypatch.setattr("dse.search.guided.sampler.ROUNDS", 1)
    given = space(system={"chunks": {"range": [1, 40]}})
    one = search(given, tmp_path / "1", "guided", 120, jobs=1)
    assert search(given, tmp_path / "2", "guided", 120, jobs=2) == one
    known = {outcome.key: outcome for outcome in one[1][:70]}
    assert search(given, tmp_path / "3", "guided", 120, known=known) == one
