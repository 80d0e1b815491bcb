"""The software that jobs are assumed to run, as far as it takes memory of an NPU."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from simcore.document.field import Factor, Frozen
from simcore.document.quantity import Size


class StackMemory(Frozen):
    """What a software stack takes of an NPU's memory beside the tensors of a design."""

    slack: Factor
    """Reserved over allocated memory, of activations and transients."""
    context: Annotated[Size, Field(ge=0)]
    """Of the process, its kernels and libraries [B]."""
    communicator: Annotated[Size, Field(ge=0)]
    """Buffers of each parallel group of more than one NPU [B]."""


class Stack(Frozen):
    """A software stack that trains."""

    name: str = ""
    memory: StackMemory
    sources: dict[str, str] = {}
