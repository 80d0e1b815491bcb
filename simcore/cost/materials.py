"""What a cluster is built of, and what that costs: the bill of a design at its price list."""

from __future__ import annotations

from simcore.cost.bill import Bill
from simcore.cost.linear import linear_items
from simcore.design.design import Design
from simcore.design.once import once


@once
def bill_of(design: Design) -> Bill:
    """The bill of a checked design; its sums are `cluster_cost`."""
    return Bill(tuple(linear_items(design)))
