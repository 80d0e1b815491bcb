"""A process that is killed at any step of sealing its journal has lost nothing, and the journal goes on whole."""

from __future__ import annotations

import json
import subprocess
import sys
from itertools import chain
from pathlib import Path

import pytest
from part_studies import OBJECTIVES, ROWS, names, run, small_parts, table

from dse.study.journal import JOURNAL, Journal, kept_trials, read_trials, resumed_trials

__all__ = ["small_parts"]

TRIALS, PARTS = 25, 2
SCRIPT = """
import json, os, signal, sys
from pathlib import Path
sys.path[:0] = sys.argv[3:]
from dse.study import journal, parts
from tiny_spaces import space
objectives = space().objectives
trials = [*journal.read_trials(Path(sys.argv[1]), objectives)]
journal.TRIALS_A_PART = 10
steps, last, sealing = 0, 0, False

def step():
    global steps
    if sealing:
        steps += 1
        if steps == last:
            os.kill(os.getpid(), signal.SIGKILL)

def stepped(call):
    def before_and_after(*given, **more):
        step()
        found = call(*given, **more)
        step()
        return found
    return before_and_after

def marked(call):
    def within(*given, **more):
        global sealing
        sealing = True
        step()
        call(*given, **more)
        step()
        sealing = False
    return within

os.fsync = stepped(os.fsync)
Path.replace = stepped(Path.replace)
Path.unlink = stepped(Path.unlink)
parts.LineColumns.fill = stepped(parts.LineColumns.fill)
journal.seal_lines = marked(journal.seal_lines)

def write(folder):
    folder.mkdir()
    log = journal.Journal(folder, "tiny", objectives)
    for trial in trials:
        log.append(trial.number, trial.params, trial.outcome)
    log.close()

place = Path(sys.argv[2])
write(place / "whole")
all_steps, ends = steps, []
for last in range(1, all_steps + 1):
    steps = 0
    child = os.fork()
    if not child:
        write(place / str(last))
        os._exit(0)
    ends.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
print(json.dumps(ends))
"""


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("plain")
    run(folder, TRIALS)
    return folder


@pytest.mark.skipif(sys.platform == "win32", reason="needs a fork")
def test_a_kill_at_any_step_loses_no_trial(plain: Path, tmp_path: Path, small_parts: None) -> None:
    paths = [str(Path(__file__).parent), str(Path(__file__).parents[1])]
    command = [sys.executable, "-c", SCRIPT, str(plain), str(tmp_path), *paths]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    ends = json.loads(done.stdout)
    assert ends == [-9] * len(ends)
    assert len(ends) >= PARTS * 16
    expected = [*read_trials(plain, OBJECTIVES)]
    for last in range(1, len(ends) + 1):
        folder = tmp_path / str(last)
        before = ROWS if last <= len(ends) // PARTS else 2 * ROWS
        assert [*read_trials(folder, OBJECTIVES)] == expected[:before], last
        _go_on(folder, expected[before:])
        assert [*read_trials(folder, OBJECTIVES)] == expected, last
        found = kept_trials(folder, OBJECTIVES)
        assert [part.rows for part in found.parts] == [ROWS] * PARTS, last
        assert len((folder / JOURNAL).read_bytes().splitlines()) == 2 + TRIALS - PARTS * ROWS, last


def _go_on(folder: Path, trials: list) -> None:  # type: ignore[type-arg]
    resumed_trials(folder, "tiny", OBJECTIVES)
    log = Journal(folder, "tiny", OBJECTIVES)
    for trial in trials:
        log.append(trial.number, trial.params, trial.outcome)
    log.close()


def test_a_study_that_was_killed_goes_on_to_the_same_end(plain: Path, tmp_path: Path, small_parts: None) -> None:
    run(tmp_path, TRIALS)
    head, lines = (tmp_path / JOURNAL).read_bytes().splitlines(keepends=True)[:2], read_lines(plain)
    (tmp_path / JOURNAL).write_bytes(b"".join(chain(head, lines[10:20])))  # killed before they were taken out
    (tmp_path / f".{JOURNAL}.4194999.part").write_bytes(b"".join(head))
    run(tmp_path, TRIALS, resume=True)
    assert table(tmp_path) == table(plain)
    assert names(tmp_path) == ["journal.00000.parquet", "journal.00001.parquet", JOURNAL, "study.yaml"]


def read_lines(folder: Path) -> list[bytes]:
    return [line for line in (folder / JOURNAL).read_bytes().splitlines(keepends=True) if b"datetime_start" in line]
