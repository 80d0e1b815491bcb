"""A study that goes on from a checkpoint is the uninterrupted one, and proposes no trial again that is before it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from part_studies import OBJECTIVES, ROWS, run, small_parts, table
from pyarrow import parquet
from tiny_spaces import space

from dse.door.watch import Caller
from dse.run.drive import optimize
from dse.run.settings import Settings
from dse.search import make_sampler
from dse.search.exhaustive import Exhaustive
from dse.search.random import Random
from dse.study.checkpoint import latest_checkpoint
from dse.study.journal import kept_trials
from dse.study.watch import Watcher
from simcore.document.problem import InputWarning

__all__ = ["small_parts"]

SAMPLERS = {"random": Random, "exhaustive": Exhaustive}


def count_asks(monkeypatch: pytest.MonkeyPatch, kind: type) -> list[object]:
    asked: list[object] = []
    ask = kind.ask  # type: ignore[attr-defined]
    monkeypatch.setattr(kind, "ask", lambda self: (asked.append(1), ask(self))[1])
    return asked


class Skipped(Watcher):
    def __init__(self) -> None:
        self.skipped: list[int] = []
        self.seen: list[int] = []
        self.front = np.empty((0, 2))

    def skip(self, done: int, front: Any) -> None:
        self.skipped.append(done)
        self.front = front

    def trial(self, number: int, params: Any, outcome: Any) -> None:
        self.seen.append(number)


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_a_study_goes_on_from_its_last_part(
    tmp_path: Path, small_parts: None, monkeypatch: pytest.MonkeyPatch, sampler: str
) -> None:
    run(tmp_path / "whole", 60, sampler=sampler)
    folder, watcher = tmp_path / "run", Skipped()
    run(folder, 44, sampler=sampler)
    asked = count_asks(monkeypatch, SAMPLERS[sampler])
    optimize(space(), Settings(sampler, 60, 0), folder, True, watcher)
    assert table(folder) == table(tmp_path / "whole")
    (done,) = watcher.skipped
    assert 4 * ROWS - 8 <= done <= 4 * ROWS  # batches have 8 trials
    assert watcher.seen == [*range(done, 60)]
    if sampler == "exhaustive":
        assert len(asked) == 60 - done
    known = [t.outcome for t in kept_trials(folder, OBJECTIVES) if t.number < 40 and t.outcome.state == "feasible"]
    best = [min(outcome.values[objective.name] for outcome in known) for objective in OBJECTIVES]
    assert watcher.front.min(axis=0).tolist() == best


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_a_sampler_is_restored_from_what_json_says_of_it(sampler: str) -> None:
    given = space()
    first = make_sampler(sampler, given, 3)
    for _ in range(7):
        first.ask()
    state = json.loads(json.dumps(first.state()))
    second = make_sampler(sampler, given, 3)
    second.restore(state)
    one, other = ([s.ask() for _ in range(20)] for s in (first, second))
    assert [p and p.filled.document for p in one] == [p and p.filled.document for p in other]


def test_an_exhausted_sampler_has_nothing_more_to_propose_when_it_is_restored() -> None:
    given = space(parallelism={"tensor": 8, "zero": {"choice": [0, 1]}})
    first = make_sampler("exhaustive", given, 0)
    count = int(given.count())
    for _ in range(count):
        assert first.ask() is not None
    second = make_sampler("exhaustive", given, 0)
    second.restore(json.loads(json.dumps(first.state())))
    assert second.ask() is None


def test_samplers_that_learn_are_replayed(tmp_path: Path, small_parts: None) -> None:
    assert [make_sampler(name, space(), 0).state() for name in ("guided", "nsga2", "tpe")] == [None] * 3
    run(tmp_path / "whole", 30, sampler="nsga2")
    watcher = Skipped()
    run(tmp_path / "run", 24, sampler="nsga2")
    optimize(space(), Settings("nsga2", 30, 0), tmp_path / "run", True, watcher)
    assert table(tmp_path / "run") == table(tmp_path / "whole")
    assert (watcher.skipped, watcher.seen) == ([], [*range(30)])


def test_who_has_to_see_every_outcome_again_does(tmp_path: Path, small_parts: None) -> None:
    run(tmp_path, 30)
    seen: list[int] = []
    optimize(space(), Settings("random", 34, 0), tmp_path, True, Caller(Watcher(), lambda t: seen.append(t.number)))
    assert seen == [*range(34)]
    watcher = Skipped()
    optimize(space(), Settings("random", 36, 0, stagnation=200), tmp_path, True, watcher)
    assert (watcher.skipped, watcher.seen) == ([], [*range(36)])


def test_a_checkpoint_counts_where_all_trials_before_it_are_there(tmp_path: Path, small_parts: None) -> None:
    run(tmp_path, 45)
    parts = sorted(tmp_path.glob("*.parquet"))
    found = latest_checkpoint(kept_trials(tmp_path, OBJECTIVES))
    assert found is not None
    assert found.trials == 40
    parts[2].unlink()
    with pytest.warns(InputWarning, match="got none"):
        before = latest_checkpoint(kept_trials(tmp_path, OBJECTIVES))
    assert before is not None
    assert before.trials <= 20
    parts[0].unlink()
    with pytest.warns(InputWarning, match="got none"):
        assert latest_checkpoint(kept_trials(tmp_path, OBJECTIVES)) is None


def told(path: Path, checkpoint: object) -> None:
    table = parquet.read_table(path)
    with parquet.ParquetWriter(path, table.schema, store_schema=False) as writer:
        writer.add_key_value_metadata({"dse": json.dumps({"form": 1, "checkpoint": checkpoint})})
        writer.write_table(table)


@pytest.mark.parametrize(
    "checkpoint", [None, 7, {"trials": "9", "sampler": {}}, {"trials": 9}, {"trials": -1, "sampler": {}}, {}]
)
def test_what_is_no_checkpoint_is_none(tmp_path: Path, small_parts: None, checkpoint: object) -> None:
    run(tmp_path, 15)
    told(tmp_path / "journal.00000.parquet", checkpoint)
    assert latest_checkpoint(kept_trials(tmp_path, OBJECTIVES)) is None


STATES: dict[str, tuple[str, dict[str, Any]]] = {
    "nothing": ("random", {}),
    "another stream": ("random", {"bit_generator": "MT19937"}),
    "a stream of text": ("random", {"bit_generator": "PCG64", "state": {"state": "x", "inc": 1}}),
    "a number that is too large": (
        "random",
        {"bit_generator": "PCG64", "state": {"state": 2**200, "inc": 1}, "has_uint32": 0, "uinteger": 0},
    ),
    "no places": ("exhaustive", {"asked": 3}),
    "places beyond": ("exhaustive", {"asked": 3, "at": [9], "of": [2]}),
    "places that are none": ("exhaustive", {"asked": 3, "at": ["a"], "of": [2]}),
    "places of another space": ("exhaustive", {"asked": 3, "at": [700], "of": [900]}),
}


@pytest.mark.parametrize("how", STATES)
def test_a_checkpoint_that_cannot_be_used_is_said_and_all_is_replayed(
    tmp_path: Path, small_parts: None, how: str
) -> None:
    sampler, state = STATES[how]
    run(tmp_path / "whole", 20, sampler=sampler)
    run(tmp_path / "run", 15, sampler=sampler)
    told(tmp_path / "run" / "journal.00000.parquet", {"trials": 8, "sampler": state})
    with pytest.warns(InputWarning, match=rf"checkpoint after 8 trials is none of '{sampler}' .*proposed again"):
        run(tmp_path / "run", 20, resume=True, sampler=sampler)
    assert table(tmp_path / "run") == table(tmp_path / "whole")
