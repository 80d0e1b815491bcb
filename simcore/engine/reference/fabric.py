"""The links of a whole cluster, over which the messages of one job travel, or those of several."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import simpy

from simcore.design.design import Design
from simcore.engine.reference.links import LinkNetwork
from simcore.engine.reference.processor import Processor
from simcore.network import Slice
from simcore.system.chunks import Chunker, block_of

Listener = Callable[[int, int], None]
"""Is told that a link of a dimension (first number) begins (1) or ends (-1) to carry a message out of an NPU."""


@dataclass
class Fabric:
    """See the module; NPUs are those of the cluster, innermost dimension first."""

    env: simpy.Environment
    design: Design
    of_jobs: bool = False
    """See `LinkNetwork.of_jobs`."""
    networks: dict[tuple[int, int], LinkNetwork] = field(default_factory=dict)
    """(dimension, first NPU) -> the links between the NPUs that differ from that one in the dimension alone."""
    listeners: dict[int, Listener] = field(default_factory=dict)
    """Listeners of NPUs whose computation is slowed by what their links carry."""

    def node_of(self, npu: int, dimension: int) -> int:
        """The place of an NPU on a dimension."""
        return npu // self.design.cluster.strides[dimension] % self.design.cluster.dimensions[dimension].size

    def network_of(self, npu: int, dimension: int) -> LinkNetwork:
        """The links of a dimension that an NPU is on."""
        first = npu - self.node_of(npu, dimension) * self.design.cluster.strides[dimension]
        key = dimension, first
        if key not in self.networks:

            def serve(node: int, more: int) -> None:
                listener = self.listeners.get(first + node * self.design.cluster.strides[dimension])
                if listener is not None:
                    listener(dimension, more)

            its = self.design.cluster.dimensions[dimension]
            self.networks[key] = LinkNetwork(
                self.env,
                block_of(its),
                Slice(its.size, its.size, 1),
                Chunker(self.design).rate(its),
                its.latency,
                self.design.cluster.switching,
                self.design.cluster.worn(dimension),
                its.efficiency,
                serve if self.listeners else None,
                self.of_jobs,
            )
        return self.networks[key]


@dataclass(frozen=True)
class FabricView:
    """A fabric as one job numbers its NPUs and its dimensions."""

    fabric: Fabric
    npus: Sequence[int]
    """The NPU of the cluster that each of its own is."""
    dimensions: Sequence[int]
    """The dimension of the cluster that each of its own is a part of."""

    @classmethod
    def whole(cls, env: simpy.Environment, design: Design) -> FabricView:
        """All of a cluster, for one job."""
        return cls(Fabric(env, design), range(design.cluster.npus), range(len(design.cluster.dimensions)))

    def node_of(self, npu: int, dimension: int) -> int:
        """The place of an NPU on the cluster's dimension."""
        return self.fabric.node_of(self.npus[npu], self.dimensions[dimension])

    def network_of(self, npu: int, dimension: int) -> LinkNetwork:
        """The links of the cluster's dimension that an NPU is on."""
        return self.fabric.network_of(self.npus[npu], self.dimensions[dimension])

    def networks_of(self, npu: int) -> dict[int, LinkNetwork]:
        """Networks of the job's dimensions whose links something has asked for."""
        known = self.fabric.networks
        firsts = {
            own: (whole, self.npus[npu] - self.node_of(npu, own) * self.fabric.design.cluster.strides[whole])
            for own, whole in enumerate(self.dimensions)
        }
        return {own: known[key] for own, key in firsts.items() if key in known}

    def tell(self, npu: int, processor: Processor) -> None:
        """Let the links out of an NPU tell its processor what they carry."""
        own = {whole: number for number, whole in enumerate(self.dimensions)}

        def listen(dimension: int, more: int) -> None:
            if dimension in own:
                processor.serve(own[dimension], more)

        self.fabric.listeners[self.npus[npu]] = listen
