"""Running the command line, in this process and in one of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
import yaml

from dse.cli import main

SPACE = """\
workload:
  model: {name: tiny, hidden: 256, layers: 8, heads: 8, vocabulary: 1000, sequence_length: 128}
  global_batch: 16
parallelism:
  degrees: {product: 8, of: [tensor, pipeline, data]}
  zero: {choice: [0, 1]}
cluster:
  npu: {choice: [a100-80gb, v100-32gb]}
  dimensions:
    - {topology: switch, size: 4, bandwidth: {choice: [100 GB/s, 200 GB/s]}, latency: 700 ns, tier: node}
    - {topology: switch, size: 2, bandwidth: 25 GB/s, latency: 1.7 us, tier: pod}
system: {chunks: 4}
study: {sampler: nsga2, trials: 24, seed: 0, batch: 8}
"""

DESIGN = {
    "workload": {"model": "gpt3-175b", "global_batch": 64},
    "parallelism": {"tensor": 8, "pipeline": 8},
    "cluster": {
        "npu": "a100-80gb",
        "dimensions": [
            {"topology": "switch", "size": 8, "bandwidth": "300 GB/s", "latency": "700 ns", "tier": "node"},
            {"topology": "switch", "size": 16, "bandwidth": "25 GB/s", "latency": "1.7 us", "tier": "pod"},
        ],
    },
    "system": {"chunks": 8},
}

SLOW_ENGINE = """\
import time
from simcore.simulate import simulate

def engine(design):
    time.sleep(0.05)
    return simulate(design)
"""

GATED_ENGINE = """\
import os, time
from pathlib import Path
from simcore.simulate import simulate

FOLDER = Path(__file__).parent
GATE, PASSED, PIDS = FOLDER / "gate", FOLDER / "passed", FOLDER / "pids"

def engine(design):
    with PASSED.open("ab") as file:
        file.write(b".")
    PIDS.mkdir(exist_ok=True)
    (PIDS / str(os.getpid())).touch()
    while GATE.exists() and PASSED.stat().st_size > int(GATE.read_text() or 0):
        time.sleep(0.01)
    return simulate(design)
"""
"""An engine that lets as many designs pass as the file `gate` says, and holds all others until that file is gone; so a
test can stop a run in its middle however fast the machine is."""

PATIENCE = 300.0
"""Seconds after which what a test waits for will not happen."""


def write_space(folder: Path, text: str = SPACE, name: str = "tiny.yaml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def write_design(folder: Path, document: object = None, name: str = "design.yaml") -> Path:
    path = folder / name
    path.write_text(yaml.safe_dump(document or DESIGN, sort_keys=False), encoding="utf-8")
    return path


def environment(folder: Path | None = None) -> dict[str, str]:
    """This environment, with `folder` among the places that Python imports from."""
    places = [str(folder)] if folder else []
    places += [os.environ["PYTHONPATH"]] if "PYTHONPATH" in os.environ else []
    return {**os.environ, "PYTHONPATH": os.pathsep.join(places)} if places else dict(os.environ)


def dse(*arguments: object, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """One command in a process of its own."""
    command = [sys.executable, "-m", "dse", *map(str, arguments)]
    return subprocess.run(
        command, capture_output=True, text=True, cwd=cwd, env=environment(), timeout=PATIENCE, check=False
    )


def start(*arguments: object, engines: Path, program: Sequence[str] = ("-m", "dse")) -> subprocess.Popen[str]:
    """A command that is left running, in a session of its own, and hears Ctrl-C however this process was started."""
    return subprocess.Popen(
        [sys.executable, *program, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(engines),
        start_new_session=True,
        preexec_fn=hear_signals,
    )


def hear_signals() -> None:
    """What a shell gives a command in the foreground; one in the background has Ctrl-C ignored, and so its children."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)


def until(happened: Callable[[], object], seconds: float = PATIENCE) -> bool:
    """Wait for something to happen; whether it did."""
    deadline = time.monotonic() + seconds
    while not happened():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def running(pid: int) -> bool:
    """Whether a process runs; a dead one that nobody has asked after does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def finished_run(factory: pytest.TempPathFactory) -> Path:
    """Folder of a finished run of `SPACE`."""
    folder = factory.mktemp("finished")
    assert main(["optimize", str(write_space(folder)), "--out", str(folder / "run")]) == 0
    return folder / "run"
