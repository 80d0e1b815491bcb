"""Where a study is to be evaluated, as the command line says it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Where:
    """Where to evaluate, and for how long to wait."""

    executor: str = "local"
    jobs: int | None = None
    """Workers; None: 1 on this machine, one per CPU of a cluster."""
    address: str | None = None
    """Of a Ray cluster; None: RAY_ADDRESS, or a private one on this machine."""
    design_timeout: float | None = None
    """Seconds that one design may take."""
    start_timeout: float = 60.0
    """Seconds without any worker after which a study stops."""
