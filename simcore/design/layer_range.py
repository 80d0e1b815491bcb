"""A range of layers that is run in a way of its own, and the stages whose layers are to be solved."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BeforeValidator, Field, ValidationError, model_validator
from pydantic_core import InitErrorDetails, PydanticCustomError

from simcore.document.field import Count, Frozen, Natural
from simcore.document.problem import Refusal

Module = Literal["core_attn", "mla_up_proj", "layernorm", "mlp", "moe_act", "shared_experts", "moe"]
"""Parts of a layer that can be recomputed: the attention itself; latents' way up to keys, values and queries; norms; a
dense block; the activation function of experts; shared experts; the half of a layer that has experts."""
Modules = Annotated[tuple[Module, ...], Field(min_length=1)]

_RANGES = re.compile(r"\s*\d{1,7}\s*(-\s*\d{1,7}\s*)?(,\s*\d{1,7}\s*(-\s*\d{1,7}\s*)?)*")


def _read_numbers(value: Any) -> Any:
    """The canonical text of ranges of layers, such as `0-3,8`."""
    text = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
    if not isinstance(text, str) or not _RANGES.fullmatch(text):
        raise Refusal("numbers of layers, counted from 0", repr(value), "e.g. '0-3', or '0-3, 8'")
    spans = [[int(end) for end in part.split("-")] for part in text.split(",")]
    for span in spans:
        if span[0] > span[-1]:
            raise Refusal("ranges from the lower number to the higher one", f"'{span[0]}-{span[-1]}'")
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, *_, last in (s * 2 for s in spans))


LayerNumbers = Annotated[str, BeforeValidator(_read_numbers)]
"""Layers by their numbers, counted from 0: `0-3`, `5`, or several with commas between."""


_SHARED = {
    "context": "the degree of the section: a sequence is cut over the same NPUs in all layers",
    "expert_tensor": "the degree of the section, or all of its own tensor group",
    "sequence_parallel": "the switch of the section",
    "data": "nothing: what is left of a stage's NPUs",
}
"""Keys of the section that layers do not have for themselves, each with what they have instead."""


def _degree_error(key: str, value: Any) -> InitErrorDetails:
    refusal = Refusal(_SHARED[key], str(value), "leave it out")
    return InitErrorDetails(
        type=PydanticCustomError("value_error", "{error}", {"error": refusal}), loc=(key,), input=value
    )


_OF_EXPERTS = ("expert", "expert_tensor", "expert_data", "expert_shard")
"""Groups of NPUs that depend on the expert degree."""


class Degrees(NamedTuple):
    """Degrees by which a layer is cut."""

    tensor: int
    expert: int

    def name_group(self, group: str, section: Degrees) -> str:
        """The name of a group of layers with these degrees; as it is where it has the NPUs of the section's group."""
        if group in _OF_EXPERTS:
            return group if self == section else f"{group} t{self.tensor}e{self.expert}"
        return group if self.tensor == section.tensor else f"{group} t{self.tensor}"


class LayerRange(Frozen):
    """Layers that are run in a way of their own."""

    layers: LayerNumbers
    """Which ones: their numbers, counted from 0, such as `0-3` or `0-3, 8`."""
    tensor: Count | None = None
    """Their tensor-parallel degree; the section's unless given. Their data-parallel degree follows: a stage has
    the same NPUs in all of its layers, and activations are resharded where the degree changes."""
    expert: Count | None = None
    """Their expert-parallel degree; the section's unless given."""
    recompute: Literal["none", "selective", "full"] | None = None
    """As `parallelism.recompute`, which it is unless given."""
    recompute_modules: Modules | None = None
    """As `parallelism.recompute_modules`, which they are unless given."""

    @model_validator(mode="before")
    @classmethod
    def _refuse_degrees(cls, value: Any) -> Any:
        """A degree of its own is no degree of the groups that the design has; each key is told at its place."""
        if isinstance(value, dict) and (given := [key for key in _SHARED if key in value]):
            line = [_degree_error(key, value[key]) for key in given]
            raise ValidationError.from_exception_data(cls.__name__, line)
        return value

    @property
    def spans(self) -> list[tuple[int, int]]:
        """The first and the last number of each range."""
        ends = [[int(end) for end in part.split("-")] for part in self.layers.split(",")]
        return [(span[0], span[-1]) for span in ends]


def write_numbers(numbers: list[int]) -> str:
    """Layers by their numbers, as a document writes them."""
    spans: list[list[int]] = []
    for number in sorted(numbers):
        if spans and spans[-1][1] == number - 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in spans)


class SolvedStages(Frozen):
    """Layers of stages that are to be solved."""

    solve: Literal[True]
    """True: as the slowest stage takes least time, among those whose memory suffices."""


def _read_stages(value: Any) -> Any:
    if isinstance(value, SolvedStages) or value is None:
        return value
    if value == {"solve": True}:
        return SolvedStages(solve=True)
    if isinstance(value, list | tuple) and value and all(type(count) is int and count >= 0 for count in value):
        return value
    raise Refusal("numbers of layers, one a virtual stage, or {solve: true}", repr(value), "e.g. [7, 8, 8, 7]")


Stages = Annotated[
    Annotated[tuple[Natural, ...], Field(min_length=1)] | SolvedStages | None, BeforeValidator(_read_stages)
]
"""Layers of each virtual stage, or that they are to be solved."""
