"""Objectives of recorded trials in scenarios: their simulated values, moved by what moves them.

The time of a trial is its simulated time times what the estimate of its design says (`simcore.uncertainty`), its price
that of its parts. A metric moves with them as `simcore.metrics` says (`moves`); an objective that is an expression is
calculated again from its metrics, scenario by scenario.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from dse.evaluate.record import TrialRecord
from dse.space.objective import Objective
from simcore.design.design import Design
from simcore.metrics import METRICS, Mover, metrics, moves
from simcore.result import read_result
from simcore.uncertainty.draws import Draws
from simcore.uncertainty.priced import DrawnCosts
from simcore.uncertainty.together import draw_times

Floats = NDArray[np.float64]
