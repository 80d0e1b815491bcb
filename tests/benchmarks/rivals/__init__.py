"""Samplers that `auto` is compared with, one file each (`tests/benchmarks/bench_rivals.py`).

Each module has `NAME`, `BATCH` (proposals that it is asked for at once; None: as many as the study) and
`make(space, seed)`, which raises `ImportError` where what it needs is not installed and `UnsuitedError` where it cannot
search the space.
"""

from __future__ import annotations

from rivals.base import UnsuitedError

RIVALS = ("auto", "random", "nsga2", "tpe", "gp", "auto_sampler", "cmaes", "qlognehvi")
"""Modules of this package, in the order of the table."""

__all__ = ["RIVALS", "UnsuitedError"]
