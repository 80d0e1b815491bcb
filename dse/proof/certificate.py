"""What is proven of a whole space: bounds of its objectives, expressions too; and constraints that nothing in it meets.

Metrics are bounded by `dse.proof.bound`. An expression is bounded by interval arithmetic over the bounds of the metrics
that it names (`dse.space.interval`): `iteration_time * cost.total` by the product of the two bounds. It has no bound
where a part of it is bounded on the wrong side alone, as `cost.total` is in `-cost.total`.
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf, isinf

from dse.evaluate.note import Note, be_silent
from dse.proof.bound import (
    Limits,
    ProvenLimit,
    ShapeBounds,
    Step,
    bound_over_jobs,
    first_steps,
    limit_steps,
    run_steps,
)
from dse.proof.least_served import MOST_SERVED, has_too_many_served
from dse.proof.parts import is_computing_proven_of, is_proven_of
from dse.proof.relax import MOST_JOBS, LeastTimes
from dse.proof.unreachable import unreachable_problem
from dse.space.interval import bound_of, interval_lookup
from dse.space.objective import Objective
from dse.space.order import ORDERABLE
from dse.space.space import Space
from simcore.document.problem import InputError, Problem
from simcore.engine.registry import BUILT_IN
from simcore.metrics import METRICS, exponent_of


def proven_bounds(space: Space, engine: str) -> dict[str, float | None]:
    """The proven bound of each objective over every design of the space; None where there is none."""
    return {name: limit.value for name, limit in certify(space, engine).limits.items()}


Corners = tuple[tuple[float, ...], ...]
"""Values of all objectives, to be minimised: no feasible design is better than some row in any of them."""


@dataclass(frozen=True)
class Certificate:
    """What is proven of a space."""

    limits: Mapping[str, ProvenLimit]
    """By objective, with the design that the bound comes from; of an expression there is none."""
    corners: Corners | None = None
    """One for each shape of the cluster; None where these are not known."""


def certify(space: Space, engine: str, note: Note = be_silent) -> Certificate:
    """The bounds of each objective alone, and of all together.

    Only what holds for the results of `engine`: of one that plays messages, of what a simulation decides, only what
    follows from the FLOPs at the peak of the NPUs. `note` is told how far they are.
    """
    return run_steps(certificate_steps(space, engine), note)


def certificate_steps(space: Space, engine: str) -> Generator[Step, None, Certificate]:
    """The steps to what `certify` gives."""
    known = {o.name for o in space.objectives if is_proven_of(engine, _metrics_of(o))}
    # A shape that breaks a constraint by a bound that does not hold might yet meet it.
    kept = tuple(c for c in space.constraints if is_proven_of(engine, set(c.metrics) - {"fits", ORDERABLE}))
    limits, shapes = {o.name: ProvenLimit() for o in space.objectives}, None
    for phased in (True, False):
        wanted = tuple(o for o in space.objectives if (o.name in known) == phased)
        if wanted and (phased or is_computing_proven_of(engine)):
            asked = replace(space, objectives=wanted, constraints=kept)
            found, of_shapes = yield from _limits(asked, engine, phased)
            limits |= found
            shapes = of_shapes if phased else shapes
    if shapes is None:
        return Certificate(limits)
    return Certificate(limits, corners_of(space, engine, shapes))


def corners_of(space: Space, engine: str, shapes: ShapeBounds) -> Corners:
    """The corners of a space with these bounds of its shapes."""
    known = {o.name for o in space.objectives if is_proven_of(engine, _metrics_of(o))}
    return tuple(_corner(space.objectives, known, bounds) for bounds in shapes)


def _corner(
    objectives: Sequence[Objective], known: Collection[str], bounds: Mapping[str, float | None]
) -> tuple[float, ...]:
    """The bounds of a shape's objectives, those that are `known`; minus infinity of the others."""
    between = interval_lookup(bounds)

    def loss(objective: Objective) -> float:
        usual = objective.expression is not None or objective.direction == METRICS[objective.name].direction
        if objective.name not in known or not usual:
            return -inf
        value = bounds.get(objective.name) if objective.expression is None else bound_of(objective, between)
        return -inf if value is None else objective.sign * value

    return tuple(map(loss, objectives))


