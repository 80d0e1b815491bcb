"""Spaces in which a cluster is bought for two workloads, and the same answers by brute force."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from dse.evaluate.evaluate import Evaluator, Outcome
from dse.evaluate.record import StudyRecord
from dse.report import write_reports
from dse.run.drive import optimize
from dse.run.record import load_record
from dse.run.settings import Settings
from dse.space.space import Space, space_from
from simcore.design.design import Design
from simcore.document.text import parse_document
from simcore.result import Result
from simcore.simulate import simulate

TWO = """\
workloads:
  - name: big
    weight: 1
    workload:
      model: {name: tiny, hidden: 256, layers: 8, heads: 8, vocabulary: 1000, sequence_length: 128}
      global_batch: 16
    parallelism:
      degrees: {product: 8, of: [tensor, pipeline, data]}
      zero: {choice: [0, 1]}
  - name: small
    weight: 3
    workload:
      model: {name: mini, hidden: 128, layers: 4, heads: 8, vocabulary: 500, sequence_length: 64}
      global_batch: 64
    parallelism:
      degrees: {product: 8, of: [tensor, data]}
      microbatch: {choice: [1, 2]}
cluster:
  npu: {choice: [a100-80gb, v100-32gb]}
  dimensions:
    - topology: switch
      size: 4
      bandwidth: {choice: [2 GB/s, 20 GB/s]}
      latency: 700 ns
      tier: node
      collective: {choice: [ring, halving_doubling]}
    - {topology: switch, size: 2, bandwidth: {choice: [1 GB/s, 10 GB/s]}, latency: 1.7 us, tier: pod}
system: {chunks: 4}
cost: libra
objectives: {minimize: [iteration_time, cost.total]}
constraints: [fits]
study: {decide: [cluster], trials: 40, batch: 3}
"""
"""8 clusters; on each 40 designs of the one workload and 16 of the other."""


def two(**changes: Any) -> dict[str, Any]:
    """The document of `TWO` with top-level keys replaced; a key set to None is left out."""
    document: dict[str, Any] = yaml.safe_load(TWO)
    document |= copy.deepcopy(changes)
    return {key: value for key, value in document.items() if value is not None}


def space(document: Mapping[str, Any]) -> Space:
    return space_from(parse_document(yaml.safe_dump(dict(document), sort_keys=False)), "two")


def run(given: Space, folder: Path, **settings: Any) -> StudyRecord:
    """The record of a finished study."""
    chosen: dict[str, Any] = {"sampler": "exhaustive", "trials": 1000, "seed": 0} | settings
    optimize(given, Settings(**chosen), folder, resume=False)
    return load_record(folder)


def backwards(design: Design) -> Result:
    """An engine whose times are the shorter the longer those of the simulator are, and far below all bounds."""
    result = simulate(design, "fast")
    return replace(result, iteration_time_s=1e-15 / result.iteration_time_s)


def reported(document: Mapping[str, Any], place: Path) -> StudyRecord:
    """The record of a finished study, its reports beside it."""
    record = run(space(document), place)
    write_reports(record, place)
    return record


def hardware_of(design: Mapping[str, Any]) -> str:
    """A cluster's identity, read from the design document alone."""
    cluster = {key: value for key, value in design["cluster"].items() if key != "placement"}
    return repr((cluster, design["cost"]))


def brute_force(document: Mapping[str, Any], engine: str = "auto") -> dict[str, list[Outcome]]:
    """Cluster -> the best outcome of each workload, by simulating every combination of everything."""
    best: dict[str, list[Outcome]] = {}
    for entry in document["workloads"]:
        shared = {key: document[key] for key in ("cluster", "system", "cost", "objectives", "constraints")}
        own = {key: value for key, value in entry.items() if key not in ("name", "weight")}
        plain = space({**shared, **own})
        evaluator = Evaluator(plain.objectives, plain.constraints, engine)
        by_cluster: dict[str, list[Outcome]] = {}
        for filled in plain.enumerate():
            outcome = evaluator(filled.document)
            by_cluster.setdefault(hardware_of(outcome.design), []).append(outcome)
        for cluster, outcomes in by_cluster.items():
            feasible = [outcome for outcome in outcomes if outcome.state == "feasible"]
            first = plain.objectives[0]
            chosen = min(feasible, key=lambda o: first.sign * o.values[first.name]) if feasible else outcomes[0]
            best.setdefault(cluster, []).append(chosen)
    return best


def dominated(point: tuple[float, ...], points: list[tuple[float, ...]]) -> bool:
    """Whether another point is nowhere worse and somewhere better."""
    pairs = itertools.product([point], points)
    return any(q != p and all(b <= a for a, b in zip(p, q, strict=True)) for p, q in pairs)
