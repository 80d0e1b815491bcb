"""Whether the constraints of a space can be met: shown by a design that meets them, else asked of the proven bounds.

Bounding a space can take longer than all of a short search, and most spaces are full of designs that meet their
constraints: then the first few that are drawn at random show it at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Any

import numpy as np

from dse.evaluate.evaluate import Evaluator
from dse.evaluate.note import Note, be_silent
from dse.proof.certificate import check_reachable
from dse.proof.unreachable import contradiction_problems
from dse.space.barred import broken_by_all
from dse.space.draw import RandomDraw
from dse.space.fill import has_solved_split
from dse.space.order import ORDERABLE
from dse.space.screen import ScreenedDesign
from dse.space.space import Space
from simcore.check.load import parse_design
from simcore.document.problem import InputError
from simcore.engine.registry import PROVABLE

DRAWN, SIMULATED = 512, 40
"""Designs that are drawn, and those of them that are simulated, before the bounds are asked."""


def check_constraints(space: Space, engine: str, note: Note = be_silent) -> None:
    """Raise `InputError` with each constraint that no design of the space can meet (`dse.proof.certificate`).

    And with those that exclude each other, and with what is wrong with the workload or the cluster of every design.
    `note` is told how far it is.
    """
    if problems := [*contradiction_problems(space.constraints), *broken_by_all(space)]:
        raise InputError(problems, space.file or space.name)
    if space.jobs or has_solved_split(space.template) or engine not in PROVABLE or not _finds_one(space, engine, note):
        check_reachable(space, engine, note)


def _finds_one(space: Space, engine: str, note: Note) -> bool:
    """Whether a design that meets every constraint is among the first."""
    if all(constraint.name in ("fits", ORDERABLE) for constraint in space.constraints):
        return True  # then there is nothing to ask
    evaluate = Evaluator(space.objectives, space.constraints, engine)
    generator = np.random.default_rng(0)
    documents = (space.fill(RandomDraw(generator)).document for _ in range(DRAWN))
    hopeful = (document for document in documents if _may_be_simulated(space, document))
    for number, document in enumerate(islice(hopeful, SIMULATED)):
        note(f"design {number + 1} of at most {SIMULATED}", number / SIMULATED)
        if evaluate(document).state == "feasible":
            return True
    return False


def _may_be_simulated(space: Space, document: Mapping[str, Any]) -> bool:
    design, _ = parse_design(document)
    return design is not None and ScreenedDesign(design, space.constraints).violation <= 0
