"""Numbers as people read them: `12.34 s`, `15.36 M$`, `61.2 GiB`, `38 %`; SI values in, text out.

A `Scale` is a unit for a whole axis or column, chosen by its largest value, so that numbers beside each other compare
at a glance. Text that came from a document is cleaned of control characters here before it is shown anywhere.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from dse.buy.regret import REGRET
from simcore.metrics import METRICS

_Steps = tuple[tuple[float, str], ...]
_CALCULATED = re.compile(r"(\d+\.\d{4,}) ([^\d\s]+)")
"""A number with more digits than anyone writes, and a unit."""

_STEPS: dict[str, _Steps] = {
    "s": ((86400.0, "days"), (3600.0, "h"), (1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns"), (1e-12, "ps")),
    "$": ((1e6, "M$"), (1e3, "k$"), (1.0, "$")),
    "$/year": ((1e6, "M$/year"), (1e3, "k$/year"), (1.0, "$/year")),
    "B": ((2.0**30, "GiB"), (2.0**20, "MiB"), (2.0**10, "KiB"), (1.0, "B")),
    "B/s": ((1e12, "TB/s"), (1e9, "GB/s"), (1e6, "MB/s"), (1.0, "B/s")),
    "FLOP": ((1e15, "PFLOP"), (1e12, "TFLOP"), (1e9, "GFLOP"), (1.0, "FLOP")),
    "W": ((1e6, "MW"), (1e3, "kW"), (1.0, "W")),
    "J": ((1e9, "GJ"), (1e6, "MJ"), (1e3, "kJ"), (1.0, "J")),
    "J/token": ((1.0, "J/token"), (1e-3, "mJ/token"), (1e-6, "uJ/token")),
    "J/sample": ((1.0, "J/sample"), (1e-3, "mJ/sample"), (1e-6, "uJ/sample")),
    "$/sample": ((1.0, "$/sample"), (1e-3, "$/k samples"), (1e-6, "$/M samples"), (1e-9, "$/G samples")),
    "$/token": ((1.0, "$/token"), (1e-6, "$/M tokens")),
    "tokens": ((1e12, "T tokens"), (1e9, "G tokens"), (1e6, "M tokens"), (1.0, "tokens")),
    "tokens/s": ((1e6, "M tokens/s"), (1e3, "k tokens/s"), (1.0, "tokens/s")),
    "samples/s": ((1e6, "M samples/s"), (1e3, "k samples/s"), (1.0, "samples/s")),
}
MISSING = "–"


@dataclass(frozen=True, slots=True)
class Scale:
    """A unit that numbers are divided by: `factor` in SI, and how it is written."""

    factor: float
    unit: str

    def number(self, value: float | None) -> str:
        """`value` [SI] in this unit, without the unit."""
        return MISSING if value is None else format_number(value / self.factor)

    def text(self, value: float | None) -> str:
        """`value` [SI] in this unit, with the unit, as in a sentence: no zeros at the end."""
        text = MISSING if value is None else format_brief(value / self.factor)
        return f"{text} {self.unit}" if self.unit and text != MISSING else text


def scale(unit: str, values: Iterable[float | None], name: str = "") -> Scale:
    """The unit in which the largest of `values` [SI] reads well; percent for what is a share."""
    if not unit and (name.endswith(REGRET) or (name in METRICS and METRICS[name].share)):
        return Scale(0.01, "%")
    steps = _STEPS.get(unit)
    if steps is None:
        return Scale(1.0, clean_text(unit))
    finite = [abs(value) for value in values if value is not None and math.isfinite(value)]
    largest = max(finite, default=0.0)
    fitting = (step for step in steps if largest >= step[0])
    base = next(step for step in steps if step[0] == 1.0)
    return Scale(*next(fitting, steps[-1] if largest else base))


def format_with_unit(value: float | None, unit: str, name: str = "") -> str:
    """One value [SI] with the unit that suits it."""
    return scale(unit, [value], name).text(value)


def format_number(value: float) -> str:
    """Four significant digits, thousands apart, an exponent only beyond 1e-4 … 1e9; integers are exact."""
    if isinstance(value, int):
        return f"{value:,}"
    if not math.isfinite(value):
        return MISSING
    size = abs(value)
    if value == 0:
        return "0"
    if not 1e-4 <= size < 1e9:
        return f"{value:.3e}"
    return f"{value:,.{min(7, max(0, 3 - math.floor(math.log10(size))))}f}"


def format_brief(value: float) -> str:
    """`number` without zeros at the end."""
    text = format_number(value)
    return text.rstrip("0").rstrip(".") if "." in text and "e" not in text else text


def shorten_digits(text: str) -> str:
    """A calculated quantity in few digits: `26,180 $` of `26179.869184 $`; any other text as it is."""
    found = _CALCULATED.fullmatch(text)
    return text if found is None else f"{format_brief(float(found[1]))} {found[2]}"


def format_percent(share: float) -> str:
    """A share as percent: one digit after the point below ten, none above."""
    value = 100 * share
    if not math.isfinite(value):
        return MISSING
    if 0 < abs(value) < 0.05:
        return "<0.1 %" if value > 0 else ">-0.1 %"
    return f"{value:.1f} %" if abs(value) < 9.95 and value else f"{value:,.0f} %"


def label(name: str) -> str:
    """A metric's name as a phrase: `cost.total` is *total cost*; an expression as it was written."""
    if name.endswith(REGRET):
        return f"worst regret in {label(name.removesuffix(REGRET))}"
    if not all(part.isidentifier() for part in name.split(".")):
        return clean_text(name)
    given = METRICS[name].label if name in METRICS else ""
    return given or name.replace("_", " ").replace(".", " ")


