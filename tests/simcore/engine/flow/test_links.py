"""Shared links against the enumeration of every message on every link."""

from __future__ import annotations

import random
from collections.abc import Iterator

import numpy as np
import pytest
from every_link import Enumeration  # beside this file
from paced_level import max_min_paces
from sharing_designs import draw_iteration

from simcore.design.design import Design
from simcore.engine.flow.classes import Classes, find_classes
from simcore.engine.flow.links import find_links, hops_of, kinds_of
from simcore.engine.flow.shared import Served
from simcore.memory.plan import program_of
from simcore.system.placement import place


def phases_of(design: Design, classes: Classes) -> Iterator[Served]:
    """Everything that the classes of a design may serve."""
    program = program_of(design)
    for group, kind in kinds_of(program, classes.placement):
        for where in classes.placement[group]:
            for its in range(len(classes.stages)):
                yield Served(its, group, where.dimension, kind)
    for its, stage in enumerate(classes.stages):
        for source, target in hops_of(program):
            digits = [(where, stage, target) for where in classes.placement["pipeline"]]
            if source != stage:
                continue
            here, there = stage, target
            for where, _, _ in digits:
                here, mine = divmod(here, where.part.members)
                there, its_own = divmod(there, where.part.members)
                if mine != its_own:
                    yield Served(its, "pipeline", where.dimension, "send_recv", target)


def served_at_once(phases: list[Served], draw: random.Random) -> set[Served]:
    """For some dimensions of some classes one of the phases that they may serve."""
    queues = sorted({(served.npus, served.dimension) for served in phases})
    chosen = draw.sample(queues, draw.randint(1, len(queues)))
    return {draw.choice([served for served in phases if (served.npus, served.dimension) == queue]) for queue in chosen}


def assert_same_paces(design: Design, classes: Classes, draw: random.Random) -> int:
    """Paces over the links that matter are those over all links; how many were below 1."""
    shared = find_links(design, program_of(design), classes)
    phases = list(phases_of(design, classes))
    every = Enumeration(design, classes).shared(phases)
    slowed = 0
    for _ in range(6):
        served = served_at_once(phases, draw)
        found, expected = max_min_paces(shared, served), max_min_paces(every, served)
        for one in served:
            assert found[one] == pytest.approx(min(1.0, expected[one]), rel=1e-6), one
        slowed += sum(pace < 0.999 for pace in expected.values())
    return slowed


@pytest.mark.parametrize(("topology", "seeds"), [("ring", range(60)), ("mesh", range(60)), ("clos", range(100))])
def test_the_links_that_matter_give_the_paces_of_all_links(topology: str, seeds: range) -> None:
    slowed = 0
    for seed in seeds:
        design = draw_iteration(seed, [topology, topology, "switch"], most=32 if topology == "clos" else 16)
        if design is not None:
            classes = find_classes(design, place(design)[0])
            slowed += assert_same_paces(design, classes, random.Random(seed))
    assert slowed > 2


def test_classes_within_a_stage_share_links_as_enumerated() -> None:
    slowed = 0
    for seed in range(40):
        design = draw_iteration(seed, ["ring", "clos"], most=16)
        if design is not None:
            colours = np.random.default_rng(seed).integers(0, 2, design.cluster.npus)
            classes = find_classes(design, place(design)[0], colours)
            slowed += assert_same_paces(design, classes, random.Random(seed))
    assert slowed > 10
