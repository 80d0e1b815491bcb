"""A study that two drivers share in MariaDB and in Redis: one is killed, the other is interrupted and goes on."""

from __future__ import annotations

import signal
from collections import Counter
from pathlib import Path

import pytest
from cli_runs import until
from passwords import PASSWORD
from shared_drivers import TRIALS, driver, evaluated
from sweeps import WIDE, sweep
from tiny_spaces import space

from dse.run.record import load_record


@pytest.mark.parametrize("server", ["mariadb", "redis"])
def test_of_two_drivers_one_is_killed_and_the_other_resumes(
    server: str, given: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    url: str = request.getfixturevalue(server)
    running = [driver(given, url, "shared", "--out", given.parent / name) for name in ("a", "b")]

    def both_work() -> bool:
        pids = Counter(pid for pid, _ in evaluated(given))
        return len(pids) == 2 and min(pids.values()) >= 8

    assert until(lambda: both_work() or any(process.poll() is not None for process in running))
    running[0].send_signal(signal.SIGKILL)
    running[1].send_signal(signal.SIGINT)
    said = [process.communicate()[1] for process in running]
    assert running[1].returncode == 130, said[1]
    assert PASSWORD not in "".join(said)
    assert len(evaluated(given)) < TRIALS
    monkeypatch.setattr("dse.study.claims.STALE_SECONDS", 1.0)
    options = {"engine": "noting_engine:engine", "storage": url, "study_name": "shared", "sampler": "nsga2"}
    found = sweep(given.parent / "b", TRIALS, given=space(**WIDE), resume=True, **options)
    assert (found.ended, found.counts()[0], found.counts()[2]) == ("trials", TRIALS, 0)
    kept = load_record(given.parent / "b").trials
    assert len({str(trial.design) for trial in kept}) == len(kept) == TRIALS
    assert not [path.name for path in (given.parent / "b").iterdir() if PASSWORD.encode() in path.read_bytes()]
