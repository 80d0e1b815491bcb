"""Reports of a run folder: which phases they go through, and what they never overwrite."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tiny_spaces import space

from dse.door.reports import report_run
from dse.run.drive import optimize
from dse.run.settings import Settings
from dse.study.journal import JOURNAL
from dse.study.watch import Watcher
from simcore.document.problem import InputError

TRIALS = 6


class Looker(Watcher):
    """Remembers phases, and what was told in each."""

    def __init__(self) -> None:
        self.told: dict[str, list[float | None]] = {}

    def phase(self, name: str) -> None:
        self.told[name] = []

    def note(self, text: str, done: float | None = None) -> None:
        [*self.told.values()][-1].append(done)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("finished")
    optimize(space(), Settings("random", TRIALS, 0), folder)
    report_run(folder)
    return folder


@pytest.fixture
def run(finished: Path, tmp_path: Path) -> Path:
    return shutil.copytree(finished, tmp_path / "run")


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_phases_come_in_order_and_their_shares_only_grow(run: Path, tmp_path: Path) -> None:
    looker = Looker()
    report_run(run, tmp_path / "out", watcher=looker)
    assert [*looker.told] == ["bounding", "asking what-ifs", "drawing"]
    for phase in ("asking what-ifs", "drawing"):
        shares = [share for share in looker.told[phase] if share is not None]
        assert shares
        assert all(0 <= share <= 1 for share in shares)
    assert looker.told["drawing"] == sorted(share or 0.0 for share in looker.told["drawing"])
    assert looker.told["bounding"]


def test_a_study_without_a_feasible_trial_does_not_replace_a_front(run: Path) -> None:
    cut = shutil.copytree(run, run.parent / "cut")
    journal = (cut / JOURNAL).read_bytes().replace(b'"state":"feasible"', b'"state":"failed"')
    unsealed = b"".join(line.partition(b',"crc"')[0] + b"}\n" for line in journal.splitlines())
    (cut / JOURNAL).write_bytes(unsealed)
    before = contents(cut)
    with pytest.raises(InputError, match=r"a front to replace that in pareto.json.*--out"):
        report_run(cut)
    assert contents(cut) == before
    report_run(cut, run.parent / "elsewhere")
    assert (run.parent / "elsewhere" / "pareto.json").exists()


def test_a_journal_that_lost_all_its_trials_replaces_nothing(run: Path) -> None:
    (run / JOURNAL).write_bytes(b"")
    before = contents(run)
    with pytest.raises(InputError, match="a journal with trials to report, got one without any"):
        report_run(run)
    assert contents(run) == before


def test_the_folder_of_another_run_is_refused(run: Path, tmp_path: Path) -> None:
    other = shutil.copytree(run, tmp_path / "other")
    before = contents(other)
    with pytest.raises(InputError, match=r"other: (.|\n)*got the folder of another run"):
        report_run(run, other)
    assert contents(other) == before
    assert report_run(run, run / ".." / "run").files


def test_a_full_disk_leaves_the_files_of_before(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = contents(run)
    written: list[str] = []
    replace = Path.replace

    def full(self: Path, target: Path) -> Path:
        if len(written) == 2:
            raise OSError(28, "No space left on device")
        written.append(target.name)
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(OSError, match="No space left"):
        report_run(run)
    after = contents(run)
    assert after.keys() == before.keys()
    assert all(after[name] for name in before)
