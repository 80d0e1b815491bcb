"""A key of a document that names a member of a family."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

from simcore.family import Family


@dataclass(frozen=True, eq=False)
class MemberOf:
    """Says that a string is the name of a member of `family`: `Annotated[str, MemberOf(TOPOLOGIES)]`.

    Names are known without loading any member, so a package's module may import the documents that name it.
    """

    family: Family[Any]

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """A literal schema of the names there are when the document's schema is built."""
        return core_schema.literal_schema(list(self.family))
