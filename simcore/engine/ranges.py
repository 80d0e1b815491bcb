"""How far engine `flow` can be off where few chunks meet on links: what nineteen of twenty drawn designs are within.

Against every message on every link: of an iteration on links that serve messages as they come, of jobs on links that
take connections in turn (`docs/accuracy-details.md`, Shared links; a test holds these numbers to its tables). Two
things are no matter of links. A phase in service is not interrupted, so what blocks a stage waits for all of a chunk
and not for one of its messages: the iterations of the fast engine, which are those of `flow` where nothing is shared,
are as far off. And a phase has its links all the time that it is served, where its steps use some of them in turn. Both
shrink with the number of chunks; with the usual 64 nothing of them is left to say.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from simcore.design.design import Design

MOST_CHUNKS = 16
"""Most chunks of drawn designs."""
ITERATIONS: Mapping[str, Mapping[int, int]] = {
    "fifo": {1: 32, 4: 28, 16: 32},
    "priority": {1: 19, 4: 18, 16: 9},
    "preemptive": {1: 16, 4: 13, 16: 9},
}
"""Intra-dimension policy -> chunks -> percent."""
JOBS: Mapping[str, Mapping[int, int]] = {
    "ring": {1: 36, 4: 13},
    "direct": {1: 30, 4: 9},
    "halving_doubling": {1: 36, 4: 34},
}
"""Algorithm -> chunks -> percent."""


def ranges_of(design: Design, beside: bool) -> Iterator[str]:
    """What to say of a design that engine `flow` played, or of a job of it that shares links with others (`beside`)."""
    chunks = design.system.chunks
    if chunks > MOST_CHUNKS:
        return
    if beside:
        measured = JOBS.get(str(design.algorithms[-1]))
        who = "chunks and those of other jobs"
    elif design.workload.computes:
        measured = ITERATIONS.get(design.system.intra_dimension)
        who = "chunks of different groups"
    else:
        return
    turns = f"turns that messages of {who} take on links: with {chunks} chunk{'s' * (chunks > 1)}"
    if measured is None:
        yield f"{turns} nobody has measured by how much times are off"
    else:
        percent = measured[max(few for few in measured if few <= chunks)]
        yield f"{turns} one time in twenty is off by {percent} % or more"
