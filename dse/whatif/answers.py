"""The answers to what-if questions as reports see them: values only, nothing live."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dse.evaluate.record import State

SAFE = 0.9
"""Share of the scenarios in which a design that is safe meets a constraint."""
FACTORS = (0.5, 2.0)
"""Factors on the global batch with which a front is simulated again."""
DOES_NOT_FIT = "does not fit"
"""Why a design cannot be that breaks the constraint `fits`."""


@dataclass(frozen=True, slots=True)
class ParameterStep:
    """A member of the front with one parameter moved by one step (`dse.whatif.steps`)."""

    trial: int
    moved: tuple[str, ...]
    """Paths that were moved: one, two where what one gives another takes, more where shares follow a budget."""
    changes: Mapping[str, tuple[Any, Any]]
    """Path -> before and after, of every parameter that differs."""
    state: State
    why: str
    """What it breaks, where it is not feasible; empty where it is."""
    loss: Mapping[str, float | None]
    """Objective -> how much worse it becomes, as a share of the value before (below 0: better); empty where it was not
    simulated, None where the value before is 0 and it changes."""
    design: Mapping[str, Any] | None = None
    """The complete document after the step, where it was kept."""

    @property
    def is_feasible(self) -> bool:
        """Whether the design may be built."""
        return self.state == "feasible"


@dataclass(frozen=True, slots=True)
class AtBatch:
    """A member of the front, its design unchanged, with another global batch."""

    factor: float
    batch: float
    """Sequences, samples or requests; of a member with an odd batch the half is no whole number."""
    values: Mapping[str, float]
    """Values of the objectives; empty where it cannot run."""
    why: str
    """Why it cannot run; empty where it can."""
    stays: bool
    """Whether it runs and none of the designs that were simulated with that batch dominates it."""
    microbatch: int | None = None
    """Its microbatch there, where its own is too large for that batch."""


@dataclass(frozen=True, slots=True)
class Sureness:
    """How sure the place of one design is, over the scenarios."""

    interval: tuple[float, float] | None
    """Iteration time [s] in nine of ten cases, as the prediction says; None where the design has none."""
    on_front: float
    """Share of the scenarios in which no other contender, and no design found on another machine, dominates it."""
    regret: float
    """By which share it is worse than another of these in every objective at once, on average; 0 where it is not."""
    regret_p90: float
    """The same, in the worst but one of ten scenarios."""
    intervals: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """Objective -> where it lies in nine of ten scenarios, of those with prices in them and of expressions."""
    kept: Mapping[str, float] = field(default_factory=dict)
    """Constraint -> share of the scenarios in which the design meets it, of those that it is not sure to meet."""

    @property
    def least_kept(self) -> float:
        """The share of the constraint that it meets in the fewest scenarios."""
        return min(self.kept.values(), default=1.0)

    @property
    def is_safe(self) -> bool:
        """Whether it meets each constraint in nine of ten scenarios."""
        return self.least_kept >= SAFE


@dataclass(frozen=True, slots=True)
class Assumption:
    """A number of the model, or a price, that the scenarios take to be wrong."""

    name: str
    things: int
    """How many things of this study have such a number, each wrong by itself: devices, stacks, shapes, layouts."""
    of: tuple[str, ...]
    """Their names, where they are few."""
    low: float
    high: float
    """What is true over what the model says, in nine of ten scenarios."""
    basis: str
    """`measured` or `assumed`."""
    source: str


@dataclass(frozen=True, slots=True)
class Machine:
    """A machine that no member of the front is built of, or another stack, by the best design found on it."""

    name: str
    values: Mapping[str, float]
    """Values of the objectives."""
    design: Mapping[str, Any]
    on_front: float
    """Share of the scenarios in which no member of the front dominates it; where designs may miss a limit, in which one
    on this machine is on the front of all that keep it."""
    kept: Mapping[str, float] = field(default_factory=dict)
    """As `Sureness.kept`."""

    @property
    def least_kept(self) -> float:
        """See `Sureness.least_kept`."""
        return min(self.kept.values(), default=1.0)


@dataclass(frozen=True)
class Scenarios:
    """The contenders for the front, each in the same draws of what the model does not know for sure."""

    count: int
    """Scenarios."""
    contenders: tuple[int, ...]
    """Trials that were compared: the front, and the dominated ones nearest to it."""
    members: Mapping[int, Sureness]
    """By trial, each member of the front that was compared."""
    robust: int | None
    """Trial to build where nothing is known for sure (`dse.whatif.scenarios`)."""
    better: Mapping[str, Mapping[tuple[int, int], float]]
    """Objective -> two contenders -> share of the scenarios in which the first one is the better."""
    others: Mapping[int, Sureness] = field(default_factory=dict)
    """By trial, each contender that is not on the front."""
    assumptions: tuple[Assumption, ...] = ()
    """What was taken to be wrong, the widest first."""
    left_out: int = 0
    """Members of the front that were too many to be compared."""
    machines: tuple[Machine, ...] = ()
    """What the front leaves out (`dse.whatif.machines`), beside the contenders."""
    built: Mapping[str, float] = field(default_factory=dict)
    """Machine of the front -> share of the scenarios in which no design on another machine, of the front or of
    `machines`, dominates all of its members; empty where there are no others."""
    barred: Mapping[str, str] = field(default_factory=dict)
    """Machine that the front leaves out -> what its nearest design breaks, where no feasible one was found."""
    unasked: tuple[str, ...] = ()
    """Machines that the front leaves out and that were too many to be looked at."""
    stacks: tuple[Machine, ...] = ()
    """Stacks of software that the front leaves out, or the design to build has not."""

    @property
    def known(self) -> Mapping[int, Sureness]:
        """By trial, every contender."""
        return {**self.others, **self.members}


@dataclass(frozen=True, slots=True)
class Unfit:
    """What the nearest design lacks of those that do not fit."""

    missing: float
    """The memory that it would need beside its own, as a share of that; 0 where its degrees do not fill the nodes."""
    mend: str
    """The setting with which it would fit, and which no design of the space has; empty where there is none."""


@dataclass(frozen=True, slots=True)
class Recomputed:
    """A design that recomputes all layers, with as few of them recomputed as leave its memory some room."""

    trial: int
    loss: Mapping[str, float]
    """Objective -> by which share of its value it is worse; below 0 where it is better."""
    fullness: float
    """Share of the memory that is reserved."""
    recomputed: int
    """Layers of each virtual stage that recompute."""
    layers: int
    """Layers of a virtual stage."""
    built: int
    """The design to build, which it is compared with; perhaps itself."""


@dataclass(frozen=True, slots=True)
class Usual:
    """A usual setting that no design of the space has, and with which the design to build is better."""

    trial: int
    key: str
    """A key of `parallelism`."""
    value: Any
    loss: Mapping[str, float]
    """Objective -> by which share of its value it is worse; below 0 where it is better."""


@dataclass(frozen=True, slots=True)
class Opened:
    """The best design found with several settings that the space leaves out."""

    trial: int
    """The design to build, which it is compared with."""
    settings: Mapping[str, Any]
    """Keys of `parallelism` that count in the design, with their values."""
    loss: Mapping[str, float]
    """Objective -> by which share of its value it is worse; below 0 where it is better."""
    fullness: float
    """Share of an NPU's memory that it takes."""
    design: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class Wider:
    """The best design that was found in a precision that loses nothing."""

    trial: int
    """The design to build, which is in another one."""
    precision: str
    loss: Mapping[str, float] | None
    """Objective -> by which share of its value it is worse; None where the design to build does not fit in it."""
    design: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class AsRun:
    """The design to build as its stack runs it, which has not all that was simulated."""

    trial: int
    loss: Mapping[str, float] | None
    """Objective -> by which share of its value it is worse; None where it is not feasible."""
    broken: str = ""
    """What it breaks then."""


