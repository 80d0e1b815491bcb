"""What the page's script reads: one JSON document in the page, which cannot end the element that it stands in."""

from __future__ import annotations

from typing import Any

from dse.evaluate.record import StudyRecord
from dse.report.families import families
from dse.report.page.columns import PageTrials, trial_columns
from dse.report.page.designs import front_designs
from dse.report.summary import Summary
from dse.report.units import clean_text
from dse.report.values import to_json


def page_json(record: StudyRecord, summary: Summary, trials: PageTrials) -> str:
    """The document as text without `<`, `>` and `&`."""
    text = to_json(page_document(record, summary, trials))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def page_document(record: StudyRecord, summary: Summary, trials: PageTrials) -> dict[str, Any]:
    """The document: the trials as columns, the designs of the front, what is singled out.

    Values are in the objectives' own directions and in SI units; `factor` divides them for showing.
    """
    return {
        "space": clean_text(record.space),
        "rows": len(trials.rows),
        "columns": trial_columns(record, summary, trials),
        "designs": front_designs(record, summary),
        "knee": summary.knee,
        "robust": summary.what_if.robust,
        "families": [family.chosen for family in families(record, summary)],
    }
