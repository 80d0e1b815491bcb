"""Small designs of every kind of workload: an entry here holds a new kind to what all kinds must do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from simcore.document.named_files import find_named
from simcore.workload.trace.files import list_ranks

Document = dict[str, Any]

_MODEL = {"hidden": 64, "layers": 4, "heads": 8, "vocabulary": 500, "sequence_length": 32}
_EXPERTS = {**_MODEL, "mixture_of_experts": {"experts": 4, "top_k": 2, "feed_forward": 64}}
_ROWS = [{"m": 4, "n": 32, "k": 16}, {"kind": "memory", "elements": 100, "output": 8}, {"m": 1, "n": 16, "k": 32}]
_RECOMMENDER = {
    "dense_features": 13,
    "bottom": [32, 16],
    "top": [64, 1],
    "tables": 6,
    "rows": 1000,
    "embedding": 16,
}

_TIMED = [
    {"name": "a", "forward": "1 ms", "input_gradient": "900 us", "weight_gradient": "1.1 ms"}
    | {"weight_gradient_collective": "all_reduce", "weight_gradient_size": "8 MB", "repeat": 3},
    {"forward": "300 us", "forward_collective": "all_gather", "forward_size": "1 MB"}
    | {"input_gradient": "300 us", "input_gradient_collective": "reduce_scatter", "input_gradient_size": "2 MB"}
    | {"weight_gradient": "10 us", "weight_gradient_collective": "all_to_all", "weight_gradient_size": "3 MB"},
]

_TRACE = find_named("transformer.et", Path(__file__).parents[3] / "spaces" / "traces", list_ranks)

EXAMPLES: dict[str, list[Document]] = {
    "transformer": [
        {"workload": {"model": _MODEL, "global_batch": 16}, "parallelism": {"tensor": 2, "pipeline": 2}},
        {"workload": {"model": _EXPERTS, "global_batch": 16}, "parallelism": {"expert": 2, "zero": 1}},
    ],
    "collective": [
        {"workload": {"collective": "all_reduce", "size": "3 MB"}},
        {"workload": {"collective": "all_gather", "size": "1 MB", "groups": [2, 2]}},
    ],
    "layers": [
        {"workload": {"layers": _ROWS, "global_batch": 32}, "parallelism": {"tensor": 2, "pipeline": 2}},
        {"workload": {"layers": _ROWS, "global_batch": 32}, "parallelism": {"zero": 3}},
    ],
    "recommender": [
        {"workload": {"model": _RECOMMENDER, "global_batch": 64}},
    ],
    "trace": [
        {"workload": {"trace": _TRACE, "ranks": [4, 2]}},
    ],
    "timed": [
        {
            "workload": {"timed_layers": _TIMED, "tensor": 2, "data": 4, "recorded_on": "a100-80gb"},
            "parallelism": {"tensor": 2},
        },
        {
            "workload": {"timed_layers": _TIMED, "tensor": 4, "data": 2, "recorded_on": "a100-80gb"},
            "parallelism": {"tensor": 4, "data_overlap": False},
        },
    ],
    "inference": [
        {
            "workload": {"model": _MODEL, "global_batch": 8, "prompt_length": 9, "output_length": 3},
            "parallelism": {"tensor": 2, "pipeline": 2},
        },
    ],
    "pruned": [
        {
            "workload": {"widths": [64, 64], "density": 0.1, "partition": "repurpose", "global_batch": 8},
            "parallelism": {"tensor": 4},
        },
    ],
}
"""Documents by kind, without a cluster: they run on any 8 NPUs in rows of 4."""

CLUSTER: Document = {
    "npu": "a100-80gb",
    "dimensions": [
        {"topology": "switch", "size": 4, "bandwidth": "300 GB/s", "latency": "700 ns", "tier": "node"},
        {"topology": "ring", "size": 2, "bandwidth": "25 GB/s", "latency": "2 us", "tier": "pod"},
    ],
}


def document(example: Document) -> Document:
    """The whole document of an example."""
    return {**example, "cluster": CLUSTER, "system": {"chunks": 4}}
