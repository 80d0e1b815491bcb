"""Bound-led candidates, repairs and linked moves: what small moves alone do not reach."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tiny_spaces import search, space, tiny

from dse.proof.bound import space_limits
from dse.proof.lifted import all_compositions
from dse.search.guided import shares
from dse.search.guided.candidates import Candidate, Candidates
from dse.search.guided.genome import with_value
from dse.search.guided.led import LedCandidates
from dse.search.guided.promise import Judge
from dse.search.guided.shares import ShareCandidates
from dse.space.hole import composition, compositions, is_share
from dse.space.space import Space
from simcore.bounds.compute import compute_seconds
from simcore.bounds.many import Iteration
from simcore.check.load import parse_design, parse_sound
from simcore.memory.plan import program_of

CHOICES: dict[str, Any] = {
    "degrees": {"product": 8, "of": ["tensor", "pipeline", "data"]},
    "interleave": {"choice": [1, 2, 4]},
    "zero": {"choice": [0, 1, 3]},
    "microbatch": {"choice": [1, 2, 4]},
    "recompute": {"choice": ["none", "full"]},
}


def candidates(given: Space, seed: int = 0) -> Candidates:
    return Candidates(given, np.random.default_rng(seed))


def with_params(made: Candidates, **wanted: Any) -> Candidate:
    """A random candidate with these parameters."""
    for _ in range(5000):
        found = made.make_random()
        if found is not None and all(found.filled.params[f"parallelism.{key}"] == v for key, v in wanted.items()):
            return found
    raise AssertionError(f"no {wanted}")


def test_a_step_that_breaks_a_rule_takes_with_it_what_the_rule_names() -> None:
    """Without a pipeline there are no virtual stages: the step to one stage takes interleave 1 with it."""
    made = candidates(space(parallelism=CHOICES))
    start = with_params(made, pipeline=2, interleave=4, recompute="none")
    hole = made.space.template["parallelism"]["degrees"]
    before = tuple(start.filled.params[f"parallelism.{key}"] for key in hole.of)
    wanted = (before[0], 1, before[2] * 2)
    genes = with_value(start.genes, "parallelism.degrees", hole.factorisations.index(wanted))
    found = made.make_changed(start, genes, estimated=False)
    assert found is not None
    assert found.violation == 0
    params = found.filled.params
    assert tuple(params[f"parallelism.{key}"] for key in hole.of) == wanted  # the step itself stays
    changed = {key for key, value in params.items() if value != start.filled.params[key]}
    assert changed == {"parallelism.pipeline", "parallelism.data", "parallelism.interleave"}


def test_a_repair_may_change_what_stands_beside_the_broken_place() -> None:
    """An algorithm for powers of two is left when the size of its dimension is one no more."""
    dimensions = [
        {
            "topology": "switch",
            "size": {"choice": [4, 6]},
            "bandwidth": "100 GB/s",
            "latency": "1 us",
            "tier": "node",
            "collective": {"choice": ["halving_doubling", "ring"]},
        },
        {"topology": "switch", "size": 2, "bandwidth": "25 GB/s", "latency": "1 us", "tier": "pod"},
    ]
    degrees = {"product": "npus", "of": ["tensor", "pipeline", "data"], "limits": {"tensor": [1, 2]}}
    given = space(
        cluster={"npu": "a100-80gb", "dimensions": dimensions},
        parallelism={"degrees": degrees},
        system={"chunks": 4},
        workload={**tiny()["workload"], "global_batch": 48},
    )
    made = candidates(given)
    start = with_first(made, "cluster.dimensions[0].collective", "halving_doubling")
    found = made.make_changed(start, with_value(start.genes, "cluster.dimensions[0].size", 1), estimated=False)
    assert found is not None
    assert found.filled.params["cluster.dimensions[0].size"] == 6
    assert found.filled.params["cluster.dimensions[0].collective"] == "ring"
    assert found.violation == 0


def with_first(made: Candidates, path: str, value: Any) -> Candidate:
    for _ in range(200):
        found = made.make_random()
        if found is not None and found.violation == 0 and found.filled.params[path] == value:
            return found
    raise AssertionError(path)


def test_degrees_stay_near_where_the_number_of_npus_changes() -> None:
    dimensions = [
        {"topology": "switch", "size": {"choice": [4, 8]}, "bandwidth": "100 GB/s", "latency": "1 us", "tier": "node"},
        {"topology": "switch", "size": 2, "bandwidth": "25 GB/s", "latency": "1 us", "tier": "pod"},
    ]
    given = space(
        cluster={"npu": "a100-80gb", "dimensions": dimensions},
        parallelism={"degrees": {"product": "npus", "of": ["tensor", "pipeline", "data"]}},
        system={"chunks": 4},
    )
    made = candidates(given)
    start = with_params(made, tensor=2, pipeline=2, data=2)
    found = made.make_changed(start, with_value(start.genes, "cluster.dimensions[0].size", 1), estimated=False)
    assert found is not None
    degrees = [found.filled.params[f"parallelism.{key}"] for key in ("tensor", "pipeline", "data")]
    assert sorted(degrees) == [2, 2, 4]


def test_linked_moves_change_two_or_three_holes_of_one_half_of_a_design() -> None:
    made = candidates(space(parallelism=CHOICES))
    start = with_params(made, pipeline=2, interleave=1)
    seen: set[int] = set()
    for _ in range(60):
        found = made.make_linked(start, estimated=False)
        if found is None:
            continue
        changed = {name for name, gene in found.genes.items() if start.genes[name].value != gene.value}
        halves = {found.genes[name].is_of_job for name in changed}
        seen.add(len(changed))
        assert len(halves) <= 1
    assert {2, 3} <= seen


def test_the_jobs_that_compute_least_come_first_on_the_network_of_a_design() -> None:
    given = space(parallelism=CHOICES)
    made = candidates(given)
    parent = with_params(made, pipeline=8)
    network = {name: gene.value for name, gene in parent.genes.items() if not gene.is_of_job}
    first = [c for c in LedCandidates(given, made).make_on([parent], 5) if c is not None]
    assert first
    assert all(c.violation == 0 for c in first)
    assert all({n: g.value for n, g in c.genes.items() if not g.is_of_job} == network for c in first)
    compute = [compute_seconds(_design(c), program_of(_design(c))) for c in first]
    assert compute == pytest.approx(sorted(compute))
    again = LedCandidates(given, made)
    assert [c for c in again.make_on([parent], 5) if c is not None] == []  # each design once


def _design(candidate: Candidate) -> Any:
    return parse_design(candidate.filled.document)[0]


def test_the_job_of_the_bound_is_among_the_first_trials(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Though small moves from a few random designs do not lead there."""
    monkeypatch.setattr("dse.search.guided.sampler.SMALL", 0)
    monkeypatch.setattr("dse.search.guided.sampler.SEEDS", 4)
    monkeypatch.setattr("dse.search.guided.sampler.ROUNDS", 0)
    given = space(parallelism=CHOICES, cluster={**tiny()["cluster"], "npu": "a100-80gb"})
    leader = space_limits(given)["iteration_time"].design
    assert leader is not None
    _, outcomes = search(given, tmp_path, "guided", 16, engine="fast")
    assert leader["parallelism"] in [outcome.design["parallelism"] for outcome in outcomes]


