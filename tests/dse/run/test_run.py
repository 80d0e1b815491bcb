"""Runs of a study into a folder: repeated, resumed, interrupted. `tests/cli` does the same from the command line."""

from __future__ import annotations

import contextlib
import hashlib
from pathlib import Path
from typing import Any

import pytest
import yaml
from tiny_spaces import TINY, space, tiny

from dse.evaluate.evaluate import Outcome
from dse.report.tables import csv_text, trials_table
from dse.run.document import differences, open_space, open_study
from dse.run.drive import optimize
from dse.run.place import make_room
from dse.run.record import load_record
from dse.run.settings import Settings
from dse.space.space import Space, load_space
from dse.study.folder_lock import FolderLock
from dse.study.journal import JOURNAL
from dse.study.store import STUDY
from dse.study.watch import Watcher
from simcore.document.problem import InputError
from simcore.simulate import simulate


def run(given: Space, folder: Path, resume: bool = False, stop_after: int | None = None, **settings: Any) -> str:
    class Stopping(Watcher):
        def trial(self, number: int, params: Any, outcome: Outcome) -> None:
            if number + 1 == stop_after:
                raise KeyboardInterrupt

    chosen = Settings(**{"sampler": "nsga2", "trials": 40, "seed": 0, **settings})
    return optimize(given, chosen, folder, resume, Stopping())


def table(folder: Path) -> str:
    return csv_text(trials_table(load_record(folder)))


