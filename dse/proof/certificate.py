"""What is proven of a whole space: bounds of its objectives, expressions too; and constraints that nothing in it meets.

Metrics are bounded by `dse.proof.bound`. An expression is bounded by interval arithmetic over the bounds of the metrics
that it names (`dse.space.interval`): `iteration_time * cost.total` by the product of the two bounds. It has no bound
where a part of it is bounded on the wrong side alone, as `cost.total` is in `-cost.total`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dse.evaluate.note import Note, be_silent
from dse.proof.bound import ProvenLimit, bound_over_jobs, space_bounds, space_limits
from dse.proof.parts import is_computing_proven_of, is_proven_of
from dse.proof.unreachable import unreachable_problem
from dse.space.interval import bound_of, interval_lookup
from dse.space.objective import Objective
from dse.space.order import ORDERABLE
from dse.space.space import Space
from simcore.document.problem import InputError, Problem
from simcore.engine.registry import BUILT_IN
from simcore.metrics import METRICS


def proven_bounds(space: Space, engine: str) -> dict[str, float | None]:
    """The proven bound of each objective over every design of the space; None where there is none."""
    return {name: limit.value for name, limit in proven_limits(space, engine).items()}


def proven_limits(space: Space, engine: str, note: Note = be_silent) -> dict[str, ProvenLimit]:
    """As `proven_bounds`, with the design that each bound comes from; of an expression there is none.

    Only what holds for the results of `engine`: of one that plays messages, of what a simulation decides, only what
    follows from the FLOPs at the peak of the NPUs. `note` is told how far they are.
    """
    known = {o.name for o in space.objectives if is_proven_of(engine, _metrics_of(o))}
    # A shape that breaks a constraint by a bound that does not hold might yet meet it.
    kept = tuple(c for c in space.constraints if is_proven_of(engine, set(c.metrics) - {"fits", ORDERABLE}))
    found: dict[str, ProvenLimit] = {}
    for phased in (True, False):
        wanted = tuple(o for o in space.objectives if (o.name in known) == phased)
        if wanted and (phased or is_computing_proven_of(engine)):
            found |= _limits(replace(space, objectives=wanted, constraints=kept), engine, note, phased)
    return {o.name: found.get(o.name, ProvenLimit()) for o in space.objectives}


def unproven_notice(space: Space, engine: str) -> str:
    """Of which objectives less or nothing is proven because of the engine, as sentences; empty where of none."""
    names = [o.name for o in space.objectives if not is_proven_of(engine, _metrics_of(o))]
    if not names or space.jobs:
        return ""
    plays, listed = "engine" if engine in BUILT_IN else "the engine", " and ".join(names)
    start = f"Bounds on time are made of phases, and {plays} {engine} plays something else, which may be faster: "
    if is_computing_proven_of(engine):
        return f"{start}of {listed} only what the FLOPs take at the NPUs' peak is proven."
    return (
        f"{start}nothing is proven of {listed}. If its NPUs compute no faster than their peak, "
        "what is proven with engine packets holds."
    )


def _limits(space: Space, engine: str, note: Note, phased: bool) -> dict[str, ProvenLimit]:
    """The bounds of objectives that can be proven; see `space_limits`."""
    derived = [objective for objective in space.objectives if objective.expression is not None]
    if not derived:
        return space_limits(space, note, phased)
    if space.jobs:
        over = bound_over_jobs(space, [proven_bounds(space.space_of_job(job), engine) for job in space.jobs])
        return {name: ProvenLimit(value) for name, value in over.items()}
    plain = tuple(objective for objective in space.objectives if objective.expression is None)
    names = {name for objective in derived for name in objective.names if name in METRICS}
    more = natural_objectives(sorted(names - {objective.name for objective in plain}))
    found = space_limits(replace(space, objectives=(*plain, *more)), note, phased)
    between = interval_lookup({name: limit.value for name, limit in found.items()})
    return {
        o.name: found[o.name] if o.expression is None else ProvenLimit(bound_of(o, between)) for o in space.objectives
    }


def _metrics_of(objective: Objective) -> list[str]:
    return [name for name in objective.names if name in METRICS]


def natural_objectives(names: Sequence[str]) -> tuple[Objective, ...]:
    """Metrics as objectives, each in the direction in which it gets better."""
    return tuple(Objective(name, METRICS[name].direction, METRICS[name].unit) for name in names)


def check_reachable(space: Space, engine: str) -> None:
    """Raise `InputError` with each constraint that no design of the space can meet, by the bounds of its metrics.

    Of an engine that plays another model than the bounds are of, only what the cluster alone decides counts as proven.
    """
    problems: list[Problem] = []
    for one in [space.space_of_job(job) for job in space.jobs] or [space]:
        names = {name for constraint in space.constraints for name in constraint.metrics} - {"fits", ORDERABLE}
        known = sorted(name for name in names if is_proven_of(engine, [name]))
        if known:
            # Without constraints: where they exclude every design, nothing is bounded.
            alone = replace(one, objectives=natural_objectives(known), constraints=())
            between = interval_lookup(space_bounds(alone))
            problems += [problem for c in space.constraints if (problem := unreachable_problem(c, between)) is not None]
    if problems:
        raise InputError(list(dict.fromkeys(problems)), space.name)
