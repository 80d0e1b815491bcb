"""Asking a finished study what it would be otherwise: the steps around its front, and its front at other batches.

Questions are answered with the study's own engine and constraints, and counted in simulations, not in seconds, so that
the answers are the same on every machine. Only quick engines are asked unbidden: others can take minutes a design.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from dse.evaluate.evaluate import Evaluator, Outcome
from dse.evaluate.note import Note, be_silent
from dse.evaluate.record import StudyRecord, TrialRecord
from dse.space.objective import Objective
from dse.space.space import Space
from dse.whatif.answers import NOTHING, ParameterStep, WhatIf
from dse.whatif.as_run import find_as_run
from dse.whatif.batches import RIVALS, describe_broken, rewrite_batch, rivals, run_at_batches
from dse.whatif.climb import find_starts
from dse.whatif.machines import MOST, NOWHERE, Elsewhere, best_elsewhere, with_other_stacks
from dse.whatif.machines import SIMULATIONS as FOR_A_MACHINE
from dse.whatif.opened import SIMULATIONS as OF_OPENED
from dse.whatif.opened import find_opened
from dse.whatif.recomputed import find_recomputation
from dse.whatif.scenarios import CONTENDERS, ask_scenarios
from dse.whatif.sizes import sizes_that_do_not_fit
from dse.whatif.steps import Neighbour, StepsAround, steps_around
from dse.whatif.usual import find_usual
from dse.whatif.wider import SIMULATIONS as IN_16_BITS
from dse.whatif.wider import find_wider
from simcore.document.problem import Refusal
from simcore.engine.registry import BUILT_IN, QUICK

SIMULATIONS = 200
"""Most simulations unless told: about a second."""
_ROUNDS = 3
"""How often the design to build is chosen at most."""

Choose = Callable[[WhatIf], TrialRecord | None]
"""Which design is to be built by some answers; None of a study without a feasible one."""


def answers_about(
    record: StudyRecord,
    space: Space,
    engine: str,
    simulations: int | None = None,
    note: Note = be_silent,
    choose: Choose | None = None,
    around: bool = True,
) -> WhatIf:
    """The answers about a study of `space`, with at most `simulations`; without what lies `around` the front if told.

    Unless told, a quick engine takes `SIMULATIONS`, some more for sizes that do not fit, for each machine that the
    front leaves out (`dse.whatif.machines`), for 16 bits where fewer are built (`dse.whatif.wider`), and for settings
    that the space leaves out (`dse.whatif.opened`). `note` is told how far they are. The design to build (`choose`) is
    compared, too, however far it is behind the front.
    """
    if not record.front:
        return NOTHING
    allowed = (SIMULATIONS if engine in QUICK else 0) if simulations is None else simulations
    why = _reason_unasked(record, space, engine, allowed)
    asked = WhatIf({}, {}, 0, allowed, len(record.front), why)
    evaluator = Evaluator(space.objectives, space.constraints, engine)
    simulate = _Memory(evaluator, allowed, note)
    starts = [] if why else find_starts(record, space)
    if not why and around:
        sizes = sizes_that_do_not_fit(record, space, _Memory(evaluator, allowed, note), starts)
        asked = replace(_ask_questions(record, space, simulate, allowed), sizes=sizes)
    if unsure := _reason_without_scenarios(record, space, engine):
        return replace(asked, no_scenarios=unsure)
    left = MOST * FOR_A_MACHINE if simulations is None else allowed - simulate.simulated
    beyond = _Memory(evaluator, left, note)
    elsewhere = NOWHERE if why else best_elsewhere(record, space, beyond, left, starts)
    front, near = _order_front(record), rivals(record, CONTENDERS)

    def ask(there: Elsewhere, beside: Sequence[TrialRecord]) -> WhatIf:
        found = ask_scenarios(record, front, near, there, space.constraints, note, beside)
        return replace(asked, scenarios=found)

    known = () if (first := ask(elsewhere, [])).scenarios is None else first.scenarios.known

    def compared(chosen: Sequence[TrialRecord]) -> WhatIf:
        there = elsewhere
        for trial in () if why else chosen:
            there = with_other_stacks(record, there, trial, beyond, starts)
        beside = [trial for trial in chosen if trial.number not in known]
        return ask(there, beside) if there.restacked or beside else first

    found, built = _settle(first, choose, compared)
    if built is None or why:
        return found
    spare = allowed - simulate.simulated - beyond.simulated
    wide, opened = (most if simulations is None else spare for most in (IN_16_BITS, OF_OPENED))
    return replace(
        found,
        recomputed=find_recomputation(record, space, built, simulate),
        usual=find_usual(record, space, built, simulate),
        opened=find_opened(record, space, built, _Memory(evaluator, max(1, opened), note), opened),
        as_run=find_as_run(record, built, simulate),
        wider=find_wider(record, space, built, _Memory(evaluator, max(1, wide), note), starts, wide),
    )


def _settle(
    found: WhatIf, choose: Choose | None, compared: Callable[[Sequence[TrialRecord]], WhatIf]
) -> tuple[WhatIf, TrialRecord | None]:
    """The answers, and the design to build by them: what it is compared with depends on it, and it on that."""
    chosen: list[TrialRecord] = []
    while True:
        built = None if choose is None or found.scenarios is None else choose(found)
        if built is None or built.design is None or built.metrics is None:
            return found, None
        if len(chosen) == _ROUNDS or any(trial.number == built.number for trial in chosen):
            return found, built
        chosen.append(built)
        found = compared(chosen)


def _reason_without_scenarios(record: StudyRecord, space: Space, engine: str) -> str:
    """Why designs are not compared in scenarios; empty where they are."""
    if space.jobs or record.purchase is not None:
        return "Each workload would have to be tuned again in each scenario."
    if "jobs" in space.template:
        return "Scenarios move the times of one job, not what several do to each other."
    if engine not in BUILT_IN:
        return f"Scenarios move what the simulator's own engines say, and the times here are those of '{engine}'."
    if any(trial.design is None or trial.metrics is None for trial in record.front):
        return "The journal has designs of the front without their results."
    return ""


def _reason_unasked(record: StudyRecord, space: Space, engine: str, allowed: int) -> str:
    """Why nothing is asked; empty where something is."""
    if space.jobs or record.purchase is not None:
        return "Each workload would have to be tuned again for each question."
    if engine not in BUILT_IN:
        return f"A report does not run the engine '{engine}' that a file names."
    if not allowed and engine not in QUICK:
        return f"With engine {engine} only on request: dse report RUN --simulations N."
    return "" if allowed else "No simulation was allowed."


def _ask_questions(record: StudyRecord, space: Space, simulate: _Memory, allowed: int) -> WhatIf:
    """The answers within `allowed` simulations: other batches take at most half of them, steps the rest."""
    front = _order_front(record)
    members = front[: allowed // 4]
    others = rivals(record, min(RIVALS, allowed // 4 - len(members)))
    batches = run_at_batches(record, members, others, simulate, partial(rewrite_batch, space))
    steps: dict[int, tuple[ParameterStep, ...]] = {}
    for trial in front:
        near = steps_around(space, trial)
        if near is None:
            continue
        if near.simulations > allowed - simulate.simulated:
            break
        steps[trial.number] = tuple(_steps(near, record.objectives, simulate))
    return WhatIf(steps, batches, len(others), allowed, len(front) - len(steps))


class _Memory:
    """Evaluates each document once, and counts simulations, of which `allowed` are planned."""

    def __init__(self, evaluator: Evaluator, allowed: int, note: Note) -> None:
        self._evaluator, self._allowed, self._note = evaluator, allowed, note
        self._known: dict[str, Outcome] = {}
        self.simulated = 0

    def __call__(self, document: Mapping[str, Any]) -> Outcome:
        """The outcome of a document. Raises `UnsoundError` where it is of unsound form."""
        text = json.dumps(document, sort_keys=True)
        if text not in self._known:
            self._note(f"{self.simulated} of {self._allowed} simulations", self.simulated / self._allowed)
            self._known[text] = outcome = self._evaluator(document)
            self.simulated += outcome.metrics is not None
        return self._known[text]


def _order_front(record: StudyRecord) -> tuple[TrialRecord, ...]:
    """The front, its knee first, then evenly over it however many are asked (van der Corput's order)."""
    front, knee = record.front, record.knee
    digits = max(1, (len(front) - 1).bit_length())
    order = sorted(range(len(front)), key=lambda index: int(f"{index:0{digits}b}"[::-1], 2))
    first = [front.index(knee)] if knee is not None else []
    return tuple(front[index] for index in dict.fromkeys([*first, *order]) if front[index].design is not None)


def _steps(near: StepsAround, objectives: tuple[Objective, ...], simulate: _Memory) -> list[ParameterStep]:
    found = []
    for neighbour in near.neighbours():
        try:
            outcome = simulate(neighbour.document)
        except Refusal:
            continue  # an expression that gives what no design can have: the space has no such neighbour
        found.append(_step(near.trial, neighbour, objectives, outcome))
    return found


def _step(trial: TrialRecord, to: Neighbour, objectives: tuple[Objective, ...], outcome: Outcome) -> ParameterStep:
    simulated = outcome.metrics is not None
    loss = {o.name: o.loss(trial.values[o.name], outcome.values[o.name]) for o in objectives} if simulated else {}
    return ParameterStep(
        trial.number, to.moved, to.changes, outcome.state, describe_broken(outcome), loss, outcome.design
    )


def ask_steps(
    space: Space, trial: TrialRecord, evaluator: Evaluator, note: Note = be_silent
) -> tuple[ParameterStep, ...] | None:
    """Every step from one trial, however many simulations they take; None where the space does not give its design."""
    near = steps_around(space, trial)
    if near is None:
        return None
    simulate = _Memory(evaluator, max(1, near.simulations), note)
    return tuple(_steps(near, evaluator.objectives, simulate))
