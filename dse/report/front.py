"""`pareto.json`: the front with each member's complete design and result, the hypervolume, and the proven bounds.

The contract's keys are `space`, `objectives`, `front`, `hypervolume`, `reference_point`, `bounds`, `evaluated` and
`infeasible`. Beside them: `gap` (how much better than the best found a design could still be, as a share of it, by the
proven bound), `knee` (number of its trial), `cut` (rule -> trials it forbade), `failed`, `sampler`, `seed`. Values,
bounds and the reference point are in the objectives' own directions and in SI units; what is unknown is null.
Of a member, `interval` is where its iteration time lies in nine of ten cases [s], `intervals` objective -> where it
lies, of those with prices in them and of expressions, `on_front` the share of the scenarios in which no other contender
dominates it, `regret` by which share it is worse than another one in every objective at once, on average, and
`regret_p90` in the worst but one of ten scenarios, `ties` the trials of the front that it cannot be told apart from
(`dse.report.ties`), `equal` those with exactly its values in every objective (of which the simplest stands first on the
front), `behind` by which share it is at most behind the true front (`StudyRecord.behind`); null where it
is not known. `kept` maps the constraints that it is not sure to meet -> share of the scenarios in which it does
(`dse.whatif.limits`). `robust` is the trial of the robust pick;
`scenarios` says how many scenarios and contenders there are, and what was taken to be wrong by how much, measured or
assumed (`dse.whatif.scenarios`), or why there are none; its `machines` are the best designs found on each machine that
the front leaves out, and in which share of the scenarios no member of the front dominates them, its `built` maps
machines of the front -> share of the scenarios in which a design on them belongs there, its `barred`
machines on which none was found -> what the nearest design breaks, `unasked` are those that were too many, and `stacks`
the best designs with each stack of software that the front leaves out, as `machines` are;
`robustness` says what a member is with other batches
(`dse.whatif.batches`);
`compared` among how many feasible designs that were simulated, of how many combinations of the space (null
where they were not counted): robustness and importance are over these alone;
`steps` what one step of each parameter changes, `loss` as a share of the value before (`dse.whatif.steps`; null where
that was not asked), and `what_if` how much was asked, with its `sizes` numbers of NPUs of which no design fits -> what
the nearest lacks (`dse.whatif.sizes`). `importance` maps objective -> parameter -> share,
`importance_near_front` likewise among the designs near the front, `importance_of_front` parameter -> share of coming
near it (`dse.report.importance`).

`hypothetical` says whether clusters may be ones that nobody sells; of a member, `metrics.orderable` whether its own can
be ordered (null: not checked).

`families` groups the front (`dse.report.families`), `decision` is what the study comes to, in words, and the trial to
build (`dse.report.decision`).

Where a cluster is bought for several workloads a member's `design` and `metrics` are those of the first, and
`workloads` has all of them, with their regrets; `decided`, `tuned_for`, `aggregate` and `own_best` (each workload's own
best cluster) stand beside the front. With futures a member has `futures`, with value and regret in each, and
`worst_regret`; `futures` beside the front says how likely each is, the share of each workload in it, and its own best
cluster. With plans of buying in phases `phases` has each on every kind of cluster: today's worth of all that is paid,
the iterations and tokens expected over the life, and those of each phase, with its trial and what it buys; `_today` is
of work whose later years are worth less, as money is.
"""

from __future__ import annotations

from dataclasses import asdict, fields
from typing import Any

from dse.evaluate.record import StudyRecord, TrialRecord
from dse.report.decision import Decision, describe_decision
from dse.report.families import Family, families
from dse.report.futures import futures_document, member_futures
from dse.report.phases import plans_document
from dse.report.robustness import Robustness, robustness
from dse.report.sensitivity import steps_document
from dse.report.summary import Summary
from dse.report.values import to_json
from dse.report.workloads import member_workloads, purchase_document
from dse.whatif.answers import Scenarios, Sureness, WhatIf


def pareto_json(record: StudyRecord, summary: Summary) -> str:
    """The document as strict JSON text."""
    return to_json(pareto_document(record, summary), indent=2) + "\n"


