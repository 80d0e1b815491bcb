"""Served models against published throughputs and times, for `docs/accuracy-details.md`."""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from simcore.check.load import design_from
from simcore.design.design import Design
from simcore.memory.expanded import fits
from simcore.memory.plan import memory_needed
from simcore.prediction_interval import ratios
from simcore.simulate import simulate

ROWS = Path(__file__).parent / "serving" / "throughputs.csv"
NODES: dict[str, dict[str, Any]] = {
    "h100-80gb": {"topology": "switch", "bandwidth": "450 GB/s", "library": "nccl-hopper"},
    "h200": {"topology": "switch", "bandwidth": "450 GB/s", "library": "nccl-hopper"},
    "b200": {"topology": "switch", "bandwidth": "900 GB/s", "library": "nccl-blackwell"},
    "gb200": {"topology": "switch", "bandwidth": "900 GB/s", "library": "nccl-blackwell"},
    "mi300x": {"topology": "fully_connected", "bandwidth": "448 GB/s"},
}
"""The network inside a node."""

STACK = {
    "base": "vllm",
    "graph_dispatch": ["node", "rank"],
    "experts": {"hopper": {"fp8": 0.64}, "blackwell": {"nvfp4": 0.55}},
}
"""TensorRT-LLM, whose rows nearly all are, has its exchange of experts in its graphs, and fused experts of its own:
their rates were fitted to kernels on H100 and B200, as those of vLLM (aiconfigurator 095f58a51, moe, trtllm
1.3.0rc20)."""

WHAT = """\
What is published of servers under full load (`tests/accuracy/serving/throughputs.csv`): prompts and outputs of one
length, the layout, the precision, and a cache in fp8. To served models one number was fitted: how long the NPU of the
busiest experts takes. Kernels were, on the devices with a curve; MI300X is known by its data sheet. All is predicted
with `software: vllm`; NVIDIA's rows are of TensorRT-LLM and NIM, which have the exchange of experts in their graphs
(`graph_dispatch`) and fused experts of their own (`experts`). Where a row does not say how many requests are served at
once, it is as many as fit, up to the server's limit, one wave of them after the other. *Predicted / measured* is of
tokens a second; *inside* is the share whose measured time is in the interval of the prediction.
"""
HEAD = """\
| device | model, precision | layout | rows | predicted / measured: least | median | most | inside, % |
|---|---|---|--:|--:|--:|--:|--:|"""
WHY = """
Dense models on devices with measured kernels are within 24 %. Of mixtures, fused experts have a rate of their own,
fitted on kernels (`experts`). With that alone a mixture on one B200 is 1.12 times too fast in the mean, and one whose
experts are spread over eight NPUs 1.44, 1.55 and 1.43 times on H100, H200 and B200: all wait for the NPU of the
busiest experts. That it takes 1.7 times the mean, the one number that was fitted to these rows, leaves 1.11, 1.24 and
1.18. On GB200 a mixture of 30B is slower than on B200, which no clock and no bandwidth explains. On MI300X products
run at 0.7 of what AMD's tuned kernels reach, as trainings in PyTorch do there (`products` of `vllm`): these rows are
1.2 times too fast in the mean, and were 1.38 times without. The comparison found what no other test did: outputs of
more than 1,024 tokens were timed too short.
"""


class Served(NamedTuple):
    """A published row, and its prediction."""

    row: dict[str, str]
    predicted: float
    """Tokens a second over the measured ones."""
    inside: bool
    """Whether the measured time is in the interval of the prediction."""


def read_rows(path: Path = ROWS) -> list[dict[str, str]]:
    """Published rows."""
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def design_of(row: dict[str, str], at_once: int) -> Design:
    """The design of a row that serves so many requests at once."""
    prompt = int(row["prompt"])
    workload: dict[str, Any] = {
        "model": row["model"],
        "global_batch": at_once,
        "prompt_length": prompt,
        "output_length": int(row["output"]),
        "precision": row["precision"],
        "cache_precision": "fp8",
        "batching": row["batching"],
    }
    if row["prefill_tokens"]:
        workload["prefill_tokens"] = max(int(row["prefill_tokens"]), prompt)
    degrees = {key: int(row[key]) for key in ("tensor", "data", "expert")}
    node = {"size": degrees["tensor"] * degrees["data"], "latency": "1 us", "tier": "node", **NODES[row["npu"]]}
    cluster = {"npu": row["npu"], "dimensions": [node]}
    return design_from({"workload": workload, "parallelism": degrees, "cluster": cluster, "software": STACK})


def served(row: dict[str, str]) -> Served:
    """The prediction of a row."""
    at_once = int(row["at_once"] or 0) or _most_that_fit(row)
    design = design_of(row, at_once)
    if row["seconds"]:
        predicted = float(row["seconds"]) / simulate(design).iteration_time_s
    else:
        predicted = _tokens_per_second(row, at_once) / float(row["tokens_per_s"])
    low, high = ratios(design)
    return Served(row, predicted, low <= predicted <= high)  # a measured time over the predicted one


def _tokens_per_second(row: dict[str, str], at_once: int) -> float:
    """Those of all waves of the requests of a row, or of an endless stream."""
    if not row["requests"]:
        return simulate(design_of(row, at_once)).throughput_tokens_per_s or 0.0
    requests, replicas = int(row["requests"]), int(row["data"])
    waves, rest = divmod(requests, at_once)
    rest -= rest % replicas
    seconds = waves * simulate(design_of(row, at_once)).iteration_time_s
    seconds += simulate(design_of(row, rest)).iteration_time_s if rest else 0.0
    return (waves * at_once + rest) * int(row["output"]) / seconds


def _most_that_fit(row: dict[str, str]) -> int:
    """Requests that a row's NPUs hold at once, a multiple of its replicas, as far as the row has so many."""
    replicas = int(row["data"])
    low, high = 0, min(int(row["requests"]) // replicas, int(row["most"]))
    while low < high:
        middle = (low + high + 1) // 2
        design = design_of(row, middle * replicas)
        memory = memory_needed(design)
        assert memory is not None
        low, high = (middle, high) if fits(design, memory) else (low, middle - 1)
    return low * replicas


def serving_section() -> Iterator[str]:
    """Published throughputs of servers, and the model's."""
    groups: dict[tuple[str, str, str], list[Served]] = defaultdict(list)
    for one in map(served, read_rows()):
        row = one.row
        layout = ", ".join(f"{key} {row[key]}" for key in ("tensor", "data", "expert") if row[key] != "1") or "1 NPU"
        groups[row["npu"], f"{row['model']}, {row['precision']}", layout].append(one)
    yield "## Served models\n"
    yield WHAT
    yield HEAD
    for key, its in groups.items():
        found = [one.predicted for one in its]
        share = 100 * sum(one.inside for one in its) / len(its)
        cells = [len(its), *(f"{value:.2f}" for value in (min(found), median(found), max(found))), f"{share:.0f}"]
        yield f"| {' | '.join(map(str, (*key, *cells)))} |"
    yield WHY
