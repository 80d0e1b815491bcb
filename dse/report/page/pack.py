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
    texts = [None if value is None else shorten_text(clean_text(cell(value)), _LONGEST) for value in values]
    sizes = {text: _size(value) for text, value in zip(texts, values, strict=True) if text is not None}
    names = sorted(sizes, key=lambda name: (sizes[name], name))
    index: dict[str | None, int] = {None: 0, **{name: at for at, name in enumerate(names, 1)}}
    few = len(names) < 256
    indices = np.array([index[text] for text in texts], dtype="u1" if few else "<u4")
    return {"u8" if few else "u32": _text(indices), "names": names, "ordered": all(map(math.isfinite, sizes.values()))}


def _text(numbers: np.ndarray[Any, Any]) -> str:
    return b64encode(numbers.tobytes()).decode("ascii")


def _size(value: Any) -> float:
    size = magnitude(value)
    return math.inf if size is None else size
