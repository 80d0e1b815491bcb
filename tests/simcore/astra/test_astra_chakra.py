"""Chakra traces: what is written is read back, and the bytes follow the open schema."""

from __future__ import annotations

import struct
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simcore.astra import AstraInputError
from simcore.astra.files.chakra import (
    Attribute,
    CommType,
    NodeType,
    TensorInfo,
    TraceNode,
    collective_node,
    compute_node,
    parse_trace,
    read_bytes,
    write_trace,
)

WHOLE = {
    "int32": (-(1 << 31), (1 << 31) - 1), "int64": (-(1 << 63), (1 << 63) - 1),
    "uint32": (0, (1 << 32) - 1), "uint64": (0, (1 << 64) - 1),
    "sint32": (-(1 << 31), (1 << 31) - 1), "sint64": (-(1 << 63), (1 << 63) - 1),
    "fixed32": (0, (1 << 32) - 1), "fixed64": (0, (1 << 64) - 1),
    "sfixed32": (-(1 << 31), (1 << 31) - 1), "sfixed64": (-(1 << 63), (1 << 63) - 1),
}  # fmt: skip
TEXT = st.text(st.characters(codec="utf-8"), max_size=8)
SCALARS: dict[str, st.SearchStrategy[object]] = {
    **{kind: st.integers(low, high) for kind, (low, high) in WHOLE.items()},
    "bool": st.booleans(),
    "double": st.floats(allow_nan=False),
    "float": st.floats(allow_nan=False, width=32),
    "string": TEXT,
    "bytes": st.binary(max_size=8),
}
IDS = st.integers(0, (1 << 64) - 1)


@st.composite
def attributes(draw: st.DrawFn) -> Attribute:
    kind = draw(st.sampled_from(sorted(SCALARS)))
    value = draw(st.one_of(SCALARS[kind], st.lists(SCALARS[kind], max_size=4).map(tuple)))
    return Attribute(draw(TEXT), value, kind)  # type: ignore[arg-type]


TENSORS = st.none() | st.builds(TensorInfo, TEXT, TEXT, TEXT)
NODES = st.builds(
    TraceNode,
    id=IDS,
    name=TEXT,
    type=st.sampled_from(NodeType),
    ctrl_deps=st.lists(IDS, max_size=3).map(tuple),
    data_deps=st.lists(IDS, max_size=3).map(tuple),
    start_time_us=IDS,
    duration_us=IDS,
    inputs=TENSORS,
    outputs=TENSORS,
    attributes=st.lists(attributes(), max_size=4).map(tuple),
)


@given(nodes=st.lists(NODES, max_size=5))
def test_what_is_written_is_read_back(tmp_path_factory: pytest.TempPathFactory, nodes: list[TraceNode]) -> None:
    path = tmp_path_factory.getbasetemp() / "round_trip.et"
    write_trace(path, nodes)
    assert parse_trace(read_bytes(path), path) == tuple(nodes)


@given(content=st.binary(max_size=200))
def test_foreign_bytes_are_an_input_error_or_a_trace(content: bytes) -> None:
    with suppress(AstraInputError):
        parse_trace(content, Path("foreign.et"))


def test_the_bytes_follow_the_schema(tmp_path: Path) -> None:
    node = collective_node(300, CommType.ALL_GATHER, 5, (7,), (True, False))
    write_trace(tmp_path / "t.et", [node])
    content = (tmp_path / "t.et").read_bytes()
    assert content[:8] == b"\x07\x0a\x050.0.4"  # a length, then field 1: the version
    record = content[9:]
    assert content[8] == len(record)
    assert record.startswith(b"\x08\xac\x02" + b"\x12\x0eALL_GATHER_300" + b"\x18\x07" + b"\x2a\x01\x07")
    assert b"\x0a\x09is_cpu_op\xd8\x01\x00" in record  # field 27: a flag
    assert b"\x0a\x09comm_size\x48\x05" in record  # field 9: int64
    assert b"\x0a\x07pg_name\xea\x01\x00" in record  # field 29: a word
    assert b"\x0a\x0cinvolved_dim\xe2\x01\x04\x0a\x02\x01\x00" in record  # field 28: a list of flags


def test_a_double_is_field_three(tmp_path: Path) -> None:
    write_trace(tmp_path / "t.et", [TraceNode(0, "", NodeType.COMP, attributes=(Attribute("x", 1.5, "double"),))])
    assert (tmp_path / "t.et").read_bytes().endswith(b"\x0a\x01x\x19" + struct.pack("<d", 1.5))


def test_a_record_longer_than_the_file_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "t.et"
    path.write_bytes(b"\xff\xff\xff\xff\x7f")
    with pytest.raises(AstraInputError, match="expected a record"):
        parse_trace(read_bytes(path), path)


def test_the_last_attribute_of_a_name_counts() -> None:
    node = TraceNode(0, "", NodeType.COMP, attributes=(Attribute("a", 1, "int64"), Attribute("a", 2, "int64")))
    assert (node.get("a"), node.get("b"), compute_node(0, 3).get("is_cpu_op")) == (2, None, False)


def test_what_is_no_regular_file_is_not_read() -> None:
    with pytest.raises(AstraInputError, match="expected a regular file"):
        read_bytes(Path("/dev/zero"))