@dataclass(frozen=True)
class WhatIf:
    """All answers about one study."""

    steps: Mapping[int, tuple[ParameterStep, ...]]
    """By trial, of the members of the front that were asked about."""
    batches: Mapping[int, tuple[AtBatch, ...]]
    """By trial, likewise."""
    rivals: int
    """Designs beside the front that were simulated with other batches."""
    simulations: int
    """Most simulations that were allowed."""
    left_out: int
    """Members of the front whose steps that did not suffice for."""
    note: str = ""
    """Why nothing was asked, where nothing was."""
    scenarios: Scenarios | None = None
    """How sure the front is; None where that was not asked."""
    no_scenarios: str = ""
    """Why it was not asked, where it was not."""
    recomputed: Recomputed | None = None
    """The design to build with fewer layers recomputed, where that is better and the space leaves it out."""
    usual: tuple[Usual, ...] = ()
    """Usual settings that the space leaves out, where the design to build is better with them."""
    opened: Opened | None = None
    """The best design found with settings that the space leaves out, where other degrees go with them."""
    as_run: AsRun | None = None
    """The design to build as its stack runs it, where it is known to run it otherwise."""
    wider: Wider | None = None
    """The design to build in 16 bits, where it trains in fewer."""
    sizes: Mapping[str, Unfit] = field(default_factory=dict)
    """Number of NPUs of which no design fits, in words -> what its nearest design lacks (`dse.whatif.sizes`)."""

    @property
    def robust(self) -> int | None:
        """Trial of the robust pick; None where it is not known."""
        return None if self.scenarios is None else self.scenarios.robust

    @property
    def known(self) -> Mapping[int, Sureness]:
        """How sure each contender is, by its trial; empty where that was not asked."""
        return {} if self.scenarios is None else self.scenarios.known

    @property
    def machines(self) -> tuple[Machine, ...]:
        """The machines that the front leaves out, as far as they were looked at."""
        return () if self.scenarios is None else self.scenarios.machines


NOTHING = WhatIf({}, {}, 0, 0, 0)
