"""Several runs side by side as JSON; values are in SI units and in the objectives' own directions.

Keys: `objectives`, `reference_point`, `runs` (each `name`, `folder`, `space`, `hypothetical`, `sampler`, `seed`,
`trials`, `feasible`, `front` (number of designs), `hypervolume`, `share` of the union's, `surviving` and `only_here`
(trials), `best`: objective -> {`trial`, `value`}, `knee`: {`trial`, `values`} or null), `union` (`hypervolume`,
`front`: list of `run`, `trial`, `values`), `common` (designs of a front that several runs evaluated: `trials` by run,
`on_front`), `shared` (how many designs two or more evaluated), `changed` (`designs` of these with other values,
`largest` difference as a share), `levels` (with two objectives: `limit` on the second, `best` of the first by run),
`settings` (`key`, `values` by run), `effects` (`key`, `values`: list of `value`, `designs`, `on_front`, `best`,
`reach`).
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from dse.report.runs.together import RunFront, RunSide, Together
from dse.report.values import finite_or_none, to_plain


def runs_document(together: Together) -> dict[str, Any]:
    """The document of a comparison."""
    names = [run.name for run in together.runs]
    document: dict[str, Any] = to_plain(
        {
            "objectives": [{"name": o.name, "direction": o.direction, "unit": o.unit} for o in together.objectives],
            "reference_point": together.reference,
            "runs": [_run(together, *pair) for pair in zip(together.runs, together.fronts, strict=True)],
            "union": {
                "hypervolume": finite_or_none(together.union_hypervolume),
                "front": [{"run": name, "trial": t.number, "values": t.values} for name, t in together.union],
            },
            "common": [asdict(design) for design in together.common],
            "shared": together.shared,
            "changed": dict(zip(("designs", "largest"), together.changed, strict=True)),
            "levels": [
                {"limit": limit, "best": dict(zip(names, best, strict=True))} for limit, best in together.levels
            ],
            "settings": [asdict(setting) for setting in together.settings],
            "effects": [asdict(effect) for effect in together.effects],
        }
    )
    return document


def share_of(together: Together, front: RunFront) -> float | None:
    """The hypervolume of a run's front as a share of the union's."""
    return front.hypervolume / together.union_hypervolume if together.union_hypervolume > 0 else None


def _run(together: Together, run: RunSide, front: RunFront) -> dict[str, Any]:
    record, knee = run.record, run.record.knee
    return {
        "name": run.name,
        "folder": run.folder,
        "space": record.space,
        "hypothetical": bool(record.hypothetical),
        "sampler": record.sampler,
        "seed": record.seed,
        "trials": len(record.trials),
        "feasible": len(record.feasible_trials),
        "front": len(record.front),
        "hypervolume": front.hypervolume,
        "share": share_of(together, front),
        "surviving": front.surviving,
        "only_here": front.only_here,
        "best": {name: {"trial": t.number, "value": t.values[name]} for name, t in front.best.items()},
        "knee": None if knee is None else {"trial": knee.number, "values": knee.values},
    }
