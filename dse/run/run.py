"""One run of `dse optimize`, without its command line: from a space and settings to a run folder.

The order matters: everything that can be wrong with the input is found before the folder is touched, and everything
that can be wrong with the folder before the search begins.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from dse.buy.evaluate import Buyer, tuned_for
from dse.buy.tune import Tuner
from dse.evaluate.evaluate import Evaluate, Evaluator
from dse.evaluate.record import Purchase, StudyRecord
from dse.execute import Where, make_executor
from dse.proof.bound import Limit
from dse.proof.certificate import check_reachable, proven_bounds, proven_limits
from dse.run.covered import best_of_all
from dse.search import PROVABLE, Prover, make_sampler, resolve
from dse.space.settings import Seconds, Trials, sampler_problems
from dse.space.space import Space, space_from
from dse.study.journal import JOURNAL, Journal, StoredTrial, read_trials
from dse.study.stop import Limits, gap_problem
from dse.study.store import STUDY, check_folder, read_proof, study_record, write_proof, write_study
from dse.study.study import Study
from dse.study.watch import WATCHER, Watcher
from simcore import catalog
from simcore.catalog.preset import preset
from simcore.design.prices import PriceList
from simcore.document.form import worded
from simcore.document.problem import InputError, Problem, dotted
from simcore.document.text import Document, dump_document, parse_document, read_document

VERSION = "0.1.0"
_PRESETS = {
    ("workload", "model"): "models",
    ("workload", "layers"): "networks",
    ("cluster", "npu"): "npus",
    ("cost",): "prices",
    ("cluster", "fabric"): "fabrics",
}


@dataclass(frozen=True)
class Settings:
    """What a run is asked for, after the space's own `study` section and the command line."""

    sampler: str
    trials: int
    seed: int
    timeout: float | None = None
    jobs: int | None = None
    engine: str = "fast"
    stagnation: int | None = None
    gap: float | None = None
    executor: str = "local"
    address: str | None = None
    design_timeout: float | None = None
    start_timeout: float = 60.0
    storage: str | None = None
    study_name: str | None = None

    @property
    def where(self) -> Where:
        """Where to evaluate."""
        return Where(self.executor, self.jobs, self.address, self.design_timeout, self.start_timeout)


def open_space(path: str) -> tuple[Space, Mapping[str, Any] | None]:
    """A space from its file, or from the `study.yaml` of an earlier run with that run's settings.

    Raises `InputError` with every problem.
    """
    document = read_document(path)
    data = document.data
    if "space" not in data or "versions" not in data:
        return space_from(document, Path(path).stem), None
    check_study(data, document)
    inner = parse_document(dump_document(data["space"]), f"{path} (space)")
    return space_from(inner, data["name"]), data


class _StudyDocument(BaseModel):
    """The content of `study.yaml`."""

    model_config = ConfigDict(extra="ignore", strict=True)

    name: Annotated[str, Field(min_length=1)]
    sampler: str
    trials: Trials
    seed: Annotated[int, Field(ge=0, lt=2**32)]
    batch: Trials
    engine: str
    design_timeout: Seconds | None = None
    reference_point: dict[str, float] | None = None
    stagnation: Trials | None = None
    gap: Annotated[float, Field(ge=0)] | None = None
    versions: dict[str, str]
    space: dict[str, Any]


def check_study(data: Mapping[str, Any], document: Document) -> None:
    """Raise `InputError` with every problem of a `study.yaml`."""
    problems: list[Problem] = []
    try:
        study = _StudyDocument.model_validate(data)
    except ValidationError as error:
        problems += [Problem(tuple(entry["loc"]), *worded(entry)) for entry in error.errors(include_url=False)]
    else:
        problems += sampler_problems(study.sampler, ("sampler",), by_path=True)  # a report runs no sampler
    if problems:
        fix = "take the file as dse optimize wrote it"
        raise InputError([replace(p, line=document.line(p.path), fix=p.fix or fix) for p in problems], document.source)


def resolved(space: Space) -> dict[str, Any]:
    """The space's document with the catalogue entries it names spelled out."""
    out: dict[str, Any] = json.loads(json.dumps(dict(space.source)))
    out.setdefault("cost", "libra")
    workloads = out.get("workloads", [])
    for holder in (out, *(workloads if isinstance(workloads, list) else [])):
        for path, section in _PRESETS.items():
            _spell(holder, path, section)
    return out


