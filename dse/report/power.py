"""What a design draws, in words: on average, at the most, and what that counts."""

from __future__ import annotations

from dse.report.units import format_percent, format_with_unit
from simcore.result import Draw, Result


def describe_power(result: Result) -> str:
    """`564 kW, at most 822 kW`; the mean alone where no more is known."""
    mean = format_with_unit(result.power_w, "W")
    return mean if result.power is None else f"{mean}, at most {format_with_unit(result.power.peak, 'W')}"


def describe_draw(result: Result) -> str:
    """`draws 564 kW, 822 kW at the most, cooling included: 59 % NPUs, the rest hosts and network`; empty unless known.

    The share is of the mean.
    """
    power = result.power
    if power is None:
        return ""
    mean, peak = (format_with_unit(watts, "W") for watts in (power.mean, power.peak))
    share = format_percent(power.npus / power.mean)
    return f"draws {mean}, {peak} at the most, cooling included: {share} NPUs, the rest hosts and network"


def power_rows(power: Draw) -> list[tuple[str, str]]:
    """What the mean is made of and what must be provided, each with its power; all but the rack with cooling."""
    rows = {
        "NPUs": power.npus,
        "hosts, network, storage": power.rest,
        "at the most": power.peak,
        "a rack at the most": power.rack,
    }
    return [(name, format_with_unit(watts, "W")) for name, watts in rows.items()]