def test_each_shape_of_the_cluster_has_its_best_candidate() -> None:
    given = space()
    made = candidates(given)
    pool = [c for _ in range(60) if (c := made.make_random()) is not None and c.violation == 0]
    best = Judge(given, made.encoder, 0).best_of_kinds(pool, lambda one: one.shape, 12)
    assert len(best) == len({c.shape for c in pool}) == 3
    times = {c.shape: min(o.known["iteration_time"] or 0.0 for o in pool if o.shape == c.shape) for c in best}
    assert any(c.known["iteration_time"] == times[c.shape] for c in best)


def test_what_the_estimates_promise_is_tried_though_they_were_wrong_elsewhere() -> None:
    """An estimate is off by what it was least off on the same job and shape; of others nothing is concluded."""
    given = space()
    made = candidates(given)
    pool = [c for _ in range(80) if (c := made.make_random()) is not None and c.violation == 0]
    judge = Judge(given, made.encoder, 0)
    ranked = sorted(pool, key=lambda c: c.known["iteration_time"] or 0.0)
    wrong = next(c for c in ranked if c.niche != ranked[0].niche and any(o.niche == c.niche for o in ranked if o != c))
    told = {True: 3.0, False: 1.0}
    for candidate in (wrong, ranked[-1]):
        time = (candidate.known["iteration_time"] or 0.0) * told[candidate is wrong]
        judge.tell(candidate, (time, candidate.known["cost.total"] or 0.0), {})
    left = [c for c in ranked if c.losses is None]
    chosen = judge.choose_hopeful(left, 8)
    assert ranked[0] in chosen
    assert all(c.niche != wrong.niche for c in chosen[:1])
    judge = Judge(given, made.encoder, 0)
    assert judge.choose_hopeful(left, 8) == []  # without a front nothing is lacking


