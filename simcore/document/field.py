"""What sections of a document are made of: their frozen base, and the counts, shares and flags that stand in them."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from simcore.document.problem import Refusal

MOST = 10**12
"""Largest count in a document, beyond what any job or machine has: what follows from it stays a number."""
MOST_NPUS = 10**9
"""Largest number of NPUs of a cluster, and largest product of degrees."""


_MEANT = frozenset({"Cc", "Cs", "Zl", "Zp"})
"""Categories of Unicode that would mean something where they are written: controls, halves of letters, line ends."""
_TURNING = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""Letters that turn the direction of what follows."""


def is_one_line(text: str) -> bool:
    """Whether a text is one line, and nothing else than text."""
    return not any(unicodedata.category(letter) in _MEANT or letter in _TURNING for letter in text)


def _check_name(text: str) -> str:
    """The text; raises `Refusal` where it is more than a line of text."""
    if is_one_line(text):
        return text
    raise Refusal("a line of text, without control characters", repr(text))


Name = Annotated[str, AfterValidator(_check_name)]
Count = Annotated[int, Field(strict=True, gt=0, le=MOST)]
Natural = Annotated[int, Field(strict=True, ge=0, le=MOST)]
Share = Annotated[float, Field(strict=True, gt=0, le=1)]
Factor = Annotated[float, Field(strict=True, ge=1)]
Flag = Annotated[bool, Field(strict=True)]
OF_SOFTWARE: Any = None
"""Default of a key that the design's software decides, which it does when the design is read."""
Precision = Literal["fp32", "fp16", "bf16", "fp8", "fp8_block", "nvfp4", "int8"]

BYTES: dict[str, float] = {"fp32": 4, "fp16": 2, "bf16": 2, "fp8": 1, "fp8_block": 1, "nvfp4": 0.5, "int8": 1}
"""Bytes of one number, by precision; the scales of blocks (1 of 32 to 1 of 512 bits) are not counted."""
HELD_BYTES = BYTES | {"nvfp4": (4 + 8 / 16) / 8}
"""The same of numbers that are held, with scales worth counting: of nvfp4 one of 8 bits for 16 numbers."""
NARROW = frozenset({"fp8", "fp8_block", "nvfp4", "int8"})
"""Precisions of linear layers' products alone: what is kept beside them, and attention, stays in 16 bits."""


class Frozen(BaseModel):
    """Base of every part of a document: immutable, no unknown keys, no silent conversion of strings."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """The same with other values, which are not validated, and nothing of what followed from the old ones.

        Raises `ValueError` for names that are no fields.
        """
        fields = self.__pydantic_fields__
        unknown = [name for name in update or () if name not in fields]
        if unknown:
            known = ", ".join(fields)
            raise Refusal(f"fields of {type(self).__name__}", f"'{unknown[0]}'", f"known: {known}")
        copied = super().model_copy(update=update, deep=deep)
        for name in copied.__dict__.keys() - fields.keys():  # cached properties, and whatever is kept beside them
            del copied.__dict__[name]
        return copied
