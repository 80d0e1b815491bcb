"""Parameter servers: where gradients meet, in place of an all-reduce.

Every worker pushes its gradients to servers, each of which adds up its share of the parameters, and pulls the sums (Li
et al. 2014, OSDI; Jiang et al. 2020, OSDI, BytePS, whose servers add up and whose workers update, as here).
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from simcore.collective.served import Served
from simcore.document.field import Count, Flag, Frozen
from simcore.document.problem import Refusal
from simcore.document.quantity import Bandwidth, Money, Power


class ParameterServer(Frozen):
    """Servers that add up gradients, each an equal share of the parameters."""

    servers: Count
    """Dedicated: machines of the cluster beside its NPUs. Colocated: NPUs of every data-parallel group."""
    place: Literal["dedicated", "colocated"] = "dedicated"
    """Machines of their own, or some of the NPUs, which are workers as well."""
    asynchronous: Flag = False
    """Each worker pulls when its own push has been added, and waits for no other: its weights are old."""
    nics: Count = 1
    """NICs of a dedicated server, each with the bandwidth of the outermost dimension that data parallelism takes."""
    memory_bandwidth: Annotated[Bandwidth, Field(gt=0)] | None = None
    """Memory bandwidth of a dedicated server: its sums pass through it [B/s]."""
    price: Annotated[Money, Field(ge=0)] | None = None
    """Price of a dedicated server, with its NICs and its ports of switches [$]."""
    power: Annotated[Power, Field(ge=0)] | None = None
    """What a dedicated server draws [W]."""

    @model_validator(mode="after")
    def _complete(self) -> ParameterServer:
        given = [name for name in ("memory_bandwidth", "price", "power") if getattr(self, name) is not None]
        if self.dedicated and len(given) < 3:
            raise Refusal("memory_bandwidth, price and power of dedicated servers", ", ".join(given) or "none of them")
        if not self.dedicated and (given or self.nics > 1):
            raise Refusal("servers and asynchronous alone where servers are colocated", ", ".join(given) or "nics")
        return self

    @property
    def kind(self) -> str:
        """The kind of collective that pushes to these servers and pulls."""
        nics, memory = (self.nics, self.memory_bandwidth or 0.0) if self.dedicated else (0, 0.0)
        return Served(self.servers, nics, memory, self.asynchronous).kind

    @property
    def dedicated(self) -> bool:
        """Whether the servers are machines of their own."""
        return self.place == "dedicated"


class Gradients(Frozen):
    """Where gradients of data-parallel NPUs meet."""

    parameter_server: ParameterServer
    """At servers, in place of an all-reduce."""
