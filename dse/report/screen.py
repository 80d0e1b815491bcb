"""What the terminal screens about single designs and about runs share: plain lines, names of parts, intervals."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from dse.report.units import scale


def say(console: Console, text: str, style: str = "") -> None:
    """Print a paragraph in which brackets are no markup."""
    console.print(Text(text, style=style))


def name_part(part: str) -> str:
    """A part of an iteration's breakdown in a column: `data communication` is `exposed data comm.` there."""
    return f"exposed {part[:-9]}." if part.endswith("communication") else part


def format_interval(ends: tuple[float, float], unit: str, name: str = "") -> str:
    """`(50.68 to 83.06 s nine times in ten)` of the ends of an interval [SI] of a metric."""
    shown = scale(unit, ends, name)
    low, high = (shown.number(end) for end in ends)
    return f"({low} to {high} {shown.unit} nine times in ten)"
