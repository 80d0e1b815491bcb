"""The default sampler, `auto`: which sampler it stands for, by the space.

A sampler that proves its answer complete comes before one that only searches: `exact`, where it can finish the space,
with a lead of `guided` where the proof takes hundreds of designs. Else `guided` alone, which screens a small space
whole and searches a large one, so it needs no second opinion on size. An engine of another model, which nothing is
proven of and which takes longer, is searched through the fast one (`dse.search.multi_fidelity`).
"""

from __future__ import annotations

from collections.abc import Callable

from dse.proof.parts import is_provable, is_separable, kinds_of
from dse.space.fill import template_count
from dse.space.npus import following_product
from dse.space.sections import JOB_SECTIONS
from dse.space.space import Space

QUICK = ("layers", "network")
"""How kinds order their jobs (`WorkloadKind.jobs_by`) of which `exact` bounds all designs soon."""
MOST_DESIGNS = 200_000
MOST_JOBS = 20_000
MOST_PLAIN = 2_000
"""Combinations up to which `exact` needs no lead: `guided` would screen them all."""
MOST_CLUSTERS = 400
"""Clusters that are all tried where software is tuned on each: some tenths of a second apiece, and neighbours help."""
MOST_TIED = 2_000
"""Combinations, ways to spread the work, and combinations of a space that cannot be taken apart, up to which `exact`
bounds everything in about a minute."""


def _is_exact_affordable(space: Space) -> bool:
    """Whether `exact` is allowed, and finishes soon."""
    kinds = kinds_of(space.template)
    if space.jobs or not kinds or any(o.expression is not None for o in space.objectives):
        return False
    if not all(kind.exact and kind.jobs_by in QUICK for kind in kinds):
        return False
    if not is_separable(space.template) or following_product(space.template) is not None:
        return space.count() <= MOST_TIED
    jobs = {key: value for key, value in space.template.items() if key in JOB_SECTIONS}
    return space.count() <= MOST_DESIGNS and template_count(jobs) <= MOST_JOBS


def _is_led_affordable(space: Space) -> bool:
    """Whether `guided` should run first, because `exact` would simulate many designs before its front is a good one."""
    return _is_exact_affordable(space) and len(space.objectives) > 1 and space.count() > MOST_PLAIN


FINISHERS: tuple[tuple[str, Callable[[Space], bool]], ...] = (
    ("guided-exact", _is_led_affordable),
    ("exact", _is_exact_affordable),
)
"""Samplers that end with a proven answer, by name, each with the test of whether it can finish a space."""


def choose_sampler(space: Space, engine: str | None, proving: bool) -> str:
    """The sampler for a space: the first that can finish it, else `guided`; clusters to buy are all tried, or bred.

    `engine` evaluates its designs: one of another model than the fast engine's is searched through that, with
    `multi-fidelity`. None is the fast engine. Only where `proving` may the sampler be one that ends with a proof.
    """
    if space.jobs:
        return "exhaustive" if space.count() <= MOST_CLUSTERS else "nsga2"
    if engine is not None and not is_provable(engine):
        return "multi-fidelity"
    finishers = FINISHERS if proving else ()
    return next((name for name, can in finishers if can(space)), "guided")
