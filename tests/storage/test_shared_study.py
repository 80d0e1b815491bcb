"""Several drivers on one study: distinct proposals, all results, whoever dies."""

from __future__ import annotations

import signal
import time
from collections import Counter
from pathlib import Path
from typing import Any

import bought
import pytest
from cli_runs import PATIENCE, dse, until
from passwords import PASSWORD
from shared_drivers import TRIALS, driver, evaluated
from sweeps import WIDE, sweep
from tiny_spaces import space, tiny

from dse.evaluate.evaluate import Outcome
from dse.run.record import load_record
from dse.study.claims import SharedStudy, open_storage, shown
from simcore.document.problem import InputError, InputWarning


def table(folder: Path) -> bytes:
    return (folder / "trials.csv").read_bytes()


@pytest.mark.parametrize("sampler", ["auto", "nsga2"])
def test_two_drivers_evaluate_distinct_designs_and_both_end_with_all_results(
    postgresql: str, given: Path, sampler: str
) -> None:
    folders = [given.parent / name for name in ("a", "b")]
    running = [driver(given, postgresql, sampler, "--out", folder, sampler=sampler) for folder in folders]
    for process in running:
        _, err = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, err
        assert PASSWORD not in err
    seen = evaluated(given)
    assert len(seen) == len({key for _, key in seen}) == TRIALS
    assert len(Counter(pid for pid, _ in seen)) == 2
    assert table(folders[0]) == table(folders[1])
    assert len(load_record(folders[0]).trials) == TRIALS
    files = [path for folder in folders for path in folder.iterdir()]
    assert not [path.name for path in files if PASSWORD.encode() in path.read_bytes()]


def test_what_a_killed_driver_had_claimed_is_evaluated_by_another(
    postgresql: str, given: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = driver(given, postgresql, "killed", "--out", given.parent / "a")
    assert until(lambda: len(evaluated(given)) >= 20 or process.poll() is not None)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert 20 <= len(evaluated(given)) < TRIALS
    monkeypatch.setattr("dse.study.claims.STALE_SECONDS", 1.0)
    options = {"engine": "noting_engine:engine", "storage": postgresql, "study_name": "killed", "sampler": "nsga2"}
    found = sweep(given.parent / "b", TRIALS, given=space(**WIDE), **options)
    assert found.ended == "trials"
    assert found.counts()[0] == TRIALS
    assert found.counts()[2] == 0
    again = sweep(given.parent / "b", TRIALS + 5, given=space(**WIDE), resume=True, **options)
    assert (again.counts()[0], again.counts()[2]) == (TRIALS + 5, 0)


def test_a_study_of_another_space_is_not_joined(postgresql: str, tmp_path: Path) -> None:
    options = {"storage": postgresql, "study_name": "spaces", "sampler": "random"}
    sweep(tmp_path / "a", 3, given=space(), **options)
    with pytest.raises(InputError, match=r"space.cluster.npu.*--study-name"):
        sweep(tmp_path / "b", 3, given=space(cluster={**tiny()["cluster"], "npu": "b200"}), **options)
    assert not (tmp_path / "b").exists()


def test_a_wrong_password_is_told_without_it(postgresql: str, given: Path) -> None:
    wrong = postgresql.replace(PASSWORD, "wrong-word")
    done = dse("optimize", given, "--storage", wrong, "--out", given.parent / "run")
    assert done.returncode == 2
    assert "password authentication failed" in done.stderr
    assert "wrong-word" not in done.stderr
    assert "dse:***@127.0.0.1" in done.stderr
    assert not (given.parent / "run").exists()


def outcome(key: str) -> Outcome:
    return Outcome(key, "feasible", {"iteration_time": 1.0, "cost.total": 2.0}, {"valid": 0.0}, {})


def test_of_two_claims_to_a_design_the_first_wins_and_both_drivers_know(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'study.db'}"
    one, two = (SharedStudy(url, "claims", space().objectives) for _ in range(2))
    assert one.join({"what": 1}) == (0, {"what": 1})
    assert two.join({"what": 2}) == (1, {"what": 1})
    try:
        for study, keys in ((one, "ab"), (two, "bc")):
            for key in keys:
                study.claim(key, {}, None, None)
        owners = {claim.key: claim.driver for claim in one.claims()}
        assert owners == {claim.key: claim.driver for claim in two.claims()}
        assert owners == {"a": one.driver, "b": one.driver, "c": two.driver}
        mine = next(claim for claim in two.claims() if claim.key == "c")
        assert two.finish(mine, outcome("c"))
        one.release(mine)  # too late: it is finished
        assert [claim.outcome for claim in one.claims() if claim.key == "c"] == [outcome("c")]
    finally:
        two.leave()
        one.leave()
    late = SharedStudy(url, "claims", space().objectives)
    assert [claim.key for claim in late.claims()] == ["c"]
    late.leave()


def test_a_sign_of_life_that_fails_is_told_and_followed_by_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, recwarn: pytest.WarningsRecorder
) -> None:
    monkeypatch.setattr("dse.study.claims.BEAT_SECONDS", 0.05)
    study = SharedStudy(f"sqlite:///{tmp_path / 'study.db'}", "claims", space().objectives)
    study.join({})
    beat, beats = study._study.set_user_attr, []

    def fail_once(name: str, count: int) -> None:
        beats.append(count)
        if len(beats) == 1:
            raise OSError("the server closed the connection")
        beat(name, count)

    monkeypatch.setattr(study._study, "set_user_attr", fail_once)
    try:
        assert until(lambda: len(beats) > 2)
    finally:
        study.leave()
    assert [str(each.message)[:43] for each in recwarn if each.category is InputWarning] == [
        "the storage did not take a sign of life (OS"
    ]


