"""A damaged journal costs the trials of its damaged lines, and nothing else; it is never silent."""

from __future__ import annotations

import json
import shutil
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tiny_spaces import space

from dse.report.tables import csv_text, trials_table
from dse.run.drive import optimize
from dse.run.record import load_record
from dse.run.settings import Settings
from dse.study.journal import JOURNAL, read_trials
from dse.study.optuna_file import seal, unseal
from simcore.document.problem import InputError, InputWarning

TRIALS = 12
OBJECTIVES = space().objectives


def study(folder: Path, resume: bool = False) -> str:
    return optimize(space(), Settings("random", TRIALS, 0), folder, resume)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished study; not to be written to."""
    folder = tmp_path_factory.mktemp("whole")
    study(folder)
    return folder


@pytest.fixture
def damaged(whole: Path, tmp_path: Path) -> Path:
    """A copy to damage: lines 1 and 2 are the study's, the others a trial each."""
    return shutil.copytree(whole, tmp_path / "run")


def change(folder: Path, line: int, how: Callable[[bytes], bytes]) -> None:
    lines = (folder / JOURNAL).read_bytes().splitlines(keepends=True)
    lines[line - 1] = how(lines[line - 1])
    (folder / JOURNAL).write_bytes(b"".join(lines))


def numbers(folder: Path) -> list[int]:
    return [trial.number for trial in read_trials(folder, OBJECTIVES)]


def table(folder: Path) -> str:
    return csv_text(trials_table(load_record(folder)))


HOW: dict[str, Callable[[bytes], bytes]] = {
    "cut short": lambda line: line[:100] + b"\n",
    "overwritten with zeros": lambda line: b"\0" * (len(line) - 1) + b"\n",
    "text that is none": lambda line: b"\xff\xfe no journal\n",
    "a number alone": lambda line: b"17\n",
    "a key that is lost": lambda line: line.replace(b'"number":', b'"numbar":'),
    "a number in text": lambda line: json.dumps({**json.loads(line), "values": ["1", 2.0]}).encode() + b"\n",
    "one objective less": lambda line: json.dumps({**json.loads(line), "values": [1.0]}).encode() + b"\n",
    "a state that is none": lambda line: line.replace(b'"state":"feasible"', b'"state":"feasable"'),
}


@pytest.mark.parametrize("how", HOW)
def test_a_damaged_line_costs_its_trial_and_is_named_with_its_file(damaged: Path, how: str) -> None:
    change(damaged, 6, HOW[how])
    with pytest.warns(InputWarning, match=rf"{damaged / JOURNAL}: line 6: .* a damaged line"):
        assert numbers(damaged) == [n for n in range(TRIALS) if n != 3]


