"""Spaces whose precision is open: tokens are those of a run in one of them, and a narrower one may need more."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from dse.space.hole import Choice, alternatives_of
from simcore.document.field import BYTES
from simcore.workload.narrow import LOSSY, factor_of

_KEY = "training_precision"


def settle_precision(template: dict[str, Any], where: str = "workload") -> Iterator[str]:
    """Tie tokens to a precision that costs none where one that does is open beside it, in place; what there is to say.

    `where` is what the workload is called.
    """
    sections = [*_sections(template.get("workload"))]
    named = (name for section in sections for name in alternatives_of(section.get("precision")))
    open_ones = dict.fromkeys(name for name in named if isinstance(name, str))
    plain = next((name for name in open_ones if factor_of(name) == 1), None)
    narrow = next((name for name in open_ones if name in LOSSY), None)
    loose = any("training_tokens" in section and _KEY not in section for section in sections)
    if plain is None or narrow is None or not loose:
        return
    template["workload"] = _tied(template["workload"], plain)
    known = LOSSY[narrow]
    yield (
        f"{where}.training_tokens are taken as those in {plain}; {narrow} needs at least {known.factor:g} times as "
        f"many ({known.why}). Write {_KEY}, the precision of the run that they are of."
    )


def peak_notices(templates: Iterable[Mapping[str, Any]], names: Collection[str]) -> Iterator[str]:
    """A sentence where a workload's precision is open, and the metrics `names` count shares of its own peak.

    Of precisions of one width nothing is said: their peaks are the same.
    """
    if "mfu" not in names:
        return
    for section in (section for template in templates for section in _sections(template.get("workload"))):
        open_ones = alternatives_of(section.get("precision"))
        if len({BYTES.get(name) for name in open_ones if isinstance(name, str)}) > 1:
            yield (
                "workload.precision is open, and mfu is a share of each precision's own peak: the wider one has more "
                "of it, and takes longer. Let the time decide, or write one precision."
            )
            return


def _sections(workload: Any) -> Iterator[Mapping[str, Any]]:
    """The sections that a template's workload may be."""
    for one in alternatives_of(workload):
        if isinstance(one, Choice):
            yield from _sections(one)
        elif isinstance(one, Mapping):
            yield one


def _tied(workload: Any, precision: str) -> Any:
    """Sections whose tokens are tied to no precision, with the key that ties them."""
    if isinstance(workload, Choice):
        return Choice(tuple(_tied(each, precision) for each in workload.alternatives))
    loose = "training_tokens" in workload and _KEY not in workload
    return {**workload, _KEY: precision} if loose else workload
