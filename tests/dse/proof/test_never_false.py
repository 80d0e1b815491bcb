"""Nothing is said to be proven that a design of the space, or a trial of the study, shows to be false."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest
from tiny_spaces import space, tiny

from dse.evaluate.evaluate import Evaluator, Outcome
from dse.evaluate.pareto import front_mask
from dse.proof.branch import Brancher
from dse.proof.certificate import certify
from dse.proof.parts import Parts
from dse.run.covered import best_of_all
from dse.run.drive import optimize
from dse.run.record import load_record
from dse.run.settings import Settings
from dse.search import exact as exact_search
from dse.search.base import Proposal
from dse.search.exact import Exact
from dse.space.objective import losses
from dse.space.space import Space
from dse.study.journal import JOURNAL, kept_trials
from dse.study.store import PROOF
from simcore.document.problem import InputWarning

MODEL = {"name": "tiny", "hidden": 256, "layers": 8, "heads": 8, "vocabulary": 1000, "sequence_length": 128}
SERVED = {
    "model": {**MODEL, "position": "rotary"},
    "global_batch": 8,
    "prompt_length": 64,
    "output_length": 3,
    "precision": "fp16",
}
FAST = {"choice": ["50 GB/s", "100 GB/s", "300 GB/s"]}
SWITCH = {"topology": "switch", "latency": "1 us"}
CLUSTER = {
    "npu": "a100-80gb",
    "dimensions": [
        {**SWITCH, "size": 4, "tier": "node", "bandwidth": FAST},
        {**SWITCH, "size": 2, "tier": "pod", "bandwidth": {"choice": ["10 GB/s", "50 GB/s"]}},
    ],
}
DEGREES = {"product": 8, "of": ["tensor", "pipeline", "data"]}


def feasible(given: Space) -> list[Outcome]:
    judge = Evaluator(given.objectives, given.constraints)
    outcomes = [judge(filled.document) for filled in given.enumerate()]
    return [outcome for outcome in outcomes if outcome.state == "feasible"]


def check_certificate(given: Space) -> None:
    """No feasible design is beyond a bound, nor better than every corner in some objective."""
    found = certify(given, "fast")
    values = losses(given.objectives, [outcome.values for outcome in feasible(given)])
    assert len(values)
    for objective, column in zip(given.objectives, values.T, strict=True):
        bound = found.limits[objective.name].value
        assert bound is None or objective.sign * bound <= column.min() * (1 + 1e-9)
    if found.corners is not None:
        corners = np.array(found.corners).reshape(-1, values.shape[1])
        assert (corners[None] <= values[:, None] * (1 + 1e-9)).all(axis=2).any(axis=1).all()


@pytest.mark.parametrize("efficiency", [0.7, 1.0, {"choice": [0.7, 1.0]}])
@pytest.mark.parametrize("npu", ["mi300x", "h100-80gb"])
def test_bounds_know_beside_which_efficiencies_no_library_is_assumed(npu: str, efficiency: Any) -> None:
    """Of an NPU whose collectives nobody measured an efficiency is what a library reaches."""
    node, pod = CLUSTER["dimensions"]
    dimensions = [{**node, "efficiency": efficiency}, pod]
    given = {"cluster": {"npu": npu, "dimensions": dimensions}, "parallelism": {"degrees": DEGREES}}
    check_certificate(space(objectives={"minimize": ["iteration_time", "cost.network"]}, **given))


ONE = {"topology": "switch", "size": 8, "bandwidth": "300 GB/s", "latency": "1 us", "tier": "node"}
ALL_REDUCE = {"collective": "all_reduce", "size": "100 MB"}
TWO = [{**SWITCH, "size": 4, "tier": "node", "bandwidth": "300 GB/s"}, {**SWITCH, "size": 2, "tier": "pod"}]
OPEN = [{**SWITCH, "size": 2, "latency": "0 s", "tier": "node"}, {**SWITCH, "size": 4, "latency": "0 s", "tier": "pod"}]
LONG = {"hidden": 1024, "layers": 4, "heads": 16, "vocabulary": 1000, "sequence_length": 4096, "position": "rotary"}
HIDDEN: dict[str, dict[str, Any]] = {
    "usual stacks that differ by NPU": {
        "workload": {"model": MODEL, "global_batch": 16, "precision": "bf16"},
        "cluster": {"npu": {"choice": ["h100-80gb", "tpu-v5p"]}, "dimensions": [ONE]},
    },
    "gradients of another stack": {"software": "deepspeed", "cluster": {"npu": "h100-80gb", "dimensions": [ONE]}},
    "stacks with other gradients": {"software": {"choice": ["deepspeed", "megatron-core"]}},
    "an efficiency that follows from chunks": {
        "workload": ALL_REDUCE,
        "cluster": {"npu": "h100-80gb", "dimensions": [{**ONE, "efficiency": {"expr": "1 / system.chunks"}}]},
        "system": {"chunks": {"choice": [1, 8]}},
    },
    "a bandwidth that follows from another": {
        "workload": ALL_REDUCE,
        "cluster": {
            "npu": "a100-80gb",
            "dimensions": [
                {**TWO[0], "bandwidth": {"choice": ["50 GB/s", "300 GB/s"]}},
                {**TWO[1], "bandwidth": {"expr": "1e21 / cluster.dimensions[0].bandwidth"}},
            ],
        },
    },
    "transports over a split budget": {
        "workload": ALL_REDUCE,
        "cluster": {
            "npu": "a100-80gb",
            "dimensions": OPEN,
            "bandwidth": {"split": "20 GB/s", "step": "1 GB/s"},
            "transport": {"choice": [{"control": "hpcc", "efficiency": 0.3}, "none"]},
        },
    },
    "holes in holes": {
        "cluster": {
            "npu": "a100-80gb",
            "dimensions": [
                TWO[0],
                {**TWO[1], "bandwidth": {"choice": ["5 GB/s", {"choice": ["50 GB/s", "100 GB/s"]}]}},
            ],
        },
    },
    "a model or a collective": {
        "workload": {"choice": [{"model": MODEL, "global_batch": 16}, {"collective": "all_reduce", "size": "1 MB"}]},
        "parallelism": {"data": 8},
        "cluster": {"npu": "a100-80gb", "dimensions": [ONE]},
    },
    "tokens that cut their cache into parts": {
        "workload": {"model": LONG, "global_batch": 64, "prompt_length": 250, "output_length": 9, "precision": "bf16"},
        "parallelism": {"degrees": {"product": 8, "of": ["tensor", "data"]}},
        "cluster": {"npu": "h100-80gb", "dimensions": [{**ONE, "library": {}, "latency": "0 s"}]},
        "system": {"chunks": 1},
    },
    "weights that are held in fewer bits": {
        "workload": {**SERVED, "weight_precision": {"choice": ["fp8", "mxfp4"]}},
        "parallelism": {"degrees": DEGREES},
        "cluster": CLUSTER,
        "objectives": {"minimize": ["time_per_output_token", "memory.reserved"]},
    },
    "batches whose microbatches follow from them": {
        "workload": {
            "layers": {"layers": [{"kind": "gemm", "m": 16, "n": 64, "k": 64}] * 4},
            "global_batch": {"choice": [8, 4096]},
            "precision": "bf16",
        },
        "parallelism": None,
        "cluster": CLUSTER,
        "objectives": {"minimize": ["iteration_time"], "maximize": ["throughput"]},
    },
    "memory at the edge of a mesh": {
        "parallelism": {"degrees": {"product": 8, "of": ["tensor", "data"]}, "zero": 3},
        "cluster": {
            "npu": "h100-80gb",
            "dimensions": [
                {"topology": "mesh", "size": size, "bandwidth": "750 GB/s", "latency": "100 ns", "tier": "node"}
                for size in (2, 4)
            ],
            "memory": {
                "expanded": {
                    "capacity": "4 TB",
                    "bandwidth": "1000 GB/s",
                    "shared_by": 8,
                    "edge": True,
                    "place": ["weights", "optimizer"],
                    "updates": True,
                }
            },
        },
    },
}
"""What a bound once took from the wrong design, by what hid it."""


@pytest.mark.parametrize("hidden", HIDDEN)
def test_bounds_hold_where_defaults_and_expressions_follow_from_what_is_open(hidden: str) -> None:
    given = {"hypothetical": True, "parallelism": {"degrees": {"product": 8, "of": ["tensor", "data"]}}}
    names = ["iteration_time"] if HIDDEN[hidden].get("workload") == ALL_REDUCE else ["iteration_time", "cost.total"]
    document = {**given, "system": {"chunks": 4}, "objectives": {"minimize": names}, **HIDDEN[hidden]}
    if "collective" in document.get("workload", {}):
        document |= {"parallelism": None, "constraints": []}
    found = space(tiny(**document))
    check_certificate(found)


@pytest.mark.parametrize("limited", ["cost.network", "cost.total", "power.peak"])
@pytest.mark.parametrize("workload", [SERVED, None])
def test_a_limit_that_the_fastest_network_breaks_leaves_the_bounds_of_the_others(
    limited: str, workload: dict[str, Any] | None
) -> None:
    """Networks with the most of every bandwidth, which bounds look at, cost and draw most."""
    given = {"cluster": CLUSTER, "parallelism": {"degrees": DEGREES}, "hypothetical": True}
    given |= {"workload": workload} if workload else {}
    wanted = {"minimize": ["iteration_time", limited]}
    least = min(outcome.values[limited] for outcome in feasible(space(tiny(**given, objectives=wanted))))
    check_certificate(space(tiny(**given, objectives=wanted, constraints=["fits", f"{limited} <= {least * 1.001!r}"])))


def test_bandwidths_that_break_a_rule_leave_those_that_do_not() -> None:
    """Marks of the usual control lie within a small buffer where links are slow only."""
    fast = {**CLUSTER["dimensions"][0], "bandwidth": "100 GB/s"}
    slow = {**SWITCH, "size": 2, "tier": "pod", "bandwidth": {"choice": ["400 GB/s", "12.5 GB/s"]}}
    transport = {"control": "dcqcn", "buffer": "2 MB"}
    cluster = {**CLUSTER, "dimensions": [fast, slow], "transport": transport}
    given = space(tiny(cluster=cluster, hypothetical=True))
    good = feasible(given)
    assert 0 < len(good) < given.count()
    assert {outcome.design["cluster"]["dimensions"][1]["bandwidth"] for outcome in good if outcome.design} == {
        "12.5 GB/s"
    }
    check_certificate(given)
    sampler = Exact(given, 0)
    drive(sampler, answers_of(given))
    assert sampler.proof()["complete"]
    assert front_of(sampler) == true_front(given)


def answers_of(given: Space) -> dict[str, Outcome]:
    judge = Evaluator(given.objectives, given.constraints)
    return {outcome.key: outcome for outcome in (judge(filled.document) for filled in given.enumerate())}


def drive(sampler: Exact, answers: dict[str, Outcome], failing: str = "") -> None:
    while (proposal := sampler.ask()) is not None:
        assert proposal.key is not None
        outcome = answers[proposal.key]
        if outcome.key == failing:
            sampler.reject(proposal)
        else:
            values = losses(sampler._space.objectives, [outcome.values])[0]
            sampler.tell(proposal, tuple(map(float, values)), outcome.violations)


def front_of(sampler: Exact) -> list[list[float]]:
    rows: list[list[float]] = sampler._front.tolist()
    return rows


def true_front(given: Space) -> list[list[float]]:
    values = losses(given.objectives, [outcome.values for outcome in feasible(given)])
    rows: list[list[float]] = np.unique(values[front_mask(values)], axis=0).tolist()
    return rows


class Interrupted:
    """Counts the lines that an `Exact` comes to after its jobs are bounded, and interrupts it before one of them."""

    def __init__(self, sampler: Exact, at: int) -> None:
        self.lines, self._at = 0, at
        sampler._propose = self._traced(sampler._propose)  # type: ignore[method-assign]
        for name in ("tell", "reject"):
            setattr(sampler, name, partial(self._run, getattr(sampler, name)))

    def _traced(self, propose: Callable[[], Iterator[Proposal]]) -> Callable[[], Iterator[Proposal]]:
        def traced() -> Iterator[Proposal]:
            found = propose()
            while (proposal := self._run(next, found, None)) is not None:
                yield proposal

        return traced

    def _run(self, step: Callable[..., Any], *args: Any) -> Any:
        before = sys.gettrace()
        sys.settrace(lambda frame, *_: self._line if frame.f_code.co_filename == exact_search.__file__ else None)
        try:
            return step(*args)
        finally:
            sys.settrace(before)

    def _line(self, frame: FrameType, event: str, _: Any) -> Any:
        if event == "line":
            self.lines += 1
            if self.lines == self._at:
                raise KeyboardInterrupt
        return self._line


def test_a_proof_that_is_broken_off_anywhere_says_nothing_false() -> None:
    given = space(tiny(cluster={**CLUSTER, "npu": {"choice": ["a100-80gb", "v100-32gb"]}}))
    answers, front = answers_of(given), true_front(given)
    failing = min(answers, key=lambda key: answers[key].values["iteration_time"])
    best = np.array(front).min(axis=0)
    sampler = Exact(given, 0)
    lines = Interrupted(sampler, 0)
    drive(sampler, answers, failing)
    assert lines.lines > 100
    claimed = 0
    for at in range(1, lines.lines, lines.lines // 20):
        sampler = Exact(given, 0)
        Interrupted(sampler, at)
        with pytest.raises(KeyboardInterrupt):
            drive(sampler, answers, failing)
        proof = sampler.proof()
        assert not proof["complete"]
        for objective, least in zip(given.objectives, best, strict=True):
            bound = proof["bounds"][objective.name]
            assert bound is None or objective.sign * bound <= least
            claimed += bound is not None
        if proof["corners"] is not None:
            corners = np.array([*proof["corners"], *front_of(sampler)])
            assert all((corners <= row).all(axis=1).any() for row in front)
    assert claimed


@pytest.fixture(scope="module")
def proved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study with a complete proof; not to be written to."""
    folder = tmp_path_factory.mktemp("proved")
    optimize(space(), Settings("exact", 1000, 0), folder)
    proof = load_record(folder).proof
    assert proof is not None
    assert proof["complete"]
    return folder


