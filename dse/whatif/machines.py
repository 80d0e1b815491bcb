"""The best design that could be found on each machine of a space that the front leaves out.

A search leaves a machine as soon as its designs are behind, and then knows little of it: the first few designs, or a
bound. But times are only as sure as what is known of each machine, and a data sheet may be half as wrong again. So
each such machine gets a short search of its own, and its best design joins the contenders in the scenarios
(`dse.whatif.scenarios`): how often would it have been the better choice?

A machine is the NPU that a design names, in nodes or domains of a size that it is sold in. Of other stacks of software
than that of the design to build that design with each of them is compared, and the study's own best with each that the
front leaves out; a stack that no trial has gets a search, too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import takewhile
from types import MappingProxyType
from typing import Any, NamedTuple

from dse.evaluate.pareto import ALIKE
from dse.evaluate.record import StudyRecord, TrialRecord
from dse.space.barred import asks_for_orders, unbuildable
from dse.space.fill import template_count
from dse.space.space import Space
from dse.whatif.as_run import simulate_as_run
from dse.whatif.batches import rivals
from dse.whatif.climb import Climb, Named, Ranked, Simulate, behind_knee, by_kind, loss_against, try_changed
from simcore.check.load import parse_design
from simcore.design.node import nodes_sold_with

SIMULATIONS = 80
"""Most simulations for one machine: a fraction of a second."""
MOST = 10
"""Machines that are asked about, in the order of the space."""
_OWN = 2000
"""Trials of the study that are looked at, the nearest to its front."""


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
    """The best design known with each stack of software that the front leaves out, or the design to build has not."""
    restacked: tuple[TrialRecord, ...] = ()
    """The design to build with each other stack, as trials below 0."""


NOWHERE = Elsewhere()


def best_elsewhere(
    record: StudyRecord, space: Space, simulate: Simulate, most: int, starts: Sequence[TrialRecord]
) -> Elsewhere:
    """The best design on each machine of a space that is not on the front, found from `starts` (`find_starts`).

    `simulate` evaluates a document, `most` times with a simulation; where it says that one is of unsound form
    (`UnsoundError`), the space has none.
    """
    on_front = {machine_of(trial.design) for trial in record.front}
    near = rivals(record, _OWN)
    machines = {name: found for name, found in by_kind(starts, machine_of).items() if name not in on_front}
    own = _own_best(record, near, machine_of)
    machines |= {name: [] for name in own if name not in machines}
    each = min(SIMULATIONS, most // max(1, min(MOST, len(machines))))
    best: dict[str, TrialRecord] = {}  # by machine: before it is evaluated a design may not say its domains
    barred: dict[str, str] = {}
    for name, first in list(machines.items())[:MOST]:
        if not each and name not in own:
            continue
        climb = Climb(record, space, simulate, machine_of, name, each)
        found = climb.run(first, own.get(name))
        if found is None:
            barred[name] = ""
        elif found[0][0] == 0:
            known = _as_run(record, found[1], simulate) if climb.simulated < each else found[1]
            machine = machine_of(known.design)
            if machine not in best or behind_knee(record, known.values) < behind_knee(record, best[machine].values):
                best[machine] = known
        else:
            barred[name] = _why_barred(found[1], space, climb.limits_beyond(found[1]))
    open_stacks = template_count(space.template.get("software")) > 1  # else a stack is its machine's usual one
    stacks = _best_with_stacks(record, space, simulate, near, starts, each) if open_stacks else ()
    numbered = (replace(trial, number=-1 - place) for place, trial in enumerate(best.values()))
    return Elsewhere(tuple(numbered), barred, tuple(machines)[MOST:], stacks)


def _best_with_stacks(
    record: StudyRecord,
    space: Space,
    simulate: Simulate,
    near: Sequence[TrialRecord],
    starts: Sequence[TrialRecord],
    most: int,
) -> tuple[TrialRecord, ...]:
    """The study's own best with each stack that the front leaves out; one that no trial has is searched for."""
    own = _own_best(record, near, stack_of)
    known = {*own, *(stack_of(trial.design) for trial in record.front)}
    found = [trial for _, trial in own.values()]
    for name, first in by_kind(starts, stack_of).items():
        best = None if name in known or not most else Climb(record, space, simulate, stack_of, name, most).run(first)
        if best is not None and best[0][0] == 0:
            found.append(best[1])
    return tuple(found)


def with_other_stacks(
    record: StudyRecord, found: Elsewhere, built: TrialRecord, simulate: Simulate, starts: Sequence[TrialRecord]
) -> Elsewhere:
    """What was `found`, and the design to build with each stack of `starts` that may run it.

    Of each stack the better one is told: that, or the study's own best where the front leaves the stack out.
    """
    best = {stack_of(trial.design): trial for trial in found.stacks}
    restacked = [*found.restacked]
    for name, (first, *_) in by_kind(starts, stack_of).items():
        outcome = None if name == stack_of(built.design) else try_changed(simulate, built, software=_software(first))
        if outcome is not None:
            number = -1 - len(found.best) - len(restacked)
            restacked.append(
                replace(built, number=number, values=outcome.values, design=outcome.design, metrics=outcome.metrics)
            )
            if _is_told(record, restacked[-1], best.get(name)):
                best[name] = restacked[-1]
    return found._replace(stacks=(*best.values(),), restacked=(*restacked,))


def _is_told(record: StudyRecord, restacked: TrialRecord, best: TrialRecord | None) -> bool:
    """Whether a design on another stack is better than the `best` known, or, of a stack of the front, than its members.

    Where one of these is as good, the front itself tells of the stack.
    """
    if best is not None:
        return behind_knee(record, restacked.values) < behind_knee(record, best.values)
    own = record.losses((restacked,))
    members = [trial for trial in record.front if stack_of(trial.design) == stack_of(restacked.design)]
    return not any((record.losses((member,)) <= own).all() for member in members)


def _software(trial: TrialRecord) -> Any:
    return (trial.design or {})["software"]


def _as_run(record: StudyRecord, found: TrialRecord, simulate: Simulate) -> TrialRecord:
    """A design as its stack runs it, where that is worse by at most `ALIKE` in each objective; else as it is."""
    outcome = simulate_as_run(found, simulate)
    if outcome is None or outcome.state != "feasible" or outcome.design == found.design:
        return found
    if max(loss_against(record, found, outcome.values).values()) > ALIKE:
        return found
    return replace(found, values=outcome.values, design=outcome.design, metrics=outcome.metrics)


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


def _own_best(record: StudyRecord, near: Sequence[TrialRecord], named: Named) -> dict[str, Ranked]:
    """Machine, or stack, as it is `named` -> the best on it of trials `near` the front; none for those of the front."""
    on_front = {named(trial.design) for trial in record.front}
    best: dict[str, Ranked] = {}
    for trial in near:
        name, rank = named(trial.design), (0, behind_knee(record, trial.values))
        if name and name not in on_front and (name not in best or rank < best[name][0]):
            best[name] = rank, trial
    return best
