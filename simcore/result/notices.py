"""What a result says beside its numbers: one row for each kind of notice, a field of `Result` with texts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

NOTICES: Mapping[str, str] = {
    "not_modelled": "Not counted",
    "fallbacks": "Not reduced in switches",
}
"""Field of a result, and the words that its texts follow in reports."""


def notices_in(document: Mapping[str, Any]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The words of each kind of which a result, as its JSON form, has notices, with their texts."""
    for name, words in NOTICES.items():
        if texts := tuple(document.get(name, ())):
            yield words, texts
