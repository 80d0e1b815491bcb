"""No control: every queue pair sends at the rate of its port, and pauses alone hold it back."""

from __future__ import annotations

import math

from simcore.compiled import inlined
from simcore.policy.control.base import LINE, RATE, TIMER, WINDOW, Control, Floats, Marking, Reached


class _None(Control):
    """See the module."""

    number = 0
    reached = Reached(0.976, 0.968, 0.979)
    acknowledged = False

    def parameters(self, line: float, rtt: float) -> dict[str, float]:
        """See `Control.parameters`: none."""
        del line, rtt
        return {}

    def marking(self, rate: float, rtt: float) -> Marking | None:
        """See `Control.marking`: nobody would listen."""
        del rate, rtt
        return None


NONE = _None()


@inlined
def begin(row: Floats, p: Floats) -> None:
    """See `simcore.policy.control.base`."""
    row[RATE] = row[LINE]
    row[WINDOW] = math.inf
    row[TIMER] = math.inf
