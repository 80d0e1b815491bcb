"""Every entry of the catalogue goes through a run, its `study.yaml` and its reports, and through that study again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dse.report.front import pareto_json
from dse.report.summary import summarize
from dse.report.tables import csv_text, trials_table
from dse.report.write import write_reports
from dse.run.document import open_space
from dse.run.drive import optimize
from dse.run.record import load_record
from dse.run.resolved import resolved
from dse.run.settings import Settings
from dse.space.space import Space, space_from
from dse.space.template import parse_template
from dse.study.journal import JOURNAL
from dse.study.store import STUDY
from dse.whatif.answers import NOTHING
from simcore import catalog
from simcore.document.problem import Problem
from simcore.document.text import Document

RING = [{"topology": "ring", "size": 2, "bandwidth": "100 GB/s", "latency": "1 us"}]
SETTINGS = Settings("random", 2, 0, jobs=1)
PARTS = {"curves": "curve"}
"""Sections whose entries are a part of an NPU."""
SECTIONS = [section for section in catalog.SECTIONS if section != "parts"]
"""Those whose entries a document names; parts are what price lists speak of."""
NPUS = {"wafer-5x4": 20, "tpu-v4-twisted": 128, "slingshot-11": 2048, "selene": 160, "dojo-tile": 50} | {
    name: 20 for name in catalog.section("fabrics") if name.startswith("fred-")
}
"""NPUs of fabrics that have whole groups of a size."""
NAMED = [(section, name) for section in SECTIONS for name in catalog.section(section)]


def document(**changes: Any) -> dict[str, Any]:
    """Two quick designs; nothing has to fit."""
    plain = {
        "workload": {"model": {"hidden": 512, "layers": 2, "heads": 8, "vocabulary": 1024}, "global_batch": 64},
        "cluster": {"npu": "a100-80gb", "dimensions": RING},
        "system": {"chunks": {"choice": [1, 2]}},
        "constraints": [],
        "objectives": {"minimize": ["iteration_time", "cost.total"]},
        "hypothetical": True,
    }
    return {**plain, **changes}


def with_entry(section: str, entry: Any) -> dict[str, Any]:
    """A document with an entry of a section of the catalogue: its name, the entry itself, or a hole."""
    if section in ("models", "networks", "recommenders"):
        return document(workload={"model": entry, "global_batch": 8})
    if section == "prices":
        return document(cost=entry, cluster={"npu": "a100-80gb", "fabric": "dgx-a100", "npus": 16})
    if section == "software" and isinstance(entry, str) and not catalog.entry(section, entry).get("trains", True):
        served = {**document()["workload"], "prompt_length": 64, "output_length": 2}
        return document(workload=served, software=entry)
    if section in ("software", "reliability"):
        return document(**{section: entry})
    if section == "nodes":
        return document(cluster={"npu": "a100-80gb", "node": entry, "dimensions": RING})
    if section == "fabrics":
        npus = NPUS.get(entry, 64) if isinstance(entry, str) else 64
        workload = {**document()["workload"], "global_batch": npus}
        return document(workload=workload, cluster={"npu": "a100-80gb", "fabric": entry, "npus": npus})
    if section == "libraries":
        return document(cluster={"npu": "a100-80gb", "dimensions": [{**RING[0], "library": entry}]})
    own = {**catalog.entry("npus", "a100-80gb"), "name": "own", "price": "1 $"}
    npu = {**own, PARTS[section]: entry} if section in PARTS else entry
    lacks_fp16 = section == "npus" and isinstance(npu, str) and "fp16" not in catalog.entry("npus", npu)["peak"]
    precision = "bf16" if lacks_fp16 else "fp16"
    workload = {**document()["workload"], "precision": precision}
    priced = section != "npus" or not isinstance(npu, str) or npu in catalog.entry("prices", "libra")["npu"]
    cost = "libra" if priced else "network-only"
    return document(workload=workload, cluster={"npu": npu, "dimensions": RING}, cost=cost)


def space(data: dict[str, Any]) -> Space:
    return space_from(Document("own.yaml", data, {}), "own")


def run(given: Space, folder: Path) -> dict[str, Any]:
    """What a run leaves that its reports are made of."""
    optimize(given, SETTINGS, folder, resume=False)
    record = load_record(folder)
    assert record.feasible_trials
    assert all(trial.state == "feasible" for trial in record.trials)
    return {
        "study": (folder / STUDY).read_bytes(),
        "trials": csv_text(trials_table(record)),
        "front": pareto_json(record, summarize(record, NOTHING)),
    }


def repeated(given: Space, folder: Path) -> None:
    """Fails unless a run and the run of its study are the same."""
    first = run(given, folder / "first")
    again, _ = open_space(str(folder / "first" / STUDY))
    assert run(again, folder / "again") == first


@pytest.mark.parametrize(("section", "name"), NAMED)
def test_a_run_with_an_entry_by_its_name_is_repeated_from_its_study(tmp_path: Path, section: str, name: str) -> None:
    repeated(space(with_entry(section, name)), tmp_path)


@pytest.mark.parametrize(
    ("section", "entry"),
    [
        ("models", {"base": "llama2-7b", "layers": {"choice": [2, 4]}}),
        ("models", {"base": "llama2-7b", "layers": 2, "hidden": {"expr": "512 * workload.global_batch"}, "heads": 8}),
        ("npus", {"base": "a100-80gb", "memory": {"capacity": {"range": ["90 GB", "100 GB"], "step": "10 GB"}}}),
        ("prices", {"base": "libra", "npu": {"a100-80gb": {"choice": ["1 $", "2 $"]}}}),
        ("networks", {"layers": [{"kind": "gemm", "m": 4, "n": {"choice": [8, 16]}, "k": 8}]}),
        ("fabrics", {"dimensions": [{**RING[0], "size": {"choice": [2, 4]}}, {**RING[0], "size": 16}, *RING]}),
    ],
)
def test_a_run_with_an_entry_of_the_users_is_repeated_from_its_study(tmp_path: Path, section: str, entry: Any) -> None:
    repeated(space(with_entry(section, entry)), tmp_path)


@pytest.mark.parametrize("section", SECTIONS)
def test_a_choice_of_all_entries_of_a_section_is_the_same_in_the_study(section: str) -> None:
    names = [name for name in catalog.section(section) if name not in NPUS]  # whose sizes are their own
    given = space(with_entry(section, {"choice": names}))
    studied = space(resolved(given))
    assert resolved(studied) == resolved(given)
    keys = [[one.key(filled) for filled in one.enumerate()] for one in (given, studied)]
    assert keys[0] == keys[1]
    assert len(keys[0]) == 2 * len(names)


def test_fabrics_in_a_choice_of_whole_clusters_are_reported_alike_from_the_study(tmp_path: Path) -> None:
    own = {"name": "own", "sizes": "even", "dimensions": [{**entry, "size": 1} for entry in RING * 2]}
    fabrics = ["tpu-v4-pod", "dgx-h100", catalog.entry("fabrics", "tpu-v4-pod"), own]
    npus = ["tpu-v4", "b200", "b200", "b200"]
    clusters = [{"npu": npu, "fabric": fabric, "npus": 16} for npu, fabric in zip(npus, fabrics, strict=True)]
    workload = {**document()["workload"], "precision": "bf16"}
    given = space(document(workload=workload, cluster={"choice": clusters}, system={}))
    optimize(given, SETTINGS, tmp_path / "first", resume=False)
    again, _ = open_space(str(tmp_path / "first" / STUDY))
    optimize(again, SETTINGS, tmp_path / "again", resume=False)
    for name in ("first", "again"):
        write_reports(load_record(tmp_path / name), tmp_path / name)
    reports = {path.name for path in (tmp_path / "first").iterdir()} - {JOURNAL}
    assert len(reports) > 6
    for name in reports:
        assert (tmp_path / "first" / name).read_bytes() == (tmp_path / "again" / name).read_bytes()


def test_no_word_of_the_catalogue_is_that_of_a_hole() -> None:
    for section, name in NAMED:
        problems: list[Problem] = []
        assert parse_template(catalog.entry(section, name), (), problems) == catalog.entry(section, name)
        assert problems == []
