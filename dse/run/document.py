"""`study.yaml`: everything needed to repeat a run. Written from a space and settings, checked, opened, compared."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from dse.run.extensions import check_packages, extensions
from dse.run.fingerprint import model_fingerprint, proof_fingerprint
from dse.run.resolved import resolved
from dse.run.settings import Settings
from dse.space.settings import Seconds, Seed, Trials, sampler_problems
from dse.space.space import Space, check_name, space_from
from dse.study.journal import KeptTrials
from dse.study.store import STUDY
from simcore.design.include import find_files_again
from simcore.document.form import describe_error
from simcore.document.problem import InputError, Problem, format_path
from simcore.document.text import Document, dump_document, parse_document, read_document

VERSION = "0.1.0"


def study_document(space: Space, settings: Settings, sampler: str) -> dict[str, Any]:
    """The content of `study.yaml`: everything needed to repeat the run."""
    import optuna

    spelled_out = resolved(space)
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
            "model": model_fingerprint(),
            "optuna": optuna.__version__,
            **extensions(spelled_out, sampler),
        },
        "space": spelled_out,
    }


def proof_identity(study: Mapping[str, Any], trials: KeptTrials) -> dict[str, str]:
    """What a proof is of: the space, the engine and the versions of a `study.yaml`, its trials, and what proves."""
    asked = json.dumps([study.get(key) for key in ("space", "engine", "versions")], sort_keys=True, default=str)
    digest = hashlib.blake2b(asked.encode(), digest_size=16).hexdigest()
    return {"study": digest, "trials": trials.digest(), "code": proof_fingerprint()}


def is_of_this_model(study: Mapping[str, Any]) -> bool:
    """Whether the trials of a study were evaluated by the model that is installed."""
    return bool(study["versions"].get("model") == model_fingerprint())


def open_space(path: str) -> tuple[Space, Mapping[str, Any] | None]:
    """A space from its file, or from the `study.yaml` of an earlier run with that run's settings.

    Raises `InputError` with every problem.
    """
    document = read_document(path)
    data = document.data
    if "space" not in data or "versions" not in data:
        return space_from(document, Path(path).stem), None
    check_packages(data, document.source)  # first: without them names are unknown
    check_study(data, document)
    find_files_again(data["space"], Path(path).resolve().parent)
    inner = parse_document(dump_document(data["space"]), f"{path} (space)")
    return space_from(inner, data["name"]), data


@dataclass(frozen=True)
class OpenStudy:
    """The study of a run folder; its `study.yaml` is read once for all that a command asks of it."""

    folder: Path
    space: Space
    document: Mapping[str, Any]

    @property
    def engine(self) -> str:
        """What simulated."""
        return str(self.document["engine"])


def open_study(folder: Path) -> OpenStudy:
    """The study of a run folder. Raises `InputError` where it holds none, or one that cannot be read."""
    if not (folder / STUDY).is_file():
        problem = Problem((), f"a run folder with a {STUDY}", "none", "give the folder of an earlier dse optimize")
        raise InputError([problem], str(folder))
    space, document = open_space(str(folder / STUDY))
    if document is None:
        raise InputError([Problem((), "the study.yaml of a run", "another document")], str(folder / STUDY))
    return OpenStudy(folder, space, document)


class _StudyDocument(BaseModel):
    """The content of `study.yaml`."""

    model_config = ConfigDict(extra="ignore", strict=True)

    name: Annotated[str, AfterValidator(check_name)]
    sampler: str
    trials: Trials
    seed: Seed
    batch: Trials
    engine: str
    design_timeout: Seconds | None = None
    reference_point: dict[str, float] | None = None
    stagnation: Trials | None = None
    gap: Annotated[float, Field(ge=0)] | None = None
    versions: dict[str, str | dict[str, str]]
    space: dict[str, Any]


def check_study(data: Mapping[str, Any], document: Document) -> None:
    """Raise `InputError` with every problem of a `study.yaml`."""
    problems: list[Problem] = []
    try:
        study = _StudyDocument.model_validate(data)
    except ValidationError as error:
        problems += [Problem(tuple(entry["loc"]), *describe_error(entry)) for entry in error.errors(include_url=False)]
    else:
        problems += sampler_problems(study.sampler, ("sampler",), by_path=True)  # a report runs no sampler
    if problems:
        fix = "take the file as dse optimize wrote it"
        raise InputError([replace(p, line=document.line(p.path), fix=p.fix or fix) for p in problems], document.source)


def differences(old: Any, new: Any, path: tuple[str | int, ...] = ()) -> list[str]:
    """Where two documents differ, as `path: old -> new`."""
    if isinstance(old, dict) and isinstance(new, dict):
        keys = list(dict.fromkeys([*old, *new]))
        return [line for key in keys for line in differences(old.get(key), new.get(key), (*path, key))]
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        return [line for i, pair in enumerate(zip(old, new, strict=True)) for line in differences(*pair, (*path, i))]
    return [] if old == new else [f"{format_path(path)}: {json.dumps(old)} -> {json.dumps(new)}"]