def pareto_document(record: StudyRecord, summary: Summary) -> dict[str, Any]:
    """The document; `evaluated` counts all distinct trials, `infeasible` those that break a constraint or were cut."""
    robust, found = robustness(summary), summary.importance
    return {
        "space": record.space,
        "objectives": [{"name": o.name, "direction": o.direction, "unit": o.unit} for o in record.objectives],
        "front": [
            {**_member(record, summary, trial, robust[trial.number]), "behind": behind}
            for trial, behind in zip(summary.front, summary.behind, strict=True)
        ],
        "hypervolume": summary.hypervolume,
        "reference_point": list(summary.reference),
        "bounds": summary.bounds,
        "evaluated": summary.trials,
        "infeasible": summary.infeasible + summary.cuts,
        "hypothetical": bool(record.hypothetical),
        "gap": summary.gaps,
        **({} if summary.proof is None else {"proof": {k: v for k, v in summary.proof.items() if k != "corners"}}),
        "knee": summary.knee,
        "cut": summary.cut,
        "failed": summary.failed,
        "sampler": record.sampler,
        "seed": record.seed,
        "robust": summary.what_if.robust,
        "scenarios": _scenarios(summary.what_if),
        "compared": {
            "feasible": summary.feasible,
            "combinations": None if summary.proof is None else summary.proof["points"],
        },
        "importance": found.overall,
        "importance_of_front": found.of_front,
        "importance_near_front": found.near_front,
        "what_if": {
            "simulations": summary.what_if.simulations,
            "left_out": summary.what_if.left_out,
            "rivals": summary.what_if.rivals,
            "sizes": {size: asdict(unfit) for size, unfit in summary.what_if.sizes.items()},
            "note": summary.what_if.note or None,
        },
        "families": [_family(family) for family in families(record, summary)],
        "decision": _decision(describe_decision(record, summary)),
        **purchase_document(record, summary),
        **futures_document(record, summary),
        **plans_document(record),
    }


def _scenarios(answers: WhatIf) -> dict[str, Any]:
    """How many there are and what they rest on, or why there are none."""
    found = answers.scenarios or Scenarios(0, (), {}, None, {})
    return {
        "count": found.count,
        "contenders": list(found.contenders),
        "left_out": found.left_out,
        "machines": [asdict(machine) for machine in found.machines],
        "built": dict(found.built),
        "barred": dict(found.barred),
        "unasked": list(found.unasked),
        "stacks": [asdict(stack) for stack in found.stacks],
        "parameters": [asdict(assumption) for assumption in found.assumptions],
        "note": None if answers.scenarios else answers.no_scenarios or None,
    }


def _sureness(sure: Sureness | None) -> dict[str, Any]:
    if sure is None:
        return dict.fromkeys(field.name for field in fields(Sureness))
    return asdict(sure)


def _family(family: Family) -> dict[str, Any]:
    return {
        "name": family.name,
        "chosen": family.chosen,
        "trials": list(family.trials),
        "low": family.low,
        "high": family.high,
        "idle": family.idle,
    }


def _decision(decision: Decision) -> dict[str, Any]:
    return {
        "trial": decision.trial,
        "sentences": list(decision.sentences),
        "assumptions": list(decision.assumptions),
    }


def _member(record: StudyRecord, summary: Summary, trial: TrialRecord, robust: Robustness) -> dict[str, Any]:
    bought = {"workloads": member_workloads(record, summary, trial)} if trial.workloads else {}
    bought |= member_futures(summary, trial)
    return {
        "trial": trial.number,
        "values": {objective.name: trial.values[objective.name] for objective in record.objectives},
        "params": trial.params,
        "design": trial.design,
        "metrics": trial.metrics,
        "equal": list(summary.equals[trial.number]),
        "ties": None if summary.ties is None else list(summary.ties[trial.number]),
        **_sureness(robust.sure),
        "robustness": {"batches": _batches(robust)},
        "steps": steps_document(summary, trial.number),
        **bought,
    }


def _batches(robust: Robustness) -> list[dict[str, Any]] | None:
    return [
        {"batch": at.batch, "factor": at.factor, "stays": at.stays, "why": at.why or None, "values": at.values}
        for at in robust.batches
    ] or None
