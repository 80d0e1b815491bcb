from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dse.study.files import part_of, sweep, write_whole
from dse.study.store import check_folder


def test_a_file_is_replaced_whole_and_nothing_else_is_left(tmp_path: Path) -> None:
    path = tmp_path / "file"
    for content in (b"one\n", "two ≤ µ\n".encode()):
        write_whole(path, content)
        assert path.read_bytes() == content
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_that_cannot_be_written_leaves_the_old_one_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    path = tmp_path / "file"
    path.write_bytes(b"old")
    monkeypatch.setattr(Path, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_whole(path, b"new")
    assert [(found.name, found.read_bytes()) for found in tmp_path.iterdir()] == [("file", b"old")]


KILLED = """\
import os, signal, sys
from pathlib import Path
from dse.study import files
Path.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
files.write_whole(Path(sys.argv[1]) / "report.html", b"half")
"""


def test_what_a_killed_process_left_half_written_is_gone_after_the_next_start(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], check=False)
    (left,) = tmp_path.iterdir()
    assert left.name.startswith(".report.html.")
    check_folder(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_only_what_nobody_is_writing_is_swept(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other:
        host = part_of(tmp_path / "a").name.split(".")[2].partition("-")[0]
        alive = tmp_path / f".trials.csv.{host}-{other.pid}.part"
        far, long_gone = tmp_path / ".trials.csv.elsewhere-1.part", tmp_path / ".pareto.csv.elsewhere-1.part"
        before_hosts = tmp_path / ".report.html.999999999.part"
        own, foreign = part_of(tmp_path / "a"), tmp_path / ".notes.part"
        for path in (alive, far, long_gone, before_hosts, own, foreign):
            path.touch()
        os.utime(long_gone, (0, time.time() - 2 * 86400))
        sweep(tmp_path)
        assert set(tmp_path.iterdir()) == {alive, far, foreign}
        other.communicate(b"\n")
