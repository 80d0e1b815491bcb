"""Which members of installed packages a design uses: what must be there to simulate it again."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from simcore.collective import ALGORITHMS
from simcore.design.workload import KINDS
from simcore.family import Family
from simcore.network import TOPOLOGIES
from simcore.policy.inter_dimension import INTER_DIMENSION
from simcore.policy.intra_dimension import INTRA_DIMENSION
from simcore.schedule import SCHEDULES

FAMILIES: Mapping[str, Family[Any]] = {
    "topology": TOPOLOGIES,
    "collective": ALGORITHMS,
    "schedule": SCHEDULES,
    "intra_dimension": INTRA_DIMENSION,
    "inter_dimension": INTER_DIMENSION,
}
"""The families whose members documents name, by the key under which they do."""


def used_packages(document: Any, families: Mapping[str, Family[Any]] = FAMILIES) -> dict[str, str]:
    """The version of each installed package that a document of a design or a space needs, by its name.

    A package counts where a word below the key of a family (in a hole, an expression, a key) is a member of its; or one
    in a workload is a key by which a kind of its is recognised.
    """
    packages = [families[key].package(word) for key, word in _words(document, families) if word in families[key]]
    kinds = {key: name for name, form in KINDS.items() for key in form.keys}
    packages += [KINDS.package(kinds[word]) for _, word in _words(document, {"workload": KINDS}) if word in kinds]
    return dict(sorted({package for package in packages if package is not None}))


def _words(value: Any, keys: Mapping[str, Any], below: tuple[str, ...] = ()) -> Iterator[tuple[str, str]]:
    """The words of a document, each with those of `keys` that it stands below."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _words(key, keys, below)
            yield from _words(inner, keys, (*below, key) if key in keys else below)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _words(inner, keys, below)
    elif isinstance(value, str):
        yield from ((key, word) for key in below for word in re.findall(r"[\w.-]+", value))
