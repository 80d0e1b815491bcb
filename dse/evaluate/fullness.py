"""How full the memory of a trial's NPUs is."""

from __future__ import annotations

from math import isclose

from dse.evaluate.read import read_result
from dse.evaluate.trial import TrialRecord
from simcore.result import Memory, Result


def fullness(trial: TrialRecord) -> float:
    """Which share of an NPU's own memory is reserved, of the fullest of its jobs; 0 where that is not known.

    Of both memories where what one does not hold lies in the other (`spills`).
    """
    outcomes = [read_result(part.metrics) for _, part in trial.parts if part.metrics is not None]
    return max((own for own, *_ in filter(None, map(memory_shares, outcomes))), default=0.0)


def memory_shares(outcome: Result) -> tuple[float, ...]:
    """Which share of the NPU's own memory is reserved, and of the expanded one, if there is one; none if not known.

    Of both together where what one does not hold lies in the other.
    """
    memory, whole = outcome.memory_bytes, outcome.memory_capacity_bytes
    if memory is None or whole <= 0:
        return ()
    if memory.own is not None and memory.expanded and not spills(memory):
        return (memory.reserved - memory.expanded) / memory.own, memory.expanded / (whole - memory.own)
    return (memory.reserved / whole,)


def spills(memory: Memory) -> bool:
    """Whether the expanded memory takes what the NPU's own does not hold, which is full then, however much that is."""
    own, beside = memory.own, memory.expanded
    return own is not None and bool(beside) and isclose(memory.reserved - (beside or 0.0), own)
