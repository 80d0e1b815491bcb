"""Spaces whose batch is open: what a larger batch costs in tokens, and who would be flattered by leaving that out.

A training needs more tokens at a larger batch (`simcore.workload.transformer.critical_batch`). A section of a workload
that speaks of one batch says nothing of others: where several batches are open to a search, its tokens are tied to the
least of them. A metric that counts no tokens, such as throughput, is better at every larger batch; that is said.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from dse.space.hole import Choice
from dse.space.jobs import Job
from dse.space.objective import Objective
from dse.space.precisions import settle_precision
from dse.space.variations import designs_of
from simcore.design.design import Design
from simcore.document.problem import Refusal
from simcore.metrics import METRICS, Figures, bounds
from simcore.workload.base import kind_of

_BATCH = ("global_batch", "sequence_length")
_LARGER = 2**20
"""By so much a batch is larger that any critical batch is far below it."""
_FASTER = 0.9
"""Time for each token at a larger batch, over that before: it is never more, and less as fixed costs are shared."""


@dataclass
class _OpenBatches:
    """The batches of one workload that is trained, all else equal [tokens or samples]."""

    design: Design
    sizes: set[int] = field(default_factory=set)

    @property
    def are_several(self) -> bool:
        return len(self.sizes) > 1


def settle_jobs(
    template: dict[str, Any], jobs: tuple[Job, ...], objectives: Sequence[Objective]
) -> tuple[tuple[Job, ...], tuple[str, ...]]:
    """Tie tokens to a batch in each workload whose batch is open, and to a precision; the jobs then, and what to say.

    A template without jobs is changed in place.
    """
    if not jobs:
        return jobs, (*_settle_batches(template, objectives), *settle_precision(template))
    notices: list[str] = []
    settled = []
    for job in jobs:
        whole = {**template, **job.template}
        where = f"'{job.name}': workload"
        notices += [*_settle_batches(whole, objectives, where), *settle_precision(whole, where)]
        settled.append(replace(job, template={section: whole[section] for section in job.template}))
    return tuple(settled), tuple(notices)


def _settle_batches(template: dict[str, Any], objectives: Sequence[Objective], where: str = "workload") -> list[str]:
    """Tie tokens to the least batch where several are open, in place; what a reader of the space has to know.

    `where` is what the workload is called.
    """
    if not _has_open(template.get("workload"), _BATCH):
        return []
    found = _find_batches(template)
    several = [known for known in found.values() if known.are_several]
    if not several:
        return []
    notices = []
    least = min(min(known.sizes) for known in several)
    if loose := next((anchor for known in several if (anchor := known.design.workload.anchor())), None):
        template["workload"] = _anchored(template["workload"], dict.fromkeys(loose, float(least)), template)
        several = [known for known in _find_batches(template).values() if known.are_several]
        notices.append(_describe_anchored(where, least, next(iter(loose)), several[0].design))
    flattered = [o for o in objectives if any(is_flattered(o, known.design) for known in several)]
    if not flattered:
        return notices
    if _has_open(template.get("workload"), _BATCH[:1]):
        return [*notices, _describe_flattered(where, flattered, several[0].design)]
    names = " and of ".join(objective.name for objective in flattered)
    said = f"{where}.sequence_length is open: {names} compare trainings on sequences of different lengths"
    return [*notices, f"{said}, which are not the same work. Fix it, or read the front length by length."]


def is_flattered(objective: Objective, design: Design) -> bool:
    """Whether every larger batch makes an objective better, however large it is."""
    before, after = (_values(design, factor) for factor in (1, _LARGER))
    try:
        one, other = (objective.value(values, design.document()) for values in (before, after))
    except Refusal:  # it needs what is known after a simulation only
        return False
    if one is None or other is None:
        return False
    return objective.sign * (other - one) < -1e-6 * abs(one)


def _values(design: Design, factor: int) -> dict[str, Any]:
    """What metrics would come to at a batch `factor` times as large, on a cluster of price and power 1."""
    workload = design.workload
    larger = workload.model_copy(update={"global_batch": workload.global_batch * factor})
    each = float(factor) if factor == 1 else _FASTER * factor
    figures = Figures.of(
        design,
        seconds=each,
        power=1.0,
        peak=1.0,
        interruptions=None,
        energy=each,
        capital=1.0,
        network=1.0,
        samples=factor,
        flops=float(factor),
    )
    return bounds(replace(figures, workload=larger), {})


def _has_open(workload: Any, keys: Sequence[str]) -> bool:
    """Whether sections of a template may differ in some keys."""
    if isinstance(workload, Choice):
        return len(workload.alternatives) > 1
    return isinstance(workload, Mapping) and any(not isinstance(workload.get(key, 0), int) for key in keys)


def _find_batches(template: Mapping[str, Any]) -> dict[str, _OpenBatches]:
    found: dict[str, _OpenBatches] = {}
    for design in designs_of(template):
        kind = kind_of(design.workload)
        totals = kind.totals(design.workload)
        if not kind.trained or totals is None:
            continue
        section = {key: value for key, value in design.document()["workload"].items() if key not in _BATCH}
        known = found.setdefault(json.dumps(section, sort_keys=True), _OpenBatches(design))
        known.sizes.add(totals.samples)
    return found


def _anchored(workload: Any, anchor: Mapping[str, float], template: Mapping[str, Any]) -> Any:
    """Sections whose tokens are tied to no batch, with the keys that tie them."""
    if isinstance(workload, Choice):
        return Choice(tuple(_anchored(each, anchor, template) for each in workload.alternatives))
    loose = any(design.workload.anchor() for design in designs_of({**template, "workload": workload}))
    return {**workload, **anchor} if loose else workload


def _describe_anchored(where: str, least: int, key: str, design: Design) -> str:
    needed = design.workload.tokens_needed
    return (
        f"{where}.training_tokens are taken as those at the smallest batch, {least:,} tokens; larger ones need more"
        f"{f' ({needed.why})' if needed else ''}. Write {key}, the tokens of a batch of the run that they are of."
    )


def _describe_flattered(where: str, objectives: Sequence[Objective], design: Design) -> str:
    """Which objectives count on it that a larger batch needs no more tokens, and what to write instead."""
    names = " and of ".join(objective.name for objective in objectives)
    said = f"{where}.global_batch is open, and a larger batch always makes the best of {names}, though it needs more"
    if "training_tokens" not in type(design.workload).model_fields:
        return (
            f"{said} samples to the same accuracy, which is not modelled for this kind of workload. Fix the batch, or "
            "leave open only batches at which the training is known to reach its target."
        )
    if any(_counts_tokens(objective) for objective in objectives):
        return f"{said} tokens to the same loss: 'critical_batch: none' leaves that out. Drop it, or write a source."
    return (
        f"{said} tokens to the same loss. Minimize time_to_train, cost_to_train or energy_to_train, with "
        "training_tokens and training_batch in the workload; or fix the batch."
    )


def _counts_tokens(objective: Objective) -> bool:
    return any(METRICS[name].needs == "training_tokens" for name in objective.names if name in METRICS)
