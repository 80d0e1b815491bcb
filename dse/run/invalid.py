"""Why a space has no design that may be simulated: the rules that most of its designs break, an example each.

A search that is sure of what it may leave out (`exact`) makes no trial of a design that cannot be; so where it made
none, designs of the space, all or some that are drawn, are asked what is wrong with them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

import numpy as np

from dse.evaluate.evaluate import Evaluator, Outcome
from dse.evaluate.over_memory import overflow
from dse.evaluate.record import VALID, TrialRecord
from dse.space.constraint import describe_violation
from dse.space.draw import RandomDraw
from dse.space.fill import FilledDocument
from dse.space.screen import ScreenedDesign
from dse.space.space import Space
from simcore.check.load import parse_design
from simcore.design.design import Design

DRAWN = 500
SIMULATED = 40
"""Designs that are simulated at most to find the closest one."""
SHOWN = 5
_FITS = "fits"
_AT_LIMIT = 1e-9
"""A constraint that is missed by less is one of `<` or `>`, and met but for that."""

Reason = tuple[str, str, bool]
"""The rule that a design breaks, an example of it, and whether the design is none at all (else a constraint)."""


def drawn_reasons(space: Space) -> list[Reason]:
    """What is wrong with designs of a space: the first rule that each breaks, constraints on results aside."""
    found: list[Reason] = []
    nearest: tuple[float, Design] | None = None
    for one, filled in _looked_at(space.plain):
        design, problems = parse_design(filled.document)
        if design is None:
            found.append((problems[0].rule, str(problems[0]), True))
            continue
        known = ScreenedDesign(design, one.constraints)
        if known.problems:
            found.append((known.problems[0].rule, str(known.problems[0]), True))
        elif known.broken_constraints:
            rule = known.broken_constraints[0]
            missed = known.early_violations[rule]
            by = f"missed by {describe_violation(rule, missed)}"
            by = by if missed > _AT_LIMIT else "at the limit, which it leaves out"
            found.append((rule, known.cut_reason or by, False))
            if rule == _FITS and (nearest is None or missed < nearest[0]):
                nearest = missed, design
    return found if nearest is None else _with_nearest(found, nearest[1])


def _looked_at(plain: list[Space]) -> Iterator[tuple[Space, FilledDocument]]:
    """All designs of a few spaces, or `DRAWN` of them."""
    if sum(one.count() for one in plain) <= DRAWN:
        for one in plain:
            yield from ((one, filled) for filled in one.enumerate())
        return
    generator = np.random.default_rng(0)
    for number in range(DRAWN):
        one = plain[number % len(plain)]
        yield one, one.fill(RandomDraw(generator))


def closest_design(space: Space, engine: str) -> tuple[int, Outcome] | None:
    """How many designs that break no rule were simulated, and what became of the closest one.

    None where there are none, where one keeps all limits, and of clusters that are to be bought.
    """
    evaluator = Evaluator(space.objectives, space.constraints, engine)
    found: list[Outcome] = []
    for _, filled in () if space.jobs else _looked_at(space.plain):
        design, _ = parse_design(filled.document)
        outcome = None if design is None else evaluator.evaluate_design(design)
        found += [] if outcome is None or outcome.metrics is None else [outcome]
        if len(found) == SIMULATED:
            break
    missed = [sum(max(0.0, by) for by in outcome.violations.values()) for outcome in found]
    return (len(found), found[int(np.argmin(missed))]) if found and min(missed) > 0 else None


def _with_nearest(reasons: list[Reason], design: Design) -> list[Reason]:
    """The reasons, with the design nearest to fitting as the example of those that do not."""
    over = overflow(design.document())
    return [(rule, f"missed by {over}" if over and rule == _FITS else text, none) for rule, text, none in reasons]


def trial_reasons(trials: Iterable[TrialRecord]) -> list[Reason]:
    """The rules that cut trials before simulation."""
    return [
        (trial.cut_by or "unknown", trial.error or "", trial.violations.get(VALID, 0.0) > 0)
        for trial in trials
        if trial.state == "cut"
    ]


def explained(reasons: list[Reason], of: str) -> str:
    """The most frequent rules, one a line, with the first example of each; `of` says what broke them."""
    counts = Counter(rule for rule, _, _ in reasons)
    examples = {rule: text for rule, text, _ in reversed(reasons)}
    lines = [f"Of {len(reasons)} {of} that may not be simulated:"]
    for rule, times in counts.most_common(SHOWN):
        lines.append(f"  {times} break '{rule}'" + (f", such as: {examples[rule]}" if examples[rule] else ""))
    return "\n".join(lines)