def test_a_driver_that_comes_back_from_the_dead_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dse.study.claims.STALE_SECONDS", 0.0)
    url = f"sqlite:///{tmp_path / 'study.db'}"
    one, two = (SharedStudy(url, "claims", space().objectives) for _ in range(2))
    one.join({})
    one.claim("a", {}, None, None)
    mine = one.claims()[0]
    two.join({})
    try:
        assert [claim.key for claim in two.claims()] == ["a"]
        time.sleep(0.01)
        assert two.claims() == []
        assert not one.finish(mine, outcome("a"))
        two.claim("a", {}, None, None)
        assert [claim.driver for claim in two.claims()] == [two.driver]
    finally:
        two.leave()
        one.leave()


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("nonsense", "a storage such as postgresql"),
        ("postgresql+no_such_driver://u:secret@h/d", "a storage such as postgresql"),
        ("mysql+a_driver_that_is_not_there://u:secret@h/d", "a storage such as postgresql"),
    ],
)
def test_a_storage_that_cannot_be_opened_is_told_without_its_password(url: str, said: str) -> None:
    with pytest.raises(InputError, match=said) as caught:
        open_storage(url)
    assert "secret" not in str(caught.value)


def test_a_url_is_shown_without_its_password() -> None:
    assert shown("postgresql+psycopg://me:p@ss:w@host:1/d") == "postgresql+psycopg://me:***@host:1/d"
    assert shown("sqlite:///a.db") == "sqlite:///a.db"


def test_what_every_driver_gets_is_told_apart_from_a_study_of_one(tmp_path: Path) -> None:
    options: dict[str, Any] = {"storage": f"sqlite:///{tmp_path / 'study.db'}", "sampler": "exhaustive"}
    found = sweep(tmp_path / "a", 130, given=space(), **options)
    assert (found.ended, found.counts()[0]) == ("exhausted", 120)
    with pytest.raises(InputError, match=r'shared: "tiny" -> null'):
        sweep(tmp_path / "a", 130, given=space(), resume=True, sampler="exhaustive")


def test_clusters_that_are_bought_for_several_workloads_can_be_shared(tmp_path: Path) -> None:
    given = bought.space(bought.two())
    options: dict[str, Any] = {"storage": f"sqlite:///{tmp_path / 'study.db'}", "engine": "fast"}
    found = sweep(tmp_path / "a", 4, given=given, **options)
    alone = bought.run(given, tmp_path / "alone")
    values = [trial.values for trial in alone.trials]
    assert len(found.trials) == 4
    assert all(outcome.workloads and outcome.values in values for outcome in found.trials)
