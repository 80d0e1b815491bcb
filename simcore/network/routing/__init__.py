"""Which way: one file per routing."""

from simcore.family import Family
from simcore.network.routing.adaptive import Adaptive
from simcore.network.routing.base import Ints, Routing
from simcore.network.routing.dimension_ordered import DimensionOrdered
from simcore.network.routing.ecmp import Ecmp
from simcore.network.routing.shortest import Shortest
from simcore.network.routing.valiant import Valiant

ROUTINGS: Family[Routing] = Family(
    "simcore.routings",
    Routing,
    {
        "shortest": Shortest(),
        "ecmp": Ecmp(),
        "adaptive": Adaptive(),
        "dimension_ordered": DimensionOrdered(),
        "valiant": Valiant(),
    },
)

__all__ = ["ROUTINGS", "Ints", "Routing"]
