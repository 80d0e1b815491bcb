"""What an installed package brings is used by its name alone, in documents and on the command line."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from installed import PROJECT, ROOT, install, ran

pytestmark = pytest.mark.xdist_group("extension")  # one worker, one study

DESIGN = Path(__file__).with_name("design.yaml")
SUITES = [
    f"tests/simcore/{suite}"
    for suite in (
        "astra/test_astra_loops.py",
        "network/test_links_and_closed_forms.py",
        "collective/test_conformance.py",
        "schedule/test_schedules.py",
        "system/test_intra_dimension.py",
        "system/test_inter_dimension.py",
    )
]
UNSUITED = ("stencil", "carbon", "second-hand", "shuffled", "utilization")
"""Members whose families have suites of other names: see `test_new_kind.py`, `test_added_metric.py`."""


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return install(tmp_path_factory.mktemp("site"))


def space() -> dict[str, Any]:
    """The design, with a choice between a member of the project and one of the package for each family."""
    document = yaml.safe_load(DESIGN.read_text(encoding="utf-8"))
    document["parallelism"]["schedule"] = {"choice": ["1f1b", "eager_1f1b"]}
    document["cluster"]["dimensions"][0]["topology"] = {"choice": ["ring", "cube"]}
    document["cluster"]["dimensions"][1]["collective"] = {"choice": ["ring", "bruck"]}
    document["system"]["inter_dimension"] = {"choice": ["themis", "round_robin"]}
    document["system"]["intra_dimension"] = {"choice": ["fifo", "lcf"]}
    return document | {"objectives": {"minimize": ["iteration_time", "carbon", "cost.total"]}}


@pytest.fixture(scope="module")
def study(package: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run folder, its space beside it."""
    folder = tmp_path_factory.mktemp("study")
    (folder / "space.yaml").write_text(yaml.safe_dump(space()))
    done = optimized(folder, package, "--trials", 24, "--sampler", "shuffled")
    assert done.returncode == 0, done.stderr
    return folder


def optimized(folder: Path, package: Path | None, *more: object) -> subprocess.CompletedProcess[str]:
    out = ["--seed", 1, "--jobs", 1, "--out", folder / "run"]
    return ran("dse", "optimize", folder / "space.yaml", *out, *more, package=package)


def test_a_design_of_an_installed_package_is_simulated(package: Path) -> None:
    done = ran("dse", "simulate", DESIGN, "--json", package=package)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["iteration_time_s"] > 0
    assert result["metrics"]["carbon"] == pytest.approx(result["energy_j"] * 0.4 / 3.6e6)
    assert result["cost"]["npu"] == 64 * 18_000


def test_a_workload_of_an_installed_package_is_simulated_by_both_engines(package: Path, tmp_path: Path) -> None:
    document = yaml.safe_load(DESIGN.read_text(encoding="utf-8"))
    cluster = {**document["cluster"], "npu": "h100-80gb"}
    design = {"workload": {"grid": 64_000_000, "sweeps": 4}, "cluster": cluster, "system": document["system"]}
    (tmp_path / "stencil.yaml").write_text(yaml.safe_dump(design))
    times = []
    for engine in ("fast", "reference"):
        done = ran("dse", "simulate", tmp_path / "stencil.yaml", "--engine", engine, "--json", package=package)
        assert done.returncode == 0, done.stderr
        times.append(json.loads(done.stdout)["iteration_time_s"])
    assert times[0] == times[1] > 0


def finish(package: Path, folder: Path, text: str) -> int:
    """When ASTRA-sim 1.0 finishes a text workload on the network of the study of its tutorials [ns]."""
    (folder / "work.txt").write_text(text)
    study = ROOT / "studies" / "astra-sim"
    files = ["--network-configuration", study / "network" / "ring8-50.json"]
    files += ["--system-configuration", study / "system" / "ring.txt", "--workload-configuration", folder / "work.txt"]
    done = ran("dse", "astra", *files, "--json", package=package)
    assert done.returncode == 0, done.stderr
    return int(json.loads(done.stdout)["finish_ns"])


def test_a_training_loop_of_an_installed_package_plays_a_text_workload(package: Path, tmp_path: Path) -> None:
    sizes = (4 << 20, 1 << 20)
    layers = "".join(f"l{i} -1 50000 NONE 0 60000 NONE 0 70000 ALLREDUCE {size} 1\n" for i, size in enumerate(sizes))
    alone = sum(finish(package, tmp_path, f"MICRO\n1\n{layer}\n") for layer in layers.splitlines())
    assert finish(package, tmp_path, f"DATA_UNOVERLAPPED\n2\n{layers}") == 2 * (50000 + 60000 + 70000) + alone
    assert finish(package, tmp_path, f"DATA\n2\n{layers}") < 2 * (50000 + 60000 + 70000) + alone


def test_without_the_package_its_names_are_unknown() -> None:
    done = ran("dse", "simulate", DESIGN)
    assert done.returncode == 2
    assert "got 'cube'" in done.stderr
    known = "gpipe, 1f1b, zero_bubble, zbv, v-half, v-min, dualpipe-v, pipedream, pipedream_2bw"
    assert f"expected one of {known}, got 'eager_1f1b'" in done.stderr


def test_a_space_chooses_between_members_of_the_project_and_of_the_package(study: Path) -> None:
    trials = (study / "run" / "trials.csv").read_text()
    assert all(name in trials for name in ("eager_1f1b", "cube", "bruck", "round_robin", "lcf"))


def test_a_study_says_which_package_it_needs(study: Path) -> None:
    versions = yaml.safe_load((study / "run" / "study.yaml").read_text())["versions"]
    assert versions["extensions"] == {"dse-example": "1.0"}


