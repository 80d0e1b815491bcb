from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_spaces import TINY

from dse.evaluate.recall import recall
from dse.evaluate.record import TrialRecord
from dse.space.draw import RandomDraw
from dse.space.fill import FilledDocument
from dse.space.space import Space, load_space, space_from
from dse.whatif.steps import Neighbour, steps_around
from simcore.check.load import parse_design
from simcore.document.text import parse_document

SPACES = [
    path
    for path in sorted((Path(__file__).parents[3] / "spaces").glob("*.yaml"))
    if not {"workloads", "futures"} & yaml.safe_load(path.read_text()).keys()
]


def of(**changes: Any) -> Space:
    """The tiny space with top-level keys replaced."""
    document = yaml.safe_load(TINY) | changes
    return space_from(parse_document(yaml.safe_dump(document, sort_keys=False), "space"), "tiny")


def trial_of(filled: FilledDocument) -> TrialRecord:
    """A feasible trial of a filled space, as a journal gives it back."""
    design, problems = parse_design(filled.document)
    assert design is not None, problems
    return TrialRecord(0, "feasible", {}, filled.params, {}, design.document())


def drawn(space: Space, seed: int) -> TrialRecord:
    return trial_of(space.fill(RandomDraw(np.random.default_rng(seed))))


def neighbours(space: Space, trial: TrialRecord) -> list[Neighbour]:
    near = steps_around(space, trial)
    assert near is not None
    return list(near.neighbours())


def key(document: Any) -> str:
    design, problems = parse_design(document)
    assert design is not None, problems
    return design.key


@pytest.mark.parametrize("path", SPACES, ids=lambda path: path.stem)
def test_every_design_of_every_space_is_recalled_and_no_step_leads_back_to_it(path: Path) -> None:
    space = load_space(path)
    for seed in range(5):
        trial = drawn(space, seed)
        source = recall(space, trial)
        assert source is not None
        assert space.fill(type(source)(trial.params, source.given)).params == trial.params
        here = key(trial.design)
        for step in neighbours(space, trial):
            assert set(step.moved) <= set(step.changes)
            assert key(step.document) != here


def test_a_number_moves_up_and_down_a_name_to_every_other_and_degrees_by_one_factor() -> None:
    space = of()
    trial = next(trial_of(filled) for filled in space.enumerate())
    assert (trial.params["parallelism.tensor"], trial.params["parallelism.data"]) == (1, 8)
    steps = [(step.moved, tuple(step.changes[path] for path in step.moved)) for step in neighbours(space, trial)]
    degrees = ("parallelism.tensor", "parallelism.data"), ("parallelism.pipeline", "parallelism.data")
    assert steps == [
        (degrees[1], ((1, 2), (8, 4))),
        (degrees[0], ((1, 2), (8, 4))),
        (("parallelism.zero",), ((0, 1),)),
        (("cluster.npu",), (("a100-80gb", "v100-32gb"),)),
        (("cluster.npu",), (("a100-80gb", "h100-80gb"),)),
        (("cluster.dimensions[0].bandwidth",), (("100 GB/s", "200 GB/s"),)),
    ]


@given(st.integers(0, 10_000))
@settings(max_examples=25, deadline=None)
def test_steps_are_mutual_where_no_branch_opens(seed: int) -> None:
    space = of()
    trial = drawn(space, seed)
    for step in neighbours(space, trial):
        params = {**trial.params, **{path: after for path, (_, after) in step.changes.items()}}
        design, _ = parse_design(step.document)
        assert design is not None
        there = TrialRecord(1, "feasible", {}, params, {}, design.document())
        assert key(trial.design) in {key(back.document) for back in neighbours(space, there)}


