"""What there is to name: kinds of things, and entries of a kind."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing that a document can name."""

    kind: str
    name: str
    summary: str
    """What matters of it, in one line."""
    basis: str
    """Where its numbers come from, in a word or two: measured, a data sheet, assumed; empty where it has none."""
    written: str
    """How a document says it, as YAML."""
    package: str | None = None
    """The installed package that brings it, with its version; None for one of the project."""
    values: Mapping[str, Any] = field(default_factory=dict)
    """Its numbers, as a document would spell them out."""
    sources: Mapping[str, str] = field(default_factory=dict)
    """Key -> where its numbers were read."""
    text: str = ""
    """What is said of it at length."""

    @property
    def line(self) -> dict[str, Any]:
        """The entry in a list of its kind, as JSON."""
        return {"name": self.name, "summary": self.summary, "basis": self.basis or None, "package": self.package}

    @property
    def document(self) -> dict[str, Any]:
        """All of the entry, as JSON."""
        more = {"written": self.written, "values": dict(self.values), "sources": dict(self.sources)}
        return {"kind": self.kind, **self.line, **more, "text": self.text or None}


class Kind(ABC):
    """A kind of things to name, such as NPUs."""

    name: str
    what: str
    """What its members are, in a few words."""
    path: str
    """Where documents name them."""
    note: str
    """What there is to know to read the list; may be empty."""

    @abstractmethod
    def names(self) -> list[str]:
        """All names, those of the project first."""

    @abstractmethod
    def entry(self, name: str) -> Entry:
        """The entry of that name, which must be one of `names`."""
