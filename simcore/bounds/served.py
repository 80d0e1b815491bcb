"""The bounds of the times of a program without training on any family of networks (`simcore.bounds.many`).

A served model has three times: of all tokens, of the first ones, and of each further one. A program that only goes
forward has the first of them alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from simcore.bounds.iteration import IterationBound
from simcore.bounds.many import Iteration, forms_of, probed, terms_of
from simcore.compute import times_of
from simcore.design.design import Design
from simcore.engine.fast.lower import Lowering
from simcore.program import Program


def iterations_of(design: Design, program: Program) -> dict[str, Iteration]:
    """The forms of each time of a design that trains nothing, by metric; what counts of it is as in `Iteration.of`."""
    simple, placement = probed(design)
    lowering = Lowering(simple, placement, times_of(design))
    whole = lowering.add(program).tolist()
    alone = program.first_token
    first = lowering.add(alone).tolist() if program.serves else []
    keys = tuple(key for key, _ in lowering.keyed())
    times, unit = terms_of(keys, placement, len(design.cluster.dimensions))

    def iteration(sums: Iterable[Any], over: int = 1) -> Iteration:
        return Iteration(keys, placement, forms_of(sums) / over, ())

    repeats = [1] * program.chunks
    bound = IterationBound(program, lowering, whole, times, unit)
    found = {"iteration_time": iteration(bound.serving_sums(repeats))}
    if program.serves:
        tokens = IterationBound(alone, lowering, first, times, unit)
        found["time_to_first_token"] = iteration(tokens.serving_sums([1]))
        found["time_per_output_token"] = (
            iteration(bound.further_sums(repeats[1:], tokens), len(repeats) - 1)
            if len(repeats) > 1
            else iteration([np.zeros_like(unit)])
        )
    return found
