"""Studies on a cluster and on this machine, and what they left, for the tests of faults."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tiny_spaces import space

from dse.evaluate.evaluate import Outcome
from dse.execute import Executor
from dse.report.tables import csv_text, trials_table
from dse.run.drive import optimize
from dse.run.record import load_record
from dse.run.settings import Settings
from dse.space.space import Space
from dse.study.watch import Watcher

ENGINE = """\
import os, sys, time
from pathlib import Path
sys.path.insert(0, {tests!r})  # only the engine's own module travels with it
from tiny_spaces import cheap

FOLDER = Path({folder!r})


def engine(design):
    (FOLDER / str(os.getpid())).touch()
    time.sleep({seconds})
    {extra}
    return cheap(design)
"""
TESTS = Path(__file__).parents[1] / "dse"
WIDE = {"system": {"collective": ["ring", "ring"], "chunks": {"range": [1, 400]}}}


@dataclass
class Sweep:
    """What a study came to."""

    ended: str
    trials: list[Outcome]
    status: list[Any]
    folder: Path

    @property
    def table(self) -> str:
        return csv_text(trials_table(load_record(self.folder)))

    def counts(self) -> tuple[int, int, int]:
        """Trials evaluated, lost, and doubled in the journal."""
        attributes = [
            json.loads(line)["user_attrs"]
            for line in (self.folder / "journal.log").read_text().splitlines()
            if '"user_attrs"' in line
        ]
        numbers, keys = [a["number"] for a in attributes], [a["key"] for a in attributes]
        return len(numbers), max(numbers) + 1 - len(set(numbers)), len(keys) - len(set(keys))


def write_engine(folder: Path, monkeypatch: Any, name: str, seconds: float = 0.01, extra: str = "pass") -> str:
    """An engine that takes its time, and notes in `folder`/pids who evaluates."""
    (folder / "pids").mkdir(exist_ok=True)
    text = ENGINE.format(tests=str(TESTS), folder=str(folder / "pids"), seconds=seconds, extra=extra)
    (folder / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(str(folder))
    return f"{name}:engine"


def wide() -> Space:
    return space(**WIDE)


def sweep(
    folder: Path,
    trials: int,
    at: int | None = None,
    fault: Callable[[], object] = lambda: None,
    given: Space | None = None,
    resume: bool = False,
    **settings: Any,
) -> Sweep:
    """A study in `folder`; when trial `at` is done, `fault` happens."""
    seen = Sweep("", [], [], folder)

    class Seeing(Watcher):
        executor: Executor | None = None

        def watch(self, executor: Executor) -> None:
            self.executor = executor

        def trial(self, number: int, params: Any, outcome: Outcome) -> None:
            seen.trials.append(outcome)
            seen.status.append(self.executor.status() if self.executor else None)
            if number == at:
                fault()

    chosen = Settings(**{"sampler": "random", "trials": trials, "seed": 0, "engine": "tiny_spaces:cheap", **settings})
    seen.ended = optimize(given or wide(), chosen, folder, resume, Seeing())
    return seen
