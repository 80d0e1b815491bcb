"""Studies on clusters of several nodes: the same trials as on this machine, whatever befalls the cluster."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest
from sweeps import Sweep, sweep, wide, write_engine

from dse.execute.ray_cluster import ClusterError
from dse.execute.ray_worker import ProcessBuild, describe_process
from dse.execute.ray_workers import RayWorkers
from dse.execute.workers import WorkerReady, WorkersError
from dse.run.record import load_record

TRIALS = 400
UNTIL_THREE = "next(n for n in range(6000) if len(list(FOLDER.iterdir())) >= 3 or time.sleep(0.05))"
"""What holds designs until three workers have had one, however long a process takes to start."""
STORE = 80 << 20


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Sweep:
    """The same study in this process."""
    return sweep(tmp_path_factory.mktemp("local"), TRIALS)


def same(found: Sweep, local: Sweep) -> None:
    """Every trial once, in order, and what it came to."""
    assert found.counts() == (TRIALS, 0, 0)
    assert found.table == local.table
    assert [trial.number for trial in load_record(found.folder).front] == [
        trial.number for trial in load_record(local.folder).front
    ]


@pytest.mark.parametrize("sampler", ["nsga2", "exhaustive"])
def test_a_study_on_a_cluster_has_the_trials_of_one_on_this_machine(cluster: Any, tmp_path: Path, sampler: str) -> None:
    here = sweep(tmp_path / "here", 100, sampler=sampler)
    there = sweep(tmp_path / "there", 100, sampler=sampler, executor="ray", address=cluster.address)
    assert there.table == here.table
    assert (there.folder / "study.yaml").read_bytes() == (here.folder / "study.yaml").read_bytes()
    assert there.status[-1].nodes == 3


def test_a_worker_that_is_killed_costs_no_trial(
    cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, local: Sweep
) -> None:
    engine = write_engine(tmp_path, monkeypatch, "killed_engine")

    def kill() -> None:
        os.kill(int(next((tmp_path / "pids").iterdir()).name), signal.SIGKILL)

    found = sweep(tmp_path / "run", TRIALS, 40, kill, executor="ray", address=cluster.address, engine=engine, jobs=2)
    same(found, local)
    assert min(status.workers for status in found.status[41:]) == 1  # until there is another
    assert found.status[-1].failed == 0


def test_a_node_that_is_removed_costs_no_trial(
    cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, local: Sweep
) -> None:
    engine = write_engine(tmp_path, monkeypatch, "leaving_engine", 0.03, UNTIL_THREE)
    node = cluster.add_node(num_cpus=1, object_store_memory=STORE)

    def remove() -> None:
        cluster.remove_node(node, allow_graceful=False)

    found = sweep(tmp_path / "run", TRIALS, 60, remove, executor="ray", address=cluster.address, engine=engine)
    same(found, local)
    assert found.status[0].nodes == 4
    assert found.status[-1].failed == 0
    assert len(list((tmp_path / "pids").iterdir())) >= 3


def test_a_node_that_is_added_is_used(
    cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, local: Sweep
) -> None:
    late = f"if Path({str(tmp_path / 'late')!r}).exists():\n        {UNTIL_THREE}"
    engine = write_engine(tmp_path, monkeypatch, "joining_engine", 0.02, late)
    added: list[Any] = []

    def add() -> None:
        added.append(cluster.add_node(num_cpus=1, object_store_memory=STORE))
        (tmp_path / "late").touch()

    try:
        found = sweep(tmp_path / "run", TRIALS, 20, add, executor="ray", address=cluster.address, engine=engine)
    finally:
        cluster.remove_node(added[0])
    same(found, local)
    assert max(status.workers for status in found.status) == 3
    assert len(list((tmp_path / "pids").iterdir())) == 3


def test_a_design_that_crashes_or_hangs_is_a_failed_trial_and_blocks_nothing(
    cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, local: Sweep
) -> None:
    keys = [trial.key for trial in local.trials]
    crash, hang = keys[50], keys[90]
    extra = f"os._exit(3) if design.key == {crash!r} else time.sleep(1000 * (design.key == {hang!r}))"
    engine = write_engine(tmp_path, monkeypatch, "crashing_engine", 0.0, extra)
    options = {"executor": "ray", "address": cluster.address, "engine": engine, "jobs": 2, "design_timeout": 10.0}
    found = sweep(tmp_path / "run", TRIALS, **options)
    assert found.counts() == (TRIALS, 0, 0)
    failed = {trial.key: str(trial.error) for trial in found.trials if trial.state == "failed"}
    assert set(failed) == {crash, hang}
    assert "its worker process died" in failed[crash]
    assert "not done after 10 s, the limit per design; tried 2 times" in failed[hang]
    assert [t for t in found.trials if t.key not in failed] == [t for t in local.trials if t.key not in failed]


def test_packages_travel_with_the_job_and_workers_say_what_they_run(
    cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # Ray lets workers import from the driver's folder, where the packages may be
    from dse.evaluate.evaluate import Evaluator
    from dse.execute.ray_cluster import connect

    connect(cluster.address, None, [])
    workers = RayWorkers(Evaluator((), ()), own=False)
    there: list[ProcessBuild] = []
    monkeypatch.setattr(ProcessBuild, "differences", lambda mine, other: there.append(other) or [])
    worker, events = workers.start(), []
    while not events:
        events = workers.events(1.0)
    workers.close()
    assert events == [WorkerReady(worker, there[0].node)]
    assert "py_modules_files" in there[0].place
    assert there[0].code == describe_process().code


def test_a_cluster_that_runs_other_files_is_told_apart(
    cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = ProcessBuild("3.11.0", {**describe_process().code, "simcore": "other"}, "here")
    monkeypatch.setattr("dse.execute.ray_workers.describe_process", lambda: other)
    with pytest.raises(WorkersError, match=r"the cluster runs something else: Python .* other files of 'simcore'"):
        sweep(tmp_path, 10, executor="ray", address=cluster.address)


def test_an_engine_that_the_cluster_lacks_is_told_at_the_start(
    cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = write_engine(tmp_path, monkeypatch, "needy_engine", extra="import a_package_of_this_machine_only")
    text = (tmp_path / "needy_engine.py").read_text()
    (tmp_path / "needy_engine.py").write_text(text + f"if not __file__.startswith({str(tmp_path)!r}): import nowhere\n")
    with pytest.raises(WorkersError, match="No module named 'nowhere'"):
        sweep(tmp_path / "run", 10, executor="ray", address=cluster.address, engine=engine)


def test_a_full_cluster_is_told_after_the_time_limit(cluster: Any, tmp_path: Path) -> None:
    import ray

    ray.init(address=cluster.address, log_to_driver=False, logging_level="ERROR")
    held = ray.remote(num_cpus=1)(lambda: time.sleep(100))
    holders = [held.remote() for _ in range(2)]
    while ray.available_resources().get("CPU", 0):
        time.sleep(0.1)
    begun = time.monotonic()
    with pytest.raises(WorkersError, match=r"no worker after 2 s: the cluster has 2 CPUs on 3 nodes, 0 of them free"):
        sweep(tmp_path, 10, executor="ray", address=cluster.address, start_timeout=2.0)
    assert time.monotonic() - begun < 30
    assert ray.is_initialized()  # a connection that was there is left alone
    for holder in holders:
        ray.cancel(holder, force=True)


def test_an_address_where_nothing_listens_is_told_before_a_folder_is_made(tmp_path: Path) -> None:
    with pytest.raises(ClusterError, match=r"nothing answers at 127.0.0.1:1 .*ray start --head"):
        sweep(tmp_path / "run", 10, executor="ray", address="127.0.0.1:1")
    assert not (tmp_path / "run").exists()


def test_a_time_limit_is_part_of_the_space_and_may_change_when_a_study_goes_on(tmp_path: Path) -> None:
    given = wide()
    sweep(tmp_path, 10, given=given, design_timeout=30.0)
    assert "design_timeout: 30" in (tmp_path / "study.yaml").read_text()
    assert sweep(tmp_path, 20, given=given, resume=True).ended == "trials"
