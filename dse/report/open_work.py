"""What an iteration does, where the space leaves it open: the model, the batch, the length of sequences.

Objectives that count by the iteration take one of a small model, or of few tokens, for as good as one of a large one.
"""

from __future__ import annotations

from dse.evaluate.record import StudyRecord
from dse.report.nearest import LOOKED_AT

_MODEL = "workload.model"
_TOKENS = {"workload.global_batch": "batch", "workload.sequence_length": "sequence length"}
"""Keys of which the tokens of an iteration are the product, and how people call them."""
_OF_AN_ITERATION = frozenset({"iteration_time", "energy"})
"""Metrics that are less where an iteration does less."""
_FAIR = "throughput, time_to_train or cost_per_token"


def describe_open_work(record: StudyRecord) -> str:
    """A sentence that iterations of different work are compared, where the search chose what one does; else empty."""
    if _differ(record, [path for path in record.trials.params if path == _MODEL or path.startswith(f"{_MODEL}.")]):
        return (
            "The space leaves the model open, too: an iteration of one model counts as much as one of another here, so "
            "the smallest wins unless an objective says what a model is worth (fix 'workload.model' to compare "
            "clusters)."
        )
    by_iteration = [name for o in record.objectives for name in o.names if name in _OF_AN_ITERATION]
    chosen = [path for path in _TOKENS if path in record.trials.params]  # if only one was worth a simulation, too
    if not by_iteration or not chosen or any(o.expression is not None for o in record.objectives):
        return ""
    what = " and the ".join(_TOKENS[path] for path in chosen)
    return (
        f"The space leaves the {what} open, too: '{by_iteration[0]}' takes an iteration of few tokens for as good as "
        f"one of many, so the smallest wins; {_FAIR} compare work."
    )


def _differ(record: StudyRecord, paths: list[str]) -> bool:
    """Whether trials have several values at some paths of parameters."""
    tried = {str([trial.params.get(path) for path in paths]) for trial in record.trials[:LOOKED_AT]} if paths else ()
    return len(tried) > 1