def _spell(holder: Any, path: tuple[str, ...], section: str) -> None:
    if isinstance(holder, dict) and "choice" in holder and path[0] not in holder:
        for index, alternative in enumerate(holder["choice"]):
            if (len(path) == 1 and isinstance(alternative, dict)) or len(path) > 1:
                _spell(alternative, path, section)
            holder["choice"][index] = alternative
        return
    if not isinstance(holder, dict) or path[0] not in holder:
        return
    if len(path) > 1:
        _spell(holder[path[0]], path[1:], section)
        return
    holder[path[0]] = _spelled(holder[path[0]], section)


def _spelled(value: Any, section: str) -> Any:
    if isinstance(value, str):
        holding = (
            name for name in ("networks", "recommenders") if section == "models" and value in catalog.section(name)
        )
        return dict(catalog.entry(next(holding, section), value))
    if isinstance(value, dict) and "choice" in value:
        return {**value, "choice": [_spelled(alternative, section) for alternative in value["choice"]]}
    return value


def study_document(space: Space, settings: Settings, sampler: str) -> dict[str, Any]:
    """The content of `study.yaml`: everything needed to repeat the run."""
    import optuna

    return {
        "name": space.name,
        "sampler": sampler,
        "trials": settings.trials,
        "seed": settings.seed,
        "batch": space.settings.batch,
        "engine": settings.engine,
        **({} if settings.design_timeout is None else {"design_timeout": settings.design_timeout}),
        "reference_point": space.settings.reference_point,
        "stagnation": settings.stagnation,
        "gap": settings.gap,
        "versions": {
            "dse": VERSION,
            "optuna": optuna.__version__,
        },
        "space": resolved(space),
    }


def fingerprint(document: Any) -> str:
    """Identity of a document."""
    return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()


def differences(old: Any, new: Any, path: tuple[str | int, ...] = ()) -> list[str]:
    """Where two documents differ, as `path: old -> new`."""
    if isinstance(old, dict) and isinstance(new, dict):
        keys = list(dict.fromkeys([*old, *new]))
        return [line for key in keys for line in differences(old.get(key), new.get(key), (*path, key))]
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        return [line for i, pair in enumerate(zip(old, new, strict=True)) for line in differences(*pair, (*path, i))]
    return [] if old == new else [f"{dotted(path)}: {json.dumps(old)} -> {json.dumps(new)}"]


def check_resume(folder: Path, document: Mapping[str, Any]) -> None:
    """Refuse to resume where what was asked has changed; when to stop, and `design_timeout`, may differ.

    Raises `InputError` that says what changed.
    """
    if not os.path.isfile(folder / STUDY):
        problem = Problem((), f"a run folder with a {STUDY}", "none", "drop --resume to start a new study")
        raise InputError([problem], str(folder))
    if not os.path.isfile(folder / JOURNAL):
        fix = "put it back, or drop --resume to start the study anew"
        raise InputError([Problem((), f"the {JOURNAL} of the study to resume", "none", fix)], str(folder))
    old = read_document(folder / STUDY).data
    free = {"trials": 0, "design_timeout": 0, "stagnation": None, "gap": None}
    changed = differences({**old, **free}, {**document, **free})
    if changed:
        fix = "undo the change, or start a new study with --out"
        problems = [Problem((), "the study as it was started", line, fix) for line in changed]
        raise InputError(problems, f"cannot resume {folder}")


def optimize(
    space: Space,
    settings: Settings,
    folder: Path,
    resume: bool,
    watcher: Watcher = WATCHER,
) -> str:
    """Run a study into `folder`; why it ended (a reason of `dse.study.stop`, `exhausted`, `interrupted`).

    What was evaluated is in the journal however it ends. Raises `InputError` for input that cannot be used.
    """
    check_reachable(space, settings.engine)
    limits = _limits(space, settings)
    sampler_name = resolve(settings.sampler, space, settings.engine)
    sampler = make_sampler(sampler_name, space, settings.seed)
    if isinstance(sampler, Prover):
        _check_provable(settings.engine)
        sampler.on_note = watcher.note
    document = study_document(space, settings, sampler_name)
    known = {stored.outcome.key: stored.outcome for stored in earlier_trials(space, folder, resume, document)}
    evaluator = evaluator_of(space, settings)
    executor = make_executor(evaluator, where=settings.where)
    watcher.watch(executor)
    try:
        check_folder(folder)
        write_study(folder, document)
        watcher.start(sampler_name, len(known))
        journal = Journal(folder, space.name, space.objectives)
        study = Study(space, sampler, executor, journal, known, watcher.trial)
        try:
            return study.run(limits)
        except KeyboardInterrupt:
            return "interrupted"
        finally:
            journal.close()
            if isinstance(sampler, Prover):
                write_proof(folder, sampler.proof())
    finally:
        executor.close()


