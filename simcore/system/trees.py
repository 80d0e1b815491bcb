"""Which groups get none of the trees of a switch that can reduce for so many groups at the same time (`trees`).

A tree is set up with a group, and kept while the job runs, as NCCL does with its communicators: it counts whether or
not a collective is on its way. Groups take trees in the order of `system.priority`; those of one name, which do the
same at the same time, all get one or none. The others go by the algorithm of the dimension.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from simcore.design.design import Design
from simcore.design.dimension import block_of
from simcore.design.once import once
from simcore.network import TREE_KINDS
from simcore.policy.intra_dimension.priority import Priority
from simcore.program import Program, Start
from simcore.system.placement import GroupSlice, place
from simcore.workload.base import kind_of, workload_program


@once
def crowded_out(design: Design) -> dict[GroupSlice, str]:
    """The slices of a checked design without trees at their switches, each with a group that it is of."""
    dimensions = design.cluster.dimensions
    if all(dimension.trees is None for dimension in dimensions):
        return {}
    alone = kind_of(design.workload).groups(design.workload) is not None  # each group is the only one of its name
    placement = place(design)[0]
    alike = Counter(where for slices in placement.values() for where in slices) if alone else Counter()
    left = [dimension.trees for dimension in dimensions]
    seen: dict[GroupSlice, str] = {}
    out: dict[GroupSlice, str] = {}
    for name in _groups_with_trees(design):
        for where in placement[name]:
            room, tree = left[where.dimension], block_of(dimensions[where.dimension]).tree(where.part)
            if room is None or tree is None or where in seen:
                continue
            seen[where] = name
            needed = alike[where] if alone else tree.meeting
            if needed > room:
                out[where] = name
            else:
                left[where.dimension] = room - needed
    return out


@once
def _groups_with_trees(design: Design) -> list[str]:
    """The groups with collectives that trees can do, those first that are served first."""
    program, placement = workload_program(_with_any_layout(design)), place(design)[0]
    if program.single is not None:
        return list(placement) if program.single.kind in TREE_KINDS else []
    names, order = set(_reducing_groups(program)), list(placement)
    return sorted(names, key=lambda name: (Priority().key(design.system.priority, name, 0), order.index(name)))


def _with_any_layout(design: Design) -> Design:
    """A design whose layout is to be solved with one that is given: groups are the same in all."""
    p = design.parallelism
    if not p.solves:
        return design
    given = {
        "stages": None if p.solves_stages else p.stages,
        "recompute": "full" if p.recompute == "solve" else p.recompute,
    }
    return design.model_copy(update={"parallelism": p.model_copy(update=given)})


def _reducing_groups(program: Program) -> Iterator[str]:
    passes = [segments for part in program.parts for segments in part.passes]
    for segments in (*passes, *program.final):
        for segment in segments:
            for operator in segment.operators:
                if isinstance(operator, Start) and operator.kind in TREE_KINDS:
                    yield operator.group


def fallback_notes(design: Design) -> tuple[str, ...]:
    """What collectives do without a tree, a sentence for each group and dimension."""
    notes = []
    for where, name in sorted(crowded_out(design).items(), key=lambda item: item[0].dimension):
        dimension, algorithm = design.cluster.dimensions[where.dimension], design.algorithms[where.dimension]
        notes.append(
            f"no tree of the {dimension.trees} of a switch on dimension {where.dimension} is left for the groups of "
            f"'{name}' ({where.part.members} members, {where.part.stride} apart): they go by {algorithm}"
        )
    return tuple(notes)
