"""What follows from a design and nothing else, computed once for each design object.

`functools.cached_property` for functions that live in layers above `Design`: the design is frozen, so what follows from
it cannot change, and it goes when the design goes (a copy has none of it). The check, the memory footprint, the bounds
and the engine of one trial so share one program and one price.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import wraps
from typing import TypeVar

from simcore.document.field import Frozen

Owner = TypeVar("Owner", bound=Frozen)
T = TypeVar("T")


def once(function: Callable[[Owner], T]) -> Callable[[Owner], T]:
    """Caches `function` per design, or part of one; callers must not modify the result."""
    name = f"{function.__module__}.{function.__qualname__}"

    @wraps(function)
    def compute_once(design: Owner) -> T:
        found: dict[str, T] = design.__dict__  # where cached_property keeps its values, too
        if name not in found:
            found[name] = function(design)
        return found[name]

    return compute_once


def once_for(
    asked: Callable[[Owner], Hashable | None], most: int
) -> Callable[[Callable[[Owner], T]], Callable[[Owner], T]]:
    """Caches a function per design, and for all designs that have the same of what it is `asked` for.

    What it returns must follow from that alone; None: from more, so that others do not have it. At `most` values are
    kept, then all of them are forgotten. Callers must not modify the result.
    """

    def decorate(function: Callable[[Owner], T]) -> Callable[[Owner], T]:
        known: dict[Hashable, T] = {}

        @wraps(function)
        def compute(design: Owner) -> T:
            key = asked(design)
            if key is None:
                return function(design)
            if key not in known:
                found = function(design)
                if len(known) >= most:
                    known.clear()
                known[key] = found
            return known[key]

        return once(compute)

    return decorate
