"""What the space leaves out and that would matter: sizes on which nothing fits, recomputation, usual settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dse.evaluate.record import StudyRecord
from dse.report.describe import compare, headline
from dse.report.families import KIND
from dse.report.nearest import describe_losses
from dse.report.summary import Summary
from dse.report.units import format_percent, list_words
from dse.whatif.answers import Opened
from simcore.layout.solve import NEARLY_FULL

_TOLD = 5
"""Differences that are told of a design that is no trial."""


def describe_sizes(summary: Summary) -> str:
    """The numbers of NPUs on which no design fits, and what would make one; empty without any."""
    return " ".join(filter(None, [_describe_full(summary), _describe_unfilled(summary)]))


def _describe_unfilled(summary: Summary) -> str:
    """The numbers of NPUs whose nodes no design fills."""
    sizes = {size: unfit.mend for size, unfit in summary.what_if.sizes.items() if not unfit.missing}
    if not sizes:
        return ""
    mend = next(iter(sizes.values()))
    return (
        f"No design was found that fills the nodes of {list_words([*sizes])}; with '{mend}', which the space leaves "
        "out, one would."
    )


def _describe_full(summary: Summary) -> str:
    """The numbers of NPUs on which no design fits the memory."""
    sizes = {size: unfit for size, unfit in summary.what_if.sizes.items() if unfit.missing}
    told = [f"{size} ({format_percent(unfit.missing)} more is needed)" for size, unfit in sizes.items()]
    mends = {unfit.mend for unfit in sizes.values()}
    mend = f"; with {mends.pop()}, which the space leaves out, one would" if len(mends) == 1 and all(mends) else ""
    return f"No design was found that fits the memory of {', nor of '.join(told)}{mend}." if told else ""


def describe_recomputed(record: StudyRecord, summary: Summary) -> str:
    """How much better the design to build would be with fewer layers recomputed; empty where that is not so."""
    found = summary.what_if.recomputed
    if found is None:
        return ""
    degrees, than = "", ""
    if found.trial != found.built:
        other = record.trials.numbered(found.trial)
        told = headline(None if other is None else other.design, ("degrees",))
        degrees, than = f" ({told})", f" against trial {found.built}"
    return (
        f"The space leaves out 'recompute_layers', how many layers of each virtual stage recompute. With "
        f"{found.recomputed} of {found.layers} trial {found.trial}{degrees} has {describe_losses(record, found.loss)}"
        f"{than}, and its memory is {format_percent(found.fullness)} full."
    )


def describe_usual(record: StudyRecord, summary: Summary) -> str:
    """How much better the design to build would be with usual settings that the space leaves out; empty without any."""
    opened = summary.what_if.opened
    known = () if opened is None else opened.settings
    told = [
        f"'{one.key}: {_written(one.value)}' (trial {one.trial} with it: {describe_losses(record, one.loss)})"
        for one in summary.what_if.usual
        if one.key not in known
    ]
    alone = f"The space leaves out {', and '.join(told)}." if told else ""
    return " ".join(part for part in (_describe_opened(record, opened), alone) if part)


def _describe_opened(record: StudyRecord, opened: Opened | None) -> str:
    """The best design found with several settings that the space leaves out; empty where it is not better."""
    if opened is None:
        return ""
    listed = [f"'{key}: {_written(value)}'" for key, value in opened.settings.items()]
    built = record.trials.numbered(opened.trial)
    differs = compare([None if built is None else built.design, opened.design], KIND).phrases[1]
    said = [key.replace("_", " ") for key in opened.settings]
    full = f", and its memory is {format_percent(opened.fullness)} full" if opened.fullness > NEARLY_FULL else ""
    found = ", ".join([text for text in differs if not any(words in text for words in said)][:_TOLD])
    return (
        f"The space leaves out {list_words(listed)}. The best found with {'them' if len(listed) > 1 else 'it'}"
        f"{f' ({found})' if found else ''} has {describe_losses(record, opened.loss)}{full}."
    )


def _written(value: Any) -> str:
    """A value as a space has it: `true`, `{solve: true}`."""
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{key}: {_written(inner)}' for key, inner in value.items())}}}"
    return str(value).lower()
