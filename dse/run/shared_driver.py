"""One of several drivers that share a study in a storage."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any

from dse.run.document import differences
from dse.run.driver import Driver
from dse.run.settings import Settings
from dse.search import Sampler, resolve_sampler
from dse.space.samplers import PROVERS
from dse.space.space import Space
from dse.study.claims import SharedStudy
from dse.study.journal import KeptTrials
from dse.study.ledger import Ledger, TrialLog
from dse.study.shared import Shared
from simcore.document.problem import InputError, Problem

_OWN = {"sampler": 0, "trials": 0, "seed": 0, "batch": 0, "design_timeout": 0}
"""How they search is each driver's own."""


class SharedDriver(Driver):
    """See the module; `url` names the storage."""

    repeats = False

    def __init__(self, url: str) -> None:
        self._url = url
        self._storage: SharedStudy | None = None

    def sampler_name(self, space: Space, settings: Settings) -> str:
        """See `Driver.sampler_name`."""
        name = resolve_sampler(settings.sampler, space, settings.engine, proving=False)
        if name in PROVERS:
            what, fix = "a sampler that several drivers can share", "run it alone, or use another sampler"
            raise InputError([Problem(("--sampler",), what, name, fix)], "study")
        return name

    def noted(self, space: Space, settings: Settings) -> dict[str, Any]:
        """See `Driver.noted`."""
        return {"shared": settings.study_name or space.name}

    def join(self, space: Space, settings: Settings, document: Mapping[str, Any], closing: ExitStack) -> int:
        """See `Driver.join`."""
        self._storage = SharedStudy(self._url, document["shared"], space.objectives)
        closing.callback(self._storage.leave)
        before, first = self._storage.join(document)
        changed = differences({**first, **_OWN}, {**json.loads(json.dumps(document)), **_OWN})
        if changed:
            fix = "give this one a name of its own with --study-name"
            problems = [Problem((), "the study of the other drivers", line, fix) for line in changed]
            raise InputError(problems, f"study {document['shared']}")
        return (settings.seed + before) % 2**32  # two drivers with one seed would propose the same

    def ledger(self, settings: Settings, log: TrialLog, known: KeptTrials, sampler: Sampler) -> Ledger:
        """See `Driver.ledger`."""
        assert self._storage is not None  # joined before
        return Shared(self._storage, log, settings.trials, (stored.number for stored in known))
