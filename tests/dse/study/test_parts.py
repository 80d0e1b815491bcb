"""A journal in parts is the journal: the same trials, the same files of a report, the same study when it goes on."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from part_studies import OBJECTIVES, ROWS, names, run, small_parts, table

from dse.door.reports import report_run
from dse.report.write import FILES
from dse.run.part_cells import _param
from dse.run.part_columns import PartColumns
from dse.run.record import load_record
from dse.study.journal import JOURNAL, kept_trials, read_trials, resumed_trials
from dse.study.optuna_file import seal, unseal
from dse.study.parts import JournalPart, write_part
from simcore.document.problem import InputError, InputWarning

__all__ = ["small_parts"]

PARTS = ["journal.00000.parquet", "journal.00001.parquet", "journal.00002.parquet"]


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """35 trials in lines; not to be written to."""
    folder = tmp_path_factory.mktemp("plain")
    run(folder, 35)
    return folder


@pytest.fixture
def parted(tmp_path: Path, small_parts: None) -> Path:
    """The same study in three parts and five lines."""
    run(tmp_path, 35)
    assert names(tmp_path) == [*PARTS, JOURNAL, "study.yaml"]
    return tmp_path


def trial_lines(folder: Path) -> list[bytes]:
    return [line for line in (folder / JOURNAL).read_bytes().splitlines(keepends=True) if b"datetime_start" in line]


def test_a_journal_is_sealed_when_a_trial_is_one_too_many(tmp_path: Path, small_parts: None) -> None:
    run(tmp_path, ROWS)
    assert names(tmp_path) == [JOURNAL, "study.yaml"]
    assert len(trial_lines(tmp_path)) == ROWS


def test_trials_in_parts_are_those_in_lines(plain: Path, parted: Path) -> None:
    assert len(trial_lines(parted)) == 5
    assert [*read_trials(parted, OBJECTIVES)] == [*read_trials(plain, OBJECTIVES)]
    kept, held = kept_trials(parted, OBJECTIVES), [*read_trials(plain, OBJECTIVES)]
    for rows in ([34, 0, 12, 11, 29], [7], [8], [9], [10], [3]):
        assert kept.load(np.array(rows)) == [held[row] for row in rows]
    assert all(kept.get(trial.outcome.key) == trial.outcome for trial in [*held, *held[::-1]])
    assert kept.get("another") is None


def test_reports_of_a_study_in_parts_are_those_of_one_in_lines(plain: Path, parted: Path, tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    report_run(plain, one)
    report_run(parted, other)
    assert [name for name in FILES if (one / name).read_bytes() != (other / name).read_bytes()] == []


def test_a_study_in_parts_goes_on(plain: Path, parted: Path, tmp_path: Path) -> None:
    run(parted, 52, resume=True)
    whole = tmp_path / "whole"
    run(whole, 52)
    assert table(parted) == table(whole)
    assert len([name for name in names(parted) if name.endswith(".parquet")]) == 5
    assert len(trial_lines(parted)) == 2


def test_a_long_journal_of_before_is_sealed_when_it_goes_on(
    plain: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(tmp_path, 35)
    monkeypatch.setattr("dse.study.journal.TRIALS_A_PART", ROWS)
    run(tmp_path, 36, resume=True)
    assert len(trial_lines(tmp_path)) == 6
    assert [name for name in names(tmp_path) if name.endswith(".parquet")] == PARTS
    assert [*read_trials(tmp_path, OBJECTIVES)][:35] == [*read_trials(plain, OBJECTIVES)]


def test_a_part_gives_its_lines_again_to_the_byte(plain: Path, tmp_path: Path) -> None:
    lines = trial_lines(plain)
    odd = [
        lines[0].replace(b'"number":0', b'"number": 0'),
        b'{"op_code":4,"user_attrs":{"number":7,"key":"k","big":123456789012345678901}}\n',
    ]
    for name, given in (("plain", lines), ("odd", [*lines[1:], *odd])):
        write_part(tmp_path / name, given, 50, {"said": [1, None]})
        part = JournalPart(tmp_path / name)
        assert [unseal(line) for line in part.lines()] == [unseal(line) for line in given]
        assert [unseal(line) for line in part.lines(np.array([30, 2]))] == [unseal(given[row]) for row in (30, 2)]
        assert (part.rows, part.told["said"]) == (len(given), [1, None])


def test_a_driver_that_seals_while_somebody_reads_takes_nothing_away(tmp_path: Path, small_parts: None) -> None:
    run(tmp_path, 10)
    record = load_record(tmp_path, bounded=False)
    expected = [*read_trials(tmp_path, OBJECTIVES)]
    run(tmp_path, 30, resume=True)
    assert [trial.number for trial in record.trials] == [trial.number for trial in expected]
    assert [trial.params for trial in record.trials] == [trial.params for trial in expected]


def test_a_part_that_is_missing_is_named_and_its_trials_come_again(plain: Path, parted: Path) -> None:
    (parted / PARTS[1]).unlink()
    with pytest.warns(InputWarning, match=rf"{PARTS[1]}: expected a part of the journal, got none"):
        assert len([*read_trials(parted, OBJECTIVES)]) == 25
    with pytest.warns(InputWarning, match=PARTS[1]):
        run(parted, 35, resume=True)
    assert table(parted) == table(plain)
    assert [*read_trials(parted, OBJECTIVES)] == [*read_trials(plain, OBJECTIVES)]


def pickled(path: Path) -> None:
    import pickle

    path.write_bytes(pickle.dumps({"a": 1}))


def columns(**given: object) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        import pyarrow as pa
        from pyarrow import parquet

        table = pa.table(given)
        with parquet.ParquetWriter(path, table.schema) as writer:
            writer.add_key_value_metadata({"dse": json.dumps({"form": 1})})
            writer.write_table(table)

    return write


def other_form(path: Path) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    parquet.write_table(pa.table({"shape": ["{}"]}), path)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-100])


def turned(path: Path) -> None:
    content = bytearray(path.read_bytes())
    for place in range(100, 1000):
        content[place] ^= 0xFF
    path.write_bytes(content)


NUMBER = "int /user_attrs/number"
WRONG: dict[str, Callable[[Path], None]] = {
    "empty": lambda path: path.write_bytes(b"") and None,
    "no Parquet": lambda path: path.write_bytes(b"PAR1" + b"\0" * 500 + b"PAR1") and None,
    "a pickle": pickled,
    "cut short": cut,
    "bytes that have turned": turned,
    "another table": other_form,
    "no numbers": columns(shape=["{}"]),
    "a number that is none": columns(**{"shape": ["{}"], NUMBER: [None]}),
    "a negative number": columns(**{"shape": ["{}"], NUMBER: [-1]}),
    "a column of another type": columns(**{"shape": ["{}"], NUMBER: [1.5]}),
    "a column of bytes": columns(**{"shape": ["{}"], "pickle /a": [b"x"]}),
    "too many rows": columns(**{"shape": ["{}"] * 200_001, NUMBER: list(range(200_001))}),
    "no trial": columns(**{"shape": ["{}"], NUMBER: [7]}),
    "a shape that is none": columns(**{"shape": ["[[["], NUMBER: [7]}),
    "a shape without end": columns(**{"shape": ["[" * 5_000_000], NUMBER: [7]}),
    "a shape that nests without end": columns(**{"shape": ["[" * 100_000 + "]" * 100_000], NUMBER: [7]}),
}


@pytest.mark.parametrize("how", WRONG)
def test_a_part_of_a_stranger_is_refused_with_its_name(parted: Path, how: str) -> None:
    WRONG[how](parted / PARTS[1])
    with pytest.raises(
        InputError, match=r"a part of a journal as dse optimize writes it|a trial of this study"
    ) as caught:
        [*read_trials(parted, OBJECTIVES)]
    assert str(parted / PARTS[1]) in str(caught.value)
    assert "take the file out of the folder: --resume evaluates its trials again" in str(caught.value)
    assert len(caught.value.problems) == 1


def test_a_part_taken_out_as_told_is_made_again(plain: Path, parted: Path) -> None:
    turned(parted / PARTS[2])
    with pytest.raises(InputError):
        run(parted, 35, resume=True)
    (parted / PARTS[2]).unlink()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run(parted, 35, resume=True)
    assert table(parted) == table(plain)


def test_lines_that_a_part_has_too_are_taken_out(plain: Path, parted: Path) -> None:
    lines = trial_lines(plain)
    head, tail = (parted / JOURNAL).read_bytes().splitlines(keepends=True)[:2], trial_lines(parted)
    (parted / JOURNAL).write_bytes(b"".join([*head, *lines[20:30], *tail]))  # a kill before they were
    assert [*read_trials(parted, OBJECTIVES)] == [*read_trials(plain, OBJECTIVES)]
    resumed_trials(parted, "tiny", OBJECTIVES)
    assert (parted / JOURNAL).read_bytes() == b"".join([*head, *tail])


def test_a_number_beyond_64_bits_leaves_its_trial_readable(tmp_path: Path) -> None:
    values = [1, 2**63, 3]
    trials = [{"user_attrs": {"number": n, "key": f"k{n}", "params": {"a": a}}} for n, a in enumerate(values)]
    lines = [seal(json.dumps(trial, separators=(",", ":")).encode()) for trial in trials]
    path = tmp_path / PARTS[0]
    write_part(path, lines, 10, {})
    part = JournalPart(path)
    assert part.lines() == lines
    assert part.read_numbers().tolist() == [0, 1, 2]
    assert part.read_keys() == ["k0", "k1", "k2"]
    assert part.shapes()[0].tolist() == [0, 0, 0]
    assert _param(PartColumns(part, ()), "a").tolist() == values
