"""One suite for every sampler: whoever is listed in `SAMPLERS` must pass it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tiny_spaces import always_broken, at_most, broken_for_tensor_2, cheap, search, slow_result, space, tiny

from dse.evaluate.evaluate import Evaluator
from dse.search import make_sampler, resolve_sampler
from dse.space.objective import losses
from dse.space.samplers import PROVERS, sampler_names
from dse.space.space import Space
from simcore.check.load import parse_design
from simcore.design.design import Design
from simcore.document.problem import InputError
from simcore.result import Result

SAMPLERS = tuple(name for name in sampler_names() if name not in ("auto", "gp"))  # gp needs torch
every_sampler = pytest.mark.parametrize("sampler", SAMPLERS)
SEARCHERS = tuple(name for name in SAMPLERS if name not in PROVERS)
"""Those that spend the trials they are given; what `exact` does with its own is in test_exact.py."""
every_searcher = pytest.mark.parametrize("sampler", SEARCHERS)
OBJECTIVES: list[dict[str, list[str]]] = [
    {"minimize": ["iteration_time"]},
    {"maximize": ["throughput"]},
    {"minimize": ["iteration_time", "cost.total"]},
    {"minimize": ["cost.total"], "maximize": ["perf_per_cost"]},
    {"minimize": ["iteration_time", "cost.total", "energy"]},
    {"maximize": ["throughput", "perf_per_cost"], "minimize": ["cost.network"]},
]


def roomy(sampler: str, **changes: Any) -> Space:
    """A space in which repeats are rare, or small enough to go through in order."""
    return (
        space(**changes) if sampler == "exhaustive" else space(**{"system": {"chunks": {"range": [1, 20]}}, **changes})
    )


def proposals(given: Space, name: str, seed: int, count: int) -> list[Any]:
    """What a sampler proposes when it is told in batches of 8, repeats included."""
    sampler = make_sampler(name, given, seed)
    judge = Evaluator(given.objectives, given.constraints, cheap)
    documents = []
    for _ in range(0, count, 8):
        batch = [proposal for proposal in (sampler.ask() for _ in range(8)) if proposal is not None]
        for proposal in batch:
            documents.append(proposal.filled.document)
            outcome = judge(proposal.filled.document)
            row = losses(given.objectives, [outcome.values])[0]
            sampler.tell(proposal, tuple(map(float, row)), outcome.violations)
    return documents


@every_sampler
def test_the_same_seed_gives_the_same_proposals(sampler: str) -> None:
    given = space()
    assert proposals(given, sampler, 3, 48) == proposals(given, sampler, 3, 48)


@pytest.mark.parametrize("sampler", [name for name in SEARCHERS if name != "exhaustive"])
def test_another_seed_gives_other_proposals(sampler: str) -> None:
    given = roomy(sampler)
    assert proposals(given, sampler, 3, 16) != proposals(given, sampler, 4, 16)


@every_sampler
def test_every_proposal_is_a_document_of_sound_form_from_the_space(sampler: str) -> None:
    given = space()
    known = {json.dumps(filled.document, sort_keys=True) for filled in given.enumerate()}
    for document in proposals(given, sampler, 0, 40):
        assert json.dumps(document, sort_keys=True) in known
        design, problems = parse_design(document)
        assert design is not None
        assert problems == []


@every_searcher
def test_a_study_holds_distinct_designs_only(tmp_path: Path, sampler: str) -> None:
    ended, outcomes = search(roomy(sampler), tmp_path, sampler, 60)
    assert ended == "trials"
    assert len({outcome.key for outcome in outcomes}) == len(outcomes) == 60


@every_searcher
def test_a_search_of_a_finite_space_ends_when_nothing_new_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sampler: str
) -> None:
    monkeypatch.setattr("dse.study.study.MOST_REPEATS", 150)
    given = space(parallelism={"zero": {"choice": [0, 1]}, "data": 8})
    ended, outcomes = search(given, tmp_path, sampler, 400)
    assert ended == "exhausted"
    assert len(outcomes) == given.count() == 12


@pytest.mark.parametrize("sampler", ["random", "nsga2", "tpe"])
def test_a_sampler_goes_on_to_new_designs_where_half_of_a_small_space_is_known(tmp_path: Path, sampler: str) -> None:
    """A sampler that has settled on its favourites must not end the study while most designs are untried."""
    with at_most(20):
        ended, outcomes = search(space(), tmp_path, sampler, 90)
    assert (ended, len(outcomes)) == ("trials", 90)


@every_sampler
def test_a_space_of_one_design_is_one_trial(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sampler: str) -> None:
    monkeypatch.setattr("dse.study.study.MOST_REPEATS", 150)
    document = tiny(parallelism={"data": 8})
    document["cluster"]["npu"] = "b200"
    document["cluster"]["dimensions"][0]["bandwidth"] = "100 GB/s"
    ended, outcomes = search(space(document), tmp_path, sampler, 5)
    assert (ended, len(outcomes)) == ("exhausted", 1)


@every_searcher
@pytest.mark.parametrize("objectives", OBJECTIVES, ids=json.dumps)
def test_any_number_of_objectives_in_any_direction_is_searched(
    tmp_path: Path, sampler: str, objectives: dict[str, list[str]]
) -> None:
    ended, outcomes = search(roomy(sampler, objectives=objectives), tmp_path, sampler, 45)
    assert (ended, len(outcomes)) == ("trials", 45)


@every_searcher
@pytest.mark.parametrize("rule", ["cost.total <= 1", "iteration_time <= 1e-9", "npus <= 4 and power <= 0.1"])
def test_a_space_without_a_feasible_design_is_searched_to_its_end(tmp_path: Path, sampler: str, rule: str) -> None:
    ended, outcomes = search(roomy(sampler, constraints=[rule]), tmp_path, sampler, 45)
    assert (ended, len(outcomes)) == ("trials", 45)
    assert {outcome.state for outcome in outcomes} <= {"cut", "infeasible"}


@every_searcher
@pytest.mark.parametrize("engine", [broken_for_tensor_2, always_broken])
def test_failed_evaluations_never_block_a_search(tmp_path: Path, sampler: str, engine: Any) -> None:
    ended, outcomes = search(roomy(sampler), tmp_path, sampler, 60, engine=engine)
    assert (ended, len(outcomes)) == ("trials", 60)
    # The guided sampler has the bounds of what fails, too, and need not try it where it promises little.
    assert any(outcome.state == "failed" for outcome in outcomes) or sampler in ("guided", "multi-fidelity")


@every_searcher
def test_cut_infeasible_feasible_and_failed_designs_are_searched_together(tmp_path: Path, sampler: str) -> None:
    def engine(design: Design) -> Result:
        return broken_for_tensor_2(design) if design.parallelism.tensor == 2 else slow_result(design)

    given = roomy(sampler, constraints=["fits", "parallelism.tensor <= 4", "bubble <= 0.1"])
    ended, outcomes = search(given, tmp_path, sampler, 120, engine=engine)
    assert (ended, len(outcomes)) == ("trials", 120)
    assert len({outcome.state for outcome in outcomes}) >= (1 if sampler in ("guided", "multi-fidelity") else 3)


@pytest.mark.parametrize("sampler", [name for name in SEARCHERS if name != "exhaustive"])
def test_a_continuous_hole_is_searched(tmp_path: Path, sampler: str) -> None:
    document = tiny()
    document["cluster"]["dimensions"][1]["bandwidth"] = {"range": ["10 GB/s", "400 GB/s"], "log": True}
    _, outcomes = search(space(document), tmp_path, sampler, 30)
    found = {outcome.design["cluster"]["dimensions"][1]["bandwidth"] for outcome in outcomes}
    assert len(found) > 10


@every_searcher
def test_a_split_over_shapes_of_different_depth_is_searched(tmp_path: Path, sampler: str) -> None:
    def dimensions(*sizes: int) -> list[dict[str, Any]]:
        return [{"topology": "switch", "size": size, "latency": "1 us"} for size in sizes]

    cluster = {
        "npu": "a100-80gb",
        "bandwidth": {"split": {"choice": ["200 GB/s", "400 GB/s"]}, "step": "25 GB/s"},
        "dimensions": {"choice": [dimensions(8), dimensions(4, 2), dimensions(2, 2, 2)]},
    }
    chunks = 2 if sampler == "exhaustive" else {"range": [1, 20]}
    _, outcomes = search(space(cluster=cluster, system={"chunks": chunks}), tmp_path, sampler, 40)
    assert len(outcomes) == 40
    for outcome in outcomes:
        shares = [float(d["bandwidth"].split()[0]) for d in outcome.design["cluster"]["dimensions"]]
        assert sum(shares) in (200.0, 400.0)


def test_exhaustive_proposes_every_combination_in_the_order_of_the_space() -> None:
    given = space()
    assert proposals(given, "exhaustive", 0, 200) == [filled.document for filled in given.enumerate()]


def test_exhaustive_refuses_a_continuous_hole() -> None:
    document = tiny()
    document["cluster"]["dimensions"][1]["bandwidth"] = {"range": ["10 GB/s", "400 GB/s"]}
    with pytest.raises(InputError, match="give every range a step"):
        make_sampler("exhaustive", space(document), 0)


@pytest.mark.parametrize("chunks", [{"range": [1, 10]}, {"range": [1, 100]}])
def test_auto_is_guided_and_any_other_name_is_itself(chunks: Any) -> None:
    assert resolve_sampler("auto", space(system={"chunks": chunks})) == "guided"
    assert resolve_sampler("tpe", space(system={"chunks": chunks})) == "tpe"
