"""Where a study is to be evaluated, as the command line says it."""

from __future__ import annotations

import os
from dataclasses import dataclass

MOST_JOBS = 1024
"""Workers on one machine: each is a process with the whole program in it."""


def cores() -> int:
    """Cores of this machine that this process may use."""
    allowed = getattr(os, "sched_getaffinity", None)
    return len(allowed(0)) if allowed is not None else os.cpu_count() or 1


@dataclass(frozen=True)
class Where:
    """Where to evaluate, and for how long to wait."""

    executor: str = "local"
    jobs: int | None = None
    """Workers; None: 1 on this machine, more where it `grows`, one per CPU of a cluster."""
    address: str | None = None
    """Address of a Ray cluster; None: RAY_ADDRESS, or a private one on this machine."""
    design_timeout: float | None = None
    """Seconds that one design may take."""
    start_timeout: float = 60.0
    """Seconds without any worker after which a study stops."""
    grows: bool = False
    """Whether workers are started on this machine without being asked for, where designs take long."""

    @property
    def cluster(self) -> str:
        """Address of the Ray cluster: `local` where it is a private one on this machine."""
        return self.address or os.environ.get("RAY_ADDRESS") or "local"

    @property
    def is_remote(self) -> bool:
        """Whether the workers are on other machines."""
        return self.executor != "local" and self.cluster != "local"