def evaluations(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The keys of the designs that are simulated from now on."""
    seen: list[str] = []

    def counted(design: Any, engine: Any) -> Any:
        seen.append(design.key)
        return simulate(design, engine)

    monkeypatch.setattr("dse.evaluate.evaluate.simulate", counted)
    return seen


@pytest.mark.parametrize("sampler", ["guided", "random", "exhaustive", "nsga2", "nsga3", "tpe"])
def test_two_runs_with_one_seed_have_the_same_table_and_study_byte_for_byte(tmp_path: Path, sampler: str) -> None:
    for name in ("a", "b"):
        assert run(space(), tmp_path / name, sampler=sampler, trials=25) == "trials"
    assert table(tmp_path / "a") == table(tmp_path / "b")
    assert (tmp_path / "a" / STUDY).read_bytes() == (tmp_path / "b" / STUDY).read_bytes()


def test_the_number_of_jobs_changes_nothing(tmp_path: Path) -> None:
    run(space(), tmp_path / "1", jobs=1, seed=2)
    run(space(), tmp_path / "2", jobs=2, seed=2)
    assert table(tmp_path / "1") == table(tmp_path / "2")
    assert (tmp_path / "1" / STUDY).read_bytes() == (tmp_path / "2" / STUDY).read_bytes()


def test_the_batch_size_is_part_of_the_study(tmp_path: Path) -> None:
    for batch in (7, 32):
        given = space(study={"batch": batch})
        run(given, tmp_path / str(batch), trials=60)
        assert yaml.safe_load((tmp_path / str(batch) / STUDY).read_text())["batch"] == batch
    assert table(tmp_path / "7") != table(tmp_path / "32")


@pytest.mark.parametrize("sampler", ["guided", "random", "exhaustive", "nsga2", "nsga3", "tpe"])
@pytest.mark.parametrize("stop", [1, 8, 13])
def test_an_interrupted_run_goes_on_where_it_was_and_repeats_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sampler: str, stop: int
) -> None:
    run(space(), tmp_path / "whole", sampler=sampler, trials=30)
    seen = evaluations(monkeypatch)
    assert run(space(), tmp_path / "parts", sampler=sampler, trials=30, stop_after=stop) == "interrupted"
    assert len(load_record(tmp_path / "parts").trials) == stop
    assert run(space(), tmp_path / "parts", sampler=sampler, trials=30, resume=True) == "trials"
    assert len(seen) == len(set(seen)) == 30
    assert table(tmp_path / "parts") == table(tmp_path / "whole")


@pytest.mark.parametrize("sampler", ["random", "nsga2", "tpe"])
@pytest.mark.parametrize("first", [3, 16, 21])
def test_a_finished_run_resumed_with_more_trials_is_as_one_run(tmp_path: Path, sampler: str, first: int) -> None:
    given = space(system={"chunks": {"range": [1, 20]}})
    run(given, tmp_path / "whole", sampler=sampler, trials=40)
    run(given, tmp_path / "parts", sampler=sampler, trials=first)
    run(given, tmp_path / "parts", sampler=sampler, trials=40, resume=True)
    assert table(tmp_path / "parts") == table(tmp_path / "whole")


def test_a_finished_run_resumed_as_it_is_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run(space(), tmp_path)
    before = (tmp_path / JOURNAL).read_bytes(), table(tmp_path)
    seen = evaluations(monkeypatch)
    run(space(), tmp_path, resume=True)
    assert seen == []
    assert table(tmp_path) == before[1]


@pytest.mark.parametrize("keep", [1, 30, 400])
def test_a_run_killed_in_its_first_lines_can_be_resumed(tmp_path: Path, keep: int) -> None:
    run(space(), tmp_path / "whole")
    run(space(), tmp_path / "parts", trials=2)
    journal = tmp_path / "parts" / JOURNAL
    journal.write_bytes(journal.read_bytes()[:keep])
    run(space(), tmp_path / "parts", resume=True)
    assert table(tmp_path / "parts") == table(tmp_path / "whole")


def test_a_torn_line_is_evaluated_again_and_leaves_no_trace(tmp_path: Path) -> None:
    run(space(), tmp_path)
    whole = table(tmp_path)
    journal = tmp_path / JOURNAL
    journal.write_bytes(journal.read_bytes()[:-20])
    run(space(), tmp_path, resume=True)
    assert table(tmp_path) == whole


@pytest.mark.parametrize(
    ("changes", "settings", "said"),
    [
        ({"workload": {**tiny()["workload"], "global_batch": 32}}, {}, "space.workload.global_batch: 16 -> 32"),
        ({"constraints": ["fits", "npus <= 9"]}, {}, "space.constraints"),
        ({"study": {"batch": 3}}, {}, "batch: 8 -> 3"),
        ({}, {"seed": 7}, "seed: 0 -> 7"),
        ({}, {"sampler": "random"}, "nsga2"),
    ],
)
def test_a_changed_study_is_not_resumed_and_the_change_is_named(
    tmp_path: Path, changes: dict[str, Any], settings: dict[str, Any], said: str
) -> None:
    run(space(), tmp_path, trials=5)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(InputError, match="cannot resume") as caught:
        run(space(**changes), tmp_path, resume=True, **settings)
    assert said in str(caught.value)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_folder_that_holds_a_study_is_not_overwritten(tmp_path: Path) -> None:
    run(space(), tmp_path, trials=5)
    digest = hashlib.sha256((tmp_path / JOURNAL).read_bytes())
    with pytest.raises(InputError, match="continue it with --resume"):
        run(space(), tmp_path, trials=5)
    assert hashlib.sha256((tmp_path / JOURNAL).read_bytes()).digest() == digest.digest()


def test_a_run_resumed_for_fewer_trials_than_it_has_keeps_their_number(tmp_path: Path) -> None:
    run(space(), tmp_path, trials=12)
    run(space(), tmp_path, trials=5, resume=True)
    assert len(load_record(tmp_path).trials) == open_study(tmp_path).document["trials"] == 12


@pytest.mark.parametrize("resume", [False, True])
def test_a_folder_that_a_run_writes_to_is_refused_and_free_when_it_ends(tmp_path: Path, resume: bool) -> None:
    if resume:
        run(space(), tmp_path, trials=5)
    with FolderLock.held(tmp_path), pytest.raises(InputError, match="wait until it ends"):
        run(space(), tmp_path, trials=9, resume=resume)
    with FolderLock.held(tmp_path), pytest.raises(InputError, match="wait until it ends"):
        make_room(tmp_path)
    run(space(), tmp_path, trials=9, resume=resume)
    assert len(load_record(tmp_path).trials) == 9
    assert not list(tmp_path.glob(".*"))


def test_an_earlier_run_makes_room_under_a_free_name_and_leaves_no_lock(tmp_path: Path) -> None:
    folder = tmp_path / "small"
    for number in (1, 2):
        run(space(), folder, trials=5)
        assert make_room(folder) == tmp_path / f"small.{number}"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["small.1", "small.2"]
    assert not list(tmp_path.glob("*/.*"))


@pytest.mark.parametrize("name", ["../../escaped", "/escaped", "..", "", "a\nb", "a\\b", "\x1b[31m", 300 * "a"])
def test_a_name_that_is_no_folder_below_the_runs_is_refused(tmp_path: Path, name: str) -> None:
    run(space(), tmp_path, trials=5)
    document = yaml.safe_load((tmp_path / STUDY).read_text())
    (tmp_path / STUDY).write_text(yaml.safe_dump({**document, "name": name}))
    with pytest.raises(InputError, match="expected the name of a folder: a line of at most 200 bytes"):
        open_space(str(tmp_path / STUDY))


@pytest.mark.parametrize(
    ("stem", "taken"), [("a\\b", False), ("\x1b[31m", False), (210 * "a", False), ("設計\u3000空間", True)]
)
def test_the_name_of_a_space_is_checked_before_it_is_searched(tmp_path: Path, stem: str, taken: bool) -> None:
    file = tmp_path / f"{stem}.yaml"
    file.write_text(yaml.safe_dump(tiny()))
    if not taken:
        with pytest.raises(InputError, match="expected the name of a folder"):
            open_space(str(file))
        return
    run(open_space(str(file))[0], tmp_path / "run", trials=3)
    assert open_study(tmp_path / "run").space.name == stem


def test_a_folder_without_a_study_cannot_be_resumed(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="drop --resume"):
        run(space(), tmp_path, resume=True)


def test_a_time_limit_ends_a_run_between_batches_and_it_can_be_resumed(tmp_path: Path) -> None:
    assert run(space(), tmp_path / "parts", timeout=1e-9) == "time"
    assert run(space(), tmp_path / "parts", resume=True) == "trials"
    run(space(), tmp_path / "whole")
    assert table(tmp_path / "parts") == table(tmp_path / "whole")


@pytest.mark.parametrize("name", ["tiny", "1e3", "010", "on", "with space", "ünï"])
def test_the_study_of_a_run_repeats_it_byte_for_byte(tmp_path: Path, name: str) -> None:
    path = tmp_path / f"{name}.yaml"
    path.write_text(TINY)
    run(load_space(path), tmp_path / "first", trials=20)
    again, study = open_space(str(tmp_path / "first" / STUDY))
    assert study is not None
    run(again, tmp_path / "again", sampler=study["sampler"], trials=study["trials"], seed=study["seed"])
    assert (tmp_path / "again" / STUDY).read_bytes() == (tmp_path / "first" / STUDY).read_bytes()
    assert table(tmp_path / "again") == table(tmp_path / "first")


def test_a_study_names_no_preset_that_a_later_catalogue_could_change(tmp_path: Path) -> None:
    cluster = {"fabric": {"choice": ["dgx-a100-hdr"]}, "npus": 8, "npu": {"choice": ["a100-80gb", "b200"]}}
    documents = {
        "plain": tiny(),
        "choices": tiny(
            cost={"choice": ["libra", "network-only"]},
            workload={"model": {"choice": ["llama3-8b"]}, "global_batch": 16},
        ),
        "subtree": tiny(workload={"choice": [{"model": "llama3-8b", "global_batch": 16}]}),
        "fabric": tiny(cluster=cluster, system={"chunks": 4}),
    }
    for name, document in documents.items():
        run(space(document), tmp_path / name, sampler="random", trials=2)
        spelled = yaml.safe_load((tmp_path / name / STUDY).read_text())["space"]
        for preset in ("llama3-8b", "a100-80gb", "b200", "libra", "network-only", "dgx-a100-hdr"):
            assert preset not in leaves_without_names(spelled), (name, preset)


def leaves_without_names(value: Any) -> list[Any]:
    """Every leaf that is not the `name` (or a source) of what is spelled out beside it."""
    if isinstance(value, dict):
        kept = [inner for key, inner in value.items() if key not in ("name", "measured_on", "source", "sources")]
        return [leaf for inner in kept for leaf in leaves_without_names(inner)]
    if isinstance(value, list):
        return [leaf for inner in value for leaf in leaves_without_names(inner)]
    return [value]


@pytest.mark.parametrize("key", ["name", "sampler", "trials", "seed", "space", "versions", "batch", "engine"])
@pytest.mark.parametrize("value", [None, [], "x y"])
def test_a_damaged_study_is_refused_or_read_and_never_crashes(tmp_path: Path, key: str, value: Any) -> None:
    run(space(), tmp_path, trials=2)
    study = yaml.safe_load((tmp_path / STUDY).read_text())
    study.pop(key)
    if value is not None:
        study[key] = value
    (tmp_path / STUDY).write_text(yaml.safe_dump(study))
    with contextlib.suppress(InputError):
        assert load_record(tmp_path).trials


def test_differences_name_every_change_by_its_path() -> None:
    old = {"a": 1, "b": [1, {"c": 2}], "d": 3}
    new = {"a": 1, "b": [1, {"c": 5}], "e": 4}
    assert differences(old, new) == ["b[1].c: 2 -> 5", "d: 3 -> null", "e: null -> 4"]
