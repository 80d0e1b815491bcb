"""Which layers are on which virtual stage: even, or with given numbers on the first and the last stage.

With several chunks a stage, what is lacking of an even share is lacking at the ends of the model: in the first chunk of
the first stage, the last chunk of the last one. So Megatron-core places layers that count the embedding and the loss as
one each (126 layers of LLaMA-3 405B on 16 x 8 virtual stages, whose ends have no layer of their own).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import groupby
from typing import NamedTuple

from simcore.design.layer_range import Degrees, LayerRange, SolvedStages
from simcore.design.parallelism import Parallelism
from simcore.design.same import Same
from simcore.schedule import SCHEDULES
from simcore.workload.transformer.layer import LayerKind
from simcore.workload.transformer.model import Transformer

Runs = tuple[tuple[LayerKind, int], ...]
"""Layers of a virtual stage: so many of one kind, then so many of another."""


def part_layers(total: int, virtual_stages: int) -> list[int]:
    """Layers of each virtual stage, spread evenly: the first ones take one more where they do not divide."""
    base, more = divmod(total, virtual_stages)
    return [base + (stage < more) for stage in range(virtual_stages)]


def fewer_at_ends(total: int, virtual_stages: int) -> int:
    """Layers by which a model falls short of equal chunks: the last chunk lacks the first one, the first the second.

    More than 2 cannot be lacking there: such layers do not interleave evenly (Megatron-core's
    `account_for_loss_in_pipeline_split` and `account_for_embedding_in_pipeline_split`).
    """
    return -total % virtual_stages


def even_layers(total: int, p: Parallelism) -> list[int]:
    """Even shares of the virtual stages, in the order of a microbatch; chunks lack layers at the ends of the model.

    So do stages for which the layers are too few.
    """
    count = p.pipeline * p.interleave
    ends = fewer_at_ends(total, count)
    if ends not in (1, 2) or (p.interleave == 1 and total > count):
        return part_layers(total, count)
    each = (total + ends) // count
    return [each - (ends == 2), *[each] * (count - 2), each - 1]


def end_layers(total: int, p: Parallelism) -> list[int]:
    """Layers of each chunk of the first stage, which has `total`: as many in all but the first one, which has the rest.

    The rest is below 0 where no even share of the chunks comes near `total` (see `check`). The last stage mirrors it.
    Where the pipeline folds, the first stage has both ends of the model, and the last one neither: even shares there.
    """
    chunks = p.interleave
    if SCHEDULES[p.schedule].folds:
        return part_layers(total, chunks)
    each = -(-total // chunks)
    return [total - each * (chunks - 1), *[each] * (chunks - 1)]


def stage_layers(model: Transformer, p: Parallelism) -> list[int]:
    """Layers of each virtual stage, in the order in which a microbatch passes them, `[pipeline x interleave]`.

    Raises `ValueError` where they are still to be solved (`simcore.layout`).
    """
    if isinstance(p.stages, SolvedStages):
        raise ValueError("the layers of the stages are still to be solved")
    if p.stages is not None:
        return list(p.stages)
    if p.first_stage_layers is None and p.last_stage_layers is None:
        return even_layers(model.layers, p)
    given = {}
    if p.first_stage_layers is not None:
        given[0] = end_layers(p.first_stage_layers, p)
    if p.last_stage_layers is not None:
        given[p.pipeline - 1] = end_layers(p.last_stage_layers, p)[::-1]
    open_stages = p.pipeline - len(given)
    left = model.layers - sum(sum(counts) for counts in given.values())
    others = iter(part_layers(left, open_stages * p.interleave) if open_stages else [])
    return [
        given[place % p.pipeline][place // p.pipeline] if place % p.pipeline in given else next(others)
        for place in SCHEDULES[p.schedule].path(p.pipeline, p.interleave).tolist()
    ]


def stage_runs(model: Transformer, p: Parallelism, sequence: int) -> tuple[Runs, ...]:
    """The runs of equal layers of each virtual stage: dense ones before layers of experts, recomputed ones first.

    Layers that differ (`parallelism.layers`) are as their range says. Windows count where a sequence of so many tokens
    is longer.
    """
    return _stage_runs(_Alike(Same(model), tuple(getattr(p, key) for key in _OF_STAGES), sequence, p))


_OF_STAGES = (
    *("pipeline", "interleave", "schedule", "stages", "first_stage_layers", "last_stage_layers"),
    *("recompute", "recompute_layers", "layers", "degrees"),
)
"""Keys of `parallelism` that decide which layers are where."""


@dataclass(frozen=True)
class _Alike:
    """Stages have the same layers where these are equal: many jobs of a search differ in their shards alone."""

    model: Same[Transformer]
    keys: tuple[object, ...]
    sequence: int
    parallelism: Parallelism = field(compare=False)


@lru_cache(maxsize=4096)
def _stage_runs(alike: _Alike) -> tuple[Runs, ...]:
    model, p, sequence = alike.model.value, alike.parallelism, alike.sequence
    out: list[Runs] = []
    layer = 0
    if p.layers is not None:
        kinds = layer_kinds(model, p.layers, p.recompute, sequence, p.degrees)
        for count in stage_layers(model, p):
            out.append(_grouped(kinds[layer : layer + count]))
            layer += count
        return tuple(out)
    window = model.window_of(sequence)
    for count in stage_layers(model, p):
        recomputed = count if p.recompute_layers is None else min(p.recompute_layers, count)
        dense = min(max(model.dense_layers - layer, 0), count)
        every = model.mixture_of_experts.every if model.mixture_of_experts else 1
        kept = _Experts(dense, (layer + 1 - model.dense_layers) % every, every)
        windowed = tuple(map(window.covers, range(layer, layer + count))) if window else ()
        out.append(_runs(count, kept, windowed, recomputed, p.recompute))
        layer += count
    return tuple(out)


def has_experts(model: Transformer, layer: int) -> bool:
    """Whether a layer, counted from 0, has experts."""
    moe = model.mixture_of_experts
    after = layer + 1 - model.dense_layers
    return moe is not None and after > 0 and after % moe.every == 0


@lru_cache(maxsize=512)
def layer_kinds(
    model: Transformer, ranges: tuple[LayerRange, ...], recompute: str, sequence: int, section: Degrees
) -> tuple[LayerKind, ...]:
    """The kind of each layer, where ranges of layers differ; what they leave out is as `recompute`, `section` say."""
    found: dict[int, LayerKind] = {}
    window = model.window_of(sequence)
    for its in ranges:
        how = its.recompute or recompute
        modules = frozenset(its.recompute_modules) if its.recompute_modules and how == "selective" else None
        own = Degrees(its.tensor or section.tensor, its.expert or section.expert)
        degrees = None if own == section else own
        for first, last in its.spans:
            found |= {
                i: LayerKind(has_experts(model, i), how, modules, window is not None and window.covers(i), degrees)
                for i in range(first, last + 1)
            }
    return tuple(found[layer] for layer in range(model.layers))


def open_kinds(model: Transformer, p: Parallelism, sequence: int) -> tuple[list[LayerKind], list[LayerKind]]:
    """The kind of each layer if it does not recompute where that is to be solved, and if it does."""
    ranges = p.layers or (LayerRange(layers=f"0-{model.layers - 1}"),)
    given = layer_kinds(model, ranges, p.recompute, sequence, p.degrees)
    modules = frozenset(p.recompute_modules) if p.recompute_modules else None
    again = LayerKind(recompute="selective", modules=modules) if modules else LayerKind(recompute="full")
    plain = [kind._replace(recompute="none") if kind.recompute == "solve" else kind for kind in given]
    return plain, [
        again._replace(experts=k.experts, windowed=k.windowed) if k.recompute == "solve" else k for k in given
    ]


def _grouped(kinds: Iterable[LayerKind]) -> Runs:
    return tuple((kind, len(list(run))) for kind, run in groupby(kinds))


class _Experts(NamedTuple):
    """Which layers of a stage have experts: after the first `dense`, layer i where i + `phase` is one of `every`."""

    dense: int
    phase: int
    every: int

    def at(self, i: int) -> bool:
        return i >= self.dense and (i + self.phase) % self.every == 0


@lru_cache(maxsize=4096)
def _runs(count: int, experts: _Experts, windowed: tuple[bool, ...], recomputed: int, how: str) -> Runs:
    """The first `recomputed` of `count` layers are recomputed; some have `experts`, some are `windowed`."""
    kinds = [
        LayerKind(experts.at(i), how if i < recomputed else "none", windowed=bool(windowed and windowed[i]))
        for i in range(count)
    ]
    return _grouped(kinds)
