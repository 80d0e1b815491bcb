"""What makes a design what it is, and what tells the designs of a front apart.

An *aspect* is one thing people say about a design (`dse.report.aspects`). Over the designs of a front most aspects are
the same: `compare` says those once and leaves the others as columns. A key of the document that no aspect speaks of
appears under its own path as soon as it differs, so nothing that tells two designs apart is lost.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from dse.report.aspects import (
    ASPECTS,
    BY_NAME,
    UPLINKS,
    Document,
    jobs_of,
    shorten_value,
)
from dse.report.extras import dimension_extras, is_default_extra, say_nics, say_uplinks
from dse.report.units import MISSING, clean_text, shorten_text
from dse.report.values import flatten
from simcore import catalog
from simcore.catalog.preset import preset
from simcore.design.prices import PriceList
from simcore.design.reliability import Reliability
from simcore.design.software import Software
from simcore.document.field import Frozen

_LONGEST = 40
_OF_DIMENSIONS: Mapping[str, Callable[[str], str]] = {
    "nics": say_nics,
    "oversubscription": lambda ratios: say_uplinks(ratios.split(",")),
}
"""What dimensions have, as it is said where one of them alone has it."""
_OF_RATES = ("efficiency", "affinity", "at_once")
"""What each fabric has of its own: where every bandwidth has one of these, it is not said."""


CARE = "reliability."
"""Paths of how a job is saved and begun again."""
_KNOWN = {"cluster.npu.": "cluster.npu.", "cluster.memory.": "cluster.", CARE: CARE}
"""Paths that are said in words, by how they begin, with what of that goes without saying: of an NPU, and of care."""
_SHORT = {"reliability.checkpoint.bandwidth_per_npu": "saved at"}
"""Paths that are said in fewer words than they have, so that they fit into a row."""
_AS_WORDS = str.maketrans("._", "  ")


@dataclass(frozen=True, slots=True)
class Comparison:
    """Designs side by side: what all share, as one line, and a column for each aspect in which they differ."""

    common: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    """A cell for each design and column."""
    phrases: tuple[tuple[str, ...], ...]
    """The differing aspects of each design, each as said in running text."""


def in_words(path: str) -> str:
    """A path of `_KNOWN` in words; any other one as it is."""
    if path in _SHORT:
        return _SHORT[path]
    known = next((known for begin, known in _KNOWN.items() if path.startswith(begin)), None)
    return path if known is None else path.removeprefix(known).translate(_AS_WORDS).replace("npu", "NPU")


def describe(design: Document) -> dict[str, str]:
    """Aspect -> text of one design, in the order in which people say them; all leaves that no aspect covers follow."""
    aspects = [aspect for aspect in ASPECTS if aspect.name != UPLINKS]
    told = {aspect.name: text for aspect in aspects if (text := aspect.read(design)) is not None}
    covered = {path for aspect in ASPECTS for path in aspect.paths}
    leaves = flatten(design)
    rest = {clean_text(path): shorten_value(value) for path, value in leaves.items() if path not in covered}
    return told | _of_jobs(design) | dimension_extras(design) | rest


def _of_jobs(design: Document) -> dict[str, str]:
    """The leaves of several jobs, each after its job's name; how many NPUs they have is an aspect."""
    return {
        clean_text(f"{name} {path.removeprefix('parallelism.')}"): shorten_value(value)
        for name, job in jobs_of(design)
        for path, value in flatten(job).items()
        if path not in ("name", "npus")
    }


def headline(design: Document | None, names: Sequence[str] | None = None) -> str:
    """One line about a design: all its aspects, or those of `names`."""
    if design is None:
        return "design unknown"
    chosen = ASPECTS if names is None else [BY_NAME[name] for name in names]
    told = [(aspect.name, text) for aspect in chosen if (text := aspect.read(design)) is not None]
    phrases = [_phrase(name, text, quiet=names is None) for name, text in told]
    return ", ".join(phrase for phrase in phrases if phrase)


def compare(designs: Sequence[Document | None], first: Sequence[str] = ()) -> Comparison:
    """What is common to `designs`, and what differs; the aspects of `first` are said before all others."""
    told = [{} if design is None else describe(design) for design in _spell_alike(designs)]
    names = sorted(_order_names(told), key=lambda name: first.index(name) if name in first else len(first))
    differing = [name for name in names if len({texts.get(name) for texts in told}) > 1]
    columns = tuple(name for name in differing if not _is_implied(name, told))
    common = [_phrase(name, told[0][name], quiet=True) for name in names if name not in differing and "." not in name]
    rows = tuple(tuple(shorten_text(texts.get(name, MISSING), _LONGEST) for name in columns) for texts in told)
    phrases = tuple(
        tuple(phrase for name in columns if name in texts if (phrase := _phrase(name, texts[name], quiet=True)))
        for texts in told
    )
    return Comparison(", ".join(phrase for phrase in common if phrase), columns, rows, phrases)


def _spell_alike(designs: Sequence[Document | None]) -> list[Document | None]:
    """The designs, with sections spelled out in all of them that are in one: what varies an entry is near to it."""
    alike = [None if design is None else dict(design) for design in designs]
    for key, (spec, section) in _NAMED.items():
        holders = [design for design in alike if design is not None and key in design]
        if any(isinstance(design[key], Mapping) for design in holders):
            for design in holders:
                if isinstance(name := design[key], str) and name in catalog.section(section):
                    design[key] = preset(spec, section, name).model_dump(mode="json", exclude_defaults=True)
    return [*alike]


_NAMED: Mapping[str, tuple[type[Frozen], str]] = {
    "reliability": (Reliability, "reliability"),
    "cost": (PriceList, "prices"),
    "software": (Software, "software"),
}
"""Sections that a document may name, with their types and where their entries are."""


def _is_implied(name: str, told: Sequence[Mapping[str, str]]) -> bool:
    """Whether an aspect follows from another one in all these designs: latencies from topologies, parts from names."""
    aspect = BY_NAME.get(name)
    whole = "bandwidth" if name in _OF_RATES else _whole_of(name)
    leader = whole if aspect is None else aspect.follows
    return leader is not None and len({(t.get(leader), t.get(name)) for t in told}) == len(
        {t.get(leader) for t in told}
    )


def _whole_of(path: str) -> str | None:
    """The aspect that speaks of what a key is a part of: that on NPUs for the memory of an NPU that is spelled out."""
    return next((a.name for a in ASPECTS if any(path.startswith(f"{whole}.") for whole in a.paths)), None)


def _order_names(told: Sequence[Mapping[str, str]]) -> list[str]:
    seen = dict.fromkeys(name for texts in told for name in texts)
    first = [aspect.name for aspect in ASPECTS if aspect.name in seen]
    return first + [name for name in seen if name not in first]


def _phrase(name: str, text: str, *, quiet: bool) -> str:
    aspect, text = BY_NAME.get(name), shorten_text(text, _LONGEST)
    if aspect is None:
        if quiet and is_default_extra(name, text):
            return ""
        own = [value for value in text.split("/") if value != MISSING and not is_default_extra(name, value)]
        if name in _OF_DIMENSIONS and len(own) == 1:
            return _OF_DIMENSIONS[name](own[0])
        return f"{shorten_text(in_words(name), _LONGEST)} {text}"
    return "" if quiet and text == aspect.quiet else aspect.phrase.format(text)
