"""Which of several designs is the simplest: the one in which the fewest leaves differ from their defaults.

Designs with equal values in every objective are all on a front. What tells them apart does not matter to the study (the
order of chunks where no two meet, a placement of groups of one), so the reader is shown the one that says least.

A leaf counts where the document without it is another design: defaults that follow from other keys (the algorithm of
a topology, the data-parallel degree) are defaults too. A leaf that all have alike is not looked at.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dse.evaluate.trial import TrialRecord
from simcore.check.load import parse_design
from simcore.document.problem import Path

MOST = 50
"""Equal designs of which leaves are counted, the first; the others stand after them as they are."""
_MOST_OF_ALL = 500
"""Designs of which leaves are counted, over all groups: each takes some milliseconds."""


def simplest_first(groups: Sequence[Sequence[TrialRecord]]) -> list[TrialRecord]:
    """The trials of groups of equal ones, each group by the leaves that differ from defaults.

    Equally simple ones stay in the order in which they were given. A trial without a design stands after those of its
    group that have one.
    """
    found, left = [], _MOST_OF_ALL
    for group in groups:
        most = min(MOST, left) if len(group) > 1 else 0
        left -= min(most, len(group))
        found += [*_order(group[:most]), *group[most:]]
    return found


def _order(counted: Sequence[TrialRecord]) -> list[TrialRecord]:
    leaves = [_leaves_of(trial) for trial in counted]
    known = dict.fromkeys(path for own in leaves for path in own)
    paths = [path for path in known if len({_text(own, path) for own in leaves}) > 1]
    counts = [
        _changed(trial, [path for path in paths if path in own]) for trial, own in zip(counted, leaves, strict=True)
    ]
    order = sorted(range(len(counted)), key=lambda index: counts[index])
    return [counted[index] for index in order]


def _leaves_of(trial: TrialRecord) -> dict[Path, Any]:
    """Every leaf of the designs of a trial by its path, after the number of the design."""
    parts = enumerate(part.design for _, part in trial.parts)
    return {(place, *path): leaf for place, design in parts for path, leaf in _leaves(design or {})}


def _leaves(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """The leaves of mappings and of lists of mappings; another list is a leaf."""
    if isinstance(value, Mapping):
        inner: Iterator[tuple[str | int, Any]] = iter(value.items())
    elif isinstance(value, list) and value and all(isinstance(entry, Mapping) for entry in value):
        inner = iter(enumerate(value))
    else:
        yield path, value
        return
    for key, entry in inner:
        yield from _leaves(entry, (*path, key))


def _text(leaves: Mapping[Path, Any], path: Path) -> str:
    return repr(leaves[path]) if path in leaves else ""


def _changed(trial: TrialRecord, paths: Sequence[Path]) -> float:
    """How many of these leaves differ from their defaults; infinite where a design is unknown."""
    designs = [part.design for _, part in trial.parts]
    if any(design is None for design in designs):
        return float("inf")
    return sum(not _is_default(designs[int(place)] or {}, path) for place, *path in paths)


def _is_default(document: Mapping[str, Any], path: Sequence[str | int]) -> bool:
    """Whether the document says the same without this leaf."""
    without = copy.deepcopy(dict(document))
    *above, last = path
    place: Any = without
    for part in above:
        place = place[part]
    del place[last]
    (left, _), (whole, _) = parse_design(without), parse_design(document)
    return left is not None and whole is not None and left.key == whole.key
