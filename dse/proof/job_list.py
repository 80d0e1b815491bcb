"""The jobs of one workload on so many NPUs, and which of them compute alike.

There may be ten thousand and more. What a search asks first is the same for all that differ in what changes memory and
collectives alone, so it is asked once for each such group, and a job is parsed when its turn comes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from weakref import WeakValueDictionary

from dse.proof.join import join_designs
from dse.proof.parts import SpacePart, fillings, without_parallelism
from simcore.check.load import parse_sound
from simcore.design.design import Design

_SAME_COMPUTE = frozenset({"zero", "accumulate", "gather", "shard_group", "bucket"})
"""Keys of `parallelism` that change memory and collectives alone."""


@dataclass(frozen=True, slots=True)
class QueuedJob:
    """A filling of workload and parallelism."""

    number: int
    part: SpacePart


@dataclass
class Jobs:
    """Jobs of one workload as it is written, in their order, whatever they run on."""

    jobs: list[QueuedJob] = field(default_factory=list)

    @cached_property
    def alike(self) -> list[list[QueuedJob]]:
        """The jobs in groups that compute alike, each in order, and the groups in that of their first jobs."""
        found: dict[str, list[QueuedJob]] = {}
        for job in self.jobs:
            document = job.part.document
            kept = {k: v for k, v in (document.get("parallelism") or {}).items() if k not in _SAME_COMPUTE}
            found.setdefault(repr((kept, document.get("software"))), []).append(job)
        return list(found.values())


class JobList:
    """Jobs of one workload; `base` is a design on as many NPUs."""

    def __init__(self, base: Design, jobs: Jobs | None = None) -> None:
        self._base, self._document = base, without_parallelism(base)
        self._jobs = jobs or Jobs()
        self._designs: dict[int, Design] = {}

    def __len__(self) -> int:
        return len(self.jobs)

    @property
    def jobs(self) -> list[QueuedJob]:
        """All of them, in their order."""
        return self._jobs.jobs

    @property
    def alike(self) -> list[list[QueuedJob]]:
        """See `Jobs.alike`."""
        return self._jobs.alike

    def design_of(self, job: QueuedJob) -> Design:
        """A job on the network of the base; kept, for the same few are asked for again by every shape."""
        if job.number not in self._designs:
            parsed = parse_sound({**self._document, **job.part.document})
            workload = self._base.workload if parsed.workload == self._base.workload else parsed.workload
            self._designs[job.number] = join_designs(parsed, self._base).model_copy(update={"workload": workload})
        return self._designs[job.number]


class WrittenJobs(dict[str, Jobs]):
    """The jobs on so many NPUs, by their workload and their stack as they are written."""

    __slots__ = ("__weakref__",)


_written: WeakValueDictionary[str, WrittenJobs] = WeakValueDictionary()


def list_jobs(template: Mapping[str, Any]) -> WrittenJobs:
    """The fillings of a template of jobs; listed once as long as somebody has them.

    They are the same for all clusters of a space, of which each is a template of its own to the certificate.
    """
    key = repr(template)
    found = _written.get(key)
    if found is None:
        found = _written[key] = WrittenJobs()
        for number, part in enumerate(fillings(template)):
            written = repr((part.document["workload"], part.document.get("software")))
            found.setdefault(written, Jobs()).jobs.append(QueuedJob(number, part))
    return found


def group_by_workload(written: WrittenJobs, base: Design) -> dict[str, JobList]:
    """The jobs of each workload on the NPUs of `base`, as JSON of it."""
    found: dict[str, list[Jobs]] = {}
    for jobs in written.values():
        document = {**without_parallelism(base), **jobs.jobs[0].part.document}
        found.setdefault(parse_sound(document).workload.model_dump_json(), []).append(jobs)
    return {text: JobList(base, each[0] if len(each) == 1 else _merge(each)) for text, each in found.items()}


def _merge(each: list[Jobs]) -> Jobs:
    return Jobs(sorted((job for jobs in each for job in jobs.jobs), key=lambda job: job.number))
