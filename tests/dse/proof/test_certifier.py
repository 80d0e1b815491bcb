"""A certificate that is made step by step, while a search runs, is the one that is made at once."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tiny_spaces import space, tiny

from dse.door.interrupt import Interrupt
from dse.door.progress import Progress
from dse.evaluate.evaluate import Evaluator
from dse.proof.bound import Step
from dse.proof.certificate import certify
from dse.proof.certifier import Certifier
from dse.run import proving as proving_module
from dse.run.document import open_study
from dse.run.drive import optimize
from dse.run.proving import Proving
from dse.run.proving_beside import CertifierBeside
from dse.run.record import record_in
from dse.run.settings import Settings
from dse.space.objective import losses
from dse.study.watch import Watcher

EXPRESSION = {"minimize": ["iteration_time * cost.total", "cost.total"]}


@pytest.mark.parametrize(
    ("changes", "engine"),
    [
        ({}, "fast"),
        ({"objectives": EXPRESSION}, "fast"),
        ({}, "packets"),
        ({"objectives": {"minimize": ["power"]}}, "auto"),
    ],
)
def test_steps_lead_to_the_certificate(changes: dict[str, Any], engine: str) -> None:
    given = space(tiny(**changes))
    certifier = Certifier(given, engine)
    notes: list[str] = []
    certifier.advance()
    found = certifier.finish(lambda text, done=None: notes.append(text))
    assert found == certify(given, engine)
    assert certifier.done
    assert certifier.advance() == ""
    assert "" not in notes


def test_what_is_proven_before_the_last_step_holds_and_is_never_better_later() -> None:
    given = space()
    judge = Evaluator(given.objectives, given.constraints)
    outcomes = [judge(filled.document) for filled in given.enumerate()]
    values = losses(given.objectives, [outcome.values for outcome in outcomes if outcome.state == "feasible"])
    certifier, before = Certifier(given, "fast"), np.full(2, -np.inf)
    while not certifier.done:
        certifier.advance()
        assert certifier.corners is not None
        corners = np.array(certifier.corners)
        assert (corners[None] <= values[:, None] * (1 + 1e-12)).all(axis=2).any(axis=1).all()
        assert (corners.min(axis=0) >= before).all()
        before = corners.min(axis=0)
    assert (before > 0).all()


def test_a_step_that_is_interrupted_is_begun_again(monkeypatch: pytest.MonkeyPatch) -> None:
    given = space()
    certifier = Certifier(given, "fast")
    certifier.advance()

    def broken(_: Step) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("dse.proof.least_trained.TrainingSearch.advance", broken)
    with pytest.raises(KeyboardInterrupt):
        certifier.advance()
    monkeypatch.undo()
    assert certifier.finish(lambda text, done=None: None) == certify(given, "fast")


class Told(Watcher):
    """Remembers what was proven, and when."""

    def __init__(self) -> None:
        self.done = 0
        self.rows: list[tuple[int, int]] = []

    def trial(self, *_: Any) -> None:
        self.done += 1

    def certified(self, corners: Sequence[Sequence[float]] | None) -> None:
        self.rows.append((self.done, len(corners or ())))


def test_files_do_not_depend_on_how_much_was_proven_while_the_search_ran(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proving_module, "TELL_SECONDS", 0.0)
    records = []
    for share in (1e-9, 1e9):
        monkeypatch.setattr(proving_module, "SHARE", share)
        folder, proving, told = tmp_path / str(share), Proving(), Told()
        optimize(space(), Settings("random", 40, 0), folder, watcher=told, proving=proving)
        record = record_in(open_study(folder), prove=proving.certify)
        records.append((record.bounds, record.corners, record.leaders, (folder / "study.yaml").read_bytes()))
    assert records[0] == records[1]
    assert records[0][1]
    assert told.rows
    assert told.rows[0][0] < 40


def test_a_certificate_proven_in_another_process_is_the_same() -> None:
    given, texts = space(), list[str]()
    certifier = CertifierBeside(given, "fast")
    try:
        found = certifier.finish(lambda text, done=None: texts.append(text))
    finally:
        certifier.close()
    assert found == certify(given, "fast")
    assert certifier.done
    assert certifier.corners == found.corners
    assert len(texts) > 3


def test_a_process_that_is_killed_takes_nothing_away() -> None:
    given = space()
    certifier = CertifierBeside(given, "fast")
    certifier.close()
    assert certifier.advance() == ""
    assert certifier.finish(lambda text, done=None: None) == certify(given, "fast")


def test_files_do_not_depend_on_who_proves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proving_module, "TELL_SECONDS", 0.0)
    monkeypatch.setattr(proving_module, "is_compiled", lambda: True)
    records = []
    for free in (1, 2):
        monkeypatch.setattr(proving_module, "cores", lambda free=free: free)
        folder = tmp_path / str(free)
        with Proving(beside=True) as proving:
            optimize(space(), Settings("random", 40, 0), folder, proving=proving)
            record = record_in(open_study(folder), prove=proving.certify)
            certifier = proving._certifier
        assert isinstance(certifier, CertifierBeside) == (free == 2)
        if isinstance(certifier, CertifierBeside):
            assert certifier._process.poll() is not None
        records.append((record.bounds, record.corners, record.leaders, (folder / "study.yaml").read_bytes()))
    assert records[0] == records[1]


def test_a_sampler_that_proves_its_answer_needs_no_other_certificate(tmp_path: Path) -> None:
    told, proving = Told(), Proving()
    optimize(space(), Settings("exact", 1000, 0), tmp_path, watcher=told, proving=proving)
    assert not told.rows


def test_the_progress_line_says_how_far_the_front_can_be_behind() -> None:
    given = space()
    judge = Evaluator(given.objectives, given.constraints)
    outcome = judge(next(given.enumerate()).document)
    with Progress(given, 40, Interrupt()) as progress:
        progress.trial(0, {}, outcome)
        assert "behind" not in progress._state()
        progress.certified([[value * 0.9 for value in losses(given.objectives, [outcome.values])[0]]])
        assert "front 1, at most 10 % behind" in progress._state()
