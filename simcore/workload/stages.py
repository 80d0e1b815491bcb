"""Which layers are on which virtual stage: even, or with given numbers on the first and the last stage."""

from __future__ import annotations

from itertools import groupby

from simcore.design import Parallelism
from simcore.spec import Transformer
from simcore.workload.layer import LayerKind

Runs = tuple[tuple[LayerKind, int], ...]
"""Layers of a virtual stage: so many of one kind, then so many of another."""


def part_layers(total: int, virtual_stages: int) -> list[int]:
    """Layers of each virtual stage, spread evenly: the first ones take one more where they do not divide."""
    base, more = divmod(total, virtual_stages)
    return [base + (stage < more) for stage in range(virtual_stages)]


def stage_layers(model: Transformer, p: Parallelism) -> list[int]:
    """Layers of each virtual stage, `[pipeline x interleave]`, virtual stage k = chunk x pipeline + stage."""
    given = {}
    if p.first_stage_layers is not None:
        given[0] = part_layers(p.first_stage_layers, p.interleave)
    if p.last_stage_layers is not None:
        given[p.pipeline - 1] = part_layers(p.last_stage_layers, p.interleave)
    open_stages = p.pipeline - len(given)
    left = model.layers - sum(sum(counts) for counts in given.values())
    others = iter(part_layers(left, open_stages * p.interleave) if open_stages else [])
    return [
        given[k % p.pipeline][k // p.pipeline] if k % p.pipeline in given else next(others)
        for k in range(p.pipeline * p.interleave)
    ]


def stage_runs(model: Transformer, p: Parallelism) -> list[Runs]:
    """The runs of equal layers of each virtual stage: dense ones before layers of experts, recomputed ones first."""
    out: list[Runs] = []
    layer = 0
    for count in stage_layers(model, p):
        kinds = [_kind(model, p, layer + i, i) for i in range(count)]
        out.append(tuple((kind, len(list(run))) for kind, run in groupby(kinds)))
        layer += count
    return out


def _kind(model: Transformer, p: Parallelism, layer: int, place: int) -> LayerKind:
    chosen = p.recompute_layers is None or place < p.recompute_layers
    return LayerKind(layer >= model.dense_layers, p.recompute if chosen else "none")
