"""Jobs with failures, drawn: two hours to six weeks between them, with checkpoints, restarts and few spare nodes."""

from __future__ import annotations

import math

import numpy as np

from simcore.reliability.goodput import Interruptions

RARE = 10.0
"""Least time between failures, over that of a checkpoint and a restart."""


def draw_job(generator: np.random.Generator) -> tuple[Interruptions, float]:
    """A job, and the time of its iteration [s]."""
    between = 3600.0 * _log_uniform(generator, 2.0, 1000.0)
    restart = _log_uniform(generator, 30.0, 0.07 * between)
    stall = _log_uniform(generator, 2e-4 * between, 0.015 * between)
    write = _log_uniform(generator, 1.0, 0.015 * between) if generator.random() < 0.7 else 0.0
    assert between >= RARE * (stall + write + restart)
    hardware, repair = generator.uniform(0.0, 1.0), 3600.0 * _log_uniform(generator, 1.0, 168.0)
    load = hardware / between * repair
    spares = math.floor(load + generator.uniform(0.0, 3.0) * math.sqrt(load)) if generator.random() < 0.8 else None
    chosen = None if generator.random() < 0.7 else between * float(generator.uniform(0.01, 0.5))
    what = Interruptions(1 / between, hardware / between, stall, write, restart, repair, spares, chosen)
    return what, _log_uniform(generator, 1.0, 60.0)


def _log_uniform(generator: np.random.Generator, low: float, high: float) -> float:
    return float(math.exp(generator.uniform(math.log(low), math.log(high))))
