"""Where the notices of a result come from: each kind from a question to the designs that were played."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from simcore.design.design import Design
from simcore.system.trees import fallback_notes
from simcore.workload.penalties import unmodelled_penalties

_ASKED: Mapping[str, Callable[[Design], Iterable[str]]] = {
    "not_modelled": unmodelled_penalties,
    "fallbacks": fallback_notes,
}
"""Kind (`simcore.result.NOTICES`) -> what a design has to say."""


def notices_of(*designs: Design) -> dict[str, Any]:
    """The notices of a result by kind, tuples of texts: of one design, or of several jobs, each text once."""
    return {kind: tuple(dict.fromkeys(text for each in designs for text in ask(each))) for kind, ask in _ASKED.items()}
