"""The parts that a price list sells, and the basket that a bill is put together in."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from simcore import catalog
from simcore.catalog.preset import preset
from simcore.cost.bill import Group, Item
from simcore.design.once import once
from simcore.design.part import Part, PartKind, PartPrice
from simcore.design.prices import PriceList
from simcore.document.problem import Path, Problem
from simcore.document.quantity import write_quantity


@dataclass(frozen=True, slots=True)
class Sold:
    """A part at its price."""

    part: Part
    price: PartPrice

    def item(self, where: str, group: Group, count: float, in_nodes: bool = False) -> Item:
        """So many of it, as a line of a bill; what is inside nodes is on their nameplates."""
        price, power = self.price, self.part.power
        source = f"price: {price.source} ({price.date}); part: {self.part.source}"
        ends = (price.low, price.high)
        most = 0.0 if in_nodes else power.max
        return Item(self.part.name, where, group, count, "", price.price, ends, power.typical, most, source)


@dataclass(frozen=True, slots=True)
class Link:
    """A way to join two ports: a cable with its own ends, or fibres with a transceiver at each end."""

    cable: Sold
    transceiver: Sold | None
    reach: float
    """[m]."""


@dataclass(frozen=True)
class Shelf:
    """The parts of a price list, in its order."""

    name: str
    parts: tuple[Sold, ...]

    def named(self, name: str) -> Sold | None:
        """The part of that name; None where the list does not sell it."""
        return next((sold for sold in self.parts if sold.part.name == name), None)

    def first(self, kind: PartKind, rate: float | None = None) -> Sold | None:
        """The first part of a kind, and of a rate where one is given [B/s]."""
        mine = (sold for sold in self.parts if sold.part.kind == kind)
        return next((sold for sold in mine if rate is None or sold.part.rate == rate), None)

    def reducing(self, rate: float) -> str | None:
        """The name of the first switch of a rate [B/s] that adds up and copies; None where there is none."""
        mine = (sold.part for sold in self.parts if sold.part.kind == "switch" and sold.part.rate == rate)
        return next((part.name for part in mine if part.trees is not None), None)

    def link(self, rate: float, metres: float) -> Link | None:
        """The link of a rate [B/s] that reaches so far and no further than it must; None where there is none."""
        return min((k for k in self._links(rate) if k.reach >= metres), key=lambda link: link.reach, default=None)

    def _links(self, rate: float) -> Iterator[Link]:
        for sold in self.parts:
            part = sold.part
            if part.rate != rate or part.reach is None:
                continue
            if part.kind == "cable":
                yield Link(sold, None, part.reach)
            elif part.kind == "transceiver" and (fibre := self._fibre(part.medium)) is not None:
                yield Link(fibre, sold, part.reach)

    def _fibre(self, medium: str | None) -> Sold | None:
        fibres = (s for s in self.parts if s.part.kind == "cable" and s.part.rate is None and s.part.medium is not None)
        return next((sold for sold in fibres if sold.part.medium == medium), None)


@once
def shelf_of(prices: PriceList) -> Shelf:
    """What a price list sells of the catalogue's parts."""
    known = catalog.section("parts")
    sold = tuple(Sold(preset(Part, "parts", name), price) for name, price in prices.parts.items() if name in known)
    return Shelf(prices.name, sold)


@dataclass(slots=True)
class Basket:
    """The items of a bill while it is put together, and why it cannot be."""

    prices: PriceList
    items: list[Item] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)

    @property
    def shelf(self) -> Shelf:
        """What the price list sells."""
        return shelf_of(self.prices)

    @property
    def network(self) -> float:
        """Price of the network between NPUs so far [$]."""
        return sum(item.count * item.price for item in self.items if item.group == "network")

    def add(self, sold: Sold | None, where: str, group: Group, count: float, in_nodes: bool = False) -> None:
        """Puts so many of a part in; nothing of none."""
        if sold is not None and count:
            self.items.append(sold.item(where, group, count, in_nodes))

    def refuse(self, path: Path, expected: str, found: str, fix: str = "") -> None:
        """Notes a problem, once."""
        problem = Problem(path, expected, found, fix, rule="parts of the price list")
        if problem not in self.problems:
            self.problems.append(problem)

    def need(self, kind: PartKind, path: Path, rate: float | None = None, name: str | None = None) -> Sold | None:
        """The part of that name, or the first of a kind and rate; None, with a problem, where the list has none."""
        found = self.shelf.first(kind, rate) if name is None else self.shelf.named(name)
        if found is None:
            what = kind.replace("_", " ").replace("nic", "NIC")
            wanted = f"'{name}'" if name else what + (f" of {write_quantity(rate, 'bandwidth')}" if rate else "")
            fix = "add it to the list's 'parts', or choose what the list has"
            self.refuse(path, f"a price in list '{self.shelf.name}'", f"none for {wanted}", fix)
        return found
