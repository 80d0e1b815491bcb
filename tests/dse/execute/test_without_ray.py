"""What works without Ray, and what is said where it is missing or an address is none."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from cli_runs import write_space

from dse.cli import main
from dse.execute.ray_cluster import _explain_failure, check_address
from simcore.document.problem import InputError

NO_RAY = """\
import sys
sys.modules["ray"] = None  # an import of it raises
from dse.cli import main
try:
    status = main(sys.argv[1:])
except SystemExit as end:
    status = end.code or 0
assert "ray.tune" not in sys.modules
sys.exit(status)
"""


def without_ray(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", NO_RAY, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def test_help_and_local_runs_never_import_ray(tmp_path: Path) -> None:
    assert without_ray("--help").returncode == 0
    assert "--executor" in without_ray("optimize", "--help").stdout
    done = without_ray("optimize", write_space(tmp_path), "--out", tmp_path / "run", "--trials", 3)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("executor", ["ray", "ray-tune"])
def test_without_ray_the_executor_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], executor: str
) -> None:
    monkeypatch.setattr("dse.execute.ray_cluster.find_spec", lambda name: None)
    space = write_space(tmp_path)
    assert main(["optimize", str(space), "--executor", executor, "--out", str(tmp_path / "run")]) == 2
    assert "pip install 'dse[ray]'" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("address", ["head", "ray://head:10001", "http://head:8265", "head:port", ""])
def test_an_address_that_is_none_says_what_one_is(address: str) -> None:
    with pytest.raises(InputError, match="auto, local, or HOST:PORT"):
        check_address(address)


@pytest.mark.parametrize("address", ["auto", "local", "head:6379", "192.0.2.7:6379", "[::1]:6379"])
def test_addresses_of_every_kind_are_taken(address: str) -> None:
    assert check_address(address) == address


def test_other_versions_are_named() -> None:
    said = (
        "RuntimeError: Version mismatch: The cluster was started with:\n    Ray: 2.40.0\n    Python: 3.12.1\n"
        "This process on 192.0.2.7:6379 was started with:\n    Ray: 2.60.0\n    Python: 3.11.7\n"
    )
    text = _explain_failure("192.0.2.7:6379", said)
    assert "runs other versions" in text
    assert "Ray: 2.40.0 Python: 3.12.1" in text
    assert "pip install 'ray[tune]==VERSION'" in text


def test_what_ray_says_is_passed_on_where_nothing_better_is_known() -> None:
    assert "cannot be used: OSError: no route" in _explain_failure("h:1", "Traceback\nOSError: no route\n\n")
    assert "start one with 'ray start --head'" in _explain_failure("auto", "Could not find any running Ray instance.")
