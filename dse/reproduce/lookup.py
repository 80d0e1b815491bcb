"""Numbers that were measured, as expressions name them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dse.space.expression import Expression, Lookup, make_lookup
from simcore.document.problem import Path, Refusal, format_path


def evaluate(text: str, known: Mapping[str, Any]) -> Any:
    """The value of an expression of what was measured; raises `Refusal` for a name that is none of it."""
    try:
        return Expression(text).value(lookup_of(known))
    except Refusal as refusal:
        raise Refusal("names of what was measured", refusal.found, refusal.fix, f"'{text}'") from None


def lookup_of(known: Mapping[str, Any]) -> Lookup:
    """Names of numbers may have dots: `cost.total` is a number, `base.cost.total` one of the group `base`."""

    def look(path: Path) -> Any:
        group: Any = known
        for depth in range(len(path)):
            whole = format_path(path[depth:])
            if isinstance(group, Mapping) and whole in group:
                return group[whole]
            group = group.get(path[depth]) if isinstance(group, Mapping) else None
        return make_lookup(known)(path)

    return look
