"""The links of every different row of NPUs along each dimension, of one job or of several side by side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from simcore.design.design import Design
from simcore.design.dimension import block_of
from simcore.document.problem import InputError, Problem
from simcore.engine.flow.loads import Load, row_loads
from simcore.engine.flow.of_jobs import loads_on_row
from simcore.engine.flow.rows import Row, unpack
from simcore.engine.flow.wires import Wires, wires_of
from simcore.engine.link_use.base import FREE, LinkUse, RowUse, Share
from simcore.engine.link_use.reductions import reduction_loads, tree_of
from simcore.engine.link_use.rings import RingMessages, Rings, coordinates, rings_of
from simcore.engine.link_use.tenant import Tenant, tenants_of
from simcore.network.sent import Floats, Ints, Sent
from simcore.system.chunks import Chunker

User = tuple[int, int, str]
"""Job, stage, group."""


class RowShare(NamedTuple):
    """What a job has of a row."""

    tenant: Tenant
    number: int
    """The dimension, in the job's own design."""
    row: Row
    rings: tuple[RingMessages, ...]
    places: Ints | None = None
    """Its nodes, in a row that it shares with other jobs; None where the row is its own."""

    @property
    def key(self) -> tuple[object, ...]:
        """Equal where it puts the same on the links of a row."""
        return self.tenant.number, self.row, *(ring.key for ring in self.rings)

    def at(self, nodes: Ints) -> Ints:
        """Where nodes of the job are in the row."""
        return nodes if self.places is None else self.places[nodes]


def use_of_links(design: Design, *seconds: float) -> tuple[RowUse, ...]:
    """The links of each different row of each dimension; `seconds` are those of an iteration, of each job.

    Raises `InputError` where failed links leave no way, and for parameter servers, whose links are not of the fabric.
    """
    if design.parallelism.parameter_server is not None:
        expected = "all_reduce, between NPUs alone"
        raise InputError([Problem(("parallelism", "gradients"), expected, "parameter_server")], "links")
    tenants = tenants_of(design, seconds)
    rings = {tenant.number: rings_of(tenant) for tenant in tenants}
    found = []
    for number in range(len(design.cluster.dimensions)):
        seen: set[tuple[object, ...]] = set()
        for parts in _rows(design, number, tenants, rings):
            key = tuple(part.key for part in parts)
            if key not in seen:
                seen.add(key)
                found.append(_row_use(design, number, parts))
    return tuple(found)


def _rows(
    design: Design, number: int, tenants: Sequence[Tenant], rings: Mapping[int, Rings]
) -> Iterator[list[RowShare]]:
    """The rows along a dimension, by who is in them; those of no job left out."""
    if design.jobs is None or any(tenant.played.share.shared != number for tenant in tenants):
        for tenant in tenants:
            its = number if tenant.share is None else _place_of(tenant, number)
            if its is not None:
                yield from ([part] for part in _own_rows(tenant, its, rings[tenant.number]))
        return
    sizes = [dimension.size for dimension in design.cluster.dimensions]
    present = [(tenant, its) for tenant in tenants if (its := _place_of(tenant, number)) is not None]
    for at in coordinates(sizes, number):
        yield [_shared_part(tenant, its, at, rings[tenant.number]) for tenant, its in present]


def _place_of(tenant: Tenant, number: int) -> int | None:
    """Which dimension of a job's design a dimension of the cluster is."""
    assert tenant.share is not None
    return tenant.share.dimensions.index(number) if number in tenant.share.dimensions else None


def _own_rows(tenant: Tenant, number: int, rings: Rings) -> Iterator[RowShare]:
    if not rings:
        yield from (RowShare(tenant, number, row, ()) for row in tenant.rows.along(number))
        return
    sizes = [dimension.size for dimension in tenant.design.cluster.dimensions]
    for at in coordinates(sizes, number):
        crossing = tuple(rings[number].get(at, ()))
        yield RowShare(tenant, number, tenant.rows.row_at(number, at), crossing)


