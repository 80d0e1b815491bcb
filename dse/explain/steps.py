"""The designs one step from a design that belongs to no space: common keys of its document, a step up and a step down.

Degrees give a prime factor to one another, counts double and halve, names take every other value. What a design of its
kind cannot have is found out by the check of designs, so the list needs to know no rules.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations
from typing import Any

from dse.explain.changes import ABSENT, SOLVED, Change, Document, job_path, value_at
from dse.space.hole import divisors
from simcore.collective import ALGORITHMS
from simcore.document.problem import Path
from simcore.policy.inter_dimension import INTER_DIMENSION
from simcore.policy.intra_dimension import INTRA_DIMENSION
from simcore.schedule import SCHEDULES

_TRADED = ("tensor", "pipeline", "data", "context")
_OF_STAGES = ("stages", "first_stage_layers", "last_stage_layers")
_OF_JOB = "parallelism"
"""The section that each job has for itself."""
_DOUBLED: tuple[Path, ...] = (("parallelism", "microbatch"), ("parallelism", "interleave"), ("system", "chunks"))
_NAMED: dict[Path, tuple[Any, ...]] = {
    ("parallelism", "zero"): (0, 1, 2, 3),
    ("parallelism", "recompute"): ("none", "selective", "full"),
    ("parallelism", "sequence_parallel"): (False, True),
    ("parallelism", "tensor_overlap"): (False, True),
    ("parallelism", "schedule"): tuple(name for name, schedule in SCHEDULES.items() if schedule.flushes),
    ("system", "intra_dimension"): tuple(INTRA_DIMENSION),
    ("system", "inter_dimension"): tuple(INTER_DIMENSION),
}


def steps_of(document: Document) -> tuple[Change, ...]:
    """The steps from a complete design document, in its order."""
    return tuple(change for family in (_degrees, _counts, _names, _stages, _algorithms) for change in family(document))


def _path(document: Document, path: Path) -> Path:
    """Where a key of a design without `jobs` stands in a document."""
    return (*job_path(document), *path) if path[0] == _OF_JOB else path


def _degrees(document: Document) -> Iterator[Change]:
    paths: dict[str, Path] = {name: _path(document, (_OF_JOB, name)) for name in _TRADED}
    degrees = {name: value_at(document, path) for name, path in paths.items()}
    for giver, taker in permutations(_TRADED, 2):
        give, take = degrees[giver], degrees[taker]
        if not isinstance(give, int) or not isinstance(take, int):
            continue
        for prime in (d for d in divisors(give) if len(divisors(d)) == 2):
            values = {paths[giver]: (give, give // prime), paths[taker]: (take, take * prime)}
            yield Change("degrees", values)


def _counts(document: Document) -> Iterator[Change]:
    for path in (_path(document, key) for key in _DOUBLED):
        now = value_at(document, path)
        if isinstance(now, int) and not isinstance(now, bool):
            later = [2 * now, *([now // 2] if now % 2 == 0 else [])]
            yield from (Change(str(path[-1]), {path: (now, new)}) for new in later)


def _names(document: Document) -> Iterator[Change]:
    for key, known in _NAMED.items():
        path = _path(document, key)
        now = value_at(document, path)
        if now is not ABSENT:
            yield from (Change(str(path[-1]), {path: (now, new)}) for new in known if new != now)


def _stages(document: Document) -> Iterator[Change]:
    """Layers of stages that are solved, where they are even so far."""
    pipeline = value_at(document, _path(document, (_OF_JOB, "pipeline")))
    given = [value_at(document, _path(document, (_OF_JOB, key))) for key in _OF_STAGES]
    if isinstance(pipeline, int) and pipeline > 1 and all(value is ABSENT for value in given):
        yield Change("stages", {_path(document, (_OF_JOB, "stages")): (ABSENT, SOLVED)})


def _algorithms(document: Document) -> Iterator[Change]:
    path: Path = ("system", "collective")
    now = value_at(document, path)
    if not isinstance(now, list):
        return
    for index, own in enumerate(now):
        for name in (known for known in ALGORITHMS if known != own):
            yield Change(f"algorithm of dimension {index}", {(*path, index): (own, name)})
