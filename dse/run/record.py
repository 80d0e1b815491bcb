"""The record of a run, for reports: from its folder, or from what a run without one has in memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from dse.buy.evaluate import tuning_objective
from dse.buy.regret import with_regret
from dse.evaluate.note import Note, be_silent
from dse.evaluate.record import Purchase, StudyRecord, TrialRecord
from dse.evaluate.trials import Columns, Rows, Trials
from dse.proof.bound import ProvenLimit
from dse.proof.certificate import Certificate, certify, unproven_notice
from dse.run.covered import best_of_all
from dse.run.document import OpenStudy, open_study
from dse.run.part_cells import JournalCells
from dse.run.part_columns import PartColumns
from dse.space.jobs import SECTIONS
from dse.space.order import NOTICES
from dse.space.space import Space
from dse.study.journal import StoredTrial, open_journal
from dse.study.store import read_proof
from dse.study.watch import WATCHER, Watcher
from simcore.catalog.preset import preset
from simcore.design.prices import PriceList


def load_record(folder: Path, bounded: bool = True, watcher: Watcher = WATCHER) -> StudyRecord:
    """The record of a run folder, from its journal and `study.yaml` alone; `watcher` is told how far that is.

    Without `bounded` nothing is proven of its space, which takes seconds, and it has no bounds. Raises `InputError`
    where the folder holds no study.
    """
    return record_in(open_study(folder), bounded, watcher)


def record_in(study: OpenStudy, bounded: bool = True, watcher: Watcher = WATCHER) -> StudyRecord:
    """The record of a study that is open; see `load_record`."""
    trials = _trials_in(study)
    if bounded:
        watcher.phase("bounding")
    proof = read_proof(study.folder, study.space.objectives)
    return record_of(study.space, study.document, trials, proof, bounded, watcher.note)


def record_of(
    space: Space,
    study: Mapping[str, Any],
    trials: Trials,
    proof: Mapping[str, Any] | None,
    bounded: bool = True,
    note: Note = be_silent,
) -> StudyRecord:
    """The record of a study of `space` (as `study.yaml` says it), of its trials in order, and of what was proven."""
    purchase, engine = purchase_of(space), str(study["engine"])
    record = StudyRecord(
        space=space.name,
        objectives=space.objectives,
        trials=trials,
        bounds={},
        sampler=study["sampler"],
        seed=study["seed"],
        prices=price_sources(space),
        given_reference=study.get("reference_point"),
        purchase=purchase,
        proof=proof,
        hypothetical=NOTICES[space.hypothetical] if space.hypothetical else "",
        notices=tuple(notice for notice in (*space.notices, unproven_notice(space, engine)) if notice),
    )
    record = with_regret(record)
    names = {asked.name: told.name for asked, told in zip(space.objectives, record.objectives, strict=True)}
    if not bounded:
        return record
    found = _certificate_of(space, record, engine, proof, note)
    leaders = {names[name]: limit.design for name, limit in found.limits.items() if limit.design is not None}
    bounds = {names[name]: limit.value for name, limit in found.limits.items()}
    return replace(record, bounds=bounds, leaders=leaders, corners=found.corners)


def _trials_in(study: OpenStudy) -> Trials:
    """The trials of a run folder: columns of all, and each as a whole when it is asked for."""
    space = study.space
    purchase = purchase_of(space)
    sections = purchase.sections if purchase else ()
    kept = open_journal(study.folder, space.objectives)
    names = [objective.name for objective in space.objectives]
    parts = [found if (found := PartColumns(part, space.objectives)).has_columns() else None for part in kept.parts]
    columns = [
        Columns.of((trial_record(stored, sections) for stored in kept.of_part(owner)), names)
        if part is None
        else part.columns()
        for owner, part in enumerate(parts)
    ]
    columns.append(Columns.of((trial_record(stored, sections) for stored in kept.scan()), names))

    def load(rows: Rows) -> list[TrialRecord]:
        return [trial_record(stored, sections) for stored in kept.load(rows)]

    cells = JournalCells(parts, kept.starts, kept.of_rows, lambda stored: trial_record(stored, sections))
    read = (lambda rows: cells.cells(kept.order[rows])) if any(parts) else None
    return Trials(Columns.join(columns).at(kept.order), load, read_cells=read)


def trials_of(space: Space, stored: Iterable[StoredTrial]) -> Trials:
    """The trials of a study that is in memory, in their order."""
    purchase = purchase_of(space)
    return Trials.of([trial_record(trial, purchase.sections if purchase else ()) for trial in stored])


def trial_record(stored: StoredTrial, sections: tuple[str, ...] = ()) -> TrialRecord:
    """A stored trial as reports see it; `sections` are those that its workloads share."""
    outcome = stored.outcome
    return TrialRecord(
        number=stored.number,
        state=outcome.state,
        values=outcome.values,
        params=stored.params,
        violations=outcome.violations,
        design=outcome.design,
        metrics=outcome.metrics,
        cut_by=outcome.cut_by,
        error=outcome.error,
        workloads=outcome.workloads,
        sections=sections,
    )


def _certificate_of(
    space: Space, record: StudyRecord, engine: str, proof: Mapping[str, Any] | None, note: Note
) -> Certificate:
    """What is proven of a space: by all its designs, by a sampler's own proof where it has one, else by `certify`."""
    if (best := best_of_all(space, record)) is not None:
        return Certificate({name: ProvenLimit(value) for name, value in best.items()}, ())
    proved = {} if proof is None else {name: ProvenLimit(v) for name, v in proof["bounds"].items() if v is not None}
    rows = None if proof is None else proof.get("corners")
    corners = None if rows is None else tuple(map(tuple, rows))
    if len(proved) == len(space.objectives):
        return Certificate(proved, corners)
    found = certify(space, engine, note)
    return Certificate({**found.limits, **proved}, found.corners if corners is None else corners)


def price_sources(space: Space) -> dict[str, str]:
    """Where the prices of the space's price lists come from."""
    cost = space.source.get("cost", "libra")
    listed = cost["choice"] if isinstance(cost, dict) and "choice" in cost else [cost]
    sources: dict[str, str] = {}
    for entry in listed:
        prices = preset(PriceList, "prices", entry).model_dump() if isinstance(entry, str) else entry
        sources |= {f"{prices.get('name', 'prices')}: {key}": text for key, text in prices.get("sources", {}).items()}
    return sources


def purchase_of(space: Space) -> Purchase | None:
    """What a space with jobs asks for; None for a plain one."""
    if not space.jobs:
        return None
    names, weights = (tuple(getattr(job, key) for job in space.jobs) for key in ("name", "weight"))
    sections = tuple(dict.fromkeys(key for key in (*space.template, "cost") if key in SECTIONS))
    return Purchase(
        names, weights, tuning_objective(space), space.settings.aggregate, sections, space.futures, space.plans
    )
