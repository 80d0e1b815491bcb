"""A deep learning recommendation model (DLRM; Naumov et al. 2019, arXiv 1906.00091) by its shape."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, PlainSerializer, model_validator

from simcore.catalog.preset import preset, preset_name
from simcore.design.workload import Workload
from simcore.document.field import OF_SOFTWARE, Count, Flag, Frozen, Name, Precision
from simcore.document.problem import Refusal

Widths = Annotated[tuple[Count, ...], Field(min_length=1)]


class Recommender(Frozen):
    """Two MLPs with an interaction of embeddings between them."""

    name: Name = ""
    dense_features: Count
    """Inputs of the bottom MLP."""
    bottom: Widths
    """Widths of the bottom MLP's layers; the last is that of an embedding."""
    top: Widths
    """Widths of the top MLP's layers; its input follows from the interaction."""
    tables: Count
    """Embedding tables."""
    rows: Count
    """Rows of all tables together."""
    embedding: Count
    """Width of an embedding."""
    pooling: Count = 1
    """Rows that a sample looks up in each table, and adds up."""
    interaction: Literal["dot", "concat"] = "dot"
    """Products of all pairs of vectors next to the bottom MLP's output, or the vectors themselves."""
    bias: Flag = True
    """Products have a bias."""
    source: str = ""

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.bottom[-1] != self.embedding:
            raise Refusal(
                f"a bottom MLP that ends in the width of an embedding ({self.embedding})",
                str(self.bottom[-1]),
                "change one of the two",
            )
        return self

    @property
    def interacted(self) -> int:
        """Inputs of the top MLP."""
        if self.interaction == "concat":
            return (self.tables + 1) * self.embedding
        return self.embedding + (self.tables + 1) * self.tables // 2

    @property
    def bottom_layers(self) -> list[tuple[int, int]]:
        """(inputs, outputs) of the bottom MLP's layers."""
        return list(zip((self.dense_features, *self.bottom), self.bottom, strict=False))

    @property
    def top_layers(self) -> list[tuple[int, int]]:
        """(inputs, outputs) of the top MLP's layers."""
        return list(zip((self.interacted, *self.top), self.top, strict=False))

    @property
    def dense_parameters(self) -> int:
        """Parameters of both MLPs."""
        return sum(self.layer_parameters(*layer) for layer in (*self.bottom_layers, *self.top_layers))

    def layer_parameters(self, inputs: int, outputs: int) -> int:
        """Parameters of one layer of an MLP."""
        return inputs * outputs + (outputs if self.bias else 0)


def _read(value: Any) -> Any:
    return preset(Recommender, "recommenders", value) if isinstance(value, str) else value


def _written(value: Recommender) -> Any:
    return preset_name(value, "recommenders") or value.model_dump(mode="json", exclude_defaults=True)


class RecommenderWorkload(Workload):
    """One training iteration of a recommendation model: MLPs data parallel, tables spread over all NPUs."""

    model: Annotated[Recommender, BeforeValidator(_read), PlainSerializer(_written)]
    """The model: a name of the catalogue, or one spelled out."""
    global_batch: Count
    """Samples per iteration."""
    precision: Precision = "fp16"
    """What operators compute in."""
    gradient_precision: Literal["fp16", "fp32"] = OF_SOFTWARE
    """As the software has it unless given."""

    @property
    def measured_as(self) -> str:
        """See `Workload.measured_as`."""
        return "recommender"
