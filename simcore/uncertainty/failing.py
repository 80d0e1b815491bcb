"""What failures take of a job in all scenarios, each with its own rates of failure, and its own time to find them.

Fleets differ by more than their sizes say, and a cluster that is not built yet has no record of its own. Clusters of
one NPU share the error of the rates, and all share that of the time until a failure is found: it is the software's.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from simcore.design.design import Design
from simcore.reliability.goodput import goodput, interruptions_of
from simcore.uncertainty.draws import Draws, Floats
from simcore.uncertainty.parameters import detection_error, failure_error


def draw_failures(design: Design, iteration: float, draws: Draws) -> Floats:
    """The time that a checked design's job takes over its work, over what it does at the rates of the design `[count]`.

    `iteration` is the time of an iteration [s]. 1 where nothing fails, or the workload is not trained.
    """
    what, restart = interruptions_of(design), design.reliability.restart
    if what is None or not what.failures or restart is None:
        return np.ones(draws.count)
    rate = np.exp(draws.error(failure_error(design))[1:])
    found = restart.detection * np.exp(draws.error(detection_error())[1:])
    drawn = replace(
        what,
        failures=what.failures * rate,
        repairs=what.repairs * rate,
        restart=what.restart - restart.detection + found,
    )
    taken: Floats = goodput(what, iteration) / goodput(drawn, iteration)
    return taken