@pytest.mark.parametrize(("units", "parts"), [(5, 1), (4, 4), (7, 3)])
def test_all_compositions_stand_at_their_index(units: int, parts: int) -> None:
    found = all_compositions(units, parts)
    assert [list(map(int, row)) for row in found] == [
        composition(units, parts, i) for i in range(compositions(units, parts))
    ]


def test_shares_that_suit_a_job_are_candidates_from_the_quickest_to_the_cheapest() -> None:
    dimensions = [
        {"topology": "switch", "size": 4, "latency": "1 us", "tier": "node"},
        {"topology": "switch", "size": 2, "latency": "1 us", "tier": "pod"},
    ]
    budget = {"split": "400 GB/s", "step": "10 GB/s"}
    given = space(cluster={"npu": "a100-80gb", "bandwidth": budget, "dimensions": dimensions}, parallelism=CHOICES)
    made = candidates(given)
    parent = with_first(made, "parallelism.tensor", 2)
    found = [c for c in ShareCandidates(made).make_other_splits([parent], 4) if c is not None]
    assert found
    times = [c.known["iteration_time"] or 0.0 for c in found]
    costs = [c.known["cost.total"] or 0.0 for c in found]
    assert costs == sorted(costs, reverse=True)
    assert min(times) <= (parent.known["iteration_time"] or 0.0)
    assert list(ShareCandidates(made).make_other_splits([parent], 4)) == [None] * len(found)  # each design once


@pytest.mark.parametrize("zero", [0, 3])
@pytest.mark.parametrize("policy", ["baseline", "themis"])
def test_bounds_asked_where_looser_ones_leave_splits_open_choose_what_all_bounds_do(zero: int, policy: str) -> None:
    dimensions = [
        {"topology": "ring", "size": 4, "latency": "20 ns", "tier": "chiplet"},
        {"topology": "switch", "size": 2, "latency": "700 ns", "tier": "node"},
        {"topology": "switch", "size": 2, "latency": "1.7 us", "tier": "pod"},
    ]
    budget = {"split": "600 GB/s", "step": "20 GB/s"}
    given = space(
        cluster={"npu": "h100-80gb", "bandwidth": budget, "dimensions": dimensions},
        parallelism={"tensor": {"choice": [1, 2, 4]}, "zero": zero},
        system={"inter_dimension": policy},
        hypothetical=True,
    )
    made = candidates(given)
    for tensor in (1, 2, 4):
        parent = with_first(made, "parallelism.tensor", tensor)
        name, gene = next((name, gene) for name, gene in parent.genes.items() if is_share(name))
        design = parse_sound(parent.filled.document)
        ways = shares.all_splits(design, name, gene)
        iteration, prices = Iteration.of(design, program_of(design)), shares.prices_of(design, ways)
        whole = iteration.seconds(shares.family_of(design, ways), {})
        asked = shares._least_times(iteration, design, ways, prices)
        assert 0 < np.isfinite(asked).sum() < len(ways)
        assert shares.spread_splits(asked, prices, 8) == shares.spread_splits(whole, prices, 8)
