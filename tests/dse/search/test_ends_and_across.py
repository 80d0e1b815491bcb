"""What small moves reach late: cheaper networks whose jobs must follow, and good jobs on every shape and budget."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from split_spaces import open_split

from dse.search.guided.across import CrossedDesigns
from dse.search.guided.candidates import Candidate, Candidates
from dse.search.guided.ends import EndCandidates
from dse.space.space import Space

SHAPES = [
    [
        {"topology": "switch", "size": inner, "latency": "700 ns", "tier": "node"},
        {"topology": "switch", "size": 16 // inner, "latency": "1.7 us", "tier": "pod"},
    ]
    for inner in (8, 4)
]
BUDGETS = {"split": {"choice": ["200 GB/s", "400 GB/s"]}, "step": "50 GB/s"}


def fresh() -> np.random.Generator:
    return np.random.default_rng(0)


def space(folder: Path, limit: float) -> Space:
    cluster = {"bandwidth": BUDGETS, "dimensions": {"choice": SHAPES}}
    return open_split(folder, cluster, system=None, constraints=["fits", f"iteration_time <= {limit} s"])


def drawn(candidates: Candidates, count: int) -> list[Candidate]:
    found: list[Candidate] = []
    while len(found) < count:
        candidate = candidates.make_random()
        if candidate is not None and candidate.violation <= 0:
            found.append(candidate)
    return found


def cost(candidate: Candidate) -> float:
    return candidate.known["cost.total"] or 0.0


def missed(candidate: Candidate) -> float:
    return candidate.missed_violation


def test_on_cheaper_networks_the_job_follows_towards_the_limits(tmp_path: Path) -> None:
    times = sorted(c.known["iteration_time"] or 0.0 for c in drawn(Candidates(space(tmp_path, 1e6), fresh()), 40))
    candidates = Candidates(space(tmp_path, round(times[20], 3)), fresh())
    parents = drawn(candidates, 60)
    least = min(map(cost, parents))
    allowed = [parent for parent in parents if missed(parent) <= 0 and cost(parent) > least]
    assert allowed
    unseen = Candidates(candidates.space, fresh())  # whichever of equally cheap parents is the best, its moves are new
    found = [
        candidate
        for candidate in EndCandidates(unseen).make_beyond(allowed)
        if candidate is not None and candidate.known
    ]
    cheaper = [candidate for candidate in found if cost(candidate) < min(map(cost, allowed))]
    assert cheaper
    networks: dict[Any, list[float]] = {}
    for candidate in cheaper:
        network = tuple((n, g.value) for n, g in candidate.genes.items() if not g.is_of_job)
        networks.setdefault(network, []).append(missed(candidate))
    assert any(len(tried) > 1 for tried in networks.values() if tried[0] > 0) or min(map(missed, cheaper)) <= 0


def test_without_designs_that_meet_the_limits_there_is_no_end(tmp_path: Path) -> None:
    candidates = Candidates(space(tmp_path, 0.01), fresh())
    assert list(EndCandidates(candidates).make_beyond(drawn(candidates, 4))) == []


@pytest.mark.parametrize("count", [3, 100])
def test_a_job_meets_every_shape_and_budget_once(tmp_path: Path, count: int) -> None:
    candidates = Candidates(space(tmp_path, 100.0), fresh())
    across = CrossedDesigns(candidates)
    parents = drawn(candidates, 12)
    networks = list({candidate.shape: candidate for candidate in parents}.values())
    assert len(networks) == 2
    found = list(across.look_at_pairs(parents[:1], networks, count))
    pairs = {
        (str(look.filled.params["cluster.dimensions"]), look.filled.params["cluster.bandwidth.split"]) for look in found
    }
    assert len(found) == len(pairs) <= min(count, 4)
    jobs: set[Any] = {tuple((n, g.value) for n, g in look.genes.items() if g.is_of_job) for look in found}
    assert len(jobs) == 1
    again = list(across.look_at_pairs(parents[:1], networks, 100))
    assert len(found) + len(again) <= 4
