"""Whether a document has the form of a result (`Result.document`): a file that anybody wrote may have any other."""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from typing import Any, Union, get_args, get_origin, get_type_hints

from simcore.result.result import Result

_Fits = Callable[[Any], bool]


def is_result(document: object) -> bool:
    """Whether a document has what every result has, and nothing of another kind than results have.

    What results lack that other versions wrote is not looked at.
    """
    return isinstance(document, Mapping) and _required() <= document.keys() and _fits_of(Result)(document)


@cache
def _required() -> frozenset[str]:
    return frozenset(its.name for its in fields(Result) if its.default is MISSING and its.default_factory is MISSING)


@cache
def _fits_of(kind: Any) -> _Fits:
    """Whether a value of JSON stands for one of a type of Python."""
    origin = get_origin(kind)
    if origin in (Union, types.UnionType):
        alternatives = tuple(map(_fits_of, get_args(kind)))
        return lambda value: any(fits(value) for fits in alternatives)
    if is_dataclass(kind):
        hints = get_type_hints(kind)
        each = {its.name: _fits_of(hints[its.name]) for its in fields(kind)}
        return lambda value: isinstance(value, Mapping) and all(each[k](v) for k, v in value.items() if k in each)
    if origin is tuple:
        inner = _fits_of(get_args(kind)[0])
        return lambda value: isinstance(value, list | tuple) and all(map(inner, value))
    if kind is float or kind is int:
        return lambda value: isinstance(value, int | float) and not isinstance(value, bool)
    known: Any = {bool: bool, str: str, type(None): type(None)}.get(kind)
    if known is not None:
        return lambda value: isinstance(value, known)
    if origin is not None and issubclass(origin, Mapping):
        return lambda value: isinstance(value, Mapping)
    return lambda value: True
