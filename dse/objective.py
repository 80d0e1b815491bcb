"""Objectives: a metric and a direction. Inside, everything is minimised; the sign turns here, and nowhere else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Direction = Literal["minimize", "maximize"]


@dataclass(frozen=True, slots=True)
class Objective:
    """One objective of a study."""

    name: str
    direction: Direction
    unit: str

    @property
    def sign(self) -> float:
        """Factor that turns a value into one to be minimised."""
        return 1.0 if self.direction == "minimize" else -1.0


def losses(objectives: Sequence[Objective], values: Sequence[Mapping[str, float]]) -> NDArray[np.float64]:
    """Values as a matrix to be minimised, of shape `[len(values), len(objectives)]`."""
    rows = [[objective.sign * row[objective.name] for objective in objectives] for row in values]
    return np.array(rows, dtype=np.float64).reshape(len(values), len(objectives))