def short_label(name: str) -> str:
    """A metric's name in a word where it has one: `cost.total` is *cost*; else its label."""
    if name.endswith(REGRET):
        return f"{short_label(name.removesuffix(REGRET))} regret"
    return (METRICS[name].short if name in METRICS else "") or label(name)


def always_shown(page: bool) -> list[str]:
    """The metrics that the table of a front has beside the objectives: in a terminal, or on the page."""
    everywhere = [name for name, metric in METRICS.items() if metric.shown == "everywhere"]
    return everywhere + [name for name, metric in METRICS.items() if page and metric.shown == "page"]


def list_words(parts: Sequence[str], last: str = "and") -> str:
    """`a`, `a and b`, `a, b and c`."""
    return f" {last} ".join(part for part in (", ".join(parts[:-1]), parts[-1]) if part)


def clean_text(text: object) -> str:
    """`text` on one line, without control and other unprintable characters."""
    whole = str(text)
    if whole.isprintable() and "  " not in whole:
        return whole.strip()
    joined = " ".join(whole.split())
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in joined)


def shorten_text(text: object, length: int) -> str:
    """`text`, cleaned, in at most `length` characters; it ends with a whole entry or word where one ends near there.

    One bracket that is open there is closed.
    """
    whole = clean_text(text)
    if len(whole) <= length:
        return whole
    kept, shorter = _cut(whole, length - 1), _cut(whole, length - 2)
    is_open = shorter.count("(") == shorter.count(")") + 1
    return f"{shorter}…)" if is_open and kept.count("(") > kept.count(")") else f"{kept}…"


def _cut(text: str, length: int) -> str:
    """The first `length` characters, up to the end of an entry or word where one ends in the second half."""
    kept = text[:length]
    ends = max(map(kept.rfind, " /,_")) + 1
    return (kept[:ends] if ends > length // 2 else kept).rstrip(" ")


def describe_need(problem: str) -> str:
    """A problem of a document, *path: expected x, got y*, as a clause: *path needs x, has y*."""
    return re.sub(r"^([\w.\[\]]+): expected (.+), got (.+)$", r"\1 needs \2, has \3", problem)
