"""`dse optimize --executor ray` in processes of its own: stopped, killed, refused."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from cli_runs import PATIENCE, dse, start, until
from sweeps import TESTS, WIDE
from tiny_spaces import tiny

ENGINE = f"""\
import itertools, sys, time
from pathlib import Path
sys.path.insert(0, {str(TESTS)!r})
from tiny_spaces import cheap

GATE = Path("GATE")  # while it is there, no more than 45 designs pass a worker: one that starts late has its own
number = itertools.count(1)

def engine(design):
    time.sleep(0.02)  # so that a call has a few designs, not hundreds
    closed = next(number) > 45
    while closed and GATE.exists():
        time.sleep(0.02)
    return cheap(design)
"""


@pytest.fixture
def space(tmp_path: Path) -> Path:
    """A space, and beside it an engine that takes its time."""
    path = tmp_path / "tiny.yaml"
    path.write_text(yaml.safe_dump(tiny(**WIDE), sort_keys=False))
    (tmp_path / "gated_engine.py").write_text(ENGINE.replace('GATE"', f'{tmp_path}/gate"'))
    return path


def trials(folder: Path) -> list[dict[str, Any]]:
    journal = folder / "journal.log"
    lines = journal.read_bytes().splitlines(keepends=True) if journal.exists() else []
    whole = [line for line in lines if line.endswith(b"\n") and b'"user_attrs"' in line]
    return [json.loads(line)["user_attrs"] for line in whole]


def stopped(space: Path, number: int, *arguments: object, group: bool = False) -> tuple[int, str, int, list[str]]:
    """Starts a study, sends it a signal after 30 trials; status, what it said, its process id and cluster."""
    folder = space.parent
    (folder / "gate").touch()
    process = start(
        *("optimize", space, "--out", folder / "run", "--engine", "gated_engine:engine", "--sampler", "random"),
        *("--trials", 200, "--executor", "ray", "--jobs", 2, *arguments),
        engines=folder,
    )
    with process:
        try:
            assert until(lambda: len(trials(folder / "run")) >= 30 or process.poll() is not None)
            private = left_of(process.pid)
            (os.killpg if group else os.kill)(process.pid, number)
            _, err = process.communicate(timeout=PATIENCE)
        finally:
            process.kill()  # where it did not end, nobody waits for it for ever
    (folder / "gate").unlink()
    return process.returncode, err, process.pid, private


def free(cluster: Any) -> None:
    """Wait until nothing runs on the cluster."""
    import ray

    ray.init(address=cluster.address, log_to_driver=False, logging_level="ERROR")
    assert until(lambda: ray.available_resources().get("CPU", 0) >= 2), "workers were left on the cluster"
    ray.shutdown()


def left_of(pid: int) -> list[str]:
    """Processes of a private cluster that a driver started; Ray names its session after the driver."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            text = path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if f"session_{time.strftime('%Y')}" in text and f"_{pid}/" in text:
            found.append(text[:200])
    return found


def test_a_killed_driver_leaves_the_cluster_free_and_its_study_goes_on(cluster: Any, space: Path) -> None:
    status, err, _, _ = stopped(space, signal.SIGKILL, "--address", cluster.address)
    assert status == -signal.SIGKILL, err
    before = len(trials(space.parent / "run"))
    assert 30 <= before < 200
    free(cluster)
    rest = ("--engine", "gated_engine:engine", "--sampler", "random", "--trials", 200)
    with start("optimize", space, "--out", space.parent / "run", "--resume", *rest, engines=space.parent) as process:
        _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, err
    found = trials(space.parent / "run")
    assert [trial["number"] for trial in found] == list(range(200))
    assert len({trial["key"] for trial in found}) == 200
    with start("optimize", space, "--out", space.parent / "whole", *rest, engines=space.parent) as process:
        process.communicate(timeout=PATIENCE)
    table = "trials.csv"
    assert (space.parent / "run" / table).read_bytes() == (space.parent / "whole" / table).read_bytes()


@pytest.mark.parametrize("address", ["cluster", "local"])
def test_ctrl_c_ends_with_130_keeps_what_was_evaluated_and_leaves_nothing_running(
    cluster: Any, space: Path, address: str
) -> None:
    given = cluster.address if address == "cluster" else "local"
    status, err, pid, private = stopped(space, signal.SIGINT, "--address", given, group=True)
    assert bool(private) == (address == "local")
    assert status == 130, err
    assert "all saved; continue with --resume" in err
    assert "Traceback" not in err
    assert {path.name for path in (space.parent / "run").iterdir()} == {"journal.log", "study.yaml"}
    if address == "cluster":
        free(cluster)
    assert until(lambda: left_of(pid) == [])


@pytest.fixture
def guarded(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Address of a cluster that wants a token."""
    script = (
        "import sys\n"
        "from ray.cluster_utils import Cluster\n"
        "head = {'num_cpus': 1, 'object_store_memory': 80 << 20, 'include_dashboard': False}\n"
        "cluster = Cluster(initialize_head=True, head_node_args=head)\n"
        "print(cluster.address, flush=True)\n"
        "sys.stdin.read()\n"
        "cluster.shutdown()\n"
    )
    environment = {**os.environ, "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "a" * 64}
    process = subprocess.Popen(
        [sys.executable, "-c", script],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    with process:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
        process.communicate(timeout=PATIENCE)


def test_a_cluster_that_wants_a_token_says_so_and_takes_the_right_one(
    guarded: str, space: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = ("optimize", space, "--out", space.parent / "run", "--executor", "ray", "--address", guarded)
    for name in ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    done = dse(*arguments, "--trials", 4)
    assert done.returncode == 1
    assert "wants a token that this process does not have" in done.stderr
    assert "RAY_AUTH_MODE=token and RAY_AUTH_TOKEN" in done.stderr
    assert not (space.parent / "run").exists()
    monkeypatch.setenv("RAY_AUTH_MODE", "token")
    monkeypatch.setenv("RAY_AUTH_TOKEN", "a" * 64)
    done = dse(*arguments, "--trials", 4, "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["evaluated"] == 4
    assert not [path for path in (space.parent / "run").iterdir() if b"a" * 64 in path.read_bytes()]
