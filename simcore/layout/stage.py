"""One stage with given layers: in how little time it does a microbatch where its memory suffices.

Of the layers for which that is open, as few recompute as memory asks for. Dense layers and layers of experts differ in
what recomputing one takes and saves; all others are alike, so their numbers are all that there is to choose.
"""

from __future__ import annotations

from math import ceil, inf

from simcore.compiled import inlined
from simcore.layout.costs import (
    AGAIN,
    BACKWARD,
    BUCKET,
    EMBEDDED,
    ENDS,
    EXPERTS,
    FLIGHT,
    FORWARD,
    FURTHER,
    GATHERED,
    KEPT,
    MATRIX,
    MOMENT,
    MOMENT_AGAIN,
    OLDER,
    OPEN,
    PARAMETERS,
    PLACES,
    REDUCED,
    SAVED,
    SHARE,
    STANDING,
    STATES,
    TABLE,
    TAIL,
    VERSION,
    WEIGHTS,
    Floats,
)

# What is added up over the layers of a stage.
TIME, HELD, STORED, LARGEST, PIECE, HAS_DENSE, HAS_EXPERTS, FREE_DENSE, FREE_EXPERTS = range(9)
LARGEST_DENSE, LARGEST_EXPERTS, AGAIN_DENSE, AGAIN_EXPERTS, SAVED_DENSE, SAVED_EXPERTS = range(9, 15)
WEIGHED = 15
"""One version of all weights [B]."""
LATE = 16
"""What is added after the last microbatch, or at each update where the pipeline never empties [s]."""
SUMS = 17


@inlined
def begin(sums: Floats, stage: Floats) -> None:
    """A stage without layers."""
    sums[:] = 0.0
    sums[TIME] = stage[FORWARD] + stage[BACKWARD] + stage[WEIGHTS]
    sums[HELD] = stage[STATES]
    sums[WEIGHED], sums[LATE] = stage[VERSION], stage[TAIL]
    sums[LARGEST] = -inf
    sums[PIECE] = stage[PARAMETERS]


@inlined
def add(sums: Floats, layer: Floats) -> None:
    """One layer more."""
    sums[TIME] += layer[FORWARD] + layer[BACKWARD] + layer[WEIGHTS]
    sums[HELD] += layer[STATES]
    sums[WEIGHED] += layer[VERSION]
    sums[LATE] += layer[TAIL]
    sums[STORED] += layer[KEPT]
    sums[LARGEST] = max(sums[LARGEST], layer[MOMENT])
    sums[PIECE] = max(sums[PIECE], layer[PARAMETERS])
    kind = int(layer[EXPERTS])
    sums[HAS_DENSE + kind] = 1.0
    if layer[OPEN] > 0.0:
        sums[FREE_DENSE + kind] += 1.0
        sums[LARGEST_DENSE + kind] = layer[MOMENT_AGAIN]
        sums[AGAIN_DENSE + kind] = layer[AGAIN]
        sums[SAVED_DENSE + kind] = layer[SAVED]


@inlined
def _moving(stage: Floats, own: float, following: float, before: float) -> float:
    """As `simcore.workload.moving.Moving.bytes_of`."""
    reduced = stage[REDUCED]
    whole: float = stage[GATHERED] * (own + following) + reduced * own + max(reduced * before, stage[BUCKET])
    return whole


@inlined
def needed(sums: Floats, stage: Floats, dense: float, experts: float, slack: float) -> float:
    """Bytes that a stage needs where so many of its free layers recompute."""
    kept = sums[STORED] - dense * sums[SAVED_DENSE] - experts * sums[SAVED_EXPERTS]
    moment = sums[LARGEST]
    if dense > 0:
        moment = max(moment, sums[LARGEST_DENSE])
    if experts > 0:
        moment = max(moment, sums[LARGEST_EXPERTS])
    layer, matrix = sums[PIECE], stage[MATRIX]
    most = max(
        stage[MOMENT] + _moving(stage, matrix, layer, 0.0),
        max(stage[FURTHER], moment - stage[ENDS]) + _moving(stage, layer, layer, max(layer, matrix)),
        stage[TABLE] - kept - stage[ENDS] + _moving(stage, stage[EMBEDDED], 0.0, layer),
    )
    most = 0.0 if most == -inf else most
    places = stage[PLACES + int(sums[HAS_DENSE]) + 2 * int(sums[HAS_EXPERTS])]
    working = most + places + stage[STANDING]
    held = sums[HELD] + stage[OLDER] * sums[WEIGHED]
    whole: float = held + slack * (stage[FLIGHT] * (kept + stage[ENDS]) + working)
    return whole


@inlined
def choose(sums: Floats, stage: Floats, limits: Floats, chosen: Floats) -> float:
    """Time of a stage with what its layers recompute at least [s]; infinity where it never fits.

    `limits`: what an NPU reserves over what is allocated and freed, and the bytes that it has. `chosen`: dense layers
    and layers of experts that recompute.
    """
    best = inf
    experts = 0.0
    while experts <= sums[FREE_EXPERTS]:
        dense = _fewest_dense(sums, stage, limits, experts)
        time = sums[TIME] + stage[SHARE] * sums[LATE] + dense * sums[AGAIN_DENSE] + experts * sums[AGAIN_EXPERTS]
        if dense >= 0.0 and time < best:
            best = time
            chosen[0], chosen[1] = dense, experts
            if dense == 0.0:
                break  # more layers that recompute take no less
        experts += 1.0
    return best


@inlined
def _fewest_dense(sums: Floats, stage: Floats, limits: Floats, experts: float) -> float:
    """The fewest dense layers that must recompute where so many of the others do; -1 where it never fits."""
    slack, room = limits
    if needed(sums, stage, 0.0, experts, slack) <= room:
        return 0.0
    low, high = 1.0, sums[FREE_DENSE]
    if high < 1.0 or needed(sums, stage, high, experts, slack) > room:
        return -1.0
    while low < high:  # from the first one on, what is needed falls with each layer more
        middle = ceil((low + high) / 2) - 1.0
        if needed(sums, stage, middle, experts, slack) <= room:
            high = middle
        else:
            low = middle + 1.0
    return low
