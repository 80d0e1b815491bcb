"""Servers of our own: private folder, loopback, password, never as root, gone when the tests are."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

sys.path[:0] = [str(Path(__file__).parents[1] / part) for part in ("dse", "dse/buy", "cli", "ray", "storage")]

import yaml  # noqa: E402  # after the path
from passwords import PASSWORD  # noqa: E402
from shared_drivers import ENGINE  # noqa: E402
from sweeps import TESTS, WIDE  # noqa: E402
from tiny_spaces import tiny  # noqa: E402


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """One xdist group: one server serves them all."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.xdist_group("storage"))


def program(name: str, package: str) -> str:
    """A program of a server; Debian keeps those of PostgreSQL out of the PATH."""
    found = shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    found = found or next(map(str, sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))), None)
    if found is None:
        pytest.skip(f"{name} is not installed (apt-get install -y {package})")
    return found


def someone() -> dict[str, Any]:
    """Whom to run a server as: none is to be root."""
    if os.geteuid() != 0:
        return {}
    for name in ("postgres", "mysql", "redis", "nobody"):
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}
    pytest.skip("a server is not run as root, and there is no other user here")


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


@contextmanager
def private_folder(name: str, user: Mapping[str, Any], files: Mapping[str, str]) -> Iterator[Path]:
    """A folder of the user that a server runs as, with files; removed at the end."""
    folder = Path(tempfile.mkdtemp(prefix=f"dse-{name}-"))
    try:
        for file, text in files.items():
            (folder / file).write_text(text)
        if user:
            for path in (folder, *folder.iterdir()):
                os.chown(path, user["user"], user["group"])
        yield folder
    finally:
        shutil.rmtree(folder)


def prepare(command: list[str], folder: Path, user: Mapping[str, Any]) -> None:
    """Run what makes the folder of a database."""
    made = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, **user)
    assert made.returncode == 0, made.stderr


@contextmanager
def served(command: list[str], folder: Path, user: Mapping[str, Any], port: int, end: int) -> Iterator[None]:
    """A server while the context lasts; `end` is the signal that ends it."""
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, cwd=folder, stdout=log, stderr=log, **user)
    try:
        assert answers(process, port), (folder / "log").read_text()
        yield
    finally:
        process.send_signal(end)
        process.wait(60)


def free_port() -> int:
    """A port of this machine that nobody listens to."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@pytest.fixture(scope="session")
def postgresql() -> Iterator[str]:
    """URL of a database of a private PostgreSQL."""
    pytest.importorskip("psycopg", reason="the extra 'postgresql' is not installed")
    initdb, server = (program(name, "postgresql") for name in ("initdb", "postgres"))
    user, port = someone(), free_port()
    with private_folder("postgresql", user, {"password": PASSWORD}) as folder:
        secret = ["-A", "scram-sha-256", "--pwfile", str(folder / "password")]
        data = ["-D", str(folder / "data")]
        prepare([initdb, *data, "-U", "dse", *secret, "--no-sync", "-E", "UTF8", "--locale", "C"], folder, user)
        options = [*data, "-k", str(folder), "-h", "127.0.0.1", "-p", str(port), "-F"]
        # SIGINT is the fast shutdown: connections are ended, nothing is left half written.
        with served([server, *options], folder, user, port, signal.SIGINT):
            yield f"postgresql+psycopg://dse:{PASSWORD}@127.0.0.1:{port}/postgres"


@pytest.fixture(scope="session")
def mariadb() -> Iterator[str]:
    """URL of a database of a private MariaDB, which speaks MySQL's protocol."""
    pytest.importorskip("pymysql", reason="the extra 'mysql' is not installed")
    install, server = (program(name, "mariadb-server") for name in ("mariadb-install-db", "mariadbd"))
    user, port = someone(), free_port()
    grants = [  # one statement a line
        "CREATE DATABASE dse;",
        f"CREATE USER dse@'127.0.0.1' IDENTIFIED BY '{PASSWORD}';",
        "GRANT ALL ON dse.* TO dse@'127.0.0.1';",
    ]
    with private_folder("mariadb", user, {"grants.sql": "\n".join(grants) + "\n"}) as folder:
        data = ["--no-defaults", f"--datadir={folder / 'data'}"]
        prepare([install, *data, "--skip-test-db", "--auth-root-authentication-method=normal"], folder, user)
        listen = [f"--socket={folder / 'socket'}", "--bind-address=127.0.0.1", f"--port={port}", "--skip-name-resolve"]
        files = [f"--init-file={folder / 'grants.sql'}", f"--pid-file={folder / 'pid'}"]
        with served([server, *data, *listen, *files], folder, user, port, signal.SIGTERM):
            yield f"mysql+pymysql://dse:{PASSWORD}@127.0.0.1:{port}/dse"


@pytest.fixture(scope="session")
def redis() -> Iterator[str]:
    """URL of a private Redis, whose password is in a file that nobody else reads."""
    pytest.importorskip("redis", reason="the extra 'redis' is not installed")
    server, user, port = program("redis-server", "redis-server"), someone(), free_port()
    options = f'port {port}\nbind 127.0.0.1\nrequirepass {PASSWORD}\nsave ""\nappendonly no\n'
    with (
        private_folder("redis", user, {"redis.conf": options}) as folder,
        served([server, str(folder / "redis.conf")], folder, user, port, signal.SIGTERM),
    ):
        yield f"redis://:{PASSWORD}@127.0.0.1:{port}/0"


@pytest.fixture
def given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A space whose engine notes who evaluates what."""
    path = tmp_path / "tiny.yaml"
    path.write_text(yaml.safe_dump(tiny(**WIDE), sort_keys=False))
    (tmp_path / "noting_engine.py").write_text(ENGINE.format(tests=str(TESTS), log=str(tmp_path / "evaluated")))
    monkeypatch.syspath_prepend(str(tmp_path))
    return path
