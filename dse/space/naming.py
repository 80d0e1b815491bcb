"""What a name in a constraint or an objective stands for: a metric of the result, or a value of the design document."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dse.space.expression import Lookup, make_lookup
from dse.space.hole import magnitude
from simcore.design.cluster import Cluster
from simcore.design.parallelism import Parallelism
from simcore.design.software import Software
from simcore.design.system import System
from simcore.document.problem import Path, Problem, Refusal, format_path, suggest_nearest
from simcore.metrics import METRICS

DESIGN_KEYS = ("workload", "parallelism", "cluster", "system", "software", "reliability")

_LEAVES = {
    key: f"{section}.{key}"
    for section, kind in (
        ("system", System),
        ("cluster", Cluster),
        ("parallelism", Parallelism),
        ("software", Software),
    )
    for key in kind.model_fields
}
"""Keys of a section by their own name, for those who leave the section out."""


def make_value_lookup(text: str, metrics: Mapping[str, float | None], document: Mapping[str, Any]) -> Lookup:
    """Looks names up in metrics and a design, quantities as SI numbers; it raises `ValueError` for one without a value.

    `text` is the expression that asks.
    """
    look = make_lookup(document)

    def value(path: Path) -> Any:
        name = format_path(path)
        if name in METRICS:
            metric = metrics.get(name)
            if metric is None:
                raise Refusal("a metric of this workload", f"'{name}', which it lacks", where=f"'{text}'")
            return metric
        found = look(path)
        number = magnitude(found)
        return found if number is None else number

    return value


def unknown_name_problems(paths: Sequence[Path], place: Path) -> Iterator[Problem]:
    """The problem of each name that is neither a metric nor in a section of the design."""
    for path in paths:
        if format_path(path) not in METRICS and path[0] not in DESIGN_KEYS:
            begins_metrics = any(metric.startswith(f"{path[0]}.") for metric in METRICS)
            of_section = _LEAVES.get(str(path[0])) if len(path) == 1 and not begins_metrics else None
            known = suggest_nearest(format_path(path), [*METRICS, *DESIGN_KEYS], "metrics")
            fix = f"did you mean '{of_section}'?" if of_section else known
            yield Problem(place, "metrics and paths of the design", f"'{format_path(path)}'", fix)
