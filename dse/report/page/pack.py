"""Columns of values as the page carries them: numbers as base64 of little-endian floats, names as indices.

Objectives keep all 64 bits. Other numbers of a trial keep 32, seven digits: the page shows four. NaN is a missing
number, index 0 of a name's column a missing name.
"""

from __future__ import annotations

import math
from base64 import b64encode
from collections.abc import Sequence
from typing import Any

import numpy as np

from dse.report.units import clean_text, shorten_text
from dse.report.values import cell
from dse.space.hole import magnitude

_LONGEST = 80


def pack_numbers(values: Sequence[float | None], exact: bool) -> dict[str, str]:
    """A column of numbers; with all their bits where `exact`."""
    numbers = np.array([math.nan if value is None else value for value in values], dtype="<f8" if exact else "<f4")
    return {"f64" if exact else "f32": _text(numbers)}


def pack_names(values: Sequence[Any]) -> dict[str, Any]:
    """A column of names (None: missing) in the order of their size, of quantities, then of the alphabet."""
    texts = [None if value is None else value_text(value) for value in values]
    known = dict(zip(texts, values, strict=True))
    known.pop(None, None)
    names = {text: shorten_text(clean_text(text), _LONGEST) for text in known if text is not None}
    sizes = {names[text]: _size(value) for text, value in known.items() if text is not None}
    ordered = sorted(sizes, key=lambda name: (sizes[name], name))
    index = {name: at for at, name in enumerate(ordered, 1)}
    few = len(ordered) < 256
    codes = [0 if text is None else index[names[text]] for text in texts]
    packed = _text(np.array(codes, dtype="u1" if few else "<u4"))
    return {"u8" if few else "u32": packed, "names": ordered, "ordered": all(map(math.isfinite, sizes.values()))}


def value_text(value: Any) -> str:
    """What `cell` says, sooner of the integers that most parameters are."""
    return str(value) if type(value) is int else cell(value)


def _text(numbers: np.ndarray[Any, Any]) -> str:
    return b64encode(numbers.tobytes()).decode("ascii")


def _size(value: Any) -> float:
    size = magnitude(value)
    return math.inf if size is None else size
