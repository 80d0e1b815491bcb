"""Where budgets of bandwidth are split: the networks that the bounds of a job choose."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from split_spaces import open_split
from tiny_spaces import search

from dse.search.guided.budgets import BudgetCandidates
from dse.search.guided.candidates import Candidate, Candidates
from dse.search.guided.genome import job_of, values_of_genes
from dse.search.guided.led import LedCandidates
from dse.search.guided.otherwise import OtherwiseRun
from dse.search.guided.promise import Judge
from dse.search.guided.sampler import SMALL
from dse.space.space import Space
from simcore.bounds.design import bound
from simcore.check.load import parse_design


def space(folder: Path, **cluster: Any) -> Space:
    return open_split(folder, cluster)


def fresh(given: Space) -> tuple[Candidates, BudgetCandidates]:
    candidates = Candidates(given, np.random.default_rng(0))
    return candidates, BudgetCandidates(candidates, LedCandidates(given, candidates))


def drawn(candidates: Candidates) -> Candidate:
    return next(c for _ in range(500) if (c := candidates.make_random()) is not None and c.violation <= 0)


def least(candidate: Candidate) -> float:
    design = parse_design(candidate.filled.document)[0]
    assert design is not None
    return bound(design)["iteration_time"] or 0.0


def test_no_shape_policy_budget_or_split_bounds_a_job_lower_than_its_first_candidate(tmp_path: Path) -> None:
    given = space(tmp_path)
    candidates, budgets = fresh(given)
    found = [c for c in budgets.make_next(drawn(candidates), 1, 6, alike=True) if c is not None]
    jobs = {tuple(values_of_genes(job_of(candidate.genes)).items()) for candidate in found}
    assert len(jobs) == 1
    everywhere = Candidates(given, np.random.default_rng(1))
    job = dict(next(iter(jobs)))
    others = [c for _ in range(300) if (c := everywhere.make(job)) is not None]
    shapes = {candidate.shape for candidate in others}
    assert len(shapes) == 2
    assert len(others) > 60
    assert least(found[0]) <= min(map(least, others)) * (1 + 1e-9)
    costs = [candidate.known["cost.total"] or 0.0 for candidate in found]
    by_bound, by_mean = costs[:3], costs[3:]
    assert by_bound == sorted(by_bound, reverse=True)
    assert by_mean == sorted(by_mean, reverse=True)
    assert by_mean
    assert len(set(costs)) == len(costs)


def bought(folder: Path, bandwidth: Any) -> Space:
    """The space with bandwidths of its own for each dimension, in one shape."""
    dimensions = [
        {"topology": "switch", "size": 8, "latency": "700 ns", "tier": "node", "bandwidth": bandwidth},
        {"topology": "switch", "size": 2, "latency": "1.7 us", "tier": "pod", "bandwidth": "50 GB/s"},
    ]
    if isinstance(bandwidth, dict) and "choice" in bandwidth:
        dimensions[1]["bandwidth"] = {"choice": ["25 GB/s", "50 GB/s", "100 GB/s"]}
    return open_split(folder, {"bandwidth": None, "dimensions": dimensions})


def test_no_bandwidths_bound_a_job_lower_than_those_of_its_first_candidate(tmp_path: Path) -> None:
    given = bought(tmp_path, {"choice": ["100 GB/s", "200 GB/s", "400 GB/s"]})
    candidates, budgets = fresh(given)
    beside = drawn(candidates)
    found = [c for c in budgets.make_next(beside, 1, 12, alike=True) if c is not None]
    everywhere = Candidates(given, np.random.default_rng(1))
    job = values_of_genes(job_of(found[0].genes))
    others = [c for _ in range(300) if (c := everywhere.make(job)) is not None]
    networks = {tuple(c.filled.params[f"cluster.dimensions[{d}].bandwidth"] for d in (0, 1)) for c in others}
    assert len(networks) == 9
    assert least(found[0]) <= min(map(least, others)) * (1 + 1e-9)
    assert min(c.known["cost.total"] or 0.0 for c in found) < max(c.known["cost.total"] or 0.0 for c in found)


def test_each_job_is_looked_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dse.search.guided.led.MOST_JOBS", 8)
    candidates, budgets = fresh(space(tmp_path))
    parent = drawn(candidates)
    assert list(budgets.make_of([parent], [], 1, 4))
    assert list(budgets.make_of([parent], [], 1, 4)) == []
    first = list(budgets.make_next(parent, 3, 4, alike=True))
    keys = [candidate.key for candidate in first if candidate is not None]
    again = [c.key for c in budgets.make_next(parent, 1000, 4, alike=True) if c is not None]
    assert keys
    assert again
    assert not {*keys} & {*again}
    assert list(budgets.make_next(parent, 1000, 4, alike=True)) == []


def test_the_job_of_a_good_design_is_looked_at_on_other_npus_as_well(tmp_path: Path) -> None:
    candidates, budgets = fresh(space(tmp_path, npu={"choice": ["a100-80gb", "h100-80gb"]}))
    parent = drawn(candidates)
    other = next(c for c in iter(lambda: drawn(candidates), None) if c.shape[0] != parent.shape[0])
    kinds = budgets.one_of_each_kind([parent, other])
    found = [c for c in budgets.make_of([parent], kinds, 9, 4) if c is not None]
    assert {c.shape[0] for c in found} == {"a100-80gb", "h100-80gb"}
    assert {tuple(job_of(c.genes)) for c in found} == {tuple(job_of(parent.genes))}
    assert all(values_of_genes(job_of(c.genes)) == values_of_genes(job_of(parent.genes)) for c in found)
    assert list(budgets.make_of([parent], kinds, 9, 4)) == []


@pytest.mark.parametrize("alike", [True, False])
def test_what_bounds_do_not_look_at_is_as_in_a_known_design_or_drawn(tmp_path: Path, alike: bool) -> None:
    candidates, budgets = fresh(space(tmp_path))
    parent = drawn(candidates)
    found = [c for c in budgets.make_next(parent, 8, 6, alike) if c is not None]
    policies = {candidate.filled.params["system.intra_dimension"] for candidate in found}
    assert policies == ({parent.filled.params["system.intra_dimension"]} if alike else {"priority", "fifo"})


def test_bandwidths_are_looked_at_where_they_are_drawn_only(tmp_path: Path) -> None:
    candidates, budgets = fresh(space(tmp_path))
    assert budgets.suits([drawn(candidates)])
    assert not budgets.suits([])
    candidates, budgets = fresh(bought(tmp_path, {"choice": ["100 GB/s", "400 GB/s"]}))
    assert budgets.suits([drawn(candidates)])
    wide = {"range": ["1 GB/s", "400 GB/s"], "step": "10 MB/s"}
    for fixed in ("100 GB/s", {"range": ["100 GB/s", "400 GB/s"]}, wide):
        candidates, budgets = fresh(bought(tmp_path, fixed))
        assert not budgets.suits([drawn(candidates)])
    solved = {"split": "400 GB/s", "step": "25 GB/s", "solve": True}
    candidates, budgets = fresh(space(tmp_path, bandwidth=solved))
    assert not budgets.suits([drawn(candidates)])


def test_a_policy_that_was_not_tried_is_hoped_for_though_others_were_worse(tmp_path: Path) -> None:
    """Four designs of a job took longer than estimated with one policy: that says nothing of another one."""
    given = space(tmp_path)
    candidates, _ = fresh(given)
    network = drawn(candidates)
    made = {
        policy: [
            c
            for index in range(8)
            if (c := candidates.make({**values_of_genes(network.genes), **policy_of(policy), **share(network, index)}))
        ]
        for policy in (0, 1)
    }
    tried, left = made[0][:4], made[0][4:] + made[1]
    judge = Judge(given, candidates.encoder, 0)
    for candidate in tried:
        judge.tell(candidate, (3.0 * estimated(candidate), candidate.known["cost.total"] or 0.0), {})
    chosen = judge.choose_hopeful(left, 4)
    assert chosen
    assert {c.filled.params["system.intra_dimension"] for c in chosen} == {"fifo"}


def test_a_job_that_missed_its_promise_is_run_with_other_policies(tmp_path: Path) -> None:
    given = space(tmp_path)
    candidates, _ = fresh(given)
    network = drawn(candidates)
    found = [candidates.make({**values_of_genes(network.genes), **policy_of(0), **share(network, n)}) for n in range(6)]
    tried = [candidate for candidate in found if candidate is not None]
    judge = Judge(given, candidates.encoder, 0)
    assert judge.missed_promises() == []
    told = sorted(tried, key=estimated)
    for candidate, longer in zip(told, (3.0, *[1.0] * len(told)), strict=False):
        judge.tell(candidate, (longer * estimated(candidate), candidate.known["cost.total"] or 0.0), {})
    assert judge.missed_promises() == [told[0]]  # what kept its promise is on the front
    runs = OtherwiseRun(candidates)
    again = [candidate for candidate in runs.make_of(judge.missed_promises()) if candidate is not None]
    assert "fifo" in {candidate.filled.params["system.intra_dimension"] for candidate in again}
    own = told[0].filled.document
    assert all(candidate.filled.document["system"] != own["system"] for candidate in again)
    assert all({**candidate.filled.document, "system": None} == {**own, "system": None} for candidate in again)
    assert [*runs.make_of([])] == []


def policy_of(number: int) -> dict[str, float]:
    return {"system.intra_dimension": number}


def share(network: Candidate, index: int) -> dict[str, float]:
    return {name: index for name in network.genes if "#" in name}


def estimated(candidate: Candidate) -> float:
    return candidate.known["iteration_time"] or 0.0


def test_trials_are_the_same_whatever_the_number_of_workers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"SEEDS": 8, "FIRST": 4, "ROUNDS": 1, "ROUND": 8}.items():
        monkeypatch.setattr(f"dse.search.guided.sampler.{name}", value)
    given = space(tmp_path)
    assert given.count() > SMALL
    one = search(given, tmp_path / "1", "guided", 40, engine="fast", jobs=1)
    assert search(given, tmp_path / "2", "guided", 40, engine="fast", jobs=2) == one
