"""Bounds for one job on all its networks: which networks are valid, and the best value of each objective there.

Each step is certain and cheaper than the next: rules and constraints, memory, compute, then collectives.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from dse.proof.join import join_designs, neutral_network
from dse.proof.losses import Known, Mask, excluded_masks, loss_bounds, names_of_values, number_at
from dse.proof.parts import Networks, SpacePart, own_problems, without_parallelism
from dse.space.asked import names_in
from dse.space.constraint import Constraint
from dse.space.objective import Objective
from dse.space.screen import is_known_before
from dse.space.sections import JOB_SECTIONS
from simcore.bounds.collective import CollectiveTime
from simcore.bounds.compute import compute_seconds, work_joules
from simcore.bounds.design import bound
from simcore.bounds.many import Iteration, NetworkFamily, collective_seconds, figures_of, sending_seconds
from simcore.bounds.served import iterations_of
from simcore.check.check import check
from simcore.check.load import parse_sound
from simcore.design.design import Design
from simcore.document.problem import Path, format_path
from simcore.memory.expanded import fits, least_memory, memory_of
from simcore.memory.plan import program_of
from simcore.metrics import JOB, METRICS, PRICED, exponent_of, is_of, metrics_before
from simcore.power.draw import draws_of
from simcore.program import Program
from simcore.result import Memory
from simcore.workload.base import kind_of

Matrix = NDArray[np.float64]

FEW_FAMILIES = 4
"""Families of networks below which a job is checked on each, and not on a neutral network first."""


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

    @cached_property
    def times(self) -> Mapping[str, Iteration]:
        """The bounds of all its times on any of the networks, by metric; none where it is a single collective."""
        if self.program is None:
            return {}
        if self.program.trained and self.iteration is not None:
            return {"iteration_time": self.iteration}
        return iterations_of(self.design, self.program)

    @cached_property
    def joules(self) -> float:
        """What each NPU takes at least above idle, whatever the network [J]."""
        return work_joules(self.design, self.program) if self.program else 0.0


@dataclass
class Brancher:
    """Bounds for the objectives and constraints of a space."""

    objectives: tuple[Objective, ...]
    constraints: Sequence[Constraint]
    lifted: bool = False
    """Whether networks are lifted (`dse.proof.lifted`): one that is not sold stands for others that are."""
    cut: dict[str, int] = field(default_factory=dict)
    """Designs that each rule has cut."""
    _collectives: WeakKeyDictionary[NetworkFamily, dict[Any, CollectiveTime]] = field(default_factory=WeakKeyDictionary)
    _broken: WeakKeyDictionary[Networks, dict[str, NDArray[np.bool_]]] = field(default_factory=WeakKeyDictionary)
    _values: WeakKeyDictionary[Networks, dict[Path, Matrix | None]] = field(default_factory=WeakKeyDictionary)
    _of_software: WeakKeyDictionary[NetworkFamily, dict[str, NetworkFamily]] = field(default_factory=WeakKeyDictionary)
    _anywhere: WeakKeyDictionary[Networks, Design] = field(default_factory=WeakKeyDictionary)
    _kinds: WeakKeyDictionary[NetworkFamily, str] = field(default_factory=WeakKeyDictionary)

    def nodes(self, job: SpacePart, shapes: Sequence[Networks]) -> list[JobNode]:
        """The job on each shape where some design of it can be; the rest is cut."""
        found: list[JobNode] = []
        programs: dict[str, tuple[Program | None, Memory | None, str | None]] = {}
        on_npu: dict[str, Design] = {}  # which decide what is usual
        for networks in shapes:
            npu = networks.design.cluster.npu.name
            if npu not in on_npu:
                on_npu[npu] = parse_sound({**networks.parts[0].document, **job.document})
            own = on_npu[npu]
            live = self._sound_mask(own, networks)
            if not live.any():
                continue
            first = next(family for family, _, where in networks.spans() if live[where].any())
            design = join_designs(own, first.design)
            if networks.memory_key not in programs:
                programs[networks.memory_key] = self._program(design)
            program, memory, broken = programs[networks.memory_key]
            broken = broken or self._broken_constraint(design, memory)
            if broken is not None:
                self._count(broken, int(live.sum()))
                continue
            compute = compute_seconds(design, program) if program else 0.0
            found.append(JobNode(networks, design, program, memory, live, compute))
        return found

    def relaxed_bounds(self, node: JobNode) -> Matrix:
        """Bounds of the live designs by compute, memory and cost alone `[live, objectives]`, to be minimised."""
        count = len(node.live)
        return loss_bounds(self.objectives, self._known(node, {"iteration_time": np.full(count, node.compute)}))

    def bounds(self, node: JobNode, hopeful: Mask | None = None) -> tuple[Matrix, Mask]:
        """Bounds of the live designs `[live, objectives]`, to be minimised, and which of them may meet the constraints.

        Those that may not are counted as cut by the constraint, where they are `hopeful` `[live]`; all unless given.
        """
        times = self._times_on(node)
        sending = np.full(len(node.live), np.inf)
        if node.program is None:
            for family, straight, where in node.networks.spans():
                if straight and node.live[where].any():
                    sending[where] = sending_seconds(node.design, family)
        known = self._known(node, times, sending)
        may = np.ones(node.count, bool) if hopeful is None else hopeful.copy()
        for name, mask in excluded_masks(self._late, known):
            self._count(name, int((mask & may).sum()))
            may &= ~mask
        return loss_bounds(self.objectives, known), may

    def _times_on(self, node: JobNode) -> dict[str, Matrix]:
        """The least times of the job on each network, by metric `[networks]` [s]; those that are not live count not."""
        times = {name: np.full(len(node.live), node.compute) for name in ("iteration_time", *node.times)}
        if node.times and any(node.networks.straight):
            stack, linear = node.networks.stack, node.networks.in_stack
            for name, iteration in node.times.items():
                least = stack.seconds(iteration, node.design.software)[stack.rows]
                times[name][linear] = np.maximum(least, node.compute if name == "iteration_time" else 0.0)
        for family, straight, where in node.networks.spans():
            if not node.live[where].any():
                continue
            if not straight:
                found = bound(join_designs(node.design, family.design))
                for name, values in times.items():
                    values[where] = found[name] or 0.0
            elif not node.times:
                times["iteration_time"][where] = collective_seconds(node.design, family)
        return times

    def seconds(self, node: JobNode, family: NetworkFamily, overlap: bool = True) -> Matrix:
        """Least times on each network of a linear family [s]; `overlap`: with what overlap costs."""
        if node.iteration is None:
            return collective_seconds(node.design, family)
        family = self.own_family(node, family)
        known = self._collectives.setdefault(family, {})
        return np.maximum(node.iteration.seconds(family, known, overlap), node.compute)

    def own_family(self, node: JobNode, family: NetworkFamily) -> NetworkFamily:
        """The family with the software of a job, which decides what overlap costs; a family has that of some job."""
        software = node.design.software
        if family.design.software == software:
            return family
        known = self._of_software.setdefault(family, {})
        text = software.model_dump_json()
        if text not in known:
            design = family.design.model_copy(update={"software": software})
            known[text] = replace(family, design=design)
        return known[text]

    def _known(self, node: JobNode, times: Mapping[str, Matrix], sending: Matrix | None = None) -> Known:
        """What is known of the live designs, given their least times `[networks]` by metric."""
        live = node.live
        priced = {name: values[live] for name, values in node.networks.metrics.items()}
        sent, seconds = np.inf if sending is None else sending[live], times["iteration_time"][live]
        joules: Any = 0.0
        if self._energetic:
            draws = draws_of(node.design)
            joules = node.joules if node.program else (draws.wait - draws.idle) * seconds
        figures = figures_of(node.design, node.program, seconds, priced, sent, joules)
        if "time_per_output_token" in times:
            first, other = times["time_to_first_token"][live], times["time_per_output_token"][live]
            figures = replace(figures, first_token=first, output_token=other)
        before = {**metrics_before(node.design, node.memory, JOB), **priced}
        values = {format_path(path): self._values_at(node, path) for path in self._paths}
        return Known(node.count, figures, before, values, node.design.cost.electricity_in_total)

    def _values_at(self, node: JobNode, path: Path) -> Any:
        """A value of the live designs: a number, or one of each `[live]`; None where it is none."""
        if path[0] in JOB_SECTIONS:
            return number_at(node.design.document(), path)
        known = self._values.setdefault(node.networks, {})
        if path not in known:
            own = {key: value for key, value in node.design.document().items() if key in JOB_SECTIONS}
            documents = [parse_sound({**own, **part.document}).document() for part in node.networks.parts]
            found = [number_at(document, path) for document in documents]
            known[path] = None if any(value is None for value in found) else np.array(found, float)
        values = known[path]
        return None if values is None else values[node.live]

    @cached_property
    def _energetic(self) -> bool:
        """Whether an objective or a constraint goes with the energy of an iteration."""
        return any(exponent_of(name, "energy") for name in names_in(self.objectives, self.constraints))

    @cached_property
    def _late(self) -> list[Constraint]:
        """Constraints that are not those of the job alone, nor of the network alone."""
        return [c for c in self.constraints if not c.of_job and not all(map(_is_of_network, c.names))]

    @cached_property
    def _paths(self) -> tuple[Path, ...]:
        return names_of_values(self.objectives, self._late)

    def _sound_mask(self, own: Design, networks: Networks) -> NDArray[np.bool_]:
        """The networks on which the job breaks no rule, and no constraint of the network's alone."""
        live = ~self._broken_mask(networks, own)
        for unsound, mask in () if self.lifted else networks.unsound.items():
            self._count(unsound, int((live & mask).sum()))
            live &= ~mask
        if (rule := self._rule_broken_anywhere(own, networks)) is not None:
            self._count(rule, int(live.sum()))
            return np.zeros_like(live)
        sound: dict[str, bool] = {}
        for family, _, where in networks.spans():
            kind = self._kinds.get(family) or self._kinds.setdefault(family, _kind(family))
            # Where one network of a kind is sound the others are taken to be; the evaluator checks what is simulated.
            if sound.get(kind):
                continue
            design = join_designs(own, family.design)
            if problems := check(design):
                others = own_problems(design)  # another network of the family may not have these
                problems = [problem for problem in problems if problem not in others]
            sound.setdefault(kind, not problems)
            if problems:
                self._count(problems[0].rule, int(live[where].sum()))
                live[where] = False
        return live

    def _rule_broken_anywhere(self, own: Design, networks: Networks) -> str | None:
        """A rule that a job with layers breaks on any network of the shape; None where it is not asked, or none."""
        if len(networks.families) < FEW_FAMILIES or kind_of(own.workload).jobs_by != "layers":
            return None
        if networks not in self._anywhere:
            self._anywhere[networks] = neutral_network(networks.design).design
        problems = check(join_designs(own, self._anywhere[networks]))
        return problems[0].rule if problems else None

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
                            parse_sound({**without_parallelism(own), **part.document}).document(),
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

    def _program(self, design: Design) -> tuple[Program | None, Memory | None, str | None]:
        """The program of a job and its memory; neither where it is known sooner that it does not fit, and that name.

        That is asked only where it is the first constraint of jobs: a job is counted for the first that it breaks.
        """
        first = next((constraint for constraint in self.constraints if constraint.of_job), None)
        if first is not None and first.is_fits:
            least = least_memory(design)
            if least is not None and not fits(design, least):
                return None, None, first.name
        program = program_of(design)
        return (None, None, None) if program.single else (program, memory_of(design, program), None)

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


def _is_of_network(name: str) -> bool:
    return is_of(name, PRICED) or (name not in METRICS and name.split(".")[0] in ("cluster", "system"))