WRONG: dict[str, tuple[tuple[str, ...], Any]] = {
    "a key that is none": (("user_attrs", "key"), [1]),
    "half a letter": (("user_attrs", "key"), "\ud800"),
    "an error that is no text": (("user_attrs", "error"), {"a": 1}),
    "a rule that is no text": (("user_attrs", "cut_by"), [1]),
    "a number beyond all": (("user_attrs", "number"), 10**30),
    "a number that is a flag": (("user_attrs", "number"), True),
    "a design that is text": (("user_attrs", "design"), "x"),
    "results that are text": (("user_attrs", "metrics"), "x"),
    "results without anything": (("user_attrs", "metrics"), {}),
    "a network that is text": (("user_attrs", "metrics", "network"), "abc"),
    "an MFU that is text": (("user_attrs", "metrics", "mfu"), "<b>"),
    "a value beyond all": (("values",), [float("inf")]),
    "a value that no float holds": (("values",), [10**400]),
    "a value that is a flag": (("values",), [True]),
    "a value next to nothing": (("values",), [1e-320]),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_line_that_anybody_wrote_costs_its_trial_too(damaged: Path, wrong: str) -> None:
    """With a checksum of its own: that tells of damage, not of who wrote it."""
    path, value = WRONG[wrong]

    def rewrite(line: bytes) -> bytes:
        its = place = json.loads(unseal(line))
        for key in path[:-1]:
            place = place[key]
        assert path[-1] in place
        place[path[-1]] = [*value, *place["values"][1:]] if path == ("values",) else value
        return seal(json.dumps(its, separators=(",", ":")).encode())

    change(damaged, 5, rewrite)
    with pytest.warns(InputWarning, match=r"line 5"):
        assert [t.number for t in load_record(damaged).trials] == [n for n in range(TRIALS) if n != 2]


@pytest.mark.parametrize("lines", [(6,), (1,), (1, 2, 3, 14), (2, 5)])
def test_a_resumed_study_evaluates_lost_trials_again_and_ends_whole(
    whole: Path, damaged: Path, lines: tuple[int, ...]
) -> None:
    for line in lines:
        change(damaged, line, lambda text: text[:40] + b"\n")
    with pytest.warns(InputWarning, match="damaged line"):
        assert study(damaged, resume=True) == "trials"
    assert table(damaged) == table(whole)
    keys = [trial.outcome.key for trial in read_trials(damaged, OBJECTIVES)]
    assert len(set(keys)) == TRIALS


def test_optuna_reads_a_journal_that_was_damaged_and_resumed(damaged: Path) -> None:
    import optuna
    from optuna.storages import JournalStorage
    from optuna.storages.journal import JournalFileBackend

    for line in (1, 7):
        change(damaged, line, lambda text: text[:40] + b"\n")
    with pytest.warns(InputWarning, match="lines 1, 7"):
        study(damaged, resume=True)
    found = optuna.load_study(study_name=None, storage=JournalStorage(JournalFileBackend(str(damaged / JOURNAL))))
    assert len(found.get_trials()) == TRIALS
    assert [direction.name for direction in found.directions] == ["MINIMIZE", "MINIMIZE"]


def test_a_file_of_which_nothing_can_be_read_is_no_journal(damaged: Path) -> None:
    (damaged / JOURNAL).write_bytes(b"no journal\n" * 5)
    with pytest.raises(InputError, match="line 1: document: expected a journal of dse optimize"):
        read_trials(damaged, OBJECTIVES)


def test_a_study_whose_journal_is_gone_is_not_resumed_from_nothing(damaged: Path) -> None:
    (damaged / JOURNAL).unlink()
    before = (damaged / "study.yaml").read_bytes()
    with pytest.raises(
        InputError, match=r"expected the journal.log .*, got none; put it back, or start anew: drop --resume"
    ):
        study(damaged, resume=True)
    assert (damaged / "study.yaml").read_bytes() == before
    assert not (damaged / JOURNAL).exists()


def test_an_empty_journal_is_not_resumed(damaged: Path) -> None:
    (damaged / JOURNAL).write_bytes(b"")
    with pytest.raises(InputError, match=r"the journal.log of the study to resume, got an empty file; put it back"):
        study(damaged, resume=True)
    assert (damaged / JOURNAL).read_bytes() == b""


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(place=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7))
def test_a_bit_that_turns_costs_a_trial_or_nothing_and_never_gives_another_value(
    damaged: Path, whole: Path, place: float, bit: int
) -> None:
    content = bytearray((whole / JOURNAL).read_bytes())
    content[int(place * len(content))] ^= 1 << bit
    (damaged / JOURNAL).write_bytes(content)
    sound = {trial.number: trial for trial in read_trials(whole, OBJECTIVES)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InputWarning)
        found = list(read_trials(damaged, OBJECTIVES))
    assert len(found) >= TRIALS - 2  # a line's end that is lost costs two
    assert all(trial == sound[trial.number] for trial in found)


ADDED: dict[str, bytes] = {
    "binary": bytes(set(range(256)) - {ord("\n")}) + b"\n",
    "an endless line": b"x" * 5_000_000 + b"\n",
    "brackets beyond any depth": b"[" * 200_000 + b"\n",
    "a number without end": b'{"op_code":4,"user_attrs":{"number":' + b"9" * 5000 + b"}}\n",
    "nothing": b"\n",
}


@pytest.mark.parametrize("how", ADDED)
def test_a_line_that_does_not_belong_there_is_named_and_costs_nothing(damaged: Path, whole: Path, how: str) -> None:
    change(damaged, 6, lambda line: ADDED[how] + line)
    with pytest.warns(InputWarning, match=r"line 6"):
        assert numbers(damaged) == list(range(TRIALS))
    with pytest.warns(InputWarning, match=r"line 6"):
        study(damaged, resume=True)
    assert table(damaged) == table(whole)


@pytest.mark.parametrize("how", ["deleted", "doubled", "in another order"])
def test_lines_that_are_gone_doubled_or_out_of_order_change_no_trial(damaged: Path, whole: Path, how: str) -> None:
    first, second, *trials = (damaged / JOURNAL).read_bytes().splitlines(keepends=True)
    ways = {"deleted": trials[:3] + trials[6:], "doubled": trials + trials[2:5], "in another order": trials[::-1]}
    (damaged / JOURNAL).write_bytes(b"".join([first, second, *ways[how]]))
    study(damaged, resume=True)
    assert table(damaged) == table(whole)
