"""A kind of workload that a package brings: an entry point, and it is used from YAML like those of the project."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
import yaml
from agreement import differences
from dse_example.stencil import StencilWorkload
from kinds_of_workload import CLUSTER

from dse.run.drive import optimize
from dse.run.record import load_record
from dse.run.settings import Settings
from dse.space.space import load_space
from simcore import family
from simcore.bounds.design import bound
from simcore.check.load import load_design
from simcore.design import workload as forms
from simcore.design.design import Design
from simcore.design.extensions import used_packages
from simcore.design.workload import KINDS
from simcore.document.problem import InputError
from simcore.memory.plan import memory_needed
from simcore.metrics import metrics
from simcore.simulate import simulate

DESIGN = """\
workload: {grid: 8000000, sweeps: 10}
cluster:
  npu: a100-80gb
  dimensions:
    - {topology: switch, size: 4, bandwidth: 300 GB/s, latency: 700 ns, tier: node}
    - {topology: ring, size: 2, bandwidth: 25 GB/s, latency: 2 us, tier: pod}
"""
SPACE = """\
workload:
  choice:
    - {grid: 8000000, sweeps: {choice: [10, 20]}}
    - {collective: all_reduce, size: 1 MB}
cluster:
  npu: a100-80gb
  dimensions:
    - {topology: switch, size: 8, bandwidth: {choice: [100 GB/s, 300 GB/s]}, latency: 700 ns, tier: node}
objectives: {minimize: [iteration_time, cost.total]}
"""


@pytest.fixture(autouse=True)
def _installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A package is installed that brings the kind; what is known of kinds is forgotten before and after."""
    entry = EntryPoint("stencil", "dse_example.stencil:KIND", KINDS.group)
    monkeypatch.setattr(family, "_find_entry_points", lambda group: {"stencil": entry} if group == KINDS.group else {})
    _forget()
    yield
    monkeypatch.undo()
    _forget()


def _forget() -> None:
    for known in (forms._forms, forms._tags, forms._tag_of_model, forms._reader):
        known.cache_clear()
    Design.model_rebuild(force=True)


def loaded(text: str, folder: Path) -> Design:
    path = folder / "design.yaml"
    path.write_text(text)
    return load_design(path)


def test_a_new_kind_is_read_from_yaml_and_both_engines_play_it(tmp_path: Path) -> None:
    design = loaded(DESIGN, tmp_path)
    assert StencilWorkload.of(design.workload).sweeps == 10
    assert design.document()["workload"] == {"grid": 8_000_000, "sweeps": 10, "precision": "fp32"}
    assert differences(design) == []
    result = simulate(design)
    assert result.throughput_tokens_per_s == pytest.approx(10 / result.iteration_time_s)
    assert result.throughput_counts == "sweeps"
    assert result.time_to_first_token_s is None


def test_its_bounds_and_its_memory_follow_from_its_program(tmp_path: Path) -> None:
    design = loaded(DESIGN, tmp_path)
    memory, found = memory_needed(design), metrics(simulate(design))
    assert memory is not None
    assert memory.weights == 4 * 1_000_000
    proven = bound(design)["iteration_time"]
    assert proven is not None
    assert 0 < proven <= found["iteration_time"]  # type: ignore[operator]


def test_its_rules_and_its_keys_are_told_like_those_of_the_project(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"workload.grid: expected a multiple of the 8 NPUs, got 8000001"):
        loaded(DESIGN.replace("8000000", "8000001"), tmp_path)
    with pytest.raises(InputError, match=r"workload.sweps: expected a known key, got 'sweps'; did you mean 'sweeps'"):
        loaded(DESIGN.replace("sweeps:", "sweps:"), tmp_path)


def test_a_space_searches_over_it_beside_other_kinds(tmp_path: Path) -> None:
    path = tmp_path / "space.yaml"
    path.write_text(SPACE)
    optimize(load_space(path), Settings(sampler="auto", trials=6, seed=0), tmp_path / "run", resume=False)
    record = load_record(tmp_path / "run")
    designs = [trial.design for trial in record.trials if trial.design is not None]
    assert {"grid" in design["workload"] for design in designs} == {True, False}
    assert all(trial.metrics is not None for trial in record.trials)


def test_what_a_study_needs_has_the_package_of_its_kinds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(KINDS, "package", lambda name: ("grids", "1.2") if name == "stencil" else None)
    assert used_packages(yaml.safe_load(SPACE)) == {"grids": "1.2"}
    assert used_packages({"workload": {"collective": "all_reduce", "size": "1 MB"}}) == {}


def test_the_cluster_of_the_examples_takes_it_too() -> None:
    design = Design.model_validate({"workload": {"grid": 64, "sweeps": 1}, "cluster": CLUSTER})
    assert simulate(design).fits
