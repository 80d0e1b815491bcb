"""One design of a study as JSON; all values are in SI units and in the objectives' own directions.

Keys: `space`, `trial`, `names` (the words that mean it), `state`, `why` (null where feasible), `values` (objective ->
value), `intervals` (objective -> [low, high] in nine of ten cases), `built` (whether it is the design to build),
`on_front`, `dominated_by`, `sureness` (null where no scenarios were asked; `on_front` and `regret` are shares),
`family` (`trials`, `chosen`, `name`), `neighbours` (`trial`, `better` in which objective, `change` as shares,
`differs`), `violations`, `params`, `design`, `metrics` (the Result of `dse simulate --json`), and `workloads` (of a
purchase: `name`, `values`, `params`, `design`, `metrics`). With futures also `futures` (`name`, `value` of the tuned
metric, `regret`, `best_at_price`) and `worst_regret`.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from dse.evaluate.record import StudyRecord
from dse.report.show.facts import Shown, explain_state, plain_values
from dse.report.values import to_plain


def shown_document(record: StudyRecord, shown: Shown) -> dict[str, Any]:
    """The document of one design."""
    trial, family = shown.trial, shown.family
    document: dict[str, Any] = to_plain(
        {
            "space": record.space,
            "trial": trial.number,
            "names": shown.names,
            "state": trial.state,
            "why": explain_state(trial) or None,
            "values": plain_values(record, trial),
            "intervals": shown.intervals,
            "built": shown.built,
            "on_front": shown.on_front,
            "dominated_by": shown.dominated_by,
            "sureness": None if shown.sureness is None else asdict(shown.sureness),
            "family": family and {"trials": family.trials, "chosen": family.chosen, "name": family.name},
            "neighbours": [asdict(neighbour) for neighbour in shown.neighbours],
            "violations": trial.violations,
            "params": trial.params,
            "design": trial.design,
            "metrics": trial.metrics,
            "workloads": [
                {"name": w.name, "values": w.values, "params": w.params, "design": w.design, "metrics": w.metrics}
                for w in trial.workloads
            ],
            **shown.futures,
        }
    )
    return document
