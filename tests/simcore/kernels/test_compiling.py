"""A kernel is compiled by one process of a machine at a time; the others wait, and read it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from simcore.kernels import compiling

KERNEL = """
from simcore.compiled import compiled

@compiled
def double(x):
    return 2 * x

@compiled
def fail(x):
    return no_such_name(x)
"""
RUN = """
import sys
from kernels import double
assert double(int(sys.argv[1])) == 2 * int(sys.argv[1])
print(sum(double.stats.cache_misses.values()))
"""
TOP_DOWN = """
from simcore.compiled import compiled

@compiled
def double(x):
    return _twice(x)

@compiled
def _twice(x):
    return 2 * x
"""
CLAIM = """
import sys
from simcore.kernels import compiling
compiling.claim(sys.argv[1])
print("mine", flush=True)
"""


def start(folder: Path, text: str, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-c", text, *arguments], cwd=folder, stdout=subprocess.PIPE, text=True)


@pytest.mark.skipif(not compiling.HAVE_LOCKS, reason="no locks on files here")
def test_who_claims_what_another_process_has_waits_for_it(tmp_path: Path) -> None:
    path = str(tmp_path / "kernel.lock")
    compiling.claim(path)
    other = start(tmp_path, CLAIM, path)
    with pytest.raises(subprocess.TimeoutExpired):
        other.wait(3.0)
    assert not compiling.is_compiling()
    compiling.release(path)
    assert other.communicate(timeout=60)[0] == "mine\n"


def test_what_cannot_be_locked_keeps_nobody_from_compiling(tmp_path: Path) -> None:
    path = str(tmp_path / "no such folder" / "kernel.lock")
    compiling.claim(path)
    compiling.release(path)
    assert not compiling.is_compiling()


FAIL = """
from kernels import double, fail
from simcore.kernels import compiling
try:
    fail(1)
except Exception as error:
    print(type(error).__name__, len(compiling._held))
"""


def test_a_kernel_that_cannot_be_compiled_keeps_nobody_waiting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("numba")
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("NUMBA_DISABLE_JIT", raising=False)
    (tmp_path / "kernels.py").write_text(KERNEL)
    assert start(tmp_path, FAIL).communicate(timeout=300)[0] == "TypingError 0\n"


@pytest.mark.skipif(not compiling.HAVE_LOCKS, reason="no locks on files here")
def test_of_processes_that_begin_together_one_compiles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("numba")
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("NUMBA_DISABLE_JIT", raising=False)
    (tmp_path / "kernels.py").write_text(KERNEL)
    processes = [start(tmp_path, RUN, str(number)) for number in range(3)]
    missed = [int(process.communicate(timeout=300)[0]) for process in processes]
    assert sorted(missed) == [0, 0, 1]


def test_machine_code_of_another_version_is_never_taken_and_goes(tmp_path: Path) -> None:
    """numba writes the index before the code: who is killed in between leaves another version's code under its name."""
    (tmp_path / "kernels.py").write_text(KERNEL)
    folder = tmp_path / "__pycache__"

    def misses() -> str:
        process = start(tmp_path, RUN, "3")
        return process.communicate(timeout=120)[0]

    assert (misses(), misses()) == ("1\n", "0\n")
    (old,) = folder.glob("kernels.double*.nbc")
    kept = old.read_bytes()
    (tmp_path / "kernels.py").write_text(KERNEL.replace("return 2 * x", "y = x + x\n    return y"))
    assert misses() == "1\n"
    (new,) = folder.glob("kernels.double*.nbc")
    assert new.name != old.name
    old.write_bytes(kept)
    new.unlink()
    assert misses() == "1\n"
    assert list(folder.glob("kernels.double*.nbc")) == [new]


def test_a_kernel_follows_what_is_defined_after_it(tmp_path: Path) -> None:
    def misses(source: str) -> str:
        (tmp_path / "kernels.py").write_text(source)
        return start(tmp_path, RUN, "3").communicate(timeout=120)[0]

    other = TOP_DOWN.replace("return 2 * x", "return x + x")
    assert [misses(each) for each in (TOP_DOWN, TOP_DOWN, other, other)] == ["1\n", "0\n", "1\n", "0\n"]
