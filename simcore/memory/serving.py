"""What fits where a transformer is served: weights, keys and values of all requests at their end, a layer at work."""

from __future__ import annotations

from simcore.program import Program
from simcore.result import Memory


def serving_memory(program: Program, weight_bytes: int) -> Memory:
    """Memory of the fullest stage, per NPU; the cache is held for every request of the replica."""
    assert program.cache is not None
    return max(
        (_stage(program, stage, program.cache[stage], weight_bytes) for stage in range(program.stages)),
        key=lambda memory: memory.peak,
    )


def _stage(program: Program, stage: int, cache: float, weight_bytes: int) -> Memory:
    part = program.parts[program.part_of[stage]]
    weights = part.parameters * weight_bytes
    return Memory(weights, 0.0, 0.0, part.working, weights + cache + part.working, kv_cache=cache)
