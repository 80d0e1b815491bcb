"""A search of a space."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dse.reproduce.files import inside
from dse.reproduce.measures.base import Case, Measure, Numbers
from simcore.document.problem import InputError

if TYPE_CHECKING:
    from dse.door.run import Run
    from dse.space.space import Space

_OPTIONS = ("sampler", "trials", "seed")


class OptimizeSpace(Measure):
    """`run: {optimize: SPACE, sampler: S, trials: N, seed: N, reference: {METRIC: VALUE}}`.

    Of each objective `best.METRIC` and `bound.METRIC` (where one is proven); every metric of the design that is best
    for the first objective under its own name, and `chosen`, what the search chose for its holes; `trials`, `front`
    (its size), `hypervolume` (against `reference`, where that is given).
    Keys that an alternative sets are those of the space: a value in the place of a hole closes it.
    """

    def read(self, folder: Path, run: Mapping[str, Any], changes: Mapping[str, Any]) -> Case:
        """See `Measure.read`."""
        space, asked = _space(folder, run, changes), {key: run[key] for key in _OPTIONS if key in run}
        return Case(json.dumps([space.source, asked], sort_keys=True, default=str), lambda: _search(space, asked))


def _search(space: Space, asked: Mapping[str, Any]) -> Numbers:
    from dse.door.optimize import optimize

    found = optimize(space, **asked)
    if found.ended == "interrupted":
        raise KeyboardInterrupt  # what was found by then is not what the study asks for
    try:
        return _numbers(space, found)
    except InputError:
        if len(found.front):
            raise
        return {"trials": len(found.trials), "front": 0, "hypervolume": 0.0}  # nothing feasible


def _space(folder: Path, run: Mapping[str, Any], changes: Mapping[str, Any]) -> Space:
    """The space with its changes; raises `InputError` for a path that is none."""
    from dse.space.space import space_from
    from simcore.design.change import assign_all
    from simcore.document.text import Document, read_document

    path = inside(folder, run["optimize"])
    document = read_document(path)
    data = copy.deepcopy(document.data)
    reference = {"study.reference_point": run["reference"]} if "reference" in run else {}
    problems = assign_all(data, {**reference, **changes})
    if problems:
        raise InputError(problems, str(path))
    return space_from(Document(document.source, data, document.lines), path.stem)


def _numbers(space: Space, found: Run) -> Numbers:
    from dse.evaluate.read import trial_metrics
    from dse.report.describe import headline

    names = [objective.name for objective in space.objectives]
    best = {name: found.best(name) for name in names}
    first = best[names[0]]
    return {
        **{name: value for name, value in trial_metrics(first).items() if value is not None},
        "best": {name: trial.values[name] for name, trial in best.items()},
        "bound": {name: bound for name, bound in found.bounds.items() if bound is not None},
        "trials": len(found.trials),
        "front": len(found.front),
        "hypervolume": found.hypervolume,
        "chosen": ", ".join(f"{path.rpartition('.')[2]} {value}" for path, value in first.params.items())
        or headline(first.design),
    }
