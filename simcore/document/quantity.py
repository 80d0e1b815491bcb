"""Quantities with units: `"400 GB/s"`, `"1.7 us"`, `"80 GiB"`, `"312 TFLOP/s"` <-> SI floats.

Units exist only at the door; inside, every number is SI (seconds, bytes, bytes/s, FLOP/s, watts, dollars).
1 GB = 1e9 B, 1 GiB = 2^30 B, and `b` is a bit: 1 Gb/s = 1e9/8 B/s. The table is small on purpose: general unit
packages read "400 Gb/s" as gilberts.
"""

from __future__ import annotations

import decimal
import re
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Annotated, Any

from pydantic import BeforeValidator, PlainSerializer, WithJsonSchema

from simcore.document.problem import Refusal

# Exact factors: a product of two floats would read "1.7 us" as 1.6999999999999998e-06 s.
_Units = dict[str, Fraction]
_DECIMAL: _Units = {prefix: Fraction(1000) ** power for power, prefix in enumerate(["", "k", "M", "G", "T", "P", "E"])}
_DECIMAL["K"] = _DECIMAL["k"]
_BINARY: _Units = {f"{prefix}i": Fraction(1024) ** power for power, prefix in enumerate("KMGTP", 1)}
_NUMBER = re.compile(r"\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?)\s*(.*?)\s*")

_CALLED = {"money": "an amount of money", "compute": "a rate of computing", "work": "an amount of work"}


@dataclass(frozen=True)
class Kind:
    """A kind of quantity: its units as multiples of the SI unit, and the units it is written in, largest first."""

    name: str
    units: _Units
    written: tuple[str, ...]

    @property
    def called(self) -> str:
        """One of this kind, for messages."""
        article = "an" if self.name[0] in "aeiou" else "a"
        return _CALLED.get(self.name, f"{article} {self.name}")

    @property
    def example(self) -> str:
        """A value of this kind, for messages."""
        return f"'1 {self.written[min(1, len(self.written) - 1)]}'"


def _scale_units(unit: str, prefixes: _Units, scale: Fraction = Fraction(1)) -> _Units:
    return {prefix + unit: factor * scale for prefix, factor in prefixes.items()}


def _exact_units(**units: str) -> _Units:
    return {unit: Fraction(factor) for unit, factor in units.items()}


_SIZES = _scale_units("B", _DECIMAL) | _scale_units("B", _BINARY) | _scale_units("b", _DECIMAL, Fraction(1, 8))
_RATES = {f"{unit}/s": factor for unit, factor in _SIZES.items()} | {
    f"{prefix}bps": factor / 8 for prefix, factor in _DECIMAL.items()
}
_TIMES = _exact_units(s="1", ms="1e-3", us="1e-6", ns="1e-9", ps="1e-12", min="60", h="3600")
_TIMES |= {"\u00b5s": _TIMES["us"], "\u03bcs": _TIMES["us"]}  # the micro sign, and the Greek letter that looks like it
_LONG_TIMES = _TIMES | _exact_units(d="86400", years="31536000", year="31536000")

KINDS = {
    kind.name: kind
    for kind in (
        Kind("size", _SIZES, ("GiB", "GB", "MiB", "MB", "KiB", "kB", "B")),
        Kind("bandwidth", _RATES, ("TB/s", "GB/s", "MB/s", "B/s")),
        Kind("time", _TIMES, ("s", "ms", "us", "ns", "ps")),
        Kind("duration", _LONG_TIMES, ("years", "h", "s")),
        Kind(
            "compute",
            _scale_units("FLOP/s", _DECIMAL) | _scale_units("FLOPS", _DECIMAL),
            ("TFLOP/s", "GFLOP/s", "FLOP/s"),
        ),
        Kind("work", _scale_units("FLOP", _DECIMAL), ("TFLOP", "GFLOP", "MFLOP", "FLOP")),
        Kind("frequency", _scale_units("Hz", _DECIMAL), ("GHz", "MHz", "Hz")),
        Kind("length", _exact_units(m="1", km="1000", cm="0.01"), ("m",)),
        Kind("power", _scale_units("W", _DECIMAL), ("MW", "kW", "W")),
        Kind(
            "energy",
            _scale_units("J", _DECIMAL) | _scale_units("Wh", _DECIMAL, Fraction(3600)),
            ("GJ", "MJ", "kJ", "J"),
        ),
        Kind("money", _scale_units("$", _DECIMAL), ("$",)),
        Kind("bandwidth price", {"$/GB/s": Fraction("1e-9"), "$/(GB/s)": Fraction("1e-9")}, ("$/GB/s",)),
        Kind("capacity price", {"$/GB": Fraction("1e-9"), "$/GiB": Fraction(1, 2**30)}, ("$/GB",)),
        Kind("energy price", {"$/kWh": Fraction(1, 3_600_000)}, ("$/kWh",)),
        Kind("power price", _exact_units(**{"$/kW": "1e-3", "$/MW": "1e-6", "$/W": "1"}), ("$/kW", "$/W")),
    )
}