def test_of_a_split_one_step_of_bandwidth_moves_between_two_dimensions_and_a_budget_keeps_proportions() -> None:
    cluster = yaml.safe_load(TINY)["cluster"]
    for dimension in cluster["dimensions"]:
        del dimension["bandwidth"]
    space = of(cluster={**cluster, "bandwidth": {"split": {"choice": ["100 GB/s", "200 GB/s"]}, "step": "25 GB/s"}})
    trial = next(
        trial
        for trial in map(trial_of, space.enumerate())
        if [trial.params[f"cluster.dimensions[{i}].bandwidth"] for i in (0, 1)] == ["75 GB/s", "25 GB/s"]
    )
    paths = tuple(f"cluster.dimensions[{i}].bandwidth" for i in (0, 1))
    found = {step.moved: step.changes for step in neighbours(space, trial) if step.moved[0].startswith("cluster.")}
    assert found[paths] == {paths[0]: ("75 GB/s", "50 GB/s"), paths[1]: ("25 GB/s", "50 GB/s")}
    more = found[("cluster.bandwidth.split",)]
    assert (more[paths[0]][1], more[paths[1]][1]) == ("150 GB/s", "50 GB/s")


def test_networks_that_look_alike_are_told_apart_by_the_design() -> None:
    """The labels of two alternatives are equal; only their latencies differ."""
    cluster = yaml.safe_load(TINY)["cluster"]
    other = [{**dimension, "latency": "5 us"} for dimension in cluster["dimensions"]]
    space = of(cluster={**cluster, "dimensions": {"choice": [cluster["dimensions"], other]}})
    for seed in range(6):
        trial = drawn(space, seed)
        source = recall(space, trial)
        assert source is not None
        assert trial.design is not None
        chosen = source.drawn["cluster.dimensions"].value
        assert trial.design["cluster"]["dimensions"][0]["latency"] == ("5 us" if chosen else "700 ns")


def test_what_another_network_opens_follows_the_design_and_degrees_stay_near() -> None:
    size = {"choice": [2, 4]}
    cluster = yaml.safe_load(TINY)["cluster"]
    cluster["dimensions"][1]["size"] = size
    degrees = {"product": "npus", "of": ["tensor", "pipeline", "data"]}
    space = of(cluster=cluster, parallelism={"degrees": degrees})
    trial = next(
        trial
        for trial in map(trial_of, space.enumerate())
        if [trial.params[f"parallelism.{name}"] for name in degrees["of"]] == [4, 2, 1]
    )
    larger = next(step for step in neighbours(space, trial) if step.moved == ("cluster.dimensions[1].size",))
    degrees_then = [larger.document["parallelism"][name] for name in degrees["of"]]
    assert np.prod(degrees_then) == 16
    assert sorted(new // old for new, old in zip(degrees_then, [4, 2, 1], strict=True)) == [1, 1, 2]


def test_a_continuous_range_moves_by_a_share_of_its_length_and_stays_inside() -> None:
    cluster = yaml.safe_load(TINY)["cluster"]
    cluster["dimensions"][0]["bandwidth"] = {"range": ["100 GB/s", "200 GB/s"]}
    space = of(cluster=cluster)
    path = "cluster.dimensions[0].bandwidth"
    trial = drawn(space, 3)
    steps = [step.changes[path] for step in neighbours(space, trial) if step.moved == (path,)]
    from simcore.document.quantity import parse_quantity

    moved = [
        (parse_quantity(after, "bandwidth") - parse_quantity(before, "bandwidth")) / 100e9 for before, after in steps
    ]
    assert moved == pytest.approx([-0.05, 0.05])


def test_a_design_of_another_space_has_no_steps() -> None:
    trial = next(trial for trial in map(trial_of, of().enumerate()) if trial.params["parallelism.tensor"] == 8)
    assert steps_around(of(system={"collective": ["ring", "ring"], "chunks": 8}), trial) is None
    assert steps_around(of(parallelism={"tensor": 2, "pipeline": {"choice": [1, 2]}}), trial) is None


def test_from_a_neighbour_in_which_an_open_key_is_null_there_are_neighbours_again() -> None:
    cap = "cluster.power_cap"
    space = of(cluster={**yaml.safe_load(TINY)["cluster"], "power_cap": {"choice": [None, "250 W"]}})
    first = next(trial for seed in range(99) if (trial := drawn(space, seed)).params[cap] is not None)
    (null,) = (near for near in neighbours(space, first) if near.moved == (cap,))
    assert null.params[cap] is None
    again = TrialRecord(-1, "cut", {}, null.params, {}, null.document)
    assert first.params in [near.params for near in neighbours(space, again)]
