"""Columns of the trials of a part of a journal, without reading one trial whole (`dse.evaluate.trials.Columns`)."""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dse.evaluate.trial import VALID
from dse.evaluate.trials import TEXTS, Columns, First, Floats, Texts
from dse.space.objective import Objective
from dse.study.columns_of_lines import LINE
from dse.study.leaves import key_of, pointer_text
from dse.study.optuna_file import CONSTRAINT, value_places
from dse.study.parts import JournalPart

PARAMS, METRICS, DESIGN, WORKLOADS = (f"/user_attrs/{key}" for key in ("params", "metrics", "design", "workloads"))
_MARKED = "/system_attrs/"


class PartColumns:
    """The columns of a part that has all that they need (`has_columns`)."""

    def __init__(self, part: JournalPart, objectives: Sequence[Objective]) -> None:
        self.part, self._objectives = part, objectives
        self._shape, self._places = part.shapes()

    def has_columns(self) -> bool:
        """Whether they say all of each trial that whole trials say; not where clusters are bought for workloads."""
        if self.part.derived is None or LINE in self.part.names or (self._shape < 0).any():
            return False
        if any(place.startswith(WORKLOADS) for shape in self._places for heads in shape.values() for place in heads):
            return False
        params = [place for shape in self._places for place in shape.get(PARAMS, ()) if place != PARAMS]
        return all(place.count("/") == 3 for place in params)

    def columns(self) -> Columns:
        """All of them."""
        violations = self.violations()
        table = np.stack([*violations.values()], axis=1) if violations else np.empty((self.part.rows, 0))
        broken = table > 0  # not where there is none
        worst = np.where(broken.any(axis=1), np.where(broken, table, -np.inf).max(axis=1, initial=-np.inf), np.nan)
        simulated = ~self.has_place(METRICS)
        valid = violations.get(VALID, np.full(self.part.rows, np.nan))
        told = {name: self.text(name) for name in ("state", "cut_by", "error")}
        told |= {"missed": self._missed(broken, [*violations]), "counts": self._counted(simulated)}
        return Columns(
            self.part.read_numbers(),
            {name: told[name] for name in TEXTS},
            self.values(),
            worst,
            self.part.jobs(),
            simulated,
            ~self.has_place(DESIGN),
            ~(valid > 0),
            self.names(PARAMS, f"{PARAMS}/"),
            self.names("/system_attrs", f"{_MARKED}{CONSTRAINT}", among=_MARKED),
        )

    def text(self, name: str) -> Texts:
        """A text of each trial."""
        codes, texts = self.part.words(f"/user_attrs/{name}")
        return Texts(codes, tuple(texts))

    def values(self) -> dict[str, Floats]:
        """The values of each trial, by objective."""
        places = value_places(len(self._objectives))
        return {o.name: self.part.figures(place) for o, place in zip(self._objectives, places, strict=True)}

    def violations(self) -> dict[str, Floats]:
        """The violations of each trial by constraint, in order of first appearance; NaN where it has none."""
        names = self.names("/system_attrs", f"{_MARKED}{CONSTRAINT}", among=_MARKED)
        ordered = sorted(names, key=names.__getitem__)
        return {name: self.part.figures(f"{_MARKED}{pointer_text(CONSTRAINT + name)}") for name in ordered}

    def names(self, head: str, start: str, among: str = "") -> dict[str, First]:
        """What stands at the places that begin with `start`, with its first appearance."""
        found: dict[str, First] = {}
        numbers = self.part.read_numbers()
        for code, places in enumerate(self._places):
            rows = numbers[self._shape == code]
            if not len(rows):
                continue
            heads = places.values() if among else [places.get(head, [])]
            its = [place for each in heads for place in each if place.startswith(start)]
            for at, place in enumerate(its):
                name = key_of(place[len(start) :])
                found[name] = min((int(rows.min()), at), found.get(name, (int(rows.min()), at)))
        return found

    def has_place(self, place: str) -> NDArray[np.bool_]:
        """Which trials have a leaf at a place, `null` or not."""
        head = "/".join(place.split("/")[:3])
        codes = [code for code, places in enumerate(self._places) if place in places.get(head, ())]
        return np.isin(self._shape, codes)

    def _missed(self, broken: NDArray[np.bool_], names: list[str]) -> Texts:
        patterns, codes = np.unique(broken, axis=0, return_inverse=True)
        places: dict[str, int] = {}
        moved = []
        for pattern in patterns:
            missed = [name for name, is_broken in zip(names, pattern.tolist(), strict=True) if is_broken]
            moved.append(places.setdefault(json.dumps(missed), len(places)) if missed else -1)
        return Texts(np.array(moved, dtype=np.int32)[codes.reshape(-1)], (*places,))

    def _counted(self, simulated: NDArray[np.bool_]) -> Texts:
        codes, texts = self.part.words(f"{METRICS}/throughput_counts")
        known = [*texts, *(() if "tokens" in texts else ("tokens",))]
        codes = np.where(codes < 0, known.index("tokens"), codes)
        return Texts(np.where(simulated, codes, -1).astype(np.int32), tuple(known))
