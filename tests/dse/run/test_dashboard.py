"""Optuna's dashboard opens the journal of a run folder, and leaves it as it is."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any
from wsgiref.util import setup_testing_defaults

import pytest
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend
from tiny_spaces import space

from dse.run.drive import optimize
from dse.run.settings import Settings
from dse.study.journal import JOURNAL, read_trials

TRIALS = 6

dashboard = pytest.importorskip("optuna_dashboard")


def get(app: Any, path: str) -> Any:
    """What a browser gets, without a socket."""
    environ: dict[str, Any] = {"PATH_INFO": path, "wsgi.input": io.BytesIO()}
    setup_testing_defaults(environ)
    status: list[str] = []
    body = b"".join(app(environ, lambda said, headers, *more: status.append(said)))
    assert status == ["200 OK"]
    return json.loads(body)


@pytest.mark.filterwarnings("ignore")  # of what the dashboard imports
def test_the_dashboard_shows_the_study_and_its_trials(tmp_path: Path) -> None:
    given = space()
    optimize(given, Settings("random", TRIALS, 0), tmp_path)
    before = (tmp_path / JOURNAL).read_bytes()
    app = dashboard.wsgi(JournalStorage(JournalFileBackend(str(tmp_path / JOURNAL))))
    (study,) = get(app, "/api/studies")["study_summaries"]
    assert (study["study_name"], study["directions"]) == (given.name, ["minimize", "minimize"])
    shown = get(app, f"/api/studies/{study['study_id']}")
    assert shown["objective_names"] == [objective.name for objective in given.objectives]
    feasible = {t.number: [*t.outcome.values.values()] for t in read_trials(tmp_path, given.objectives)}
    assert {trial["number"]: trial["values"] for trial in shown["trials"]} == feasible
    assert (tmp_path / JOURNAL).read_bytes() == before
