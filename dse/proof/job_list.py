"""The jobs of one workload on so many NPUs, and which of them compute alike.

There may be ten thousand and more. What a search asks first is the same for all that differ in what changes memory and
collectives alone, so it is asked once for each such group, and a job is parsed when its turn comes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from dse.proof.join import join_designs
from dse.proof.parts import SpacePart, parse_sound
from simcore.design.design import Design

_SAME_COMPUTE = frozenset({"zero", "accumulate", "gather", "shard_group", "bucket"})
"""Keys of `parallelism` that change memory and collectives alone."""


@dataclass(frozen=True, slots=True)
class QueuedJob:
    """A filling of workload and parallelism."""

    number: int
    part: SpacePart


class JobList:
    """Jobs of one workload, in their order; `base` is a design on as many NPUs."""

    def __init__(self, base: Design) -> None:
        self._base, self._document = base, base.document()
        self._designs: dict[int, Design] = {}
        self.jobs: list[QueuedJob] = []

    def __len__(self) -> int:
        return len(self.jobs)

    def add(self, number: int, part: SpacePart) -> None:
        """One more job."""
        self.jobs.append(QueuedJob(number, part))

    @cached_property
    def alike(self) -> list[list[QueuedJob]]:
        """The jobs in groups that compute alike, each in order, and the groups in that of their first jobs."""
        found: dict[str, list[QueuedJob]] = {}
        for job in self.jobs:
            document = job.part.document
            kept = {k: v for k, v in (document.get("parallelism") or {}).items() if k not in _SAME_COMPUTE}
            found.setdefault(repr((kept, document.get("software"))), []).append(job)
        return list(found.values())

    def design_of(self, job: QueuedJob) -> Design:
        """A job on the network of the base; kept, for the same few are asked for again by every shape."""
        if job.number not in self._designs:
            parsed = parse_sound({**self._document, **job.part.document})
            workload = self._base.workload if parsed.workload == self._base.workload else parsed.workload
            self._designs[job.number] = join_designs(parsed, self._base).model_copy(update={"workload": workload})
        return self._designs[job.number]


def group_by_workload(parts: Iterable[SpacePart], base: Design) -> dict[str, JobList]:
    """The jobs of each workload, as JSON of it."""
    found: dict[str, JobList] = {}
    texts: dict[str, str] = {}
    for number, part in enumerate(parts):
        text = repr(part.document["workload"])
        if text not in texts:
            texts[text] = parse_sound({**base.document(), **part.document}).workload.model_dump_json()
            found.setdefault(texts[text], JobList(base))
        found[texts[text]].add(number, part)
    return found