def _shared_part(tenant: Tenant, its: int, at: Sequence[int], rings: Rings) -> RowShare:
    assert tenant.share is not None
    own = [0 if other == tenant.share.shared else at[other] for other in tenant.share.dimensions]
    crossing = tuple(rings[its].get(tuple(own), ())) if rings else ()
    return RowShare(tenant, its, tenant.rows.row_at(its, own), crossing, np.array(tenant.share.places))


def _row_use(design: Design, number: int, parts: Sequence[RowShare]) -> RowUse:
    dimension = design.cluster.dimensions[number]
    wires = wires_of(block_of(dimension), dimension.size, tuple(design.cluster.worn(number).items()))
    bandwidth = Chunker(design).rate(dimension)
    users: dict[User, Floats] = {}
    stages, jobs = np.full(dimension.size, FREE), np.full(dimension.size, FREE)
    for part in parts:
        classes = unpack(part.row.classes)
        nodes = part.at(np.arange(len(classes)))
        stages[nodes], jobs[nodes] = np.array(part.tenant.classes.stages)[classes], part.tenant.number
        for user, share in _uses(part, wires, bandwidth):
            users[user] = users.get(user, 0.0) + share
    rates = wires.rate / wires.count * bandwidth
    links = tuple(
        LinkUse(wires.ends(pool), float(rate), _shares(users, pool)) for pool, rate in enumerate(rates.tolist()) if rate
    )
    return RowUse(number, tuple(stages.tolist()), tuple(jobs.tolist()), links)


def _uses(part: RowShare, wires: Wires, bandwidth: float) -> Iterator[tuple[User, Floats]]:
    """The share of an iteration for which each link carries a user's messages."""
    tenant = part.tenant
    for load in [*_message_loads(part, wires), *_tree_loads(part, wires)]:
        user = tenant.number, tenant.classes.stages[load.sender.npus], load.sender.group
        yield user, load.share * tenant.work.service.get((load.sender, part.number), 0.0) / tenant.seconds
    for ring in part.rings:
        sent = Sent(part.at(ring.sent.source), part.at(ring.sent.target), ring.sent.share)
        carried = wires.load(sent) / bandwidth / tenant.seconds
        share = np.divide(carried, wires.rate, out=np.zeros(len(carried)), where=wires.rate > 0)
        yield (tenant.number, tenant.classes.stages[ring.npus], ring.group), share


def _message_loads(part: RowShare, wires: Wires) -> Iterator[Load]:
    """What phases put on links message by message."""
    tenant, carried = part.tenant, part.tenant.carried(part.number)
    switched = {(phase.group, phase.kind) for phase in carried.phases if tree_of(carried.block, phase)}
    loads = row_loads(carried, part.row, wires)
    if part.places is not None:
        loads = loads_on_row(tenant.played, part.row, wires)
    yield from (load for load in loads if (load.sender.group, load.sender.kind) not in switched)


def _tree_loads(part: RowShare, wires: Wires) -> Iterator[Load]:
    """What switches put on links that add up and copy."""
    carried = part.tenant.carried(part.number)
    classes = np.full(wires.size, FREE)
    own = unpack(part.row.classes)
    classes[part.at(np.arange(len(own)))] = own
    for phase in carried.phases:
        if (tree := tree_of(carried.block, phase)) is not None:
            members = phase.part.stride * np.arange(phase.part.members)
            nodes = [part.at(first + members) for first in phase.firsts]
            yield from reduction_loads(carried.block, phase, tree, nodes, classes, wires)


def _shares(users: Mapping[User, Floats], pool: int) -> tuple[Share, ...]:
    found = [
        Share(stage, group, float(shares[pool]), job)
        for (job, stage, group), shares in users.items()
        if shares[pool] > 0
    ]
    return tuple(sorted(found, key=lambda one: (-one.share, one.job, one.stage, one.group)))
