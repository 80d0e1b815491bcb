"""The times of collectives in all draws at once, and what they cost the computation beside them."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from simcore.bounds.collective import CollectiveTime, collective_time
from simcore.collective import routed_of
from simcore.design.design import Design
from simcore.system.chunks import FLAT, Chunks, Phase
from simcore.system.interference import UNIT, slowdowns
from simcore.system.streamed import STREAMED, count_queues
from simcore.uncertainty import parameters
from simcore.uncertainty.draws import Draws, Floats


@dataclass(frozen=True)
class DrawnNetwork:
    """The network of a design, in draws."""

    design: Design
    draws: Draws
    _known: dict[tuple[int, str], tuple[Floats, Floats]] = field(default_factory=dict)

    def time(self, kind: str, chunks: Chunks) -> CollectiveTime:
        """What a collective of a kind takes from issue to completion, and keeps each dimension busy `[1 + count]` [ps].

        As `simcore.bounds.estimate` has it: as it goes, alone.
        """
        counted = chunks.count_paths()
        paths = [[self._phase(kind, phase) for phase in path] for path, _ in counted]
        return collective_time(paths, [often for _, often in counted], ())

    def _phase(self, kind: str, phase: Phase) -> Phase:
        if phase.kind in STREAMED:  # a rate of the document, which nothing here is known to miss
            every = np.ones(1 + self.draws.count)
            return phase._replace(serialization=phase.serialization * every, latency=phase.latency * every)  # type: ignore[arg-type]
        service, latency = self._errors(kind, phase)
        serialization, other = phase.serialization * service, phase.other_links * service
        waits = (phase.latency - phase.other_links) * latency + other
        return phase._replace(serialization=serialization, latency=waits, other_links=other)  # type: ignore[arg-type]

    def _errors(self, kind: str, phase: Phase) -> tuple[Floats, Floats]:
        """Factors of the service and of the latency of phases of a kind in a dimension."""
        key = phase.dimension, f"{kind} {phase.kind}"
        if key not in self._known:
            dimension = self.design.cluster.dimensions[phase.dimension]
            flat, routed = phase.kind.startswith(FLAT), bool(routed_of(kind))
            wrong = parameters.service_errors(self.design, dimension, phase.kind, flat=flat, routed=routed)
            latency = self.draws.error(parameters.latency_error(dimension))
            self._known[key] = np.exp(self.draws.error(*wrong)), np.exp(latency)
        return self._known[key]

    def slowdowns(self) -> tuple[Floats, ...]:
        """Extra time of computation while each dimension serves a phase, as a share of the time without `[1 + count]`.

        Zero where there is none: what is not modelled has no error of its own.
        """
        moved = [np.zeros(1 + self.draws.count)] * (count_queues(self.design) - len(self.design.cluster.dimensions))
        of_dimensions = (
            share / UNIT * np.exp(self.draws.error(parameters.overlap_error(dimension)))
            if share
            else np.zeros(1 + self.draws.count)
            for share, dimension in zip(slowdowns(self.design), self.design.cluster.dimensions, strict=False)
        )
        return (*of_dimensions, *moved)