def test_a_study_that_uses_nothing_of_the_package_does_not_name_it(package: Path, tmp_path: Path) -> None:
    plain = space()
    plain["parallelism"]["schedule"] = "1f1b"
    plain["cluster"]["dimensions"] = [{"topology": "switch", "size": 64, "bandwidth": "1 GB/s", "latency": "1 us"}]
    plain["system"] = {"chunks": {"choice": [1, 4]}}
    plain["objectives"] = {"minimize": ["iteration_time", "cost.total"]}
    (tmp_path / "space.yaml").write_text(yaml.safe_dump(plain))
    assert optimized(tmp_path, package, "--trials", 2).returncode in (0, 1)
    assert set(yaml.safe_load((tmp_path / "run" / "study.yaml").read_text())["versions"]) == {"dse", "model", "optuna"}


def test_a_study_is_resumed_and_reported_with_the_package(study: Path, package: Path) -> None:
    done = optimized(study, package, "--trials", 28, "--sampler", "shuffled", "--resume")
    assert done.returncode == 0, done.stderr
    assert ran("dse", "report", study / "run", package=package).returncode == 0


def test_what_is_proven_holds_for_members_of_the_package(package: Path, tmp_path: Path) -> None:
    (tmp_path / "space.yaml").write_text(yaml.safe_dump(space()))
    times = []
    for sampler in ("shuffled", "exact"):
        out = ["--sampler", sampler, "--trials", 40, "--jobs", 1, "--out", tmp_path / sampler]
        done = ran("dse", "optimize", tmp_path / "space.yaml", *out, package=package)
        assert done.returncode == 0, done.stderr
        front = json.loads((tmp_path / sampler / "pareto.json").read_text())["front"]
        times.append(sorted(member["values"]["iteration_time"] for member in front))
    assert times[0] == times[1]


def test_a_picture_of_the_package_is_drawn_and_unknown_without_it(study: Path, package: Path, tmp_path: Path) -> None:
    out = tmp_path / "mfu.png"
    done = ran("dse", "plot", "utilization", study / "run", "--out", out, "--json", package=package)
    assert done.returncode == 0, done.stderr
    assert out.read_bytes().startswith(b"\x89PNG")
    front = json.loads((study / "run" / "pareto.json").read_text())["front"]
    drawn = json.loads(done.stdout)
    known = {f"#{member['trial']}": member["metrics"]["mfu"] for member in front}
    assert drawn
    assert drawn == {name: known[name] for name in drawn}
    missing = ran("dse", "plot", "utilization", study / "run")
    assert missing.returncode == 2
    assert "expected a kind of picture, got 'utilization'" in missing.stderr


@pytest.mark.parametrize("command", [["report"], ["verify"]])
def test_without_the_package_no_report_is_made_of_a_study(study: Path, command: list[str]) -> None:
    done = ran("dse", *command, study / "run")
    assert done.returncode == 2
    assert "expected package dse-example 1.0, whose extensions the study uses, got none installed" in done.stderr
    assert "pip install dse-example==1.0" in done.stderr


def test_without_the_package_a_study_is_not_resumed(study: Path) -> None:
    done = optimized(study, None, "--trials", 30, "--sampler", "shuffled", "--resume")
    assert done.returncode == 2
    assert "expected package dse-example 1.0, whose extensions the study uses, got none installed" in done.stderr


def test_with_another_version_of_the_package_a_study_is_not_resumed(study: Path, tmp_path: Path) -> None:
    done = optimized(study, install(tmp_path / "newer", "1.1"), "--trials", 30, "--sampler", "shuffled", "--resume")
    assert done.returncode == 2
    assert 'versions.extensions.dse-example: "1.0" -> "1.1"' in done.stderr


def test_the_schema_for_editors_knows_the_names(package: Path, study: Path) -> None:
    schema = ran("dse", "space", study / "space.yaml", "--schema", package=package).stdout
    unnamed = ("dse.plots", "simcore.training_loops")  # no document names these
    groups = [members for group, members in PROJECT["entry-points"].items() if group not in unnamed]
    names = [name for members in groups for name in members if name != "stencil"]
    assert all(f'"{name}"' in schema for name in names)
    assert '"sweeps"' in schema


def test_a_module_of_the_package_may_be_what_is_imported_first(package: Path) -> None:
    for target in (target for members in PROJECT["entry-points"].values() for target in members.values()):
        module, _, name = target.partition(":")
        code = f"import {module}; import simcore.design.design; assert {module}.{name}"
        done = ran("timeit", "-n", "1", "-r", "1", code, package=package)
        assert done.returncode == 0, done.stderr


def test_its_members_pass_the_suites_that_those_of_the_project_pass(package: Path) -> None:
    names = [name for members in PROJECT["entry-points"].values() for name in members]
    names = [name for name in names if name not in UNSUITED]
    done = ran("pytest", "-vv", "-p", "no:cacheprovider", *SUITES, "-k", " or ".join(names), package=package)
    assert done.returncode == 0, done.stdout[-4000:]
    assert all(name in done.stdout for name in names)


@pytest.mark.parametrize(
    ("kind", "name"),
    [("topologies", "cube"), ("prices", "second-hand"), ("metrics", "carbon"), ("samplers", "shuffled")],
)
def test_the_catalogue_lists_what_a_package_brings_with_its_name(package: Path, kind: str, name: str) -> None:
    done = ran("dse", "catalogue", kind, "--json", package=package)
    assert done.returncode == 0, done.stderr
    origins = {entry["name"]: entry["package"] for entry in json.loads(done.stdout)["entries"]}
    assert origins[name] == "dse-example 1.0"
    assert next(iter(origins.values())) is None
