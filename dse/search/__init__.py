"""Which designs to try: one file per way."""

from dse.search.auto import choose_sampler
from dse.search.base import Proposal, Prover, Sampler
from dse.space.samplers import AUTO, SAMPLERS
from dse.space.space import Space
from simcore.document.problem import InputError, Problem


def resolve_sampler(name: str, space: Space, engine: str | None = None, proving: bool = True) -> str:
    """The sampler that `auto` stands for; any other name as it is.

    One that suits the `engine` that evaluates. None that ends with a proof without an engine, where nobody looks at
    the proof, or unless `proving`.
    """
    return choose_sampler(space, engine, proving and engine is not None) if name == AUTO else name


def make_sampler(name: str, space: Space, seed: int) -> Sampler:
    """A sampler by name: one of `dse.space.samplers` but `auto`, or an Optuna sampler, `package.module:Class`.

    Raises `InputError` where it cannot be had (see `dse.search.external`) or cannot search the space.
    """
    if name not in SAMPLERS and ":" in name:
        from dse.search.external import sampler_named

        return sampler_named(name, space, seed)
    origin = SAMPLERS.origin(name)
    if origin is None:
        made: Sampler = SAMPLERS[name](space, seed)
        return made
    return _foreign(name, origin, space, seed)


def _foreign(name: str, origin: str, space: Space, seed: int) -> Sampler:
    """A sampler of an installed package.

    Raises `InputError` where what the package brings is none, or cannot be imported.
    """
    try:
        make = SAMPLERS[name]
    except (ImportError, AttributeError, TypeError) as error:
        raise _not_one(name, f"what cannot be loaded from {origin} ({error})") from None
    made = make(space, seed)
    if not isinstance(made, Sampler):
        raise _not_one(name, f"a {type(made).__name__} of {origin}")
    return made


def _not_one(name: str, found: str) -> InputError:
    expected = f"a dse.search.base.Sampler, or a function that makes one, for '{name}'"
    return InputError([Problem(("sampler",), expected, found, "ask those who make the package")], "study")


__all__ = ["Proposal", "Prover", "Sampler", "make_sampler", "resolve_sampler"]
