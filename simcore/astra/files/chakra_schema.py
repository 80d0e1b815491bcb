"""The protobuf messages of Chakra traces, built from the field numbers of the open schema.

Source: mlcommons/chakra, `et_def.proto`. Building the descriptors here needs no generated code.
"""

from __future__ import annotations

from functools import cache
from typing import Any

SCALARS = (
    ("double", 3, 1), ("float", 5, 2), ("int32", 7, 5), ("int64", 9, 3), ("uint32", 11, 13), ("uint64", 13, 4),
    ("sint32", 15, 17), ("sint64", 17, 18), ("fixed32", 19, 7), ("fixed64", 21, 6), ("sfixed32", 23, 15),
    ("sfixed64", 25, 16), ("bool", 27, 8), ("string", 29, 9), ("bytes", 31, 12),
)  # fmt: skip
"""(name, field number in AttributeProto, protobuf type); the list of each has the next field number."""


@cache
def messages() -> dict[str, Any]:
    """Build the message classes from the field numbers of the schema."""
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    file = descriptor_pb2.FileDescriptorProto(
        name="simcore_astra_chakra.proto", package="simcore.astra", syntax="proto3"
    )
    for kind, _, number in SCALARS:
        _add_fields(file.message_type.add(name=f"{kind}_list"), [("values", 1, number, "", True)])
    attribute = file.message_type.add(name="AttributeProto")
    _add_fields(attribute, [("name", 1, 9, "", False), ("doc_string", 2, 9, "", False)])
    attribute.oneof_decl.add(name="value")
    for kind, field, number in SCALARS:
        lists = (f"{kind}_list", field + 1, 11, f"{kind}_list", False)
        _add_fields(attribute, [(f"{kind}_val", field, number, "", False), lists], oneof=True)
    _add_fields(
        file.message_type.add(name="GlobalMetadata"),
        [("version", 1, 9, "", False), ("attr", 2, 11, "AttributeProto", True)],
    )
    tensors = [(name, number, 9, "", False) for number, name in enumerate(("values", "shapes", "types"), start=1)]
    _add_fields(file.message_type.add(name="IOInfo"), tensors)
    _add_fields(file.message_type.add(name="Node"), _NODE_FIELDS)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    names = ("Node", "GlobalMetadata")
    return {
        name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"simcore.astra.{name}")) for name in names
    }


_NODE_FIELDS = [
    ("id", 1, 4, "", False), ("name", 2, 9, "", False), ("type", 3, 5, "", False), ("ctrl_deps", 4, 4, "", True),
    ("data_deps", 5, 4, "", True), ("start_time_micros", 6, 4, "", False), ("duration_micros", 7, 4, "", False),
    ("inputs", 8, 11, "IOInfo", False), ("outputs", 9, 11, "IOInfo", False), ("attr", 10, 11, "AttributeProto", True),
]  # fmt: skip


def _add_fields(message: Any, fields: list[tuple[str, int, int, str, bool]], oneof: bool = False) -> None:
    """Add (name, number, protobuf type, message name, repeated) to a message under construction."""
    for name, number, kind, type_name, repeated in fields:
        field = message.field.add(name=name, number=number, type=kind, label=3 if repeated else 1)
        if type_name:
            field.type_name = f".simcore.astra.{type_name}"
        if oneof:
            field.oneof_index = 0
