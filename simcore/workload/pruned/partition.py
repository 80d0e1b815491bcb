"""Which worker has which neurons, and what crosses between workers for it.

A worker that has a neuron needs the neuron's inputs; what other workers have of these crosses, each number once to each
worker that needs it. RePurpose (Abdi, Rashidi, Fekri and Krishna 2023, AAAI; arXiv 2008.08289) rearranges neurons layer
by layer, so that few connections cross: with the neurons of the layer before assigned, a neuron on a worker costs as
many crossings as it has inputs elsewhere, and the assignment that costs least, with equally many neurons on each
worker, is Munkres'. It prunes and adjusts weights as well; here the connections are given, and stay.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simcore.workload.pruned.document import PrunedWorkload

Mask = NDArray[np.bool_]
Owners = NDArray[np.int64]


class Layer(NamedTuple):
    """A layer, as its workers have it."""

    neurons: int
    """Neurons of each worker."""
    inputs: int
    """Inputs of the worker that needs most."""
    crossing: int
    """Numbers that pass between workers for a sample."""
    busiest: int
    """Most of these that one worker sends, or receives."""
    largest: int
    """Most of them between two workers."""


def masks_of(workload: PrunedWorkload) -> tuple[Mask, ...]:
    """The connections of each layer, `[neurons, inputs]`, not to be written to."""
    return _masks(_network(workload))


def _network(workload: PrunedWorkload) -> PrunedWorkload:
    """The same network for all workloads that differ in what is served of it, and how."""
    return workload.model_copy(update={"partition": "given", "global_batch": 1, "precision": "fp16"})


@lru_cache(maxsize=1)
def _masks(network: PrunedWorkload) -> tuple[Mask, ...]:
    found = _drawn(network) if network.connections is None else _listed(network)
    for mask in found:
        mask.flags.writeable = False
    return tuple(found)


def _listed(workload: PrunedWorkload) -> list[Mask]:
    found = [np.zeros((n, k), np.bool_) for k, n in zip(workload.widths, workload.widths[1:], strict=False)]
    for connection in workload.connections or ():
        found[connection.layer - 1][connection.neuron, connection.input] = True
    return found


def _drawn(workload: PrunedWorkload) -> list[Mask]:
    """Connections of neurons that belong to clusters: those of inputs lie side by side, those of others anywhere."""
    assert workload.density is not None
    rng = np.random.default_rng(workload.seed)
    before = np.arange(workload.widths[0]) * workload.clusters // workload.widths[0]
    found = []
    for inputs, neurons in zip(workload.widths, workload.widths[1:], strict=False):
        own = rng.permutation(np.arange(neurons) * workload.clusters // neurons)
        kept = max(1, round(workload.density * inputs))
        mask = np.zeros((neurons, inputs), np.bool_)
        for neuron in range(neurons):
            near = before == own[neuron]
            order = rng.random(inputs)
            inside = np.flatnonzero(near)[np.argsort(order[near])][: round(workload.within * kept)]
            mask[neuron, inside] = True
            rest = np.flatnonzero(~mask[neuron])
            mask[neuron, rest[np.argsort(order[rest])][: kept - len(inside)]] = True
        found.append(mask)
        before = own
    return found


def _runs(width: int, workers: int) -> Owners:
    return np.arange(width) * workers // width


def _looked_at(mask: Mask, before: Owners, owners: Owners, workers: int) -> Layer:
    needed = np.array([mask[owners == worker].any(axis=0) for worker in range(workers)])
    pairs = np.array([[needed[to, before == origin].sum() for to in range(workers)] for origin in range(workers)])
    inputs = int(needed.sum(axis=1).max())
    np.fill_diagonal(pairs, 0)
    busiest = max(int(pairs.sum(axis=0).max()), int(pairs.sum(axis=1).max()))
    return Layer(len(owners) // workers, inputs, int(pairs.sum()), busiest, int(pairs.max()))


def _assigned(mask: Mask, before: Owners, workers: int) -> Owners:
    """The owner of each neuron so that the fewest connections cross, with equally many on each worker."""
    from scipy.optimize import linear_sum_assignment  # takes a sixth of what all commands need to start

    inside = mask.astype(np.float64) @ (before[:, None] == np.arange(workers)).astype(np.float64)
    slots = np.repeat(np.arange(workers), len(mask) // workers)
    rows, columns = linear_sum_assignment(-inside[:, slots])
    owners = np.empty(len(mask), np.int64)
    owners[rows] = slots[columns]
    return owners


def _parts(masks: Sequence[Mask], workers: int, assigned: bool) -> tuple[Layer, ...]:
    before = _runs(masks[0].shape[1], workers)
    layers = []
    for mask in masks:
        owners = _assigned(mask, before, workers) if assigned else _runs(len(mask), workers)
        layers.append(_looked_at(mask, before, owners, workers))
        before = owners
    return tuple(layers)


def given_layers(workload: PrunedWorkload, workers: int) -> tuple[Layer, ...]:
    """The layers with neurons in the order in which they are."""
    return _divided(_network(workload), workers, assigned=False)


def layers_of(workload: PrunedWorkload, workers: int) -> tuple[Layer, ...]:
    """The layers as the workload's `partition` has them; never with more to cross than as they are."""
    given = given_layers(workload, workers)
    if workload.partition == "given":
        return given
    found = _divided(_network(workload), workers, assigned=True)
    return found if crossing(found) <= crossing(given) else given


@lru_cache(maxsize=256)
def _divided(network: PrunedWorkload, workers: int, assigned: bool) -> tuple[Layer, ...]:
    return _parts(masks_of(network), workers, assigned)


def crossing(layers: Sequence[Layer]) -> int:
    """Numbers that pass between workers for a sample."""
    return sum(layer.crossing for layer in layers)


def connections_of(workload: PrunedWorkload) -> int:
    """Weights that pruning left."""
    return _connections(_network(workload))


@lru_cache(maxsize=256)
def _connections(network: PrunedWorkload) -> int:
    return sum(int(mask.sum()) for mask in masks_of(network))
