"""A torus over many nodes: copper inside racks, and fibres to optical circuit switches, which close its rings.

A rack is a block of the torus (4 x 4 x 4 chips of a TPU v4), all of whose faces are optical. The links that cross a
face at one place of it, of all blocks, and those of the opposite face, meet in the same circuit switch, so that any
blocks can be joined (Jouppi et al. 2023, arXiv 2304.01433: 64 blocks, 48 switches). Of few blocks a switch has the
links of as many places as it has ports for.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from simcore.cost.shelf import Basket
from simcore.design.fabric import even_factors
from simcore.design.node import Node, TorusParts
from simcore.design.part import Part
from simcore.document.problem import Path

_PATH: Path = ("cluster", "node", "scale_up", "torus")


def blocks_of(node: Node, sizes: Sequence[int]) -> int:
    """Racks of one torus of these sizes; 0 where it is smaller than one, or is cabled with copper alone."""
    torus, side = node.scale_up.torus, _block(node)
    if torus is None or torus.circuit_switch is None or prod(sizes) < prod(side):
        return 0
    return prod(-(-size // edge) for size, edge in zip(_padded(node, sizes), side, strict=True))


def buy_torus(basket: Basket, node: Node, torus: TorusParts, sizes: Sequence[int], domains: int) -> None:
    """Puts the links of `domains` tori of these sizes into the basket."""
    blocks = blocks_of(node, sizes)
    copper = basket.need("cable", _PATH, name=torus.copper)
    if not blocks:
        cables = max(0, _links(sizes) - _on_boards(node, prod(sizes)))  # a ring may have fewer links than its boards
        basket.add(copper, "scale-up, in racks", "network", domains * cables)
        return
    side = _block(node)
    inside = _meshed(side) - _on_boards(node, prod(side))
    basket.add(copper, "scale-up, in racks", "network", domains * blocks * inside)
    faces = [prod(side) // edge for edge in side]
    ends = domains * blocks * 2 * sum(faces)
    for name in (torus.transceiver, torus.fibre):
        basket.add(basket.need("transceiver", _PATH, name=name), "scale-up, between racks", "network", ends)
    switch = basket.need("circuit_switch", _PATH, name=torus.circuit_switch)
    if switch is not None:
        basket.add(
            switch, "scale-up, between racks", "network", _switches(2 * blocks * domains, sum(faces), switch.part)
        )


def _switches(ends: int, places: int, switch: Part) -> int:
    """Circuit switches for so many `ends` of links at each of these places of a block's faces."""
    beside = switch.ports // ends
    return -(-places // beside) if beside else places * -(-ends // switch.ports)


def _block(node: Node) -> tuple[int, ...]:
    """The sides of a rack's block of the torus."""
    return even_factors(node.per_rack * node.size, node.scale_up.axes)


def _padded(node: Node, sizes: Sequence[int]) -> list[int]:
    """The sizes of a torus, ascending, as many as it has axes."""
    return sorted([*sizes, *[1] * (node.scale_up.axes - len(sizes))])


def _links(sizes: Sequence[int]) -> int:
    """Links of a torus: of each NPU one along each axis, one fewer in a row of two."""
    return sum(prod(sizes) // (2 if size == 2 else 1) for size in sizes if size > 1)


def _meshed(sizes: Sequence[int]) -> int:
    """Links inside a block, which does not close its rings."""
    return sum(prod(sizes) // size * (size - 1) for size in sizes)


def _on_boards(node: Node, npus: int) -> int:
    """Links on the boards of the nodes themselves."""
    return npus // node.size * _meshed(even_factors(node.size, 2)) if npus >= node.size else 0
