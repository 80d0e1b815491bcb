"""Training a transformer: the section of the document."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import model_validator

from simcore.design.workload import TokensNeeded, Workload
from simcore.document.field import OF_SOFTWARE, Count, Precision
from simcore.document.problem import Refusal
from simcore.workload.narrow import described as narrow_described
from simcore.workload.narrow import more_tokens
from simcore.workload.transformer.critical_batch import (
    USUAL_LAW,
    AnyCriticalBatch,
    CriticalBatch,
    LawName,
    Tokens,
    appetites,
    described,
)
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
    training_tokens: Tokens | None = None
    """Tokens that the whole training takes: what `time_to_train` and `cost_to_train` are about.

    They are those at batches of `training_batch`; without it and `critical_batch` those at any batch; with
    `critical_batch` alone those at batches far below the critical one."""
    training_batch: Tokens | None = None
    """Tokens of a batch of the run that `training_tokens` are of: other batches need more, or fewer."""
    critical_batch: AnyCriticalBatch | None = None
    """The batch at which training needs twice the tokens: a law by the tokens of the training, or spelled out.

    `none`: every batch needs the same. Unless given `bergsma-2025` where there is a `training_batch`, else `none`."""
    training_precision: Precision | None = None
    """Precision of the run that `training_tokens` are of: a narrower one may need more (`simcore.workload.narrow`)."""

    @property
    def sequence(self) -> int:
        """Tokens per sequence, the model's longest unless given."""
        return self.sequence_length or self.model.sequence_length

    @property
    def measured_as(self) -> str:
        """See `Workload.measured_as`."""
        return "dense" if self.model.mixture_of_experts is None else "moe"

    @model_validator(mode="after")
    def _about_a_training(self) -> TransformerWorkload:
        about = ("training_batch", "critical_batch", "training_precision")
        named = [key for key in about if getattr(self, key) is not None]
        if named and self.training_tokens is None:
            raise Refusal("training_tokens", "none", f"give them, e.g. 300e9: '{named[0]}' is about them")
        return self

    @property
    def tokens_needed(self) -> TokensNeeded | None:
        """See `Workload.tokens_needed`."""
        if self.training_tokens is None:
            return None
        law, batch = self._critical, float(self.global_batch * self.sequence)
        more = more_tokens(self.precision, self.training_precision)
        narrow = [narrow_described(self.precision, self.training_precision)] if more != 1 else []
        if law is None:
            return TokensNeeded(more * self.training_tokens, batch, None, "; ".join(narrow))
        expected, *ends = appetites(self.training_tokens, self.training_batch or 0.0, law)
        least, most = sorted(more * appetite.at(batch) for appetite in ends)
        why = "; ".join([described(expected, ends, law), *narrow])
        return TokensNeeded(more * expected.at(batch), batch, (least, most), why)

    @property
    def _critical(self) -> CriticalBatch | LawName | None:
        """The critical batch that counts; None where every batch needs the same tokens."""
        given = self.critical_batch
        if given is None:
            return None if self.training_batch is None else USUAL_LAW
        return None if given == "none" else given

    def anchor(self) -> dict[str, float]:
        """See `Workload.anchor`."""
        if self.training_tokens is None or self.training_batch is not None or self.critical_batch is not None:
            return {}
        return {"training_batch": float(self.global_batch * self.sequence)}

    def usual_microbatch(self, data: int, pipeline: int) -> int:
        """See `Workload.usual_microbatch`."""
        return 1

    def complete(self, document: dict[str, Any]) -> None:
        """See `Workload.complete`."""
        document["workload"]["sequence_length"] = self.sequence
        parallelism = document["parallelism"]
        if parallelism["tensor"] and self.model.heads % parallelism["tensor"] == 0:
            parallelism.pop("attention_split", None)  # whole heads for every NPU, as without it
        if self.training_batch is not None:
            document["workload"].setdefault("critical_batch", USUAL_LAW)
