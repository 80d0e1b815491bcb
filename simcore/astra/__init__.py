"""ASTRA-sim's input files, run unchanged: the same nanoseconds in a fraction of the time.

`run` takes the paths of the files and returns an `AstraResult`; `write_csv` writes its per-layer table,
`write_timeline` its nodes for Perfetto. The
rules are those of ASTRA-sim (2.x analytical back ends, and 1.0 with text workloads), quirks included, which is
why they live here alone and nothing else in the project uses them.
"""

from simcore.astra.files.errors import AstraInputError
from simcore.astra.files.result import AstraResult, write_csv, write_timeline
from simcore.astra.run import load, run, simulate

__all__ = ["AstraInputError", "AstraResult", "load", "run", "simulate", "write_csv", "write_timeline"]
