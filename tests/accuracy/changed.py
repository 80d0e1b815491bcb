"""The model with one of its constants changed, for comparisons of what a constant is worth."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

from simcore.system import known_phases


@contextmanager
def changed(owner: Any, name: str, value: object) -> Iterator[None]:
    """With `value` in place of a constant of a module; designs must be made inside.

    How collectives go is kept by network, whatever the constants were: before and after, that is forgotten.
    """
    known_phases._known.cache_clear()
    try:
        with mock.patch.object(owner, name, value):
            yield
    finally:
        known_phases._known.cache_clear()
