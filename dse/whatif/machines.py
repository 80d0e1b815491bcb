"""The best design that could be found on each machine of a space that the front leaves out.

A search leaves a machine as soon as its designs are behind, and then knows little of it: the first few designs, or a
bound. But times are only as sure as what is known of each machine, and a data sheet may be half as wrong again. So
each such machine gets a short search of its own, and its best design joins the contenders in the scenarios
(`dse.whatif.scenarios`): how often would it have been the better choice?

The search goes downhill over the steps that reports ask about (`dse.whatif.steps`), from the study's own best design
on the machine, from designs near the front that are moved to it and from others drawn at random: first towards feasible
designs, then towards those whose objectives are together the least behind the front's knee. A machine is the NPU that a
design names, in nodes or domains of a size that it is sold in. Stacks of software that the front leaves out get no
search: the study's own best design with each is compared.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from dse.evaluate.evaluate import Outcome
from dse.evaluate.record import VALID, StudyRecord, TrialRecord
from dse.space.barred import asks_for_orders, unbuildable
from dse.space.draw import RandomDraw
from dse.space.fill import template_count
from dse.space.space import Space
from dse.whatif.batches import describe_broken, rivals
from dse.whatif.steps import Neighbour, steps_around
from simcore.check.load import parse_design
from simcore.design.node import nodes_sold_with

SIMULATIONS = 80
"""Most simulations for one machine: a fraction of a second."""
_LOOKS = 20
"""Designs that may be looked at for each simulation: most are cut, which takes a fraction of its time."""
MOST = 10
"""Machines that are asked about, in the order of the space."""
_MOVED, _DRAWN = 12, 200
"""Designs of the front, and near it, that are moved to a machine; designs of the space that are drawn."""
_CLIMBS = 4
"""Starts from which the search goes on, the best ones."""
_OWN = 2000
"""Trials of the study that are looked at, the nearest to its front."""

Simulate = Callable[[Mapping[str, Any]], Outcome]
Rank = tuple[int, float]
"""0 and how far behind the knee the objectives are together; or by how much constraints are missed, after 1 in a
simulation, after 2 before one."""
Ranked = tuple[Rank, TrialRecord]


def npu_of(document: Mapping[str, Any] | None) -> str:
    """The NPU of a design document, by name; empty where it does not say one."""
    npu = _cluster(document).get("npu")
    name = npu.get("name") if isinstance(npu, Mapping) else npu
    return name if isinstance(name, str) else ""


def machine_of(document: Mapping[str, Any] | None) -> str:
    """The NPU of a design document, with the size of its domains where these are sold but not the usual ones."""
    npu = npu_of(document)
    listed = _cluster(document).get("dimensions")
    dimensions = [each for each in listed if isinstance(each, Mapping)] if isinstance(listed, list | tuple) else []
    inner = list(takewhile(lambda each: each.get("tier") != "pod", dimensions))
    sold = [node.scale_up for node in nodes_sold_with(npu)]
    if len(inner) != 1 or not sold:
        return npu
    size, topology = inner[0].get("size"), inner[0].get("topology")
    others = any(size in one.domains and topology in one.topology for one in sold)
    return f"{npu} in domains of {size}" if others and size != max(sold[0].domains) else npu


def stack_of(document: Mapping[str, Any] | None) -> str:
    """The stack of software of a design document, by name; empty where it does not say one."""
    software = (document or {}).get("software")
    name = software.get("name", software.get("base")) if isinstance(software, Mapping) else software
    return name if isinstance(name, str) else ""


def _cluster(document: Mapping[str, Any] | None) -> Mapping[str, Any]:
    cluster = (document or {}).get("cluster")
    return cluster if isinstance(cluster, Mapping) else {}


class Elsewhere(NamedTuple):
    """What there is on the machines of a space that are not on the front."""

    best: tuple[TrialRecord, ...] = ()
    """The best design on each, as trials below 0, in the space's order."""
    barred: Mapping[str, str] = MappingProxyType({})
    """Machine -> what the design breaks that comes nearest, where no feasible one was found."""
    unasked: tuple[str, ...] = ()
    """Machines that were too many."""
    stacks: tuple[TrialRecord, ...] = ()
    """The study's own best design with each stack of software that the front leaves out."""


