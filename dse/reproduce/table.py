"""What was reproduced, as a table for terminals, for `docs/reproduction.md`, and as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from typing import Any

from dse.reproduce.play import Obtained
from dse.reproduce.study import Study


def markdown(study: Study, obtained: Sequence[Obtained]) -> str:
    """A study with a table for each part."""
    document = study.document
    lines = [f"## {document.title}", "", f"Source: {document.source}. {document.about}".rstrip(), ""]
    for name, rows in groupby(obtained, key=lambda each: each.row.part.name):
        lines += [f"### {name}", "", *_part(list(rows)), ""]
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
            "unit": each.row.part.unit,
            "published": each.row.published,
            "obtained": each.value,
            "difference": each.difference,
            "relative": each.row.part.relative,
            "verdict": each.verdict,
            "why": each.row.why,
        }
        for each in obtained
    ]


def difference(each: Obtained) -> str:
    """The difference, in percent where it is relative, else in the unit."""
    if each.row.part.relative:
        return f"{100 * each.difference:+.2f} %"
    return f"{each.difference:+.4g}"


def _part(rows: list[Obtained]) -> list[str]:
    part = rows[0].row.part
    unit = f" [{part.unit}]" if part.unit else ""
    head = [*part.axes, f"published{unit}", f"obtained{unit}", "difference", "verdict"]
    out = [part.about, ""] if part.about else []
    out += ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for each in rows:
        cells = [*each.row.place.values(), f"{each.row.published:g}", f"{each.value:.6g}", difference(each)]
        cells.append(each.verdict + (f": {each.row.why}" if each.row.why else ""))
        out.append("| " + " | ".join(cells) + " |")
    return out
