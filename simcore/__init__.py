"""Simulate one design: a training job on a cluster, layer by layer, in integer picoseconds.

    >>> from simcore import load_design, simulate
    >>> result = simulate(load_design("design.yaml"))      # doctest: +SKIP
    >>> result.iteration_time_s                            # doctest: +SKIP

`simcore` knows nothing of search; see `dse`.
"""

from simcore.bounds.design import bound
from simcore.check.check import check
from simcore.check.load import load_design
from simcore.design.design import Design
from simcore.document.problem import InputError
from simcore.result import Result
from simcore.simulate import simulate

__all__ = ["Design", "InputError", "Result", "bound", "check", "load_design", "simulate"]
