"""Training a transformer: the section of the document."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from simcore.design.workload import Workload
from simcore.document.field import OF_SOFTWARE, Count, Precision
from simcore.workload.transformer.model import NamedTransformer


class TransformerWorkload(Workload):
    """One training iteration of a transformer."""

    model: NamedTransformer
    """The model: a name of the catalogue, a variation of an entry, or one spelled out."""
    global_batch: Count
    """Sequences per iteration."""
    sequence_length: Count | None = None
    """Tokens per sequence; the model's longest unless given."""
    precision: Precision = "fp16"
    """What matrix products compute in."""
    gradient_precision: Literal["fp16", "fp32"] = OF_SOFTWARE
    """As the software has it unless given."""
    training_tokens: Annotated[float, Field(gt=0)] | None = None
    """Tokens that the whole training takes: what `time_to_train` and `cost_to_train` are about."""

    @property
    def sequence(self) -> int:
        """Tokens per sequence, the model's longest unless given."""
        return self.sequence_length or self.model.sequence_length

    @property
    def measured_as(self) -> str:
        """See `Workload.measured_as`."""
        return "dense" if self.model.mixture_of_experts is None else "moe"

    @property
    def tokens_to_train(self) -> float | None:
        """See `Workload.tokens_to_train`."""
        return self.training_tokens

    def usual_microbatch(self, data: int) -> int:
        """See `Workload.usual_microbatch`."""
        return 1

    def complete(self, document: dict[str, Any]) -> None:
        """See `Workload.complete`."""
        document["workload"]["sequence_length"] = self.sequence
