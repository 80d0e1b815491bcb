"""How a design names its collective algorithms, and spells out its own.

`ring`, `direct`, …; `direct[4]` sends to 4 peers at a time; `custom:NAME` is the one of that name in
`system.algorithms`, a list of messages for each collective kind it has.
"""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, WithJsonSchema

from simcore.collective import ALGORITHMS
from simcore.document.field import Count, Flag, Frozen, Natural
from simcore.document.problem import Refusal, suggest_nearest

CollectiveKind = Literal["all_reduce", "reduce_scatter", "all_gather", "all_to_all", "broadcast", "send_recv"]
CUSTOM = "custom:"
"""Prefix of a user's own algorithm."""

_WINDOW = r"direct\[[1-9][0-9]*\]"
_PATTERN = {"type": "string", "pattern": f"^({_WINDOW}|{CUSTOM}.+)$"}


def _check_name(name: str) -> str:
    if name in ALGORITHMS or re.fullmatch(_WINDOW, name) or name.startswith(CUSTOM):
        return name
    expected = f"one of {', '.join(ALGORITHMS)}, direct[N], {CUSTOM}NAME"
    raise Refusal(expected, repr(name), suggest_nearest(name, ALGORITHMS))


AlgorithmName = Annotated[
    str,
    AfterValidator(_check_name),
    WithJsonSchema({"anyOf": [{"enum": list(ALGORITHMS)}, {"description": "direct[N] custom:NAME", **_PATTERN}]}),
]
"""Name of an algorithm."""


class CustomMessage(Frozen):
    """In step `step`, member `source` sends `blocks` to member `target`, to be added up there if `reduce`."""

    step: Natural
    """Messages of a step go when their sender has all of the step before."""
    source: Natural
    """Number of the member that sends."""
    target: Natural
    """Number of the member that receives."""
    blocks: Annotated[tuple[Natural, ...], Field(min_length=1)]
    """Numbers of the blocks sent."""
    reduce: Flag = False
    """The blocks are added to those of the target, else replace them."""


class CustomKind(Frozen):
    """The messages of one collective kind among `members` NPUs, whose buffer is cut into `blocks` equal blocks.

    In all_gather and reduce_scatter block b belongs to member b; in all_to_all block o x members + t is what member o
    has for member t, and blocks counts all of them.
    """

    members: Annotated[Count, Field(ge=2)]
    """NPUs of the group."""
    blocks: Count
    """Equal blocks of the buffer."""
    messages: tuple[CustomMessage, ...]
    """All messages, in any order."""
