"""At what price: a cluster, its racks, its power; and what a price list does not sell."""

from __future__ import annotations

from collections.abc import Iterator

from simcore import catalog
from simcore.cost.bill import GROUPS, Bill
from simcore.cost.linear import elements, memory_beyond, npu_price, own_or_listed, servers_price, unit_price
from simcore.cost.materials import KEPT, asked_of_linear, bill_of, pieces_of
from simcore.cost.pool import pool_price, pool_price_problems
from simcore.cost.rack import npus_per_rack
from simcore.cost.shelf import shelf_of
from simcore.design.design import Design
from simcore.design.dimension import Dimension
from simcore.design.node import node_of
from simcore.design.once import once_for
from simcore.document.problem import Path, Problem, suggest_nearest
from simcore.result import Cost


@once_for(asked_of_linear, KEPT)
def cluster_cost(design: Design) -> Cost:
    """Price of the cluster [$]: the sums of its bill."""
    cluster, prices = design.cluster, design.cost
    if prices.by_parts:
        return _sums(bill_of(design))
    network = cluster.npus * sum(unit_price(prices, d) * d.bandwidth for d in cluster.dimensions)
    npu = cluster.npus * (0.0 if prices.free_npus else npu_price(design))
    memory = cluster.npus * (memory_beyond(design) * prices.memory) + pool_price(design)
    other = servers_price(design)
    return Cost(network=network, npu=npu, memory=memory, other=other, total=network + npu + memory + other)


def _sums(bill: Bill) -> Cost:
    sums = dict.fromkeys(GROUPS, 0.0)
    for item in bill.items:
        sums[item.group] += item.count * item.price
    return Cost(total=sum(sums.values()), **sums)


def network_cost(design: Design) -> tuple[float, ...]:
    """Price of the network of each dimension [$]."""
    cluster, prices = design.cluster, design.cost
    if prices.by_parts:
        return pieces_of(design).dimensions
    return tuple(cluster.npus * unit_price(prices, d) * d.bandwidth for d in cluster.dimensions)


def racks(design: Design) -> int:
    """Racks that the NPUs fill; at a list of parts all racks."""
    if design.cost.by_parts:
        rack = shelf_of(design.cost).first("rack")
        name = rack and rack.part.name
        return int(sum(item.count for item in bill_of(design).items if item.part == name))
    return -(-design.cluster.npus // npus_per_rack(node_of(design.cluster), design.cost))


def price_problems(design: Design) -> list[Problem]:
    """What of the design cannot be bought at its price list."""
    prices = design.cost
    if unknown := [*_unknown_parts(design)]:
        return unknown
    if prices.by_parts:
        return [*_priced_apart(design), *pieces_of(design).problems, *pool_price_problems(design)]
    if not prices.name and (lacking := _unpriced(design)):
        fix = "beside the other prices of a list, name it: 'cost: {base: libra, ...}'"
        return [Problem(("cost",), f"prices of {', '.join(lacking)}", "a price list without them", fix)]
    problems = [
        Problem(
            ("cluster", "dimensions", index, "tier"),
            f"a tier with a price for a {element} in price list '{prices.name}'",
            f"'{dimension.tier}'",
            "choose another tier or topology, or spell the price list out",
        )
        for index, dimension, element in _unsold(design)
    ]
    problems += pool_price_problems(design)
    npu = design.cluster.npu
    if _lacks_npu(design):
        found = f"'{npu.name}'" if npu.name else "an NPU without a price"
        fix = "add 'price' to the NPU, or its name to the price list's 'npu'"
        problems.append(Problem(("cluster", "npu"), f"an NPU priced in '{prices.name}'", found, fix))
    return problems


def _priced_apart(design: Design) -> Iterator[Problem]:
    """A price of an NPU where nodes are bought whole."""
    if design.cluster.npu.price is not None:
        name = design.cost.name or "NAME"
        fix = f"say what a node costs, 'cost: {{base: {name}, nodes: {{…}}}}', or choose a list of NPUs such as libra"
        found = f"{design.cluster.npu.price:,.0f} $"
        yield Problem(("cluster", "npu", "price"), f"no price of an NPU: list '{name}' sells whole nodes", found, fix)


def _unpriced(design: Design) -> list[str]:
    """What a price list of one's own would have to price, and does not."""
    unsold = dict.fromkeys(f"a {element} in tier {dimension.tier}" for _, dimension, element in _unsold(design))
    return [
        *unsold,
        *([f"NPU {name}" if (name := design.cluster.npu.name) else "the NPU"] if _lacks_npu(design) else []),
    ]


def _unsold(design: Design) -> Iterator[tuple[int, Dimension, str]]:
    """What its network has and its price list has no price for: the dimension's number, the dimension, the element."""
    for index, dimension in enumerate(design.cluster.dimensions):
        tier = design.cost.network.get(dimension.tier)
        for element in elements(dimension):
            if tier is None or getattr(tier, element) is None:
                yield index, dimension, element


def _lacks_npu(design: Design) -> bool:
    """Whether its price list has no price for its NPU, nor the NPU one of its own."""
    prices, npu = design.cost, design.cluster.npu
    return not prices.free_npus and own_or_listed(npu, prices) is None


def _unknown_parts(design: Design) -> Iterator[Problem]:
    """Parts that the price list, or a dimension, names and the catalogue lacks."""
    named: list[tuple[Path, str]] = [(("cost", "parts", name), name) for name in design.cost.parts]
    for index, dimension in enumerate(design.cluster.dimensions):
        named += [(("cluster", "dimensions", index, "switch"), dimension.switch)] if dimension.switch else []
    known = catalog.section("parts") if named else {}
    for path, name in named:
        if name not in known:
            fix = suggest_nearest(name, known, "parts")
            yield Problem(path, "a part of the catalogue", f"'{name}'", fix)
