"""Serving a transformer: a batch of requests, each a prompt and the tokens that follow it."""

from __future__ import annotations

from typing import Any, Literal

from simcore.design.workload import Workload
from simcore.document.field import Count, Precision
from simcore.workload.transformer.model import NamedTransformer

WeightPrecision = Literal["fp8", "int8", "nvfp4", "mxfp4", "int4"]
"""What weights are held in."""


Batching = Literal["continuous", "static"]
"""How requests join a batch."""
PASS_TOKENS = 2048
"""Tokens of prompts that a pass reads at most, unless given: the `max_num_batched_tokens` of vLLM's `SchedulerConfig`,
with which little comes between two tokens (its documentation of 2026, *Optimization and Tuning*)."""


class InferenceWorkload(Workload):
    """Prefill of a batch of requests, then one token after the other of all of them."""

    model: NamedTransformer
    """The model: a name of the catalogue, a variation of an entry, or one spelled out."""
    global_batch: Count
    """Requests served at the same time, over all data-parallel replicas."""
    prompt_length: Count
    """Tokens of each prompt."""
    output_length: Count
    """Tokens made for each request; the first one by the prefill."""
    batching: Batching = "continuous"
    """`continuous`: the batch is held full; a request comes as another ends, and its prompt is read between passes.

    `static`: all requests of a batch begin together, and their prompts are read together."""
    prefill_tokens: Count | None = None
    """Tokens of prompts that a pass of a continuous batch reads at most; 2,048 or one prompt unless given."""
    precision: Precision = "fp16"
    """What matrix products compute in."""
    weight_precision: WeightPrecision | None = None
    """Precision of the weights in memory, in a mixture those of its routed experts; `precision` unless given."""
    cache_precision: Precision | None = None
    """Precision of keys and values; unless given the model's, and bf16 beside narrower products (vLLM's `auto`)."""

    @property
    def measured_as(self) -> str:
        """See `Workload.measured_as`."""
        return "served dense" if self.model.mixture_of_experts is None else "served moe"

    @property
    def length(self) -> int:
        """Tokens of a request when it ends."""
        return self.prompt_length + self.output_length

    @property
    def pass_tokens(self) -> int:
        """Tokens of prompts that a pass of a continuous batch reads at most: those of one prompt, or more."""
        return self.prefill_tokens or max(PASS_TOKENS, self.prompt_length)

    def usual_microbatch(self, data: int, pipeline: int) -> int:
        """See `Workload.usual_microbatch`: a group of requests for each stage of a pipeline, or fewer groups."""
        requests = super().usual_microbatch(data, pipeline)
        least = -(-requests // max(1, pipeline))
        return next(each for each in range(least, requests + 1) if requests % each == 0)

    def complete(self, document: dict[str, Any]) -> None:
        """See `Workload.complete`."""
        if self.batching == "continuous":
            document["workload"]["prefill_tokens"] = self.pass_tokens
