"""A design explained, alone or against another one: the facts, and their JSON.

Keys: `design` (`headline`, `document`, `metrics`), `parts` (`name`, `seconds`, `share`, `why`; they add up to the
iteration), `operators` (`name`, `kind`, `seconds`, `flops`), `collectives` (`kind`, `group`, `category`, `count`,
`bytes`, `busy` by dimension), `network_cost` by dimension, `simulations`. Alone: `steps`, `steps_left_out`. Against
another one: `against` (as `design`), `against_parts`, `changes` (`name`, `text`, `values`: path -> [before, after]),
`difference` (`time`, `cost`, `memory`, each a list of `part`, `before`, `after`, `change`, which add up), `singles`,
`pairs` (with `interaction` [s]), `pairs_left_out`. A step, a single change and a pair have `changes`,
`iteration_time_s`, `cost_total`, `memory_reserved` and `why` (null where it can be built).
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from dse.explain.changes import Change, Tried, attempt
from dse.explain.difference import (
    PartDifference,
    changes_between,
    cost_differences,
    memory_differences,
    time_differences,
)
from dse.explain.parts import TimePart, explain_parts
from dse.explain.steps import steps_of
from dse.explain.subsets import BUDGET, Progress, Subsets, be_silent, by_seconds, try_subsets
from dse.report.describe import headline
from dse.report.values import to_plain
from simcore.cost.price import network_cost
from simcore.design.design import Design
from simcore.design.jobs import lone_job
from simcore.document.problem import InputError, Problem
from simcore.engine.anatomy import collectives_of, operators_of
from simcore.result import Result
from simcore.simulate import simulate


@dataclass(frozen=True)
class Side:
    """A design with its result."""

    design: Design
    result: Result

    @property
    def document(self) -> dict[str, Any]:
        """The complete canonical document."""
        return self.design.document()

    @property
    def network_cost(self) -> tuple[float, ...]:
        """Price of each dimension [$]."""
        return network_cost(self.design)

    def as_json(self) -> dict[str, Any]:
        """The design and its result as JSON."""
        return {"headline": headline(self.document), "document": self.document, "metrics": self.result.document()}


@dataclass(frozen=True)
class Explained:
    """A design, the parts of its iteration, and what one step would change."""

    side: Side
    parts: tuple[TimePart, ...]
    steps: tuple[Tried, ...] = ()
    """Steps, those first that make the iteration shortest; what is no design last."""
    steps_left_out: int = 0
    """Steps beyond the budget."""

    def as_json(self) -> dict[str, Any]:
        """See the module."""
        document = _design_json(self.side, self.parts)
        more = {"steps": [_tried_json(tried) for tried in self.steps], "steps_left_out": self.steps_left_out}
        return {**document, **more, "simulations": 1 + len(self.steps)}


@dataclass(frozen=True)
class Compared:
    """Two designs, what differs between them, and which changes from the one to the other help."""

    side: Side
    parts: tuple[TimePart, ...]
    against: Side
    against_parts: tuple[TimePart, ...]
    changes: tuple[Change, ...]
    time: tuple[PartDifference, ...]
    cost: tuple[PartDifference, ...]
    memory: tuple[PartDifference, ...]
    subsets: Subsets

    def as_json(self) -> dict[str, Any]:
        """See the module."""
        both = {"time": self.time, "cost": self.cost, "memory": self.memory}
        return {
            **_design_json(self.side, self.parts),
            "against": self.against.as_json(),
            "against_parts": [asdict(part) for part in self.against_parts],
            "changes": [to_plain(change.document) for change in self.changes],
            "difference": {name: [asdict(p) | {"change": p.change} for p in parts] for name, parts in both.items()},
            "singles": [_tried_json(tried) for tried in self.subsets.singles],
            "pairs": [_tried_json(pair.tried) | {"interaction": pair.interaction} for pair in self.subsets.pairs],
            "pairs_left_out": self.subsets.left_out,
            "simulations": 2 + len(self.subsets.singles) + len(self.subsets.pairs),
        }


def explain(design: Design, budget: int = BUDGET, progress: Progress = be_silent) -> Explained:
    """A design explained: its parts, and what single steps of its common keys change, at most `budget` of them.

    Raises `InputError` where engine `auto` cannot play the design, and for several jobs.
    """
    alone = lone_job(design)
    side = Side(design, simulate(design))
    document, steps = side.document, steps_of(side.document)
    tried = []
    for step in steps[:budget]:
        tried.append(attempt(document, [step]))
        progress(len(tried), min(len(steps), budget))
    tried.sort(key=by_seconds)
    return Explained(side, explain_parts(alone, side.result), tuple(tried), max(0, len(steps) - budget))


def explain_against(design: Design, other: Design, budget: int = BUDGET, progress: Progress = be_silent) -> Compared:
    """A design explained against another one; `budget` limits the simulations of changes.

    Raises `InputError` where engine `auto` cannot play one of them, for several jobs, and where one of them alone says
    `jobs`: then no change leads from the one document to the other.
    """
    alone = [lone_job(each) for each in (design, other)]
    if (design.jobs is None) != (other.jobs is None):
        fix = "write workload and parallelism of the other one as its only job, with its npus"
        raise InputError([Problem(("jobs",), "in both designs, or in neither", "in one", fix)])
    one, two = Side(design, simulate(design)), Side(other, simulate(other))
    changes = changes_between(one.document, two.document)
    return Compared(
        side=one,
        parts=explain_parts(alone[0], one.result),
        against=two,
        against_parts=explain_parts(alone[1], two.result),
        changes=changes,
        time=time_differences(one.result, two.result),
        cost=cost_differences(one.result, two.result),
        memory=memory_differences(one.result, two.result),
        subsets=try_subsets(one.document, one.result, changes, budget, progress),
    )


def _design_json(side: Side, parts: tuple[TimePart, ...]) -> dict[str, Any]:
    stage = side.result.stage or 0
    alone = lone_job(side.design)
    operators = [asdict(use) for use in operators_of(alone, stage)]
    uses = collectives_of(alone, stage)
    collectives = [{**asdict(use), "category": use.category.name.lower()} for use in uses]
    return {
        "design": side.as_json(),
        "parts": [asdict(part) for part in parts],
        "operators": operators,
        "collectives": collectives,
        "network_cost": list(side.network_cost),
    }


def _tried_json(tried: Tried) -> dict[str, Any]:
    result = tried.result
    memory = None if result is None or result.memory_bytes is None else result.memory_bytes.reserved
    return {
        "changes": [to_plain(change.document) for change in tried.changes],
        "iteration_time_s": None if result is None else result.iteration_time_s,
        "cost_total": None if result is None else result.cost.total,
        "memory_reserved": memory,
        "why": tried.why or None,
    }
