"""A PostgreSQL of our own: private folder, loopback, password, never as root, gone when the tests are."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path[:0] = [str(Path(__file__).parents[1] / part) for part in ("dse", "dse/buy", "cli", "ray", "storage")]

from passwords import PASSWORD  # noqa: E402  # after the path


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """One xdist group: one server serves them all."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.xdist_group("storage"))


def program(name: str) -> str:
    """A program of PostgreSQL; Debian keeps them out of the PATH."""
    found = shutil.which(name) or next(map(str, sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))), None)
    if found is None:
        pytest.skip(f"PostgreSQL's {name} is not installed (apt-get install -y postgresql)")
    return found


def someone() -> dict[str, Any]:
    """Whom to run a server as: PostgreSQL refuses to be root."""
    if os.geteuid() != 0:
        return {}
    for name in ("postgres", "nobody"):
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}
    pytest.skip("PostgreSQL does not run as root, and there is no other user here")


def answers(process: subprocess.Popen[bytes], port: int) -> bool:
    """Whether a server takes connections, waited for."""
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline and process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.1)
        else:
            return True
    return False


@pytest.fixture(scope="session")
def postgresql() -> Iterator[str]:
    """URL of a database of a private server."""
    pytest.importorskip("psycopg", reason="the extra 'postgresql' is not installed")
    initdb, server, user = program("initdb"), program("postgres"), someone()
    folder = Path(tempfile.mkdtemp(prefix="dse-postgresql-"))
    try:
        (folder / "password").write_text(PASSWORD)
        if user:
            for path in (folder, folder / "password"):
                os.chown(path, user["user"], user["group"])
        secret = ["-A", "scram-sha-256", "--pwfile", str(folder / "password")]
        made = subprocess.run(
            [initdb, "-D", str(folder / "data"), "-U", "dse", *secret, "--no-sync", "-E", "UTF8", "--locale", "C"],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
            **user,
        )
        assert made.returncode == 0, made.stderr
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        options = ["-D", str(folder / "data"), "-k", str(folder), "-h", "127.0.0.1", "-p", str(port), "-F"]
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen([server, *options], cwd=folder, stdout=log, stderr=log, **user)
        try:
            assert answers(process, port), (folder / "log").read_text()
            yield f"postgresql+psycopg://dse:{PASSWORD}@127.0.0.1:{port}/postgres"
        finally:
            process.send_signal(2)  # fast shutdown: connections are ended, nothing is left half written
            process.wait(60)
    finally:
        shutil.rmtree(folder)
