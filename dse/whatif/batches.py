"""The front at other global batches: its designs, and those nearest to it, unchanged but for the batch.

A member *stays* on the front at a batch where it runs and no design that was simulated with that batch dominates it.
Designs are compared with those of the front and with the `RIVALS` dominated ones that are nearest to it: what was far
from the front is not asked again, so staying is an upper bound of what a new search would say.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dse.evaluate.evaluate import Outcome
from dse.evaluate.pareto import dominated_mask, nearness
from dse.evaluate.recall import recall
from dse.evaluate.record import StudyRecord, TrialRecord
from dse.space.draw import RecordedDraw
from dse.space.fill import has_solved_split
from dse.space.objective import losses
from dse.space.space import Space
from dse.whatif.answers import DOES_NOT_FIT, FACTORS, AtBatch
from simcore.design.workload import read_workload
from simcore.document.problem import Refusal

RIVALS = 20
"""Dominated designs beside the front."""

Simulate = Callable[[Mapping[str, Any]], Outcome]
Rewrite = Callable[[TrialRecord, int], Mapping[str, Any]]
"""The document of a trial with another global batch."""


def rivals(record: StudyRecord, most: int) -> tuple[TrialRecord, ...]:
    """The dominated feasible trials nearest to the front, at most `most`."""
    front, feasible = record.front, record.feasible_trials
    members = [trial.number for trial in front]
    others = feasible.select(feasible.designed & ~np.isin(feasible.numbers, members))
    if not len(others) or most <= 0:
        return ()
    far = nearness(record.losses(others), record.losses(front))
    order = np.argsort(far, kind="stable")[:most]
    return others.select(order).whole


def run_at_batches(
    record: StudyRecord,
    members: Sequence[TrialRecord],
    others: Sequence[TrialRecord],
    simulate: Simulate,
    rewrite: Rewrite,
) -> dict[int, tuple[AtBatch, ...]]:
    """Each member at every batch of `FACTORS`, by trial; empty where the workload has no batch."""
    found: dict[int, list[AtBatch]] = {trial.number: [] for trial in members if batch_of(trial) is not None}
    for factor in FACTORS:
        asked = [(trial, *_run(trial, factor, simulate, rewrite)) for trial in (*members, *others) if batch_of(trial)]
        ran = [values for _, values, why, _ in asked if not why]
        matrix = losses(record.objectives, ran)
        for trial, values, why, microbatch in asked:
            if trial.number in found:
                stays = not why and not dominated_mask(matrix, losses(record.objectives, [values]))[0]
                batch = factor * (batch_of(trial) or 0)
                found[trial.number].append(AtBatch(factor, batch, {} if why else values, why, stays, microbatch))
    return {number: tuple(answers) for number, answers in found.items()}


def batch_of(trial: TrialRecord) -> int | None:
    """The global batch of a trial's design; None where its workload has none."""
    workload = {} if trial.design is None else trial.design.get("workload")
    batch = workload.get("global_batch") if isinstance(workload, Mapping) else None
    return batch if isinstance(batch, int) and not isinstance(batch, bool) else None


def rewrite_batch(space: Space, trial: TrialRecord, batch: int) -> Mapping[str, Any]:
    """The document of a trial with another global batch.

    The trial's numbers fill the space with that batch, so that what follows from the batch (defaults, expressions)
    follows from the new one. Where the space does not give the trial, its workload is a choice, or its bandwidths are
    solved (what was built stays as it is), the batch is changed in the complete design.

    A microbatch that is what the kind of workload takes, as all requests of a copy, goes with the batch; others that
    would no longer fill it are smaller ones. Raises `ValueError` where an expression has no value with that batch.
    """
    workload = space.template.get("workload")
    source = recall(space, trial) if isinstance(workload, Mapping) and not has_solved_split(space.template) else None
    if source is not None and isinstance(workload, Mapping):
        template = {**space.template, "workload": {**workload, **_anchor(trial), "global_batch": batch}}
        values = {name: drawn.value for name, drawn in source.drawn.items()}
        document: dict[str, Any] = replace(space, template=template).fill(RecordedDraw(values, smooth=False)).document
        return _fill_microbatches(document, trial, batch)
    document = json.loads(json.dumps(trial.design))
    document["workload"] |= {**_anchor(trial), "global_batch": batch}
    return _fill_microbatches(document, trial, batch)


def _fill_microbatches(document: dict[str, Any], trial: TrialRecord, batch: int) -> dict[str, Any]:
    """The document with microbatches that suit a batch."""
    parallelism = (trial.design or {}).get("parallelism")
    given = parallelism if isinstance(parallelism, Mapping) else {}
    data, microbatch = given.get("data"), given.get("microbatch")
    if not isinstance(data, int) or not isinstance(microbatch, int) or data * microbatch == 0 or batch % data:
        return document
    if _has_usual_microbatch(trial):
        its = read_workload(document["workload"]).usual_microbatch(data, given.get("pipeline", 1))
    else:
        its = math.gcd(batch // data, microbatch)
    if its == microbatch:
        return document
    return {**document, "parallelism": {**document.get("parallelism", {}), "microbatch": its}}


def _has_usual_microbatch(trial: TrialRecord) -> bool:
    """Whether the microbatch of a trial is what the kind of workload takes."""
    design = trial.design or {}
    given = design.get("parallelism") or {}
    usual = read_workload(design["workload"]).usual_microbatch(given["data"], given.get("pipeline", 1))
    return bool(usual == given.get("microbatch"))


def _anchor(trial: TrialRecord) -> Mapping[str, float]:
    """Keys that tie the tokens of a trial's workload to its own batch, where nothing does."""
    assert trial.design is not None
    return read_workload(trial.design["workload"]).anchor()


def _run(
    trial: TrialRecord, factor: float, simulate: Simulate, rewrite: Rewrite
) -> tuple[dict[str, float], str, int | None]:
    """The objectives of a trial at a batch, why it cannot run there (empty where it can), and a smaller microbatch."""
    before = batch_of(trial)
    assert before is not None
    batch = factor * before
    if not batch.is_integer():
        return {}, f"a batch of {before} cannot be halved", None
    try:
        document = rewrite(trial, int(batch))
        outcome = simulate(document)
    except Refusal as error:
        return {}, str(error), None
    return dict(outcome.values), describe_broken(outcome), _smaller_microbatch(trial, outcome.design or document)


def _smaller_microbatch(trial: TrialRecord, document: Mapping[str, Any]) -> int | None:
    """The microbatch of a document where it is another one than a trial's own; None where it follows from the batch."""
    own, its = ({} if each is None else each.get("parallelism") or {} for each in (trial.design, document))
    microbatch = its.get("microbatch")
    if not isinstance(microbatch, int) or not isinstance(own.get("data"), int) or microbatch == own.get("microbatch"):
        return None
    return None if _has_usual_microbatch(trial) else microbatch


def describe_broken(outcome: Outcome) -> str:
    """What a design breaks; empty where it is feasible."""
    if outcome.state == "feasible":
        return ""
    if outcome.state == "failed":
        return f"failed: {outcome.error}"
    if outcome.cut_by is not None:
        return DOES_NOT_FIT if outcome.cut_by == "fits" else outcome.cut_by
    return ", ".join(name for name, missed in outcome.violations.items() if missed > 0)
