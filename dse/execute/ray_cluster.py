"""A connection to a Ray cluster: the one at an address, the one of this machine, or a private one that ends with us.

Ray's own answer to a wrong address is to try for minutes, and to a missing token a bare `ConnectionError`. So an
address is tried first from a process of its own, whose messages are read; every way to fail has a sentence that says
what to do. The packages `dse` and `simcore` travel with the job (`py_modules`, through Ray's own store: no internet).
"""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import sysconfig
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from dse.execute.ray_worker import PACKAGES, folder
from simcore.document.problem import InputError, Problem

STORE_BYTES = 200 << 20
"""Object store of a private cluster: outcomes in flight are a few MB a worker."""
CONNECT_SECONDS = 5.0
PROBE_SECONDS = 45.0
"""Ray gives up on a refused token after 20 s."""
_PROBE = """\
import sys
import ray
ray.init(address=sys.argv[1], log_to_driver=False, logging_level="ERROR")
ray.shutdown()
"""


class ClusterError(RuntimeError):
    """A Ray cluster that cannot be reached or used."""


def check_installed() -> None:
    """Raise `InputError` where Ray is not installed."""
    if find_spec("ray") is None:
        fix = "pip install 'dse[ray]'"
        raise InputError([Problem(("--executor",), "Ray, which this executor needs", "none installed", fix)], "")


def check_address(address: str) -> str:
    """An address as Ray takes it: `local`, `auto` or `HOST:PORT`.

    Raises `InputError` where it is none of these.
    """
    if address in ("local", "auto") or re.fullmatch(r"(\[[0-9a-fA-F:]+\]|[\w.-]+):\d{1,5}", address):
        return address
    what = "auto, local, or HOST:PORT of the cluster's head (its port is 6379 unless it was started with another)"
    raise InputError([Problem(("--address",), what, f"'{address}'")], "command line")


def connect(address: str, jobs: int | None, modules: list[str]) -> bool:
    """Connect this process; whether the cluster is private and ends with it.

    `modules` are packages to send along beside this project's own. Raises `ClusterError` with what to do about it.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
    import ray

    if address == "local":
        ray.init(
            address="local",
            num_cpus=jobs or os.cpu_count() or 1,
            include_dashboard=False,
            object_store_memory=STORE_BYTES,
            **quiet,
        )
        return True
    _probe(address)
    environment = {"py_modules": [str(path) for path in paths_to_ship(modules)], "excludes": ["__pycache__", "*.pyc"]}
    try:
        ray.init(address=address, runtime_env=environment, **quiet)
    except Exception as error:
        raise ClusterError(_explain_failure(address, f"{type(error).__name__}: {error}")) from None
    return False


def paths_to_ship(modules: list[str]) -> list[Path]:
    """What is sent to the cluster: this project's packages, and modules that an engine comes from."""
    paths = [folder(package) for package in PACKAGES]
    for name in modules:
        spec = find_spec(name)
        if spec is None or spec.origin is None:
            continue
        path = Path(spec.origin)
        if path.is_relative_to(sysconfig.get_path("purelib")):
            continue  # a package with packages of its own: the cluster's images must have it
        paths.append(path.parent if path.name == "__init__.py" else path)
    return list(dict.fromkeys(paths))


def _probe(address: str) -> None:
    """Raise `ClusterError` where a process like this one cannot connect."""
    if address != "auto":
        host, _, port = address.rpartition(":")
        try:
            socket.create_connection((host.strip("[]"), int(port)), CONNECT_SECONDS).close()
        except (OSError, OverflowError) as error:
            fix = "is the head node up ('ray start --head'), and is this its GCS port, not the dashboard's?"
            raise ClusterError(f"nothing answers at {address} ({error}); {fix}") from None
    command = [sys.executable, "-c", _PROBE, address]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=PROBE_SECONDS, check=False, start_new_session=True
        )
    except subprocess.TimeoutExpired as error:
        said = error.stderr.decode(errors="replace") if isinstance(error.stderr, bytes) else ""
        raise ClusterError(_explain_failure(address, f"{said}\nTimedOut after {PROBE_SECONDS:g} s")) from None
    if done.returncode:
        raise ClusterError(_explain_failure(address, done.stderr))


def _explain_failure(address: str, said: str) -> str:
    """What a failed connection means."""
    if "Token" in said or "Unauthenticated" in said:
        return (
            f"the Ray cluster at {address} wants a token that this process does not have, or has another: set "
            "RAY_AUTH_MODE=token and RAY_AUTH_TOKEN (or RAY_AUTH_TOKEN_PATH) here to what its nodes were started with"
        )
    if "ersion mismatch" in said:
        versions = " ".join(said[said.index("ersion mismatch") :].split())
        return (
            f"the Ray cluster at {address} runs other versions (v{versions[:300]}): Ray and Python must be the same on "
            "both sides; install the cluster's Ray here (pip install 'ray[tune]==VERSION') in its Python"
        )
    if "Could not find any running Ray instance" in said:
        return "no Ray cluster runs on this machine: start one with 'ray start --head', or give --address HOST:PORT"
    last = next((line for line in reversed(said.strip().splitlines()) if line.strip()), "no message")
    return f"the Ray cluster at {address} cannot be used: {last.strip()[:300]}; is it a Ray head's GCS port?"
