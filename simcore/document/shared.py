"""Equal sections of documents as one object, so that what follows from a section alone is found once for all designs.

Designs of a search differ in one section or two. The others are validated once, and what `simcore.design.once` keeps
beside a section, or by it, is then known to them all.
"""

from __future__ import annotations

import marshal
from collections.abc import Callable
from typing import Any

from pydantic import WrapValidator

_KEPT, _LARGE = 4096, 65_536
"""Sections of a kind that are kept, then all of them are forgotten; and bytes of text from which none is: a table of
layers, say, is read once."""


def _always(section: Any) -> bool:
    return True


def shared(where: Callable[[Any], bool] = _always) -> WrapValidator:
    """What a field of a frozen type is annotated with, so that equal documents of it are read as one object.

    Only sections `where` nothing but their document decides what they are. What a document holds beside plain values (a
    section of another design, say) is read by itself.
    """
    known: dict[bytes, Any] = {}

    def read(value: Any, validate: Callable[[Any], Any]) -> Any:
        text = _text(value)
        if text is None:
            return validate(value)
        if text in known:
            return known[text]
        found = validate(value)
        if where(found):
            if len(known) >= _KEPT:
                known.clear()
            known[text] = found
        return found

    return WrapValidator(read)


def _text(value: Any) -> bytes | None:
    """What tells a mapping of plain values from any other; None of anything else.

    `marshal` is the quickest way to tell 1, 1.0, true and "1" apart; nothing is read back from what it writes. Its
    version 2 writes equal values alike, however they are shared in memory.
    """
    if type(value) is not dict:
        return None
    try:
        text = marshal.dumps(value, 2)
    except ValueError:  # an object in it
        return None
    return text if len(text) < _LARGE else None