@lru_cache(maxsize=4096)
def parse_quantity(text: str, kind_name: str) -> float:
    """The SI value of `text`.

    Raises `Refusal` for a missing number, a missing or unknown unit, or a unit of another kind.
    """
    kind = KINDS[kind_name]
    match = _NUMBER.fullmatch(text)
    if match is None:
        raise Refusal(f"{kind.called} such as {kind.example}", f"'{text}'")
    number, unit = match[1], match[2]
    if unit in kind.units:
        try:
            return float(Fraction(number) * kind.units[unit])
        except (OverflowError, ValueError):  # or more digits than Python reads
            raise Refusal(f"{kind.called} that is a number", f"'{text}', which is too large") from None
    if not unit:
        raise Refusal(f"{kind.called} with its unit, such as {kind.example}", f"'{text}' without one")
    others = [other.called for other in KINDS.values() if unit in other.units]
    what = f"{others[0]} ('{text}')" if others else f"'{text}' with the unknown unit '{unit}'"
    raise Refusal(f"{kind.called} such as {kind.example}", what)


@lru_cache(maxsize=4096)
def write_quantity(value: float, kind_name: str) -> str:
    """`value` with its unit: the shortest text that reads back to exactly the same float."""
    kind = KINDS[kind_name]
    exact = Fraction(value)
    candidates = [
        f"{float(exact / kind.units[unit]):.{digits}g} {unit}"
        for digits in (6, 12, 17)
        for unit in (*kind.written, *(unit for unit, factor in kind.units.items() if factor == 1))
    ]
    readable = [text for text in candidates if parse_quantity(text, kind_name) == value]
    natural = [text for text in readable if 1 <= abs(float(text.split(" ")[0])) < 1e4 and "e" not in text]
    return min(natural or readable or [_write_exactly(exact, kind)], key=len)


def _write_exactly(exact: Fraction, kind: Kind) -> str:
    """As many digits as it takes, in the last unit that the kind is written in."""
    unit = kind.written[-1]
    scaled = exact / kind.units[unit]
    for digits in range(18, 60):
        text = f"{decimal.Context(digits).divide(decimal.Decimal(scaled.numerator), scaled.denominator)} {unit}"
        if parse_quantity(text.replace("E", "e"), kind.name) == float(exact):
            return text.replace("E", "e")
    raise AssertionError(f"no decimal reads back as {float(exact)!r}")


class SI(float):
    """A number that is already SI: what an expression over quantities gives."""


def _make_validator(kind_name: str) -> Any:
    def read(value: Any) -> float:
        if isinstance(value, SI):
            return float(value)
        if isinstance(value, str):
            return parse_quantity(value, kind_name)
        kind = KINDS[kind_name]
        raise Refusal(f"{kind.called} with its unit, such as {kind.example}", f"{value!r} without one")

    return read


def _make_annotations(kind_name: str) -> tuple[Any, ...]:
    schema = {"type": "string", "examples": [KINDS[kind_name].example.strip("'")]}
    return (
        BeforeValidator(_make_validator(kind_name)),
        PlainSerializer(lambda value: write_quantity(value, kind_name), return_type=str),
        WithJsonSchema(schema),
    )


Size = Annotated[float, *_make_annotations("size")]
Bandwidth = Annotated[float, *_make_annotations("bandwidth")]
Time = Annotated[float, *_make_annotations("time")]
Duration = Annotated[float, *_make_annotations("duration")]
ComputeRate = Annotated[float, *_make_annotations("compute")]
Frequency = Annotated[float, *_make_annotations("frequency")]
Work = Annotated[float, *_make_annotations("work")]
Length = Annotated[float, *_make_annotations("length")]
Power = Annotated[float, *_make_annotations("power")]
Money = Annotated[float, *_make_annotations("money")]
BandwidthPrice = Annotated[float, *_make_annotations("bandwidth price")]
CapacityPrice = Annotated[float, *_make_annotations("capacity price")]
EnergyPrice = Annotated[float, *_make_annotations("energy price")]
PowerPrice = Annotated[float, *_make_annotations("power price")]
