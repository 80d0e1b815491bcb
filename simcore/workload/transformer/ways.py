"""Layers by their degrees: sizes, operators, and how activations get from one tensor degree to another.

Tensor groups of t' = k t NPUs are k groups of t side by side, with the sequences of all of them. NPUs that have the
same place in the k groups are a *reshard* group: k NPUs, t apart.

- Without sequence parallelism every NPU of a tensor group has the group's activations whole. From groups of t to those
  of t' a reshard group gathers: each NPU gives the B bytes of its group of t and receives (k - 1) B; on the way from t'
  to t it keeps a slice, which costs nothing. Gradients go the other way, so that each change of degree gathers once in
  a microbatch, forward or backward (Galvatron: slice-gather, Miao et al. 2023, arXiv 2211.13878).
- With sequence parallelism an NPU has a t-th of the tokens of its group's sequences on the one side, and a t'-th of
  those of k times as many on the other. A reshard group exchanges all-to-all, forward and backward: of its B / t bytes
  an NPU keeps 1/k and sends the rest, the least there is without another order of tokens. (Alpa reshards within a mesh
  by the same collectives: Zheng et al. 2022, arXiv 2201.12023.)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

from simcore.design.degrees import views_of
from simcore.design.design import Design
from simcore.design.layer_range import Degrees
from simcore.workload.transformer.known_layers import Layers, layers_of
from simcore.workload.transformer.layers import Piece, Shapes


class Way(NamedTuple):
    """Layers with the same degrees."""

    shapes: Shapes
    layers: Layers


def ways_of(design: Design, shapes: Shapes) -> Mapping[Degrees | None, Way]:
    """The layers of a design by their degrees; None: the section's, whose sizes are `shapes`."""
    ways: dict[Degrees | None, Way] = {None: Way(shapes, layers_of(shapes))}
    for degrees, view in views_of(design).items():
        own = replace(shapes, parallelism=view.parallelism)
        ways[degrees] = Way(own, layers_of(own, design.parallelism.degrees))
    return ways


def reshard_group(one: int, other: int) -> str:
    """The name of the group over which activations get from tensor groups of a size to those of another."""
    return f"reshard {min(one, other)}-{max(one, other)}"


def resharded(before: Shapes, after: Shapes) -> Piece:
    """From layers of some sizes to layers of others; nothing where the tensor degree is the same."""
    here, there = before.parallelism.tensor, after.parallelism.tensor
    if here == there:
        return Piece((), ())
    group, members = reshard_group(here, there), max(here, there) // min(here, there)
    if before.parallelism.sequence_parallel:
        both = before.blocking("all_to_all", group, before.hidden_bytes / here, members)
        return Piece(both, both)
    smaller = before if here < there else after
    gather = before.blocking("all_gather", group, smaller.hidden_bytes, members)
    return Piece(gather, ()) if here < there else Piece((), gather)