NOWHERE = Elsewhere()


def best_elsewhere(record: StudyRecord, space: Space, simulate: Simulate, most: int) -> Elsewhere:
    """The best design on each machine of a space that is not on the front.

    `simulate` evaluates a document, `most` times with a simulation; where it says that one is of unsound form
    (`ValueError`), the space has no such design.
    """
    on_front = {machine_of(trial.design) for trial in record.front}
    near = rivals(record, _OWN)
    machines, own = _starts(record, space, on_front), _own_best(record, near, machine_of)
    machines |= {name: [] for name in own if name not in machines}
    each = min(SIMULATIONS, most // max(1, min(MOST, len(machines))))
    best: list[TrialRecord] = []
    barred: dict[str, str] = {}
    for name, starts in list(machines.items())[:MOST]:
        if not each and name not in own:
            continue
        climb = _Climb(record, space, simulate, name, each)
        found = climb.run(starts, own.get(name))
        if found is None:
            barred[name] = ""
        elif found[0][0] == 0:
            best.append(replace(found[1], number=-1 - len(best)))
        else:
            barred[name] = _why_barred(found[1], space, climb.limits_beyond(found[1]))
    open_stacks = template_count(space.template.get("software")) > 1  # else a stack is its machine's usual one
    stacks = tuple(trial for _, trial in _own_best(record, near, stack_of).values()) if open_stacks else ()
    return Elsewhere(tuple(best), barred, tuple(machines)[MOST:], stacks)


def _broken(outcome: Outcome) -> str:
    """What a design breaks, and by how much where a simulation says."""
    if outcome.metrics is None:
        return describe_broken(outcome)
    missed = ((name, by) for name, by in outcome.violations.items() if by > 0)
    return ", ".join(f"{name} missed by {100 * by:.2g} %" for name, by in missed)


def _why_barred(nearest: TrialRecord, space: Space, beyond: Sequence[str]) -> str:
    """What a machine's nearest design breaks: what no job on such a cluster can mend, before all else.

    Then what a larger cluster breaks (`beyond`).
    """
    design = parse_design(nearest.design or {})[0]
    if design is not None and (problem := unbuildable(design, asks_for_orders(space))) is not None:
        return str(problem)
    if not nearest.error or not beyond or design is None:
        return nearest.error or ""
    also = [limit for limit in beyond if limit not in nearest.error]
    more = f", and all larger ones that were looked at miss {' and '.join(also)}" if also else ""
    return f"{design.cluster.npus:,} of them, {nearest.error}{more}"


def _npus(document: Mapping[str, Any] | None) -> int:
    """The NPUs of a design document; 0 where they are not known."""
    design = parse_design(document or {})[0]
    return 0 if design is None else design.cluster.npus


def _own_best(
    record: StudyRecord, near: Sequence[TrialRecord], named: Callable[[Mapping[str, Any] | None], str]
) -> dict[str, Ranked]:
    """Machine, or stack, as it is `named` -> the best on it of trials `near` the front; none for those of the front."""
    on_front = {named(trial.design) for trial in record.front}
    best: dict[str, Ranked] = {}
    for trial in near:
        name, rank = named(trial.design), (0, _behind(record, trial.values))
        if name and name not in on_front and (name not in best or rank < best[name][0]):
            best[name] = rank, trial
    return best


def _behind(record: StudyRecord, values: Mapping[str, float]) -> float:
    """How far behind the front's knee the objectives are together."""
    base = record.knee or record.front[0]
    behind = [o.loss(base.values[o.name], values[o.name]) for o in record.objectives]
    return sum(share for share in behind if share is not None)


def _starts(record: StudyRecord, space: Space, on_front: set[str]) -> dict[str, list[TrialRecord]]:
    """Machine -> designs to start from, other than those of the front.

    First the front and the trials nearest to it, moved to the machine, of each choice of degrees one; then designs that
    are drawn at random.
    """
    starts: dict[str, list[TrialRecord]] = {}
    seen = set()
    for trial in (*record.front[:_MOVED], *rivals(record, _MOVED)):
        job = json.dumps((trial.design or {}).get("parallelism"), sort_keys=True)
        if job not in seen:
            seen.add(job)
            for moved in _neighbours(space, trial):
                starts.setdefault(machine_of(moved.design), []).append(moved)
    rng = np.random.default_rng(record.seed)
    for _ in range(_DRAWN):
        try:
            filled = space.fill(RandomDraw(rng))
        except ValueError:
            continue  # an expression without a value: the space has no such design
        starts.setdefault(machine_of(filled.document), []).append(_unknown(filled.params, filled.document))
    return {name: found for name, found in starts.items() if name and name not in on_front}


def _neighbours(space: Space, trial: TrialRecord) -> Iterator[TrialRecord]:
    """The designs one step from a trial, not evaluated yet, as trials of no study."""
    near = steps_around(space, trial)
    for neighbour in () if near is None else near.neighbours():
        yield _unknown(_params(trial, neighbour), neighbour.document)


def _unknown(params: Mapping[str, Any], document: Any) -> TrialRecord:
    return TrialRecord(-1, "cut", {}, params, {}, document)


def _params(trial: TrialRecord, neighbour: Neighbour) -> dict[str, Any]:
    after = {path: pair[1] for path, pair in neighbour.changes.items()}
    return {path: value for path, value in {**trial.params, **after}.items() if value is not None}


@dataclass
class _Climb:
    """A search downhill on one machine."""

    record: StudyRecord
    space: Space
    simulate: Simulate
    machine: str
    most: int
    """Simulations that it may take."""
    simulated: int = 0
    looked: int = 0
    _missed: list[tuple[Mapping[str, Any], frozenset[str]]] = field(default_factory=list)
    """Each design that was looked at, and the constraints that it breaks."""

    def limits_beyond(self, nearest: TrialRecord) -> list[str]:
        """The constraints that all valid designs break that were looked at on more NPUs than the nearest one has."""
        npus = _npus(nearest.design)
        larger = [missed for design, missed in self._missed if VALID not in missed and _npus(design) > npus]
        return sorted(frozenset.intersection(*larger)) if larger else []

    def run(self, starts: Sequence[TrialRecord], own: Ranked | None = None) -> Ranked | None:
        """The best design that was found, evaluated; None where none could be. `own` is one that was found before."""
        looked = [own, *(self._look(start) for start in starts if self._may_look(self.most // 2))]
        known = sorted((ranked for ranked in looked if ranked is not None), key=lambda ranked: ranked[0])
        found = [self._climb(ranked) for ranked in known[:_CLIMBS]]
        return min(found, key=lambda ranked: ranked[0], default=None)

    def _climb(self, best: Ranked) -> Ranked:
        """The first better neighbour of each design, until none is better or the simulations are used up."""
        while True:
            for neighbour in _neighbours(self.space, best[1]):
                if not self._may_look(self.most):
                    return best
                ranked = self._look(neighbour) if machine_of(neighbour.design) == self.machine else None
                if ranked is not None and ranked[0] < best[0]:
                    best = ranked
                    break
            else:
                return best

    def _may_look(self, most: int) -> bool:
        return self.simulated < most and self.looked < most * _LOOKS

    def _look(self, other: TrialRecord) -> Ranked | None:
        """A design, evaluated; None where the space has no such design, or it failed."""
        assert other.design is not None
        try:
            outcome = self.simulate(other.design)
        except ValueError:
            return None
        self.looked += 1
        self.simulated += outcome.metrics is not None
        if outcome.state == "failed":
            return None
        self._missed.append((other.design, frozenset(name for name, by in outcome.violations.items() if by > 0)))
        return self._rank(outcome), replace(
            other,
            state=outcome.state,
            values=outcome.values,
            violations=outcome.violations,
            design=outcome.design,
            metrics=outcome.metrics,
            error=outcome.error or _broken(outcome),
        )

    def _rank(self, outcome: Outcome) -> Rank:
        if outcome.state != "feasible":
            missed = sum(missed for missed in outcome.violations.values() if missed > 0)
            return 2 if outcome.metrics is None else 1, missed
        return 0, _behind(self.record, outcome.values)
