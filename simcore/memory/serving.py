"""What fits where nothing is trained: weights, keys and values of all requests at their end, a layer at work."""

from __future__ import annotations

from simcore.program import Program
from simcore.result import Memory


def serving_memory(program: Program, weight_bytes: float) -> Memory:
    """Memory of the fullest stage, per NPU; the cache, if any, is held for every request of the replica."""
    return max(
        (_stage_memory(program, stage, weight_bytes) for stage in range(program.stages)), key=lambda memory: memory.peak
    )


def _stage_memory(program: Program, stage: int, weight_bytes: float) -> Memory:
    cache = None if program.cache is None else program.cache[stage]
    part = program.parts[program.part_of[stage]]
    weights = part.parameters * weight_bytes if program.weights is None else program.weights[stage]
    return Memory(weights, 0.0, 0.0, part.working, weights + (cache or 0.0) + part.working, kv_cache=cache)
