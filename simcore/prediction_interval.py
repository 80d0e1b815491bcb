"""The interval of a prediction: what measured over predicted iteration time is in nine of ten cases, times the latter.

Of a device that was calibrated these are the residuals of its own rows, predicted without their job; where it has none
of jobs within a node, or over several, the widest that is known of it. Of any other device (a curve of another one by
the data sheet, or no curve at all) it is `UNCALIBRATED`, a prior.
"""

from __future__ import annotations

from simcore.design.cluster import Cluster
from simcore.design.npu import Npu

UNCALIBRATED = (0.667, 1.5)
"""A factor of 1.5 either way. The one device that both has been measured and can be predicted without its rows by an
older one's curve is the B200 by the A100's: nine of ten measured times are 1.16 to 1.43 times the predicted ones, the
worst 1.49. That the error may go the other way as far is assumed."""


def interval(cluster: Cluster, seconds: float) -> tuple[float, float]:
    """Where the measured time lies in nine of ten cases [s], of `seconds` predicted; one dimension is one node."""
    low, high = ratios(cluster.npu, "node" if len(cluster.dimensions) == 1 else "nodes")
    return low * seconds, high * seconds


def ratios(npu: Npu, scope: str) -> tuple[float, float]:
    """Measured over predicted time, within one `node` or over several `nodes`."""
    curve = npu.curve
    known = {} if curve is None or curve.calibrated_on != npu.name else {**(curve.interval or {})}
    if not known:
        return UNCALIBRATED
    if scope in known:
        return known[scope]
    return min(low for low, _ in known.values()), max(high for _, high in known.values())
