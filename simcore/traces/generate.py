"""Synthetic traces for sharing: of a design, of existing traces without their names, or of a distribution.

The same source and seed give the same bytes.
"""

from __future__ import annotations

from pathlib import Path

from simcore.document.text import read_document
from simcore.traces.anonymous import anonymise, sample
from simcore.traces.base import Request, TraceSet
from simcore.traces.design import DesignSource
from simcore.traces.distribution import KEY, draw_traces, read_distribution
from simcore.traces.files import read_traces


def generate(source: str, seed: int, sampled: bool) -> TraceSet:
    """Traces without names; `sampled` draws their sizes and times from those of the source.

    Raises `InputError` with every problem of the source.
    """
    if DesignSource().claims(source):
        document = read_document(source)
        if isinstance(document.data, dict) and KEY in document.data:
            return draw_traces(read_distribution(document), seed)
        traces = DesignSource().read(Request(source))
    else:
        traces = read_traces(Path(source))
    made = anonymise(traces, source)
    return sample(made, seed) if sampled else made
