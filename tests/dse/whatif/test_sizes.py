"""Numbers of NPUs on which no design fits: told, with what the nearest lacks and what would make it fit."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import tiny_spaces
import yaml
from asked_studies import answer_what_if

from dse.evaluate.evaluate import Outcome
from dse.evaluate.record import VALID, StudyRecord, TrialRecord
from dse.report.decision import describe_decision
from dse.report.front import pareto_json
from dse.report.summary import Summary, summarize
from dse.run.drive import optimize
from dse.run.record import load_record
from dse.run.settings import Settings
from dse.space.space import space_from
from dse.whatif.climb import Climb
from simcore.document.text import parse_document

SPACE = """
workload: {model: llama3-70b, global_batch: 256, sequence_length: 8192, precision: bf16}
parallelism:
  degrees: {product: npus, of: [tensor, pipeline, data], limits: {tensor: [8, 8], pipeline: [1, 8]}}
  zero: 1
  sequence_parallel: true
  recompute: {choice: [none, selective]}
cluster:
  npu: h100-80gb
  dimensions:
    - {topology: switch, size: 8, bandwidth: 450 GB/s, latency: 1 us, tier: node}
    - {topology: switch, size: {choice: [2, 4, 32]}, bandwidth: 50 GB/s, latency: 5 us, tier: pod}
objectives: {minimize: [iteration_time]}
"""


def summary_of(tmp_path: Path, **sections: Mapping[str, Any]) -> tuple[Summary, list[str]]:
    """Of every design of the space: the summary with all answers, and the decision's sentences."""
    document = yaml.safe_load(SPACE)
    document = {**document, **{name: {**document.get(name, {}), **its} for name, its in sections.items()}}
    space = space_from(parse_document(yaml.safe_dump(document, sort_keys=False), "space"), "sizes")
    optimize(space, Settings(sampler="exhaustive", trials=1000, seed=0), tmp_path / "run", resume=False)
    record = load_record(tmp_path / "run")
    summary = summarize(record, answer_what_if(record, tmp_path / "run"))
    pareto = json.loads(pareto_json(record, summary))["what_if"]["sizes"]
    assert pareto == {name: {"missing": its.missing, "mend": its.mend} for name, its in summary.what_if.sizes.items()}
    told = [each for each in describe_decision(record, summary).sentences if "that fits the memory" in each]
    return summary, told


def test_a_size_is_told_with_the_setting_that_the_space_leaves_out(tmp_path: Path) -> None:
    summary, told = summary_of(tmp_path)
    ((size, its),) = summary.what_if.sizes.items()
    assert (size, its.mend) == ("16 NPUs", "recompute full")
    assert 0 < its.missing < 1
    by = f"{100 * its.missing:.0f} %"
    assert told == [
        f"No design was found that fits the memory of 16 NPUs ({by} more is needed); with recompute full, which the "
        "space leaves out, one would."
    ]


def test_the_setting_is_not_told_where_the_space_has_it(tmp_path: Path) -> None:
    every = {"recompute": {"choice": ["none", "selective", "full"]}, "zero": {"choice": [0, 1, 2, 3]}}
    summary, told = summary_of(tmp_path, workload={"model": "llama3-405b"}, parallelism=every)
    assert {size: its.mend for size, its in summary.what_if.sizes.items()} == {"16 NPUs": "", "32 NPUs": ""}
    assert len(told) == 1
    assert ", nor of 32 NPUs (" in told[0]
    assert "leaves out" not in told[0]


def test_nothing_is_told_where_every_size_fits(tmp_path: Path) -> None:
    summary, told = summary_of(tmp_path, workload={"model": "llama3-8b"})
    assert (dict(summary.what_if.sizes), told) == ({}, [])


@pytest.mark.parametrize("placed", [False, True])
def test_a_size_whose_nodes_are_filled_in_another_order_is_told(tmp_path: Path, placed: bool) -> None:
    """22 replicas of 4 stages on 11 nodes of 8."""
    document = yaml.safe_load(SPACE)
    document["workload"].update(model="llama3-8b", global_batch=264)
    document["parallelism"]["degrees"]["limits"] = {"tensor": [1, 1], "pipeline": [4, 4]}
    document["cluster"]["dimensions"][1]["size"] = {"choice": [2, 11]}
    if placed:
        document["cluster"]["placement"] = ["tensor", "context", "data", "pipeline"]
    space = space_from(parse_document(yaml.safe_dump(document, sort_keys=False), "space"), "sizes")
    optimize(space, Settings(sampler="exhaustive", trials=1000, seed=0), tmp_path / "run", resume=False)
    record = load_record(tmp_path / "run")
    summary = summarize(record, answer_what_if(record, tmp_path / "run"))
    told = [each for each in describe_decision(record, summary).sentences if "fills the nodes" in each]
    said = (
        "No design was found that fills the nodes of 88 NPUs; with 'cluster.placement: [tensor, context, pipeline, "
        "data]', which the space leaves out, one would."
    )
    assert told == ([] if placed else [said])


def test_sizes_that_only_miss_another_limit_are_not_told(tmp_path: Path) -> None:
    """32 NPUs are too dear for the limit: that is the architect's wish."""
    document = yaml.safe_load(SPACE)
    document["workload"]["model"] = "llama3-8b"
    document["constraints"] = ["fits", "cluster.dimensions[1].size <= 4"]
    space = space_from(parse_document(yaml.safe_dump(document, sort_keys=False), "space"), "sizes")
    optimize(space, Settings(sampler="exhaustive", trials=1000, seed=0), tmp_path / "run", resume=False)
    record = load_record(tmp_path / "run")
    assert not summarize(record, answer_what_if(record, tmp_path / "run")).what_if.sizes


def test_another_limit_does_not_lead_the_search_for_what_fits() -> None:
    """One design misses the memory by a little, another one a limit by a lot: only the memory counts."""
    missed = {"tight": {"fits": 0.1, "power": 0.0}, "hungry": {"fits": 0.0, "power": 0.9}}

    def simulate(document: Mapping[str, Any]) -> Outcome:
        return Outcome("", "cut", {}, {VALID: 0.0, **missed[document["name"]]}, dict(document), cut_by="power")

    starts = [TrialRecord(-1, "cut", {}, {}, {}, {"name": name}) for name in missed]
    record, space = StudyRecord.__new__(StudyRecord), tiny_spaces.space()
    found = {
        only: Climb(record, space, simulate, lambda document: "", "", 8, only=only).run(starts) for only in ("", "fits")
    }
    assert {only: its and its[1].violations["fits"] for only, its in found.items()} == {"": 0.1, "fits": 0.0}
