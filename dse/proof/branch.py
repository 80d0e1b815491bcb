"""Bounds for one job on all its networks: which networks are valid, and the best value of each objective there.

Each step is certain and cheaper than the next: rules and constraints, memory, compute, then collectives.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from dse.proof.parts import Networks, SpacePart, parse_sound
from dse.space.constraint import Constraint
from dse.space.objective import Objective
from dse.space.screen import is_known_before
from simcore.bounds.collective import CollectiveTime
from simcore.bounds.compute import compute_seconds
from simcore.bounds.design import bound
from simcore.bounds.many import Iteration, NetworkFamily, collective_seconds, figures_of, sending_seconds
from simcore.check.check import check
from simcore.design.design import Design
from simcore.memory.expanded import memory_of
from simcore.memory.plan import program_of
from simcore.metrics import JOB, METRICS, PRICED, best, is_of, metrics_before
from simcore.program import Program
from simcore.result import Memory

Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class JobNode:
    """A job on the networks of one shape: those that are `live`, and what it takes on any of them."""

    networks: Networks
    design: Design
    """The job on one of them."""
    program: Program | None
    """None where it is a single collective (`collective_seconds`)."""
    memory: Memory | None
    live: NDArray[np.bool_]
    compute: float
    """Least time whatever the network [s]."""

    @property
    def count(self) -> int:
        """Number of live designs."""
        return int(self.live.sum())

    @cached_property
    def iteration(self) -> Iteration | None:
        """The bound of its iteration on any of the networks; None where it is a single collective."""
        return Iteration.of(self.design, self.program) if self.program else None


@dataclass
class Brancher:
    """Bounds for the objectives and constraints of a space."""

    objectives: tuple[Objective, ...]
    constraints: Sequence[Constraint]
    cut: dict[str, int] = field(default_factory=dict)
    """Designs that each rule has cut."""
    _collectives: WeakKeyDictionary[NetworkFamily, dict[Any, CollectiveTime]] = field(default_factory=WeakKeyDictionary)
    _broken: WeakKeyDictionary[Networks, dict[str, NDArray[np.bool_]]] = field(default_factory=WeakKeyDictionary)
    _kinds: WeakKeyDictionary[NetworkFamily, str] = field(default_factory=WeakKeyDictionary)

    def nodes(self, job: SpacePart, shapes: Sequence[Networks]) -> list[JobNode]:
        """The job on each shape where some design of it can be; the rest is cut."""
        own = parse_sound({**shapes[0].parts[0].document, **job.document})
        found: list[JobNode] = []
        programs: dict[str, tuple[Program | None, Memory | None]] = {}
        for networks in shapes:
            live = self._sound_mask(own, networks)
            if not live.any():
                continue
            first = next(family for family, _, where in networks.spans() if live[where].any())
            design = join_designs(own, first.design)
            if networks.memory_key not in programs:
                programs[networks.memory_key] = _program(design)
            program, memory = programs[networks.memory_key]
            broken = self._broken_constraint(design, memory)
            if broken is not None:
                self._count(broken, int(live.sum()))
                continue
            compute = compute_seconds(design, program) if program else 0.0
            found.append(JobNode(networks, design, program, memory, live, compute))
        return found

    def relaxed_bounds(self, node: JobNode) -> Matrix:
        """Bounds of the live designs by compute, memory and cost alone `[live, objectives]`, to be minimised."""
        return self._losses(node, np.full(len(node.live), node.compute))

    def bounds(self, node: JobNode) -> Matrix:
        """Bounds of the live designs `[live, objectives]`, to be minimised."""
        seconds = np.full(len(node.live), node.compute)
        sending = np.full(len(node.live), np.inf)
        for family, straight, where in node.networks.spans():
            if not node.live[where].any():
                continue
            if not straight:
                seconds[where] = bound(join_designs(node.design, family.design))["iteration_time"]
            else:
                seconds[where] = self.seconds(node, family)
                if node.iteration is None:
                    sending[where] = sending_seconds(node.design, family)
        return self._losses(node, seconds, sending)

    def seconds(self, node: JobNode, family: NetworkFamily, overlap: bool = True) -> Matrix:
        """Least times on each network of a linear family [s]; `overlap`: with what overlap costs."""
        if node.iteration is None:
            return collective_seconds(node.design, family)
        known = self._collectives.setdefault(family, {})
        return np.maximum(node.iteration.seconds(family, known, overlap), node.compute)

    def _losses(self, node: JobNode, seconds: Matrix, sending: Matrix | None = None) -> Matrix:
        live = node.live
        priced = {name: values[live] for name, values in node.networks.metrics.items()}
        sent = np.inf if sending is None else sending[live]
        figures = figures_of(node.design, node.program, seconds[live], priced, sent)
        known = {**metrics_before(node.design, node.memory, JOB), **priced}
        out = np.full((int(live.sum()), len(self.objectives)), -np.inf)  # where nothing is proven in this direction
        for column, objective in enumerate(self.objectives):
            if objective.direction == METRICS[objective.name].direction:
                value = best(objective.name, figures, known)
                out[:, column] = -np.inf if value is None else objective.sign * np.asarray(value)
        return out

    def _sound_mask(self, own: Design, networks: Networks) -> NDArray[np.bool_]:
        """The networks on which the job breaks no rule, and no constraint of the network's alone."""
        live = ~self._broken_mask(networks, own)
        sound: dict[str, bool] = {}
        for family, _, where in networks.spans():
            kind = self._kinds.get(family) or self._kinds.setdefault(family, _kind(family))
            # Where one network of a kind is sound the others are taken to be; the evaluator checks what is simulated.
            if sound.get(kind):
                continue
            problems = check(join_designs(own, family.design))
            sound.setdefault(kind, not problems)
            if problems:
                self._count(problems[0].rule, int(live[where].sum()))
                live[where] = False
        return live

    def _broken_mask(self, networks: Networks, own: Design) -> NDArray[np.bool_]:
        """Networks that break a constraint which looks at nothing else; counted with every job."""
        constraints = [
            c for c in self.constraints if is_known_before(c, networks.design) and all(map(_is_of_network, c.names))
        ]
        mask = np.zeros(len(networks.parts), bool)
        for constraint in constraints:
            known = self._broken.setdefault(networks, {})
            if constraint.name not in known:
                known[constraint.name] = np.array(
                    [
                        constraint.violation(
                            {name: float(values[i]) for name, values in networks.metrics.items()},
                            parse_sound({**own.document(), **part.document}).document(),
                        )
                        > 0
                        for i, part in enumerate(networks.parts)
                    ]
                )
            self._count(constraint.name, int((known[constraint.name] & ~mask).sum()))
            mask |= known[constraint.name]
        return mask

    def _broken_constraint(self, design: Design, memory: Memory | None) -> str | None:
        """The constraint that the job breaks on all networks of its shape."""
        known = metrics_before(design, memory, JOB)
        for constraint in self.constraints:
            if constraint.of_job and constraint.violation(known, design.document()) > 0:
                return constraint.name
        return None

    def _count(self, rule: str, designs: int) -> None:
        if designs:
            self.cut[rule] = self.cut.get(rule, 0) + designs


def _kind(family: NetworkFamily) -> str:
    """What rules look at, policies left out."""
    design = family.design
    policies = {"chunks": 1, "intra_dimension": "fifo", "inter_dimension": "baseline", "active_chunks": "overlap"}
    system = design.system.model_copy(update=policies)
    blocks = [
        (d.topology, d.tier, d.leaf, d.oversubscription, d.in_network, d.trees) for d in design.cluster.dimensions
    ]
    return repr((design.algorithms, blocks, design.cluster.stragglers, system, design.cost.name))


def join_designs(job: Design, network: Design) -> Design:
    """The job of one design on the network of another."""
    return job.model_copy(
        update={name: getattr(network, name) for name in ("cluster", "system", "cost", "reliability")}
    )


def _program(design: Design) -> tuple[Program | None, Memory | None]:
    program = program_of(design)
    return (None, None) if program.single else (program, memory_of(design, program))


def _is_of_network(name: str) -> bool:
    return is_of(name, PRICED) or (name not in METRICS and name.split(".")[0] in ("cluster", "system"))
