"""Quantities: units at the door, the same float back, and a sentence for each mistake."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError

from simcore.document.quantity import KINDS, SI, Bandwidth, Size, Time, parse_quantity, write_quantity

KIND_NAMES = sorted(KINDS)


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("400 GB/s", "bandwidth", 400e9),
        ("400 Gb/s", "bandwidth", 50e9),
        ("400 Gbps", "bandwidth", 50e9),
        ("1 GiB/s", "bandwidth", 2.0**30),
        ("1.7 us", "time", 1.7e-6),
        ("1.7 µs", "time", 1.7e-6),
        ("700 ns", "time", 700e-9),
        ("20 ps", "time", 20e-12),
        ("2 min", "time", 120.0),
        ("80 GiB", "size", 80 * 2.0**30),
        ("80 GB", "size", 80e9),
        ("25 MB", "size", 25e6),
        ("1 kB", "size", 1e3),
        ("1 KB", "size", 1e3),
        ("8 Mb", "size", 1e6),
        ("0 B", "size", 0.0),
        ("312 TFLOP/s", "compute", 312e12),
        ("312 TFLOPS", "compute", 312e12),
        ("8 GFLOP", "work", 8e9),
        ("400 W", "power", 400.0),
        ("2 MW", "power", 2e6),
        ("15000 $", "money", 15000.0),
        ("40 M$", "money", 40e6),
        ("7.8 $/GB/s", "bandwidth price", 7.8e-9),
        ("7.8 $/(GB/s)", "bandwidth price", 7.8e-9),
        ("8 $/GB", "capacity price", 8e-9),
        ("0.10 $/kWh", "energy price", 0.1 / 3.6e6),
        ("4 years", "duration", 4 * 365 * 86400.0),
        ("1e-6 s", "time", 1e-6),
        ("1.5E3 GB/s", "bandwidth", 1.5e12),
        (".5 us", "time", 0.5e-6),
        ("  3   GB  ", "size", 3e9),
        ("3GB", "size", 3e9),
    ],
)
def test_a_quantity_reads_as_its_si_value(text: str, kind: str, value: float) -> None:
    assert parse_quantity(text, kind) == pytest.approx(value, rel=1e-15, abs=0)


def test_a_decimal_text_reads_as_the_nearest_float() -> None:
    # A product of floats would give 1.6999999999999998e-06.
    assert parse_quantity("1.7 us", "time") == 1.7e-6
    assert parse_quantity("0.3 ms", "time") == 0.3e-3


@settings(max_examples=300)
@given(st.sampled_from(KIND_NAMES), st.floats(1e-15, 1e21))
def test_what_is_written_reads_back_to_the_same_float(kind: str, value: float) -> None:
    assert parse_quantity(write_quantity(value, kind), kind) == value


@settings(max_examples=300)
@given(st.sampled_from(KIND_NAMES), st.integers(1, 10**7), st.integers(-5, 4), st.data())
def test_what_a_person_writes_is_written_back_as_short_and_reads_the_same(
    kind: str, digits: int, exponent: int, data: st.DataObject
) -> None:
    unit = data.draw(st.sampled_from(sorted(KINDS[kind].units)))
    text = f"{digits}e{exponent} {unit}"
    value = parse_quantity(text, kind)
    again = write_quantity(value, kind)
    assert parse_quantity(again, kind) == value


@pytest.mark.parametrize("kind", KIND_NAMES)
@pytest.mark.parametrize("value", [0.0, 1.0, 0.1, 1 / 3, 1e-12, 123456789.123456789, 2.0**40, 6.02e23])
def test_every_kind_writes_ordinary_values(kind: str, value: float) -> None:
    assert parse_quantity(write_quantity(value, kind), kind) == value


@pytest.mark.parametrize(
    ("value", "kind", "text"),
    [
        (400e9, "bandwidth", "400 GB/s"),
        (1.7e-6, "time", "1.7 us"),
        (80 * 2.0**30, "size", "80 GiB"),
        (25e6, "size", "25 MB"),
        (312e12, "compute", "312 TFLOP/s"),
        (300.0, "power", "300 W"),
        (15000.0, "money", "15000 $"),
        (7.8e-9, "bandwidth price", "7.8 $/GB/s"),
        (4 * 365 * 86400.0, "duration", "4 years"),
    ],
)
def test_what_is_written_is_what_a_person_would_write(value: float, kind: str, text: str) -> None:
    assert write_quantity(value, kind) == text


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        ("400", "bandwidth", "expected a bandwidth with its unit, such as '1 GB/s', got '400' without one"),
        ("fast", "bandwidth", "expected a bandwidth such as '1 GB/s', got 'fast'"),
        ("", "size", "expected a size such as '1 GB', got ''"),
        ("5 GB", "bandwidth", "expected a bandwidth such as '1 GB/s', got a size ('5 GB')"),
        ("5 GB/s", "size", "expected a size such as '1 GB', got a bandwidth ('5 GB/s')"),
        ("5 us", "size", "expected a size such as '1 GB', got a time ('5 us')"),
        ("4 years", "time", "expected a time such as '1 ms', got a duration ('4 years')"),
        ("5 parsec", "time", "expected a time such as '1 ms', got '5 parsec' with the unknown unit 'parsec'"),
        ("400 gb/s", "bandwidth", "with the unknown unit 'gb/s'"),
        ("1.2.3 GB", "size", "with the unknown unit '.3 GB'"),
        ("nan GB", "size", "got 'nan GB'"),
        ("inf GB", "size", "got 'inf GB'"),
        ("0x10 GB", "size", "with the unknown unit 'x10 GB'"),
    ],
)
def test_each_mistake_says_what_was_expected_and_what_was_got(text: str, kind: str, message: str) -> None:
    with pytest.raises(ValueError, match="expected") as error:
        parse_quantity(text, kind)
    assert message in str(error.value)


@pytest.mark.parametrize("text", ["1e400 GB", "1e309 EB", "-1e400 GB"])
def test_a_number_beyond_all_floats_is_a_mistake_like_any_other(text: str) -> None:
    with pytest.raises(ValueError, match="expected a size"):
        parse_quantity(text, "size")


@pytest.mark.parametrize("text", ["1e99999999 B", "1e-99999999 B"])
def test_an_exponent_beyond_all_reason_is_read_or_refused_at_once(text: str) -> None:
    # In a process of its own: to work the power out takes minutes.
    read = f"from simcore.document.quantity import parse_quantity\ntry: parse_quantity({text!r}, 'size')\n"
    code = f"{read}except ValueError: pass"
    subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parents[3], timeout=10, check=True)


class _Example(BaseModel):
    size: Size = 0.0
    time: Time = 0.0
    bandwidth: Bandwidth = 0.0


def test_a_field_takes_text_or_what_is_si_already_and_writes_text() -> None:
    example = _Example.model_validate({"size": "1 GiB", "time": SI(1e-6)})
    assert (example.size, example.time) == (2.0**30, 1e-6)
    assert type(example.time) is float
    assert example.model_dump(mode="json") == {
        "size": "1 GiB",
        "time": "1 us",
        "bandwidth": write_quantity(0.0, "bandwidth"),
    }


@pytest.mark.parametrize("value", [5, 5.0, True, None, ["5 GB"]])
def test_a_field_refuses_a_number_without_its_unit(value: object) -> None:
    with pytest.raises(ValidationError, match="expected a size with its unit, such as '1 GB'"):
        _Example.model_validate({"size": value})


def test_the_schema_of_a_field_is_text_with_an_example() -> None:
    schema = _Example.model_json_schema()["properties"]["bandwidth"]
    assert schema["type"] == "string"
    assert all(parse_quantity(text, "bandwidth") > 0 for text in schema["examples"])
