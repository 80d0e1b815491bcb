"""The sources of traces that there are, by name."""

from __future__ import annotations

from simcore.traces.base import Source, refuse
from simcore.traces.design import DesignSource
from simcore.traces.pytorch.source import PyTorch
from simcore.traces.text import TextSource

SOURCES: dict[str, Source] = {source.name: source for source in (PyTorch(), TextSource(), DesignSource())}


def source_of(path: str, name: str | None = None) -> Source:
    """The source of that name, else the one that claims the path. Raises `InputError` where none does."""
    if name is not None:
        return SOURCES[name]
    found = next((source for source in SOURCES.values() if source.claims(path)), None)
    if found is None:
        kinds = "; ".join(f"{source.name}: {source.summary}" for source in SOURCES.values())
        refuse(path, f"one of {kinds}", "a name of no known ending", "say which it is: --from text")
    return found
