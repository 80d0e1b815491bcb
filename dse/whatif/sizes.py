"""The numbers of NPUs that a space has and no design of which fits, and what the space leaves out that would make it.

Or whose degrees do not fill nodes in the order in which groups are placed: 22 replicas of 4 stages fill 11 nodes of 8
only where the stages are placed before the replicas.

A front says nothing of such a size, as if it were never the better choice; but perhaps only a setting is missing from
the space, such as recomputation. What is ruled out by a limit on time or money is the architect's own wish, and is not
told.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from dse.evaluate.evaluate import Outcome
from dse.evaluate.record import StudyRecord, TrialRecord
from dse.space.space import Space
from dse.whatif.answers import Unfit
from dse.whatif.batches import rivals
from dse.whatif.climb import Climb, Simulate, by_kind, count_npus, parallelism_of, try_settings

MOST = 8
"""Sizes that a space may have, else none is looked at."""
_SIMULATIONS = 8
"""Most simulations for one size: one feasible design is enough."""
_OWN = 200
"""Trials of the study that are looked at, the nearest to its front."""
_PLACEMENT = ("tensor", "context", "pipeline", "data")
"""Stages inside, replicas outside: a pipeline crosses fewer nodes, and gradients more of them."""
_MENDS: tuple[tuple[str, Any], ...] = (("recompute", "selective"), ("recompute", "full"), ("zero", 1), ("zero", 3))
"""Keys of `parallelism`, and values that make a job fit: what costs the least time first."""


def sizes_that_do_not_fit(
    record: StudyRecord, space: Space, simulate: Simulate, starts: Sequence[TrialRecord]
) -> dict[str, Unfit]:
    """Size, in words -> what its nearest design lacks, found from `starts` (`find_starts`).

    `simulate` evaluates a document; where it says that one is of unsound form (`UnsoundError`), the space has
    none. Empty where all sizes of the space have a feasible design, or its sizes are too many.
    """
    fits = next((constraint for constraint in space.constraints if constraint.is_fits), None)
    if fits is None:
        return {}
    sizes = by_kind(starts, size_of)
    if not 1 < len(sizes) <= MOST:
        return {}
    known = {size_of(trial.design) for trial in (*record.front, *rivals(record, _OWN))}
    of_space = {_settings(trial.design) for trial in starts}
    found: dict[str, Unfit] = {}
    for size in sorted(sizes.keys() - known, key=lambda size: count_npus(sizes[size][0].design)):
        nearest = Climb(record, space, simulate, size_of, size, _SIMULATIONS, only=fits.name).run(sizes[size])
        if nearest is not None and nearest[1].violations.get(fits.name, 0.0) > 0:
            found[size] = Unfit(nearest[1].violations[fits.name], _find_mend(nearest[1], simulate, of_space))
        elif nearest is None or nearest[1].state == "cut":
            placed = Climb(record, space, _place_otherwise(simulate), size_of, size, _SIMULATIONS, only=fits.name)
            if (other := placed.run(sizes[size])) is not None and other[0][0] == 0:
                found[size] = Unfit(0.0, f"cluster.placement: [{', '.join(_PLACEMENT)}]")
    return found


def _place_otherwise(simulate: Simulate) -> Simulate:
    """Evaluates designs, which say nothing of that themselves, with their stages placed before their replicas."""

    def simulate_placed(document: Mapping[str, Any]) -> Outcome:
        cluster = document["cluster"]
        placed = {**cluster, "placement": cluster.get("placement", list(_PLACEMENT))}
        return replace(simulate({**document, "cluster": placed}), design=dict(document))  # whose neighbours are known

    return simulate_placed


def size_of(document: Mapping[str, Any] | None) -> str:
    """How many NPUs a design document has, in words; empty where that is not known."""
    npus = count_npus(document)
    return f"{npus:,} NPUs" if npus else ""


def _find_mend(nearest: TrialRecord, simulate: Simulate, of_space: set[tuple[Any, ...]]) -> str:
    """The setting that would make a design feasible and that no design of the space has; empty where none would."""
    for place, (key, value) in enumerate(_MENDS):
        of_others = any(settings[place] for settings in of_space)
        if not of_others and try_settings(simulate, nearest, **{key: value}) is not None:
            return f"{key} {value}"
    return ""


def _settings(document: Mapping[str, Any] | None) -> tuple[bool, ...]:
    """Which of the settings that make a job fit a design has."""
    return tuple(parallelism_of(document).get(key) == value for key, value in _MENDS)
