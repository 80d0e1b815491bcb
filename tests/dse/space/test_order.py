"""Spaces of what can be ordered, and hypothetical ones: which is which, what is cut, what is proven of the rest."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tiny_spaces import search, space, tiny

from dse.evaluate.evaluate import Evaluator
from dse.proof.bound import space_bounds
from dse.space.draw import FixedDraw
from dse.space.order import ORDERABLE
from dse.space.space import Space, load_space
from simcore.cost.orderable import order_of
from simcore.design.cluster import Cluster
from simcore.document.problem import InputError

SPACES = sorted(Path("spaces").resolve().glob("*.yaml"))
HYPOTHETICAL = {"transformer1t", "cluster_for_two", "expanded_memory", "trace"}

NODE = {"topology": "switch", "size": 4, "bandwidth": "300 GB/s", "latency": "700 ns", "tier": "node"}
SOLD = {"npu": "a100-80gb", "dimensions": [{**NODE, "size": 8}]}
UNSOLD = {"npu": "a100-80gb", "dimensions": [{**NODE, "size": 8, "topology": "ring", "bandwidth": "400 GB/s"}]}


def clusters(*alternatives: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return tiny(cluster={"choice": list(alternatives)}, system={"chunks": 4}, **changes)


def names(of: Space) -> list[str]:
    return [constraint.name for constraint in of.constraints]


@pytest.mark.parametrize("path", SPACES, ids=lambda path: path.stem)
def test_every_shipped_space_has_the_verdict_that_it_claims(path: Path) -> None:
    found = load_space(path)
    assert found.hypothetical == ("said" if path.stem in HYPOTHETICAL else "")
    assert ORDERABLE not in names(found)
    first = order_of(Cluster.model_validate(found.fill(FixedDraw()).document["cluster"])) if not found.jobs else None
    assert first is None or path.stem in HYPOTHETICAL or first.orderable is True


def test_a_space_that_says_nothing_and_shares_bandwidth_freely_is_hypothetical() -> None:
    dimensions = [{key: value for key, value in NODE.items() if key != "bandwidth"} | {"size": 8}]
    free = {"npu": "a100-80gb", "bandwidth": {"split": "400 GB/s", "step": "100 GB/s"}, "dimensions": dimensions}
    found = space(tiny(cluster=free, system={"chunks": 4}))
    assert (found.hypothetical, names(found)) == ("free", ["fits"])
    assert found.fill(FixedDraw()).document["hypothetical"] is True


def test_a_space_that_says_nothing_and_has_nothing_that_is_sold_is_hypothetical() -> None:
    assert space(clusters(UNSOLD)).hypothetical == "none"


def test_a_fabric_that_is_not_sold_with_its_npus_is_said_with_those_that_are() -> None:
    named = {"npu": "a100-80gb", "fabric": "dgx-h100", "npus": 64}
    document = tiny(cluster=named, parallelism={"data": 64}, system={})
    (said,) = space(document).notices
    assert said.startswith(
        "such a cluster of a100-80gb on fabric dgx-h100 is not sold: cluster.dimensions[0].bandwidth: expected 300 GB/s"
    )
    assert "dgx-a100" in (those := said.rpartition("it is sold on: ")[2].split(", "))
    assert not {"dgx-h100", "dgx-b200"} & {*those}
    assert space({**document, "cluster": {**named, "fabric": "dgx-a100"}}).notices == ()
    assert space({**document, "hypothetical": True}).notices == ()


def test_a_space_that_says_nothing_and_has_something_that_is_sold_cuts_the_rest() -> None:
    found = space(clusters(UNSOLD, SOLD))
    assert (found.hypothetical, names(found)) == ("", [ORDERABLE, "fits"])
    assert "hypothetical" not in found.fill(FixedDraw()).document


def test_a_space_of_what_is_sold_alone_has_no_constraint_more() -> None:
    assert names(space(clusters(SOLD))) == ["fits"]


def test_a_space_that_says_so_cuts_nothing() -> None:
    found = space(clusters(UNSOLD, SOLD, hypothetical=True))
    assert (found.hypothetical, names(found)) == ("said", ["fits"])


def test_a_space_that_wants_orders_and_has_nothing_that_is_sold_is_refused_with_an_example() -> None:
    with pytest.raises(InputError, match=r"a cluster that can be ordered, got none: .*ring.*hypothetical: true"):
        space(clusters(UNSOLD, hypothetical=False))


def test_whether_a_space_is_hypothetical_is_true_or_false() -> None:
    with pytest.raises(InputError, match="hypothetical: expected true or false, got 'perhaps'"):
        space(clusters(SOLD, hypothetical="perhaps"))


def test_a_space_whose_clusters_follow_from_the_workload_is_asked_by_draws() -> None:
    sized = {"expr": "workload.global_batch // 2"}
    found = space(tiny(cluster={"npu": "a100-80gb", "fabric": "dgx-a100", "npus": sized}, system={"chunks": 4}))
    assert found.hypothetical == ""


def test_a_design_that_nobody_sells_is_cut_and_says_why() -> None:
    found = space(clusters(UNSOLD, SOLD))
    outcome = Evaluator(found.objectives, found.constraints)(found.fill(FixedDraw()).document)
    assert (outcome.state, outcome.cut_by) == ("cut", ORDERABLE)
    assert outcome.error is not None
    assert "400 GB/s" in outcome.error or "'ring'" in outcome.error
    assert outcome.violations[ORDERABLE] > 0


@pytest.mark.parametrize("sampler", ["random", "exhaustive", "guided", "exact"])
def test_no_sampler_simulates_what_nobody_sells(sampler: str, tmp_path: Path) -> None:
    _, outcomes = search(space(clusters(UNSOLD, SOLD)), tmp_path, sampler, 40, engine="fast")
    simulated = [outcome for outcome in outcomes if outcome.state == "feasible"]
    assert simulated
    assert all(outcome.metrics is not None and outcome.metrics["orderable"] for outcome in simulated)
    assert all(outcome.cut_by == ORDERABLE for outcome in outcomes if "ring" in str(outcome.design["cluster"]))


def test_what_nobody_sells_does_not_loosen_the_proof() -> None:
    faster = {**UNSOLD, "npu": "h100-80gb"}
    alone, both = space(clusters(SOLD)), space(clusters(faster, SOLD))
    let_in = space(clusters(faster, SOLD, hypothetical=True))
    assert space_bounds(both) == space_bounds(alone)
    assert space_bounds(let_in)["iteration_time"] < space_bounds(alone)["iteration_time"]  # type: ignore[operator]


def test_where_bandwidths_vary_the_proof_keeps_networks_that_stand_for_sold_ones() -> None:
    varied = {**SOLD, "dimensions": [{**NODE, "size": 8, "bandwidth": {"choice": ["300 GB/s", "400 GB/s"]}}]}
    bounds = space_bounds(space(clusters(varied)))
    alone = space_bounds(space(clusters(SOLD)))
    assert bounds["iteration_time"] is not None
    assert bounds["iteration_time"] <= alone["iteration_time"]  # type: ignore[operator]
    assert bounds["cost.total"] == alone["cost.total"]
