"""Changes of a design, and what they do to it.

A change is a set of leaves of the complete document that go together: the degrees of parallelism multiply to the
number of NPUs, the dimensions of a network and what names them (algorithms, placement) follow one another, NICs and the
bandwidth of their dimension too.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dse.report.aspects import short_name, shorten_value
from dse.report.units import MISSING, clean_text, shorten_text
from dse.whatif.answers import DOES_NOT_FIT
from simcore.check.check import check
from simcore.check.load import parse_design
from simcore.design.design import Design
from simcore.document.problem import InputError, Path
from simcore.network import TOPOLOGIES
from simcore.result import Result
from simcore.simulate import simulate

Document = Mapping[str, Any]
NETWORK = "network"
"""Name of the change of the blocks of a network, with all that names its dimensions."""
MACHINE = "machine"
"""Name of the change of the NPU with what its machine brings along."""
NICS = "NICs"
"""Name, before that of the dimension, of the change of NICs with the bandwidth that follows from them."""
NIC_KEYS = ("nics", "nic_bandwidth", "bandwidth")
DIMENSIONS: Path = ("cluster", "dimensions")
ABSENT = object()
"""In place of the value of a key that a document lacks."""
SOLVED: Document = {"solve": True}
"""A value that is to be solved."""


@dataclass(frozen=True)
class Change:
    """Leaves of a document that change together."""

    name: str
    values: Mapping[Path, tuple[Any, Any]]
    """Path -> before and after; `ABSENT` where a document has no such key."""

    @property
    def text(self) -> str:
        """The change in words: `interleave 4 → 2`."""
        if len(self.values) == 1:
            ((before, after),) = self.values.values()
            return f"{self.name} {_said(before)} → {_said(after)}"
        if self.name in (NETWORK, MACHINE):  # what follows from the first of its leaves goes without saying
            before, after = next(iter(self.values.values()))
            return f"{self.name} {_said(before)} → {_said(after)}"
        if self.name.startswith(f"{NICS} "):  # how many, and what an NPU gets
            ends = [pair for path, pair in self.values.items() if path[-1] != NIC_KEYS[1]]
            return f"{self.name}: {', '.join(f'{_said(a)} → {_said(b)}' for a, b in ends)}"
        told = [f"{_last(path)} {_said(a)} → {_said(b)}" for path, (a, b) in self.values.items()]
        return shorten_text(", ".join(told), 120)

    @property
    def document(self) -> dict[str, Any]:
        """The change as JSON."""
        ends = {_dotted(path): [None if end is ABSENT else end for end in pair] for path, pair in self.values.items()}
        return {"name": self.name, "text": self.text, "values": ends}


@dataclass(frozen=True)
class Tried:
    """A design with changes, simulated."""

    changes: tuple[Change, ...]
    result: Result | None
    why: str
    """Why it cannot be built; empty where it can."""

    @property
    def text(self) -> str:
        """The changes in words."""
        return "; ".join(change.text for change in self.changes)

    @property
    def name(self) -> str:
        """The changes by their names."""
        return " + ".join(change.name for change in self.changes)


def apply_changes(document: Document, changes: Sequence[Change]) -> dict[str, Any]:
    """A document with changes made, as a new one."""
    changed: dict[str, Any] = copy.deepcopy(dict(document))
    for change in changes:
        for path, (_, after) in change.values.items():
            _put(changed, path, copy.deepcopy(after) if after is not ABSENT else ABSENT)
    return changed


def attempt(document: Document, changes: Sequence[Change]) -> Tried:
    """A complete design document with changes, simulated by engine `fast` where it is a design at all.

    A design that does not fit has its result, and a reason against it.
    """
    design, problems = parse_design(apply_changes(document, changes))
    if design is not None:
        problems = check(design)
    if design is None or problems:
        return Tried(tuple(changes), None, str(problems[0]))
    return _simulated(design, tuple(changes))


def _simulated(design: Design, changes: tuple[Change, ...]) -> Tried:
    try:
        result = simulate(design)
    except InputError as error:
        return Tried(changes, None, str(error.problems[0]))
    return Tried(changes, result, DOES_NOT_FIT if result.fits is False else "")


def _put(document: Any, path: Path, value: Any) -> None:
    for part in path[:-1]:
        document = document.setdefault(part, {}) if isinstance(document, dict) else document[part]
    if value is ABSENT:
        document.pop(path[-1], None)
    else:
        document[path[-1]] = value


def job_path(document: Document) -> Path:
    """Where the sections of the one job of a document stand: at its top, or in its single entry of `jobs`."""
    return ("jobs", 0) if "jobs" in document else ()


def value_at(document: Any, path: Path) -> Any:
    """What stands at a path of a document; `ABSENT` where nothing does."""
    for part in path:
        try:
            document = document[part]
        except (KeyError, IndexError, TypeError):
            return ABSENT
    return document


def _said(value: Any) -> str:
    if value is ABSENT:
        return MISSING
    if value == SOLVED:
        return "solved"
    if isinstance(value, list) and value and all(isinstance(entry, Mapping) for entry in value):
        return "_".join(f"{short_name(TOPOLOGIES, entry.get('topology'))}({entry.get('size')})" for entry in value)
    return shorten_text(shorten_value(value), 40)


def _last(path: Path) -> str:
    return clean_text(path[-1])


def _dotted(path: Path) -> str:
    return ".".join(map(str, path))
