"""The exact sampler finds what brute force finds, and says what it cut."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tiny_spaces import search, simulated_with_a_pipeline, space, tiny

from dse.evaluate.evaluate import Evaluator
from dse.evaluate.pareto import front_mask
from dse.proof.branch import Brancher
from dse.proof.parts import Parts
from dse.report.summary import summarize
from dse.report.words import describe_proof as proof_in_words
from dse.run.drive import optimize
from dse.run.record import load_record
from dse.run.settings import Settings
from dse.search import resolve_sampler
from dse.search.base import Prover
from dse.search.exact import Exact
from dse.search.guided_exact import GuidedExact
from dse.space.objective import losses
from dse.space.space import Space, load_space
from dse.study.journal import read_trials
from simcore.bounds.design import bound
from simcore.check.load import parse_design
from simcore.document.problem import InputError

SPACES = Path(__file__).parents[3] / "spaces"
OBJECTIVES: list[dict[str, list[str]]] = [
    {"minimize": ["iteration_time"]},
    {"minimize": ["iteration_time", "cost.total"]},
    {"minimize": ["memory.peak", "iteration_time", "cost.network"]},
    {"maximize": ["perf_per_cost"], "minimize": ["energy"]},
    {"maximize": ["throughput", "mfu"], "minimize": ["cost.total"]},
    {"minimize": ["bubble", "cost.total"]},
    {"maximize": ["cost.total"], "minimize": ["iteration_time"]},
]
BY_SIZE = {"16 KB": 0.2, "1 MB": 0.6, "64 MB": 0.9}
SWITCH = {"topology": "switch", "latency": "1 us"}
LIBRARY = {"all_reduce": {"launch": "50 us", "memory": "100 GB/s", "piece": "9 us", "whole_memory": "1 TB/s"}}
CLUSTERS: list[dict[str, Any]] = [
    {
        "npu": {"choice": ["a100-80gb", "h100-80gb"]},
        "dimensions": [
            {**SWITCH, "size": 4, "bandwidth": {"choice": ["100 GB/s", "300 GB/s"]}, "oversubscription": 2.0},
            {**SWITCH, "size": 2, "bandwidth": "25 GB/s", "tier": "pod", "efficiency": {"choice": [0.5, BY_SIZE]}},
        ],
    },
    {
        "npu": "v100-32gb",
        "bandwidth": {"split": {"choice": ["100 GB/s", "150 GB/s"]}, "step": "25 GB/s"},
        "dimensions": {
            "choice": [
                [{**SWITCH, "size": 8}],
                [{**SWITCH, "size": 2, "topology": "ring"}, {**SWITCH, "size": 4, "topology": "fully_connected"}],
                [{**SWITCH, "size": 2}, {**SWITCH, "size": 2}, {**SWITCH, "size": 2, "in_network": True}],
            ]
        },
    },
    {
        "npu": "a100-80gb",
        "dimensions": [
            {**SWITCH, "size": 2, "bandwidth": "100 GB/s", "collective": "flat_ring"},
            {**SWITCH, "size": 4, "bandwidth": {"choice": ["10 GB/s", "50 GB/s"]}, "collective": "flat_ring"},
        ],
    },
    {
        "npu": "a100-80gb",
        "dimensions": [
            {**SWITCH, "size": 4, "bandwidth": "300 GB/s", "library": {"choice": ["nccl-ampere", LIBRARY]}},
            {**SWITCH, "size": 2, "bandwidth": {"choice": ["25 GB/s", "50 GB/s"]}, "tier": "pod"},
        ],
    },
]
SYSTEMS: list[dict[str, Any]] = [
    {"chunks": {"choice": [1, 4, 16]}},
    {"chunks": 8, "inter_dimension": {"choice": ["baseline", "themis", "bandwidth_aware"]}},
    {"chunks": 4, "intra_dimension": {"choice": ["fifo", "scf"]}, "active_chunks": {"choice": ["overlap", 1]}},
]
PARALLEL: list[dict[str, Any]] = [
    {"zero": {"choice": [0, 1, 3]}},
    {"microbatch": {"choice": [1, 4]}, "recompute": {"choice": ["none", "full"]}},
    {"interleave": {"choice": [1, 2]}, "sequence_parallel": {"choice": [False, True]}, "bucket": "1 MB"},
    {"schedule": {"choice": ["1f1b", "gpipe"]}, "zero": 2},
    {"schedule": {"choice": ["1f1b", "zero_bubble"]}, "zero": {"choice": [0, 1]}},
]
CONSTRAINTS = [["fits"], ["fits", "parallelism.tensor <= 4", "cost.total <= 200000"], ["fits", "bubble <= 0.1"], []]
DEGREES = {"product": 8, "of": ["tensor", "pipeline", "data"]}


@st.composite
def small_spaces(draw: st.DrawFn) -> Space:
    return space(
        parallelism={"degrees": DEGREES, **draw(st.sampled_from(PARALLEL))},
        cluster=draw(st.sampled_from(CLUSTERS)),
        system=draw(st.sampled_from(SYSTEMS)),
        objectives=draw(st.sampled_from(OBJECTIVES)),
        constraints=draw(st.sampled_from(CONSTRAINTS)),
    )


def brute_force(given_space: Space) -> dict[str, tuple[float, ...]]:
    return nondominated(feasible(given_space))


def feasible(given_space: Space) -> dict[str, tuple[float, ...]]:
    judge = Evaluator(given_space.objectives, given_space.constraints)
    found = {}
    for filled in given_space.enumerate():
        outcome = judge(filled.document)
        if outcome.state == "feasible":
            found[outcome.key] = tuple(map(float, losses(given_space.objectives, [outcome.values])[0]))
    return found


def nondominated(found: dict[str, tuple[float, ...]]) -> dict[str, tuple[float, ...]]:
    if not found:
        return {}
    mask = front_mask(np.array(list(found.values())))
    return {key: row for (key, row), kept in zip(found.items(), mask, strict=True) if kept}


def exact(
    given_space: Space, batch: int, trials: int = 10**6, of: type[Prover] = Exact
) -> tuple[dict[str, tuple[float, ...]], dict[str, Any]]:
    sampler = of(given_space, 0)  # type: ignore[call-arg]
    judge = Evaluator(given_space.objectives, given_space.constraints)
    found: dict[str, tuple[float, ...]] = {}
    asked = 0
    while asked < trials:
        proposals = [p for p in (sampler.ask() for _ in range(min(batch, trials - asked))) if p is not None]
        if not proposals:
            break
        asked += len(proposals)
        for proposal in proposals:
            outcome = judge(proposal.filled.document)
            assert outcome.state != "failed", outcome.error
            row = tuple(map(float, losses(given_space.objectives, [outcome.values])[0]))
            sampler.tell(proposal, row, outcome.violations)
            if outcome.state == "feasible":
                found[outcome.key] = row
    return nondominated(found), sampler.proof()


@settings(max_examples=5, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(small_spaces(), st.sampled_from([1, 8]), st.sampled_from([Exact, GuidedExact]))
def test_the_front_is_that_of_brute_force(given_space: Space, batch: int, of: type[Prover]) -> None:
    expected = brute_force(given_space)
    front, proof = exact(given_space, batch, of=of)
    assert front == expected
    assert proof["complete"]
    assert proof["simulated"] + proof["repeats"] + sum(proof["cut"].values()) == proof["points"]
    for column, objective in enumerate(given_space.objectives):
        if expected:
            assert proof["bounds"][objective.name] == objective.sign * min(row[column] for row in expected.values())


@settings(max_examples=4, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(small_spaces(), st.integers(0, 12))
def test_no_design_beats_what_is_proved_where_the_trials_end_early(given_space: Space, trials: int) -> None:
    expected = brute_force(given_space)
    front, proof = exact(given_space, 4, trials)
    for column, objective in enumerate(given_space.objectives):
        proved = proof["bounds"][objective.name]
        if proved is not None and expected:
            best = min(row[column] for row in expected.values())
            assert objective.sign * proved <= best
            assert not front or best <= min(row[column] for row in front.values())


@settings(max_examples=4, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(small_spaces())
def test_bounds_of_many_networks_are_those_of_each(given_space: Space) -> None:
    """But for what a library adds that is no sum of what links take and what it takes itself."""
    parts = Parts.of(given_space)
    brancher = Brancher(given_space.objectives, ())
    for job in list(parts.jobs())[::5]:
        for node in brancher.nodes(job, parts.networks_of(job)):
            rows, _ = brancher.bounds(node)
            relaxed = brancher.relaxed_bounds(node)
            proved = np.isfinite(rows).all(axis=0)
            assert (relaxed[:, proved] <= rows[:, proved] + 1e-9 * abs(rows[:, proved])).all()
            for row, network in zip(rows, np.flatnonzero(node.live), strict=True):
                design, _ = parse_design(parts.fill_design(job, node.networks.parts[network]).document)
                assert design is not None
                proven = bound(design)
                for value, objective in zip(row, given_space.objectives, strict=True):
                    own = proven[objective.name]
                    if own is not None and np.isfinite(value) and objective.name in ("iteration_time", "cost.total"):
                        assert 0.9 * own <= objective.sign * value <= own * (1 + 1e-6)


def test_what_an_expression_ties_together_is_searched_too() -> None:
    document = tiny(constraints=["fits", "bubble <= 0.3"])
    document["system"]["chunks"] = {"expr": "parallelism.tensor * 2"}
    given_space = space(document)
    assert not Parts.of(given_space).separable
    assert exact(given_space, 8)[0] == brute_force(given_space)


def test_topologies_that_cannot_be_built_at_a_size_are_cut_and_no_others() -> None:
    clos = {"topology": "clos", "leaf": 2, "pod": {"choice": [4, 6]}, "oversubscription": [1, 2]}
    link = {"bandwidth": {"choice": ["10 GB/s", "50 GB/s"]}, "latency": "1 us", "tier": "pod"}
    given_space = space(
        tiny(
            cluster={"npu": "a100-80gb", "dimensions": [{**clos, **link, "size": 8}]},
            parallelism={"degrees": {"product": 8, "of": ["tensor", "pipeline", "data"]}},
            system={"chunks": 4},
        )
    )
    found, proof = exact(given_space, 4)
    assert found == brute_force(given_space)
    assert found
    assert proof["complete"]


def test_a_collective_alone_is_searched_too() -> None:
    document = {
        "workload": {"collective": "all_reduce", "size": {"choice": ["1 MB", "1 GB"]}},
        "cluster": CLUSTERS[1],
        "system": SYSTEMS[1],
    }
    given_space = space(document)
    front, proof = exact(given_space, 4)
    assert front == brute_force(given_space)
    assert proof["simulated"] < proof["points"]


def test_clusters_at_a_list_of_parts_are_searched_too() -> None:
    node = {"topology": "switch", "size": 8, "bandwidth": "450 GB/s", "latency": "1 us"}
    tree = {"topology": "fat_tree", "size": 4, "leaf": 2, "latency": "1 us", "tier": "pod", "nic_bandwidth": "50 GB/s"}
    tree |= {"nics": {"choice": [1, 8]}, "oversubscription": {"choice": [1, 2]}}
    parallelism = {"degrees": {"product": 32, "of": ["tensor", "data"]}, "zero": {"choice": [0, 1]}}
    cluster = {"npu": "h100-80gb", "dimensions": [node, {**tree, "switch": {"choice": ["qm9700", "tomahawk-5"]}}]}
    workload = {**tiny()["workload"], "global_batch": 32}
    document = tiny(workload=workload, parallelism=parallelism, cluster=cluster, cost="street-2025", system=None)
    given_space = space({**document, "constraints": ["fits", "racks <= 3", "cost.network <= 250000"]})
    front, proof = exact(given_space, 4)
    assert front == brute_force(given_space)
    assert proof["complete"]
    assert proof["bounds"]["cost.total"] == min(row[1] for row in front.values())


def test_how_well_a_collective_uses_its_network_is_bounded_too() -> None:
    document = {
        "workload": {"collective": {"choice": ["all_reduce", "all_to_all"]}, "size": "1 GB"},
        "cluster": CLUSTERS[1],
        "system": SYSTEMS[1],
        "objectives": {"maximize": ["network_utilization"], "minimize": ["iteration_time", "cost.network"]},
    }
    given_space = space(document)
    front, proof = exact(given_space, 4)
    assert front == brute_force(given_space)
    assert proof["cut"]["bound"] > 0.3 * proof["points"]


def test_a_continuous_hole_is_refused() -> None:
    document = tiny()
    document["cluster"]["dimensions"][1]["bandwidth"] = {"range": ["10 GB/s", "400 GB/s"]}
    with pytest.raises(InputError, match="continuous hole"):
        Exact(space(document), 0)


def run(given_space: Space, folder: Path, trials: int, jobs: int = 1, engine: str = "fast") -> str:
    asked = Settings("exact", trials, 0, jobs=jobs, engine=engine)
    return optimize(given_space, asked, folder, resume=False)


def test_a_study_is_the_same_to_the_byte_for_any_number_of_jobs(tmp_path: Path) -> None:
    given_space = space()
    for jobs in (1, 2):
        assert run(given_space, tmp_path / str(jobs), 1000, jobs) == "exhausted"
    one, two = (list(read_trials(tmp_path / str(jobs), given_space.objectives)) for jobs in (1, 2))
    assert one == two
    for name in ("study.yaml", "proof.json"):
        assert (tmp_path / "1" / name).read_bytes() == (tmp_path / "2" / name).read_bytes()
    record = load_record(tmp_path / "1")
    assert record.proof is not None
    assert record.proof["complete"]
    assert record.bounds["iteration_time"] == min(t.values["iteration_time"] for t in record.front)


def test_a_lead_of_guided_designs_comes_first_and_none_is_simulated_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dse.search.guided_exact.LEAD", 1)
    given_space = space()
    sampler, judge, keys = GuidedExact(given_space, 0), Evaluator(given_space.objectives, given_space.constraints), []
    while (proposal := sampler.ask()) is not None:
        outcome = judge(proposal.filled.document)
        assert (proposal.handle is not None) == (len(keys) < 1)
        keys.append(outcome.key)
        row = tuple(map(float, losses(given_space.objectives, [outcome.values])[0]))
        sampler.tell(proposal, row, outcome.violations)
    assert len(keys) == len(set(keys)) > 1
    assert sampler.proof()["complete"]


def test_where_the_trials_end_the_gap_is_said(tmp_path: Path) -> None:
    assert run(space(), tmp_path / "short", 1) == "trials"
    record = load_record(tmp_path / "short")
    assert record.proof is not None
    assert not record.proof["complete"]
    assert record.proof["open"] is None or record.proof["open"] > 0


def test_auto_proves_what_it_can_finish() -> None:
    finite, endless = space(), space(system={"chunks": {"range": [1, 10**6]}})
    assert [resolve_sampler("auto", given, "fast") for given in (finite, endless)] == ["exact", "guided"]
    several = space(system={"chunks": {"range": [1, 100]}})
    assert resolve_sampler("auto", several, "fast") == "guided-exact"
    assert resolve_sampler("auto", replace(several, objectives=several.objectives[:1]), "fast") == "exact"
    assert resolve_sampler("auto", finite) == resolve_sampler("auto", finite, "fast", proving=False) == "guided"
    for engine in ("reference_links", "packets", "somebody.else:engine"):
        assert resolve_sampler("auto", finite, engine) == "multi-fidelity"


def test_several_jobs_at_once_are_refused_and_auto_leaves_other_kinds_to_guided() -> None:
    document = tiny(constraints=[], objectives={"minimize": ["iteration_time"]})
    document["workload"] = {"model": "llama3-8b", "global_batch": 8, "prompt_length": 64, "output_length": 4}
    assert resolve_sampler("auto", space(document), "fast") == "guided"
    together = load_space(SPACES / "two_jobs.yaml")
    with pytest.raises(InputError, match="another kind of workload"):
        Exact(together, 0)


def test_an_engine_of_another_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="reference_links"):
        run(space(), tmp_path / "links", 10, engine="reference_links")


def test_a_proof_that_cannot_be_read_is_said(tmp_path: Path) -> None:
    search(space(), tmp_path, "exhaustive", 2)
    (tmp_path / "proof.json").write_text('{"bounds": {}}')
    with pytest.raises(InputError, match="proof"):
        load_record(tmp_path)


@pytest.mark.parametrize("of", [Exact, GuidedExact])
def test_a_front_with_designs_that_failed_is_not_said_to_be_whole(of: type[Prover]) -> None:
    given_space = space()
    judge = Evaluator(given_space.objectives, given_space.constraints)

    def proof_without(fails: set[str]) -> tuple[dict[str, tuple[float, ...]], dict[str, Any]]:
        sampler, found = of(given_space, 0), {}  # type: ignore[call-arg]
        while (proposal := sampler.ask()) is not None:
            outcome = judge(proposal.filled.document)
            if outcome.key in fails:
                sampler.reject(proposal)
                continue
            row = tuple(map(float, losses(given_space.objectives, [outcome.values])[0]))
            sampler.tell(proposal, row, outcome.violations)
            if outcome.state == "feasible":
                found[outcome.key] = row
        return nondominated(found), sampler.proof()

    front, whole = proof_without(set())
    assert whole["complete"]
    assert whole["failed"] == 0
    fastest = min(front, key=lambda key: front[key][0])
    _, proof = proof_without({fastest})
    assert not proof["complete"]
    assert proof["failed"] >= 1
    assert proof["open"] == 0
    assert proof["bounds"]["iteration_time"] <= front[fastest][0]


def test_what_fails_is_said_in_the_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dse.evaluate.evaluate.simulate", simulated_with_a_pipeline)
    assert run(space(), tmp_path / "run", 1000) == "exhausted"
    record = load_record(tmp_path / "run")
    assert record.proof is not None
    assert record.proof["failed"] > 0
    assert not record.proof["complete"]
    assert "failed and could be on the front" in proof_in_words(summarize(record))


@pytest.mark.parametrize("proposed", [0, 1, 5])
def test_what_is_not_answered_yet_may_still_be_the_best(proposed: int) -> None:
    given_space = space()
    expected = brute_force(given_space)
    sampler = Exact(given_space, 0)
    assert len([sampler.ask() for _ in range(proposed)]) == proposed
    proof = sampler.proof()
    assert not proof["complete"]
    for column, objective in enumerate(given_space.objectives):
        proved = proof["bounds"][objective.name]
        best = min(row[column] for row in expected.values())
        assert proved is None or objective.sign * proved <= best
    assert (proof["corners"] is None) == (proposed == 0)  # until then nothing is bounded
    for corner in proof["corners"] or []:
        assert len(corner) == len(given_space.objectives)


def test_a_lead_that_fails_after_the_proof_came_to_it_is_not_left_out() -> None:
    given_space = space()
    sampler = GuidedExact(given_space, 0)
    asked = []
    while (proposal := sampler.ask()) is not None:
        asked.append(proposal)
    for proposal in asked:
        sampler.reject(proposal)
    proof = sampler.proof()
    assert proof["open"] == 0
    assert proof["failed"] == proof["simulated"] > 0
    assert not proof["complete"]


@pytest.mark.parametrize("batch", [3, 1000])
def test_the_last_batch_is_part_of_the_proof(tmp_path: Path, batch: int) -> None:
    given_space = space(study={"batch": batch})
    assert run(given_space, tmp_path / "run", 1000) == "exhausted"
    record = load_record(tmp_path / "run")
    assert record.proof is not None
    assert record.proof["complete"]
    assert record.proof["bounds"] == {o.name: min(t.values[o.name] for t in record.front) for o in record.objectives}


def test_no_share_is_said_to_be_done_once_all_jobs_are_bounded() -> None:
    sampler, notes = Exact(space(tiny()), 0), list[tuple[str, float | None]]()
    sampler.on_note = lambda text, done=None: notes.append((text, done))
    assert sampler.ask() is not None
    text, done = notes[-1]
    assert text.startswith("bounded ")
    assert done is None