def _check_provable(engine: str) -> None:
    """Raise `InputError` for an engine whose times the bounds do not bound."""
    if engine not in PROVABLE:
        fix = f"use --engine {PROVABLE[0]}, or another sampler"
        raise InputError([Problem(("--engine",), f"{' or '.join(PROVABLE)} for exact", f"'{engine}'", fix)], "study")


def earlier_trials(space: Space, folder: Path, resume: bool, document: Mapping[str, Any]) -> list[StoredTrial]:
    """The trials of the study that goes on.

    Raises `InputError` where it has changed, or where a new study would overwrite one.
    """
    if resume:
        check_resume(folder, json.loads(json.dumps(document)))
        return list(read_trials(folder, space.objectives))
    if os.path.exists(folder / JOURNAL):  # False, too, where the path cannot be one; check_folder says why
        fix = "continue it with --resume, or choose another folder with --out"
        raise InputError([Problem((), "a new run folder", "one that holds a study", fix)], str(folder))
    return []


def evaluator_of(space: Space, settings: Settings) -> Evaluate:
    """What evaluates the space's designs, or the clusters that it is to choose from."""
    evaluator = Evaluator(space.objectives, space.constraints, settings.engine)
    if not space.jobs:
        return evaluator
    study = space.settings
    tuner = Tuner(evaluator, tuned_for(space), study.tune_sampler, study.tune_trials, settings.seed)
    return Buyer(space, tuner, study.aggregate)


def purchase_of(space: Space) -> Purchase | None:
    """What a space with jobs asks for; None for a plain one."""
    if not space.jobs:
        return None
    names, weights = (tuple(getattr(job, key) for job in space.jobs) for key in ("name", "weight"))
    sections = tuple(dict.fromkeys((*space.template, "cost")))
    return Purchase(names, weights, tuned_for(space), space.settings.aggregate, sections)


def _limits(space: Space, settings: Settings) -> Limits:
    """When to stop. Raises `InputError` where a gap is asked for and an objective has no proven bound."""
    bounds: dict[str, float | None] = {} if settings.gap is None else proven_bounds(space)
    why = None if settings.gap is None else gap_problem(bounds, space.objectives)
    if why is not None:
        fix = "stop by trials, time or stagnation instead"
        raise InputError([Problem(("gap",), "a proven bound for each objective", why, fix)], "study")
    return Limits(settings.trials, settings.timeout, settings.stagnation, settings.gap, bounds)


def load_record(folder: Path) -> StudyRecord:
    """The record of a run folder, from its journal and `study.yaml` alone.

    Raises `InputError` where the folder holds no study.
    """
    if not (folder / STUDY).is_file():
        problem = Problem((), f"a run folder with a {STUDY}", "none", "give the folder of an earlier dse optimize")
        raise InputError([problem], str(folder))
    space, study = open_space(str(folder / STUDY))
    if study is None:
        raise InputError([Problem((), "the study.yaml of a run", "another document")], str(folder / STUDY))
    trials = read_trials(folder, space.objectives)
    proof, purchase = read_proof(folder, space.objectives), purchase_of(space)
    record = study_record(space.name, space.objectives, trials, study, {}, price_sources(space), purchase, proof)
    limits = {name: Limit(v) for name, v in (best_of_all(space, record) or {}).items()} or _limits_of(space, proof)
    leaders = {name: limit.design for name, limit in limits.items() if limit.design is not None}
    return replace(record, bounds={name: limit.value for name, limit in limits.items()}, leaders=leaders)


def _limits_of(space: Space, proof: Mapping[str, Any] | None) -> dict[str, Limit]:
    """The proven bounds of a space: a sampler's own where it has them, else those of `proven_limits`."""
    proved = {} if proof is None else {name: Limit(v) for name, v in proof["bounds"].items() if v is not None}
    return proved if len(proved) == len(space.objectives) else {**proven_limits(space), **proved}


def price_sources(space: Space) -> dict[str, str]:
    """Where the prices of the space's price lists come from."""
    cost = space.source.get("cost", "libra")
    listed = cost["choice"] if isinstance(cost, dict) and "choice" in cost else [cost]
    sources: dict[str, str] = {}
    for entry in listed:
        prices = preset(PriceList, "prices", entry).model_dump() if isinstance(entry, str) else entry
        sources |= {f"{prices.get('name', 'prices')}: {key}": text for key, text in prices.get("sources", {}).items()}
    return sources


def next_free(folder: Path) -> Path:
    """A name for an earlier run that makes room for a new one: `transformer1t.1`, then `transformer1t.2`, and so on."""
    number = 1
    while (candidate := folder.with_name(f"{folder.name}.{number}")).exists():
        number += 1
    return candidate
