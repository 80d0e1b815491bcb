"""What the terminal screens about single designs and about runs share: plain lines, names of parts, intervals."""

from __future__ import annotations

import re
from textwrap import wrap

from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.text import Text

from dse.report.units import scale


def say(console: Console, text: str, style: str = "") -> None:
    """Print a paragraph in which brackets are no markup."""
    console.print(Text(text, style=style))


_GLUE = "\N{NO-BREAK SPACE}"
_BESIDE_NUMBERS = re.compile(r" (?=[+<−]?\d)|(?<=\d) ")


class Unbroken:
    """Text in which no line breaks beside a number: it stays with what it counts, and with its unit.

    rich itself breaks lines at blanks of all kinds.
    """

    def __init__(self, text: str, style: str = "") -> None:
        self.text, self.style = _BESIDE_NUMBERS.sub(_GLUE, text), style

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """See `rich.console.Console`."""
        lines = [
            line
            for part in self.text.split("\n")
            for line in wrap(part, options.max_width, break_on_hyphens=False) or [""]
        ]
        yield Text("\n".join(lines).replace(_GLUE, " "), style=self.style)

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        """See `rich.measure.Measurement`."""
        longest = max((len(word) for word in re.split(r"[ \n]", self.text)), default=0)
        return Measurement(longest, max(longest, *map(len, self.text.split("\n")))).clamp(max_width=options.max_width)


_COLUMN = {"keys and values": "keys, values", "reserved beside": "allocator, context"}


def name_memory(part: str) -> str:
    """A part of the memory in a column."""
    return _COLUMN.get(part, part)


def name_part(part: str) -> str:
    """A part of an iteration's breakdown in a column: `data communication` is `exposed data comm.` there."""
    return f"exposed {part[:-9]}." if part.endswith("communication") else part


def format_interval(ends: tuple[float, float], unit: str, name: str = "") -> str:
    """`(50.68 to 83.06 s nine times in ten)` of the ends of an interval [SI] of a metric."""
    shown = scale(unit, ends, name)
    low, high = (shown.number(end) for end in ends)
    return f"({low} to {high} {shown.unit} nine times in ten)"
