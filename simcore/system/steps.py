"""Phases as a policy serves them that interrupts them: step by step, each a phase of its own.

A message on a link lets others pass as soon as it has left it, so a phase holds its dimension for no longer than one
of its steps (`Phase.steps`). Cut in equal parts, each part waits for its turn: what comes before it by the policy is
served between two of them. Parts of a phase add up to the phase, and only the last one has its latency. Of many steps
several are one part, since each costs an event.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from simcore.design.design import Design
from simcore.policy.intra_dimension import INTRA_DIMENSION
from simcore.system.phase import Chunks, Phase

MOST_PARTS = 8
"""Most parts of a phase: what goes first waits for an eighth of it at most."""


def as_served(design: Design, split: Chunks) -> Chunks:
    """The phases of a collective as the design's policy serves them."""
    if not INTRA_DIMENSION[design.system.intra_dimension].by_steps:
        return split
    return Chunks([list(_cut(path)) for path in split.paths], split.chosen)


def _cut(path: Sequence[Phase]) -> Iterator[Phase]:
    for phase in path:
        parts = min(phase.steps, phase.serialization, MOST_PARTS)
        ends = [phase.serialization * part // parts for part in range(parts + 1)]
        only_busy = phase._replace(latency=0, sent=0.0, other_links=0, further_steps=0, steps=1)
        for part in range(parts - 1):
            time = ends[part + 1] - ends[part]
            yield only_busy._replace(serialization=time, begun=part > 0)
        yield phase._replace(serialization=ends[-1] - ends[-2], steps=1, begun=parts > 1)