@pytest.fixture
def run(proved: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    return shutil.copytree(proved, tmp_path / "run")


def test_a_proof_of_fewer_trials_is_not_that_of_more(run: Path, tmp_path: Path) -> None:
    optimize(space(), Settings("exact", 4, 0), tmp_path / "other")
    early = (tmp_path / "other" / PROOF).read_bytes()
    optimize(space(), Settings("exact", 1000, 0), tmp_path / "other", resume=True)
    (tmp_path / "other" / PROOF).write_bytes(early)
    with pytest.warns(InputWarning, match="expected the proof of these trials"):
        assert load_record(tmp_path / "other").proof is None


def test_a_study_that_goes_on_has_no_proof_until_it_ends(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def killed(*_: Any) -> None:
        assert not (run / PROOF).exists()
        raise RuntimeError("killed")

    monkeypatch.setattr("dse.run.drive.Study.run", killed)
    with pytest.raises(RuntimeError, match="killed"):
        optimize(space(), Settings("exact", 1000, 0), run, resume=True)


def test_a_proof_of_another_space_is_passed_over(run: Path, tmp_path: Path) -> None:
    other = space(tiny(parallelism={"degrees": DEGREES, "zero": {"choice": [0, 1, 3]}}))
    optimize(other, Settings("random", 20, 0), tmp_path / "other")
    shutil.copy(run / PROOF, tmp_path / "other" / PROOF)
    with pytest.warns(InputWarning, match="expected the proof of these trials"):
        assert load_record(tmp_path / "other").proof is None


def test_a_proof_by_another_version_is_passed_over(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dse.run.document.proof_fingerprint", lambda: "another")
    with pytest.warns(InputWarning, match="expected the proof of these trials"):
        record = load_record(run)
    assert record.proof is None
    assert record.bounds["iteration_time"] is not None


def test_bounds_of_one_model_are_not_said_of_trials_of_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    optimize(space(), Settings("random", 20, 0), tmp_path)
    assert load_record(tmp_path).bounds["iteration_time"] is not None
    monkeypatch.setattr("dse.run.document.model_fingerprint", lambda: "another")
    record = load_record(tmp_path)
    assert set(record.bounds.values()) == {None}
    assert any("another version of the model" in notice for notice in record.notices)


def test_a_proof_does_not_speak_of_a_front_whose_trial_is_damaged(run: Path) -> None:
    lines = (run / JOURNAL).read_bytes().splitlines(keepends=True)
    best = min(load_record(run).feasible_trials, key=lambda trial: trial.values["iteration_time"])
    place = next(i for i, line in enumerate(lines) if f'"number":{best.number},'.encode() in line)
    lines[place] = lines[place][:100] + b"\n"
    (run / JOURNAL).write_bytes(b"".join(lines))
    with pytest.warns(InputWarning) as told:
        record = load_record(run)
    assert {"damaged line" in str(one.message) for one in told} == {True, False}
    assert record.proof is None
    least = min(trial.values["iteration_time"] for trial in record.feasible_trials)
    bound = record.bounds["iteration_time"]
    assert bound is not None
    assert bound <= best.values["iteration_time"] < least


def test_a_design_that_two_lines_have_counts_once(tmp_path: Path) -> None:
    """A line is lost, and another stands twice, once under the lost number: so many trials, not so many designs."""
    given = space()
    optimize(given, Settings("exhaustive", 1000, 0), tmp_path)
    lines = (tmp_path / JOURNAL).read_bytes().splitlines(keepends=True)
    first = next(i for i, line in enumerate(lines) if b'"number":0,' in line)
    log = json.loads(lines[first + 1])
    log.pop("crc")
    log["user_attrs"]["number"] = 0
    lines[first] = json.dumps(log, separators=(",", ":")).encode() + b"\n"
    (tmp_path / JOURNAL).write_bytes(b"".join(lines))
    record, kept = load_record(tmp_path), kept_trials(tmp_path, given.objectives)
    assert len(record.trials) == given.count()
    assert best_of_all(given, record, lambda: kept.keys) is None


def test_a_search_of_all_that_may_be_simulated_has_found_the_best(tmp_path: Path) -> None:
    """A limit on inputs cuts some designs, which the guided sampler never proposes."""
    cut = space(tiny(constraints=["fits", "cost.npu <= 90e3"], objectives={"minimize": ["iteration_time"]}))
    optimize(cut, Settings(sampler="guided", trials=400, seed=0), tmp_path / "all", resume=False)
    record = load_record(tmp_path / "all")
    assert 0 < len(record.trials) < cut.count()
    assert record.bounds["iteration_time"] == min(t.values["iteration_time"] for t in record.feasible_trials)
    optimize(cut, Settings(sampler="guided", trials=10, seed=0), tmp_path / "part", resume=False)
    few = load_record(tmp_path / "part")
    assert few.bounds["iteration_time"] < min(t.values["iteration_time"] for t in few.feasible_trials)


def test_a_metric_that_designs_do_not_have_proves_nothing() -> None:
    """A search that waited for a bound of it never ended."""
    reliability = {"choice": ["llama3", "none"]}
    given = space(
        cluster={"npu": "h100-80gb", "dimensions": [ONE]},
        reliability=reliability,
        constraints=[],
        parallelism={"data": 8},
        system={"chunks": 4},
        hypothetical=True,
        objectives={"maximize": ["mtbf"]},
    )
    sampler = Exact(given, 0)
    assert sampler.ask() is not None


def test_networks_of_a_family_reach_different_shares_of_their_bandwidths() -> None:
    dimension = {**ONE, "efficiency": {"choice": [0.5, 0.9]}}
    sizes = {"choice": ["100 MB", "1 GB"]}
    given = {"workload": {**ALL_REDUCE, "size": sizes}, "parallelism": None, "constraints": [], "hypothetical": True}
    found = space(
        cluster={"npu": "a100-80gb", "dimensions": [dimension]},
        system={"chunks": 4},
        objectives={"maximize": ["network_utilization"]},
        **given,
    )
    check_certificate(found)
    parts, brancher = Parts.of(found), Brancher(found.objectives, found.constraints)
    judge = Evaluator(found.objectives, found.constraints)
    for job in parts.jobs():
        for node in brancher.nodes(job, parts.networks_of(job)):
            bounds, _ = brancher.bounds(node)
            for row, place in zip(bounds, np.flatnonzero(node.live), strict=True):
                outcome = judge({**node.networks.parts[place].document, **job.document})
                assert row[0] <= -outcome.values["network_utilization"] * (1 - 1e-9)


def test_a_budget_with_a_hole_in_a_hole_is_bounded() -> None:
    budget = {"choice": ["100 GB/s", {"range": ["150 GB/s", "200 GB/s"], "step": "50 GB/s"}]}
    cluster = {"npu": "a100-80gb", "dimensions": OPEN, "bandwidth": {"split": budget, "step": "25 GB/s"}}
    check_certificate(space(cluster=cluster, parallelism={"data": 8}, hypothetical=True))


def test_a_precision_that_an_npu_lacks_cuts_a_design() -> None:
    given = space()
    (filled, *_) = given.enumerate()
    document = {**filled.document, "workload": {**filled.document["workload"], "precision": "bf16"}}
    document["cluster"] = {**document["cluster"], "npu": "v100-32gb"}
    assert Evaluator(given.objectives, given.constraints)(document).state == "cut"


def test_a_job_of_more_npus_than_there_are_is_cut_beside_a_limit_of_the_network_alone() -> None:
    """Its data-parallel degree is none: no document of it can be read again."""
    network = {**CLUSTER, "dimensions": [{**CLUSTER["dimensions"][0], "size": 2}]}
    degrees = {"tensor": {"choice": [2, 1]}, "pipeline": 2}
    found = space(
        tiny(
            cluster=network,
            parallelism=degrees,
            system={"chunks": 4},
            hypothetical=True,
            constraints=["fits", "cost.network <= 1 M$"],
        )
    )
    sampler = Exact(found, 0)
    drive(sampler, answers_of(found))
    assert sampler.proof()["complete"]
    assert front_of(sampler) == true_front(found)
