"""What a run is asked for."""

from __future__ import annotations

from dataclasses import dataclass

from dse.execute import Where


@dataclass(frozen=True)
class Settings:
    """What a run is asked for, after the space's own `study` section and the command line."""

    sampler: str
    trials: int
    seed: int
    timeout: float | None = None
    jobs: int | None = None
    engine: str = "fast"
    stagnation: int | None = None
    gap: float | None = None
    executor: str = "local"
    address: str | None = None
    design_timeout: float | None = None
    start_timeout: float = 60.0
    storage: str | None = None
    study_name: str | None = None

    @property
    def where(self) -> Where:
        """Where to evaluate."""
        return Where(self.executor, self.jobs, self.address, self.design_timeout, self.start_timeout)
