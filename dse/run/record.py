"""The record of a run, for reports: from its folder, or from what a run without one has in memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, starmap
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from dse.buy.evaluate import tuning_objective
from dse.buy.regret import with_regret
from dse.evaluate.note import Note, be_silent
from dse.evaluate.record import Purchase, StudyRecord, TrialRecord
from dse.evaluate.trials import Columns, Rows, Trials
from dse.proof.bound import ProvenLimit
from dse.proof.certificate import Certificate, certify, unproven_notice
from dse.run.covered import Keys, best_of_all
from dse.run.document import OpenStudy, is_of_this_model, open_study, proof_identity
from dse.run.part_cells import JournalCells
from dse.run.part_columns import PartColumns
from dse.space.barred import barred_notices
from dse.space.jobs import SECTIONS
from dse.space.order import NOTICES
from dse.space.space import Space
from dse.study.journal import KeptTrials, StoredTrial, open_journal
from dse.study.keys import DIGESTS, key_digest
from dse.study.store import read_proof
from dse.study.watch import WATCHER, Watcher
from simcore.catalog.preset import preset
from simcore.design.prices import PriceList


class Prove(Protocol):
    """Certifies a space for an engine, as `dse.proof.certificate.certify` does."""

    def __call__(self, space: Space, engine: str, note: Note) -> Certificate:
        """See `certify`."""


def load_record(folder: Path, bounded: bool = True) -> StudyRecord:
    """The record of a run folder, from its journal and `study.yaml` alone.

    Without `bounded` nothing is proven of its space, which takes seconds, and it has no bounds. Raises `InputError`
    where the folder holds no study.
    """
    return record_in(open_study(folder), bounded)


def record_in(
    study: OpenStudy, bounded: bool = True, watcher: Watcher = WATCHER, prove: Prove = certify
) -> StudyRecord:
    """The record of a study that is open; see `load_record`. `prove` certifies its space."""
    trials, kept = _trials_in(study)
    if bounded:
        watcher.phase("bounding")
    proof = read_proof(study.folder, study.space.objectives, partial(proof_identity, study.document, kept))
    return record_of(study.space, study.document, (trials, lambda: kept.keys), proof, bounded, watcher.note, prove)


def record_of(
    space: Space,
    study: Mapping[str, Any],
    trials: tuple[Trials, Callable[[], Keys]],
    proof: Mapping[str, Any] | None,
    bounded: bool = True,
    note: Note = be_silent,
    prove: Prove = certify,
) -> StudyRecord:
    """The record of a study of `space` (as `study.yaml` says it), and of what was proven.

    `trials` come in order, with what gives the digest of the key of each.
    """
    purchase = purchase_of(space)
    record = StudyRecord(
        space=space.name,
        objectives=space.objectives,
        trials=trials[0],
        bounds={},
        sampler=study["sampler"],
        seed=study["seed"],
        prices=price_sources(space),
        given_reference=study.get("reference_point"),
        purchase=purchase,
        proof=proof,
        hypothetical=NOTICES[space.hypothetical] if space.hypothetical else "",
        notices=tuple(filter(None, (*space.notices, *barred_notices(space), "" if proof else _unproven(space, study)))),
    )
    record = with_regret(record)
    names = {asked.name: told.name for asked, told in zip(space.objectives, record.objectives, strict=True)}
    if not bounded:
        return record
    best = best_of_all(space, record, trials[1])
    found = _certificate_of(space, study, proof, partial(prove, note=note)) if best is None else _complete(best)
    leaders = {names[name]: limit.design for name, limit in found.limits.items() if limit.design is not None}
    bounds = {names[name]: limit.value for name, limit in found.limits.items()}
    return replace(record, bounds=bounds, leaders=leaders, corners=found.corners)


def _trials_in(study: OpenStudy) -> tuple[Trials, KeptTrials]:
    """The trials of a run folder: columns of all, and each as a whole when it is asked for; and where they stand."""
    space = study.space
    purchase = purchase_of(space)
    sections = purchase.sections if purchase else ()
    kept = open_journal(study.folder, space.objectives)
    names = [objective.name for objective in space.objectives]
    parts = [found if (found := PartColumns(part, space.objectives)).has_columns() else None for part in kept.parts]
    lines = Columns.of((stored.record(sections) for stored in kept.scan()), names)

    def columns_of(owner: int, part: PartColumns | None) -> Columns:
        if part is not None:
            return part.columns()
        return Columns.of((stored.record(sections) for stored in kept.of_part(owner)), names)

    def load(rows: Rows) -> list[TrialRecord]:
        return [stored.record(sections) for stored in kept.of_rows(rows)]

    pieces = chain(starmap(columns_of, enumerate(parts)), [lines])
    columns = replace(Columns.join(pieces, len(kept.row_numbers)), number=kept.row_numbers)
    cells = JournalCells(parts, kept.starts, kept.of_rows, lambda stored: stored.record(sections))
    return Trials(columns, load, kept.order, cells.cells if any(parts) else None), kept


def trials_of(space: Space, stored: Sequence[StoredTrial]) -> tuple[Trials, Callable[[], Keys]]:
    """The trials of a study that is in memory, in their order, with what gives the digest of the key of each."""
    purchase = purchase_of(space)
    keys = np.array([key_digest(trial.outcome.key) for trial in stored], dtype=DIGESTS)
    trials = [trial.record(purchase.sections if purchase else ()) for trial in stored]
    return Trials.of(trials), lambda: keys


def _complete(best: Mapping[str, float]) -> Certificate:
    """What is proven where every design of the space was evaluated."""
    return Certificate({name: ProvenLimit(value) for name, value in best.items()}, ())


def _certificate_of(
    space: Space,
    study: Mapping[str, Any],
    proof: Mapping[str, Any] | None,
    prove: Callable[[Space, str], Certificate],
) -> Certificate:
    """What is proven of a space: by a sampler's own proof where it has one, else by `prove`."""
    proved = {} if proof is None else {name: ProvenLimit(v) for name, v in proof["bounds"].items() if v is not None}
    rows = None if proof is None else proof.get("corners")
    corners = None if rows is None else tuple(map(tuple, rows))
    if len(proved) == len(space.objectives):
        return Certificate(proved, corners)
    if not is_of_this_model(study):
        return Certificate({**dict.fromkeys((o.name for o in space.objectives), ProvenLimit()), **proved}, corners)
    found = prove(space, str(study["engine"]))
    return Certificate({**found.limits, **proved}, found.corners if corners is None else corners)


def _unproven(space: Space, study: Mapping[str, Any]) -> str:
    """Why nothing, or less, is proven of the trials; empty where there is no reason."""
    if is_of_this_model(study):
        return unproven_notice(space, str(study["engine"]))
    return "The trials are of another version of the model, whose bounds are not known here: run the study again."


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