def unproven_notice(space: Space, engine: str) -> str:
    """Objectives of which less or nothing is proven because of the engine, as sentences; empty without any."""
    names = [o.name for o in space.objectives if not is_proven_of(engine, _metrics_of(o))]
    if space.jobs:
        return ""
    if not names:
        return _too_many_notice(space)
    plays, listed = "engine" if engine in BUILT_IN else "the engine", " and ".join(names)
    start = f"Bounds on time are made of phases, and {plays} {engine} plays something else, which may be faster: "
    if is_computing_proven_of(engine):
        return f"{start}of {listed} only what the FLOPs take at the NPUs' peak is proven."
    return (
        f"{start}nothing is proven of {listed}. If its NPUs compute no faster than their peak, "
        "what is proven with engine packets holds."
    )


def _too_many_notice(space: Space) -> str:
    """A notice that bounds on time are loose, with too many jobs to bound one by one; empty with fewer."""
    if not any(exponent_of(name, "time") for objective in space.objectives for name in _metrics_of(objective)):
        return ""
    if has_too_many_served(space):
        what, many, most = "the space leaves", space.count(), MOST_SERVED
    else:
        what, many, most = "workload and parallelism leave", LeastTimes(space).most_jobs(), MOST_JOBS
    if many <= most:
        return ""
    return (
        f"What is proven of times follows from FLOPs at the NPUs' peak alone: {what} "
        f"{'infinitely many' if isinf(many) else f'{many:,.0f}'} combinations open, and at most {most:,} are bounded "
        "one by one."
    )


def _limits(space: Space, engine: str, phased: bool) -> Generator[Step, None, Limits]:
    """The bounds of objectives that can be proven, and those of all metrics of each shape; see `limit_steps`."""
    derived = [objective for objective in space.objectives if objective.expression is not None]
    if not derived:
        return (yield from limit_steps(space, phased))
    if space.jobs:
        over = bound_over_jobs(space, [proven_bounds(space.space_of_job(job), engine) for job in space.jobs])
        return {name: ProvenLimit(value) for name, value in over.items()}, None
    plain = tuple(objective for objective in space.objectives if objective.expression is None)
    names = {name for objective in derived for name in objective.names if name in METRICS}
    more = natural_objectives(sorted(names - {objective.name for objective in plain}))
    found, shapes = yield from limit_steps(replace(space, objectives=(*plain, *more)), phased)
    between = interval_lookup({name: limit.value for name, limit in found.items()})
    limits = {
        o.name: found[o.name] if o.expression is None else ProvenLimit(bound_of(o, between)) for o in space.objectives
    }
    return limits, shapes


def _metrics_of(objective: Objective) -> list[str]:
    return [name for name in objective.names if name in METRICS]


def natural_objectives(names: Sequence[str]) -> tuple[Objective, ...]:
    """Metrics as objectives, each in the direction in which it gets better."""
    return tuple(Objective(name, METRICS[name].direction, METRICS[name].unit) for name in names)


MOST_STEPS = 2000
"""Steps that the bounds of a space may take before a search: some ten seconds."""


def check_reachable(space: Space, engine: str, note: Note = be_silent) -> None:
    """Raise `InputError` with each constraint that no design of the space can meet, by the bounds of its metrics.

    Of an engine that plays another model than the bounds are of, only what the cluster alone decides counts as proven.
    A space whose bounds take more than `MOST_STEPS` is searched without this question. `note` is told of each step.
    """
    problems: list[Problem] = []
    for one in space.plain:
        names = {name for constraint in space.constraints for name in constraint.metrics} - {"fits", ORDERABLE}
        known = sorted(name for name in names if is_proven_of(engine, [name]))
        if known:
            # Without constraints: where they exclude every design, nothing is bounded.
            alone = replace(one, objectives=natural_objectives(known), constraints=())
            limits = first_steps(limit_steps(alone), MOST_STEPS, note)
            if limits is None:
                continue
            between = interval_lookup({name: limit.value for name, limit in limits[0].items()})
            problems += [problem for c in space.constraints if (problem := unreachable_problem(c, between)) is not None]
    if problems:
        raise InputError(list(dict.fromkeys(problems)), space.file or space.name)
