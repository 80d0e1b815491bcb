"""Serving a transformer: a batch of requests, each a prompt and the tokens that follow it."""

from __future__ import annotations

from typing import Literal

from simcore.design.workload import Workload
from simcore.document.field import Count, Precision
from simcore.workload.transformer.model import NamedTransformer

WeightPrecision = Literal["fp8", "int8", "nvfp4", "mxfp4", "int4"]
"""What weights are held in."""


Batching = Literal["continuous", "static"]
"""How requests join a batch."""


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
    precision: Precision = "fp16"
    """What matrix products compute in."""
    weight_precision: WeightPrecision | None = None
    """Of the weights of layers in memory, in a mixture those of its routed experts; `precision` unless given."""
    cache_precision: Precision | None = None
    """Of the keys and values; unless given that of the model, and bf16 beside narrower products (vLLM's `auto`)."""

    @property
    def length(self) -> int:
        """Tokens of a request when it ends."""
        return self.prompt_length + self.output_length
