"""A space of training whose clusters share budgets of bandwidth, in two shapes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from dse.run.document import open_space
from dse.space.space import Space

SPLIT = """\
workload: {model: llama3-8b, global_batch: 64, sequence_length: 4096, precision: bf16}
parallelism:
  degrees: {product: 16, of: [tensor, pipeline, data], limits: {tensor: [1, 8]}}
  zero: {choice: [0, 1, 3]}
  recompute: {choice: [none, full]}
cluster:
  npu: h100-80gb
  bandwidth: {split: {choice: [200 GB/s, 400 GB/s]}, step: 25 GB/s}
  dimensions:
    choice:
      - - {topology: switch, size: 8, latency: 700 ns, tier: node}
        - {topology: switch, size: 2, latency: 1.7 us, tier: pod}
      - - {topology: ring, size: 4, latency: 700 ns, tier: node}
        - {topology: switch, size: 4, latency: 1.7 us, tier: pod, collective: {choice: [halving_doubling, ring]}}
system: {chunks: 64, intra_dimension: {choice: [priority, fifo]}, inter_dimension: {choice: [baseline, themis]}}
objectives: {minimize: [iteration_time, cost.total]}
constraints: [fits]
"""


def open_split(folder: Path, cluster: Mapping[str, Any], **changes: Any) -> Space:
    """`SPLIT` with keys of its cluster, and top-level ones, replaced; one that is None is left out."""
    document = yaml.safe_load(SPLIT) | changes
    document["cluster"] = {key: value for key, value in (document["cluster"] | cluster).items() if value is not None}
    path = folder / "space.yaml"
    path.write_text(yaml.safe_dump({key: value for key, value in document.items() if value is not None}))
    return open_space(str(path))[0]
