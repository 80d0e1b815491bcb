"""What was reproduced, as a table for `docs/reproduction.md`, and as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from typing import Any

from dse.reproduce.play import Obtained
from dse.reproduce.study import Study

MISSING = "–"


def markdown(study: Study, obtained: Sequence[Obtained], pictures: dict[str, list[str]]) -> str:
    """A study with a table for each part; `pictures` are the links of each part's."""
    lines = [f"## {study.title}", "", f"Source: {study.source}. {study.about}".rstrip(), ""]
    for name, rows in groupby(obtained, key=lambda each: each.row.part.name):
        lines += [f"### {name}", "", *_part(list(rows)), ""]
        for link in pictures.get(name, ()):
            lines += [link, ""]
    return "\n".join(lines)


def summary(obtained: Sequence[Obtained]) -> str:
    """How many rows have each verdict."""
    counts = Counter(each.verdict for each in obtained)
    return ", ".join(f"{count} {verdict}" for verdict, count in counts.most_common())


def as_json(obtained: Sequence[Obtained]) -> list[dict[str, Any]]:
    """Every row with what we get."""
    return [
        {
            "study": each.study,
            "part": each.row.part.name,
            "place": each.row.place,
            "chosen": each.value.chosen,
            "unit": each.row.part.unit,
            "published": each.row.published,
            "compare": each.row.part.compare,
            "obtained": each.value.number,
            "shown": dict(each.value.shown),
            "difference": each.difference,
            "relative": each.row.part.relative,
            "verdict": each.verdict,
            "why": each.row.why,
            "fitted": each.row.fitted,
        }
        for each in obtained
    ]


def published(each: Obtained) -> str:
    """The published value, with what is compared."""
    sign = {"equal": "", "at_least": ">= ", "at_most": "<= "}[each.row.part.compare]
    return MISSING if each.row.published is None else f"{sign}{each.row.published:.7g}"


def number(value: Any) -> str:
    """A number as a table has it; a text as it is."""
    return MISSING if value is None else value if isinstance(value, str) else f"{value:.5g}"


def difference(each: Obtained) -> str:
    """The difference, in percent where it is relative, else in the unit."""
    if each.difference is None:
        return MISSING
    return f"{100 * each.difference:+.2f} %" if each.row.part.relative else f"{each.difference:+.4g}"


def _part(rows: list[Obtained]) -> list[str]:
    part = rows[0].row.part
    unit = f" [{part.unit}]" if part.unit else ""
    chosen = () if part.choose is None else part.choose.over
    told = part.published is not None
    judged = [f"{part.called}{unit}", f"obtained{unit}", "difference", "verdict"] if told else [f"obtained{unit}"]
    out = [part.about, ""] if part.about else []
    if part.fitted is not None:
        out += [f"**Fitted**: {part.fitted.what}", ""]
    heads = [*part.columns, *(f"{axis} (chosen)" for axis in chosen), *part.show, *judged]
    out += ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    for each in rows:
        cells = [*each.row.place.values(), *(each.value.chosen.get(axis, MISSING) for axis in chosen)]
        cells += [number(each.value.shown.get(head)) for head in part.show]
        cells += [published(each)] * told + [obtained_text(each)] + [difference(each)] * told
        if told:
            cells.append(each.verdict + (f": {each.row.why}" if each.row.why else ""))
        out.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return out


def obtained_text(each: Obtained) -> str:
    """An obtained value: in full where it is a whole number, else in six digits."""
    value = each.value.number
    if value is None:
        return MISSING
    return f"{value:.0f}" if value == int(value) and abs(value) < 1e15 else f"{value:.6g}"
