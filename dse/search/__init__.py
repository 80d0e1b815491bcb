"""Which designs to try: one file per way."""

from dse.search.auto import choose
from dse.search.base import Proposal, Prover, Sampler
from dse.space.settings import PROVERS
from dse.space.space import Space
from simcore.document.problem import InputError, Problem


def resolve(name: str, space: Space, engine: str | None = None) -> str:
    """The sampler that `auto` stands for; any other name as it is.

    One that proves its answer only for the `engine` that evaluates; without one, where nobody looks at the proof.
    """
    return choose(space, engine) if name == "auto" else name


def make_sampler(name: str, space: Space, seed: int) -> Sampler:
    """A sampler by name: one of `dse.space.settings.SAMPLERS` but `auto`, or an Optuna sampler, `package.module:Class`.

    Raises `InputError` where it cannot be had (see `dse.search.named`) or cannot search the space.
    """
    if name in PROVERS:
        _check_bounded(space)
    if name == "exhaustive":
        from dse.search.exhaustive import Exhaustive

        return Exhaustive(space, seed)
    if name == "exact":
        from dse.search.exact import Exact

        return Exact(space, seed)
    if name == "guided-exact":
        from dse.search.guided_exact import GuidedExact

        return GuidedExact(space, seed)
    if name == "random":
        from dse.search.random import Random

        return Random(space, seed)
    if name == "guided":
        from dse.search.guided.sampler import Guided

        return Guided(space, seed)
    if ":" in name:
        from dse.search.named import named

        return named(name, space, seed)
    from dse.search.optuna_sampler import MAKERS

    return MAKERS[name](space, seed)


def _check_bounded(space: Space) -> None:
    """Raise `InputError` for objectives that no sampler proves anything of."""
    problems = [
        Problem(
            ("objectives", objective.direction),
            "metrics for exact, which can prove nothing of an expression",
            f"'{objective.name}'",
            "use guided, or exhaustive in a small space, or make the metrics in it the objectives",
        )
        for objective in space.objectives
        if objective.expression is not None
    ]
    if problems:
        raise InputError(problems, "study")


__all__ = ["Proposal", "Prover", "Sampler", "make_sampler", "resolve"]
