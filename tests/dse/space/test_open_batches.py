"""Spaces whose batch is open: their tokens grow with it, and who is flattered by a large batch is told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tiny_spaces import space, tiny

from dse import load_space
from dse.proof.bound import space_bounds
from dse.run.drive import optimize
from dse.run.record import load_record
from dse.run.settings import Settings
from dse.space.fill import FilledDocument
from dse.space.hole import Choice
from simcore.check.load import parse_design
from simcore.simulate import simulate

SPACES = sorted((Path(__file__).parents[3] / "spaces").glob("*.yaml"))
BATCHES = [8, 64, 1024, 16384]


def batches(objectives: dict[str, list[str]] | None = None, **workload: Any) -> dict[str, Any]:
    section = {**tiny()["workload"], "global_batch": {"choice": BATCHES}, **workload}
    return tiny(
        workload=section,
        parallelism={"degrees": {"product": 8, "of": ["tensor", "data"]}},
        objectives=objectives or {"minimize": ["time_to_train", "cost.total"]},
    )


def winner(tmp_path: Path, document: dict[str, Any]) -> int:
    """The batch of the design with the least time to train, which exact search proves."""
    folder = tmp_path / "run"
    optimize(space(document), Settings(sampler="exact", trials=400, seed=0), folder, resume=False)
    record = load_record(folder)
    assert record.proof is not None
    assert record.proof["complete"]
    best = min(record.feasible_trials, key=lambda trial: trial.values["time_to_train"])
    assert record.bounds["time_to_train"] == pytest.approx(best.values["time_to_train"])
    assert best.design is not None
    batch: int = best.design["workload"]["global_batch"]
    return batch


def test_a_search_that_took_the_largest_batch_takes_a_sensible_one_with_a_critical_batch(tmp_path: Path) -> None:
    tokens = 3e9
    assert winner(tmp_path / "none", batches(training_tokens=tokens, critical_batch="none")) == max(BATCHES)
    assert winner(tmp_path / "law", batches(training_tokens=tokens)) < max(BATCHES)


def test_tokens_that_are_tied_to_no_batch_are_those_of_the_smallest() -> None:
    loaded = space(batches(training_tokens=3e9))
    assert loaded.template["workload"]["training_batch"] == 8 * 128
    (notice,) = loaded.notices
    assert "training_tokens are taken as those at the smallest batch, 1,024 tokens" in notice
    assert "Write training_batch" in notice


@pytest.mark.parametrize("given", [{"training_batch": 4096.0}, {"critical_batch": {"tokens": 4e6}}])
def test_what_the_document_ties_its_tokens_to_stays(given: dict[str, Any]) -> None:
    loaded = space(batches(training_tokens=3e9, **given))
    assert loaded.template["workload"] == {**loaded.template["workload"], **given}
    assert loaded.notices == ()


def test_each_of_several_sections_is_tied_to_the_smallest_batch() -> None:
    sections = [{**tiny()["workload"], "global_batch": batch, "training_tokens": 3e9} for batch in (64, 16)]
    loaded = space(tiny(workload={"choice": sections}, objectives={"minimize": ["time_to_train"]}))
    assert isinstance(loaded.template["workload"], Choice)
    assert {each["training_batch"] for each in loaded.template["workload"].alternatives} == {16 * 128.0}


@pytest.mark.parametrize(
    ("objectives", "said"),
    [
        ({"maximize": ["throughput"]}, "throughput"),
        ({"maximize": ["perf_per_cost"], "minimize": ["cost.total"]}, "perf_per_cost"),
        ({"minimize": ["cost_per_token", "energy_per_token"]}, "cost_per_token and of energy_per_token"),
        ({"minimize": ["cost.total / throughput"]}, "cost.total / throughput"),
    ],
)
def test_an_objective_that_a_larger_batch_always_makes_better_is_named(
    objectives: dict[str, list[str]], said: str
) -> None:
    (notice,) = space(batches(objectives)).notices
    assert f"global_batch is open, and a larger batch always makes the best of {said}, though" in notice
    assert "Minimize time_to_train, cost_to_train or energy_to_train, with training_tokens and training_batch" in notice


@pytest.mark.parametrize("name", ["iteration_time", "cost.total", "memory.peak"])
def test_an_objective_that_a_larger_batch_makes_no_better_is_not(name: str) -> None:
    notices = space(batches({"minimize": [name]})).notices
    assert [notice for notice in notices if "nothing asks for speed" not in notice] == []


def test_a_precision_that_some_npus_lack_does_not_keep_a_space_from_being_read() -> None:
    chosen = {"precision": {"choice": ["bf16", "nvfp4"]}}
    document = batches({"minimize": ["iteration_time", "throughput"]}, **chosen)
    assert space(document).notices == space(batches({"minimize": ["iteration_time", "throughput"]})).notices


def test_time_to_train_is_flattered_only_where_every_batch_needs_the_same_tokens() -> None:
    (notice,) = space(batches(training_tokens=3e9, critical_batch="none")).notices
    assert "the best of time_to_train" in notice
    assert "'critical_batch: none' leaves that out" in notice
    assert space(batches(training_tokens=3e9, training_batch=4096.0)).notices == ()


def test_a_workload_without_a_critical_batch_is_told_to_fix_its_batch() -> None:
    layers = {"model": "resnet-50", "global_batch": {"choice": [256, 512]}}
    (notice,) = space(tiny(workload=layers, objectives={"maximize": ["throughput"]})).notices
    assert "samples to the same accuracy, which is not modelled for this kind of workload. Fix the batch" in notice


def test_a_batch_of_requests_is_no_batch_of_a_training() -> None:
    serving = {"model": tiny()["workload"]["model"], "prompt_length": 64, "output_length": 8}
    served = {**serving, "global_batch": {"choice": [8, 16]}, "precision": "fp16"}
    graphs = {"base": "megatron-core", "execution": "graph"}
    assert space(tiny(workload=served, software=graphs, objectives={"maximize": ["throughput"]})).notices == ()


def test_each_workload_of_a_purchase_is_tied_to_its_own_smallest_batch() -> None:
    document = batches(training_tokens=3e9)
    one, other = dict(document["workload"]), {**document["workload"], "global_batch": {"choice": [32, 64]}}
    del document["workload"]
    loaded = space({**document, "workloads": [{"name": "a", "workload": one}, {"name": "b", "workload": other}]})
    assert [job.template["workload"]["training_batch"] for job in loaded.jobs] == [8 * 128.0, 32 * 128.0]
    assert [notice.split(":")[0] for notice in loaded.notices] == ["'a'", "'b'"]


def test_the_bound_of_an_open_batch_is_below_every_design_of_the_space() -> None:
    loaded = space(batches(training_tokens=3e9))
    proven = space_bounds(loaded)["time_to_train"]
    assert proven is not None
    filled: list[FilledDocument] = list(loaded.enumerate())
    found = [simulate(design).time_to_train_s for each in filled if (design := parse_design(each.document)[0])]
    assert len(found) == 3 * 2 * 4 * len(BATCHES)
    assert proven <= min(seconds for seconds in found if seconds is not None)


@pytest.mark.parametrize("path", SPACES, ids=lambda path: path.stem)
def test_no_shipped_space_is_flattered_by_its_batch(path: Path) -> None:
    assert not [notice for notice in load_space(path).notices if "batch" in notice]
