"""A family: members by name, those of the project and those that installed packages bring.

A package joins a family by an entry point in the family's group:

    [project.entry-points."simcore.topologies"]
    star = "my_package.star:Star"

Its members are known by name at once, and loaded when they are first asked for. A document names members; it never
names a module to import.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Family(Mapping[str, T], Generic[T]):
    """The members of one family, by name, those of the project first.

    `group` is the entry points' group, `kind` the class of which every member is an instance; with `classes`, a member
    may be a subclass of it instead. The project's `own` members are given as they are, or, where they lie in modules
    that must not be imported with the family's, as text that says where (`package.module:NAME`).
    """

    def __init__(self, group: str, kind: type, own: Mapping[str, T | str], classes: bool = False) -> None:
        self.group, self.kind, self.classes = group, kind, classes
        self._own = dict(own)
        self._loaded: dict[str, T] = {}

    def __getitem__(self, name: str) -> T:
        """The member of that name.

        Raises `KeyError` where there is none, `TypeError` where a package's member is not of the family's kind.
        """
        own = self._own.get(name)
        if own is not None and not isinstance(own, str):
            return own
        if name not in self._loaded:
            entry = _find_entry_points(self.group)[name] if own is None else EntryPoint(name, own, self.group)
            member = entry.load()
            as_class = self.classes and isinstance(member, type)
            if not (issubclass(member, self.kind) if as_class else isinstance(member, self.kind)):
                raise TypeError(f"entry point {self.group}: {name} of {origin_of(entry)} is no {self.kind.__name__}")
            self._loaded[name] = member
        return self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        yield from self._own
        yield from self.added

    @property
    def added(self) -> tuple[str, ...]:
        """The names of the members that packages bring."""
        return tuple(name for name in _find_entry_points(self.group) if name not in self._own)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __contains__(self, name: Any) -> bool:
        return name in self._own or name in _find_entry_points(self.group)

    def origin(self, name: str) -> str | None:
        """The package and version that brings a member, such as `my-package 1.2`; None for one of the project."""
        return None if name in self._own else origin_of(_find_entry_points(self.group)[name])

    def package(self, name: str) -> tuple[str, str] | None:
        """The name and the version of the package that brings a member; None for one of the project."""
        dist = None if name in self._own else _find_entry_points(self.group)[name].dist
        return None if dist is None else (dist.name, dist.version)


def origin_of(entry: EntryPoint) -> str:
    """The package of an entry point, and its version."""
    return f"{entry.dist.name} {entry.dist.version}" if entry.dist is not None else entry.value.partition(":")[0]


@cache
def _find_entry_points(group: str) -> dict[str, EntryPoint]:
    """The entry points of a group, by name, in the order of their names."""
    return {entry.name: entry for entry in sorted(_scan_packages().select(group=group), key=lambda entry: entry.name)}


@cache
def _scan_packages() -> Any:
    """The entry points of all installed packages: they are read from the disk once, not once a group."""
    return entry_points()
