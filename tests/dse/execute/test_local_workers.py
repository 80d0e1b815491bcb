"""Processes of this machine: started a few at a time, gone when they are let go of or left alone."""

from __future__ import annotations

import multiprocessing
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from cli_runs import environment, running, until
from tiny_spaces import cheap, space

from dse.evaluate.evaluate import Evaluator
from dse.execute.local_workers import LocalWorkers
from dse.execute.workers import WorkerGone, WorkerReady


def workers() -> LocalWorkers:
    return LocalWorkers(Evaluator(space().objectives, space().constraints, cheap))


def test_of_many_workers_a_few_start_at_a_time_and_all_get_their_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dse.execute.local_workers.cores", lambda: 1)
    many = workers()
    asked = [many.start() for _ in range(4)]
    ready: set[int] = set()

    def all_but_the_last() -> bool:
        ready.update(event.worker for event in many.events(0.1) if isinstance(event, WorkerReady))
        return len(ready) == 3

    try:
        assert len(multiprocessing.active_children()) == 2
        many.stop(asked[-1])  # before its turn
        assert until(all_but_the_last)
        assert ready == set(asked[:-1])
    finally:
        many.close()
    assert multiprocessing.active_children() == []


class Large(Evaluator):
    """An evaluator whose outcomes are more than a pipe holds."""

    def __call__(self, document: Mapping[str, Any]) -> Any:
        return b"x" * 20_000_000


def test_a_worker_that_is_killed_while_it_answers_is_gone() -> None:
    one = LocalWorkers(Large(space().objectives, space().constraints, cheap))
    try:
        worker = one.start()
        assert until(lambda: bool(one.events(0.1)))
        one.send(worker, 1, [{}])
        connection = one._processes[worker][1]
        assert until(lambda: connection.poll(0.1))
        one._processes[worker][0].kill()
        (event,) = one.events(10.0)
        assert isinstance(event, WorkerGone)
        assert "SIGKILL" in event.reason
    finally:
        one.close()


CHILD = """\
import os, sys, time
from dse.execute.leash import hold_signals, pack_call, run_tied
from multiprocessing import get_context

def work(connection, seconds):
    connection.send(os.getpid())
    end = time.monotonic() + seconds
    while time.monotonic() < end:  # busy, and deaf to its pipe
        pass

if __name__ == "__main__":
    ours, theirs = get_context("spawn").Pipe()
    process = get_context("spawn").Process(target=run_tied, args=(theirs, pack_call(work, 1000.0)))
    with hold_signals():
        process.start()
    print(ours.recv(), flush=True)
    sys.stdin.read()
"""


@pytest.mark.parametrize("by", ["the kernel", "its own watch"])
def test_a_busy_process_ends_with_the_one_that_started_it(tmp_path: Path, by: str) -> None:
    script = tmp_path / "parent.py"
    alone = "import sys, dse.execute; sys.platform = 'other'\n" if by == "its own watch" else ""
    script.write_text(alone + CHILD)
    with subprocess.Popen(
        [sys.executable, str(script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment()
    ) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        assert running(child)
        parent.send_signal(signal.SIGKILL)
    assert until(lambda: not running(child))
