"""The data of a page read back: columns as lists of values, and documents from their leaves."""

from __future__ import annotations

import json
import math
from base64 import b64decode
from typing import Any

import numpy as np

from dse.evaluate.record import StudyRecord
from dse.report.page import report_html
from dse.report.summary import Summary, summarize


def read_data(html: str) -> dict[str, Any]:
    """The JSON document of a page, strictly."""

    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    text = html.partition('<script type="application/json" id="data">')[2].partition("</script>")[0]
    assert "<" not in text
    found: dict[str, Any] = json.loads(text, parse_constant=refuse)
    return found


def data_of(record: StudyRecord, summary: Summary | None = None) -> dict[str, Any]:
    """The data of the page of a study."""
    return read_data(report_html(record, summarize(record) if summary is None else summary))


def column(data: dict[str, Any], key: str) -> list[Any]:
    """The values of a column in the order of its rows; None where missing."""
    (found,) = (column for column in data["columns"] if column["key"] == key)
    for kind, dtype in (("f64", "<f8"), ("f32", "<f4")):
        if kind in found:
            numbers = np.frombuffer(b64decode(found[kind]), dtype=dtype).tolist()
            return [None if math.isnan(number) else number for number in numbers]
    codes = np.frombuffer(b64decode(found.get("u8") or found["u32"]), dtype="u1" if "u8" in found else "<u4")
    return [found["names"][code - 1] if code else None for code in codes.tolist()]


def document(leaves: list[dict[str, Any]], index: int) -> dict[str, Any]:
    """The document of a design."""
    out: dict[str, Any] = {}
    for leaf in leaves:
        if leaf["at"][index] >= 0:
            place = out
            for key in leaf["path"][:-1]:
                place = place.setdefault(key, {})
            place[leaf["path"][-1]] = leaf["values"][leaf["at"][index]]
    return out
