"""What a metric is: one row that says all there is to say about it; lists of metrics are questions to the rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Literal

from simcore.design.design import Design
from simcore.document.problem import Refusal
from simcore.metrics.figures import Figures, Number
from simcore.result import Memory, Result

Scope = Literal["npus", "prices", "network", "job", "run"]
"""What a metric follows from: the NPUs; these and the price list; these and the network; the job and the NPUs; a run,
which is known after the simulation only."""
CLUSTER: tuple[Scope, ...] = ("npus", "prices", "network")
"""Whatever runs on the cluster."""
SHAPE: tuple[Scope, ...] = ("npus", "prices")
"""Whatever the network."""
JOB: tuple[Scope, ...] = ("npus", "job")
"""Whatever the network and the prices."""
PRICED: tuple[Scope, ...] = ("prices", "network")
"""With the price list."""
BEFORE: tuple[Scope, ...] = (*CLUSTER, "job")
"""Without simulation."""

Mover = Literal[
    "time", "energy", "power", "electricity",
    "network", "npu", "memory", "capital", "total", "yearly", "tco", "failures",
]  # fmt: skip
"""The iteration time, its energy, the mean draw, the price of what is drawn, the prices of the cluster's parts, of all
of them, the total with electricity where that is in it, what every year takes, the total cost of ownership, and the
time over that of the work that lasts."""


@dataclass(frozen=True, slots=True)
class Metric:
    """A number by the name that objectives, constraints and columns use.

    One of the project is `read` from the result; that of an installed package is what `measure` gives of the design
    and its result, and lies in `Result.metrics`. Of a `scope` but `run` it is `before` of the design and its memory
    (None for a workload that has none, and where the scope is of the cluster).

    `bound` gives the best value that is possible with `Figures` that are each at their best, floats or arrays, so it
    is made of arithmetic alone. Without it what is known before simulation is its own bound, where everything that its
    scope looks at is known, and nothing is proven of the others.
    """

    unit: str
    """In SI, such as `tokens/s/$`; empty for a pure number."""
    better: Literal["less", "more"] = "less"
    _: KW_ONLY
    scope: Scope = "run"
    read: Callable[[Result], float | None] | None = None
    measure: Callable[[Design, Result], float | None] | None = None
    before: Callable[[Design, Memory | None], float | None] | None = None
    bound: Callable[[Figures], Number | None] | None = None
    moves: tuple[Mover, ...] = ()
    """What it is in proportion to; where more is better, to one over it. The first order where it has other parts."""
    needs: str = ""
    """The key of a workload that it takes; empty where every workload has it, or is of a kind that never has."""
    label: str = ""
    """Its name in reports; unless given the name without points and underscores."""
    short: str = ""
    """Its heading in the narrow table of a terminal; unless given the label."""
    share: bool = False
    """Whether reports write it as percent."""
    costly: bool = False
    """Whether `measure` takes about as long as a simulation: then it is taken only where the metric is named."""
    shown: Literal["everywhere", "page", "asked"] = "asked"
    """Where the table of a front has it: in the terminal and on the page, on the page, or as an objective only."""

    def __post_init__(self) -> None:
        """Raise `ValueError` for a row that cannot give a value."""
        if self.scope == "run" and self.read is None and self.measure is None:
            raise Refusal("'read' or 'measure' of a metric that a run gives", "neither")
        if self.scope != "run" and self.before is None:
            raise Refusal(f"'before' of a metric of scope '{self.scope}'", "none")

    @property
    def direction(self) -> Literal["minimize", "maximize"]:
        """The direction in which it gets better."""
        return "minimize" if self.better == "less" else "maximize"

    def exponent(self, mover: Mover) -> int:
        """The exponent of `mover` in it: 1, -1 where more is better, 0 where it does not move with it."""
        if mover not in self.moves:
            return 0
        return 1 if self.better == "less" else -1
