"""Communicator groups: named subsets of the NPUs, in an order that matters.

A file maps a group number to its members. A group with all NPUs is the whole network; a smaller one becomes
one flat ring over its members in file order. Numbers start at 1: the empty name and 0 mean everyone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from simcore.astra.algorithms.collective import Group
from simcore.astra.files.documents import read_json
from simcore.astra.files.errors import AstraInputError


def load_groups(path: Path | None, npus: int) -> dict[int, Group]:
    """Read a communicator-group file; no file means no groups.

    Raises
    ------
    AstraInputError
        If a number is no integer above 0, or a member is unknown or named twice.
    """
    if path is None:
        return {}
    return {
        group.id: group
        for group in (make_group(f"{path}", name, members, npus) for name, members in _entries(path).items())
    }


def _entries(path: Path) -> Mapping[str, Any]:
    return read_json(path).values


def make_group(where: str, name: str, members: Any, npus: int) -> Group:
    """Return a checked group; `where` is for messages."""
    number = group_number(where, name)
    if number <= 0:
        raise AstraInputError(f"{where}: group {name}: expected a number above 0; 0 stands for all NPUs")
    if not isinstance(members, Sequence) or isinstance(members, str):
        raise AstraInputError(f"{where}: group {name}: expected a list of NPUs, got {members!r}")
    for member in members:
        if isinstance(member, bool) or not isinstance(member, int) or not 0 <= member < npus:
            raise AstraInputError(f"{where}: group {name}: expected NPUs 0 to {npus - 1}, got {member!r}")
    if len(set(members)) != len(members):
        raise AstraInputError(f"{where}: group {name}: expected every NPU once, got one twice")
    return Group(number, tuple(members))


def group_number(where: str, name: str) -> int:
    """Return a group's number from its name.

    Raises
    ------
    AstraInputError
        If the name is no integer, as ASTRA-sim demands.
    """
    try:
        return int(name)
    except ValueError:
        raise AstraInputError(f"{where}: group {name!r}: expected a number, as ASTRA-sim's groups have") from None
