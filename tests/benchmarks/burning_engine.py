"""Engines that take a known time and then answer in closed form, for `bench_ray.py` and `bench_million.py`."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from simcore.design.design import Design
from simcore.result import Result

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "dse"))


def _burn(seconds: float, design: Design) -> Result:
    from tiny_spaces import cheap

    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass
    return cheap(design)


def none(design: Design) -> Result:
    """Next to nothing."""
    return _burn(0.0, design)


def ms1(design: Design) -> Result:
    """1 ms of CPU."""
    return _burn(1e-3, design)


def ms5(design: Design) -> Result:
    """5 ms of CPU."""
    return _burn(5e-3, design)


def ms50(design: Design) -> Result:
    """50 ms of CPU."""
    return _burn(50e-3, design)


def asleep100(design: Design) -> Result:
    """100 ms of no CPU, so that many workers share a small machine."""
    time.sleep(0.1)
    return _burn(0.0, design)
