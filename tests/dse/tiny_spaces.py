"""Small spaces, a cheap engine, and studies over them, for the tests of search."""

from __future__ import annotations

import contextlib
import copy
import signal
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from dse.evaluate.evaluate import Evaluator, Outcome
from dse.execute import make_executor
from dse.search import make_sampler
from dse.space.space import Space, space_from
from dse.study.journal import Journal
from dse.study.one_driver import OneDriver
from dse.study.stop import Limits
from dse.study.study import Study
from simcore.cost.price import cluster_cost
from simcore.design.design import Design
from simcore.document.text import parse_document
from simcore.result import ExposedCommunication, Memory, Result
from simcore.simulate import simulate

TINY = """\
workload:
  model: {name: tiny, hidden: 256, layers: 8, heads: 8, vocabulary: 1000, sequence_length: 128}
  global_batch: 16
  precision: fp16
parallelism:
  degrees: {product: 8, of: [tensor, pipeline, data]}
  zero: {choice: [0, 1]}
  recompute: none
cluster:
  npu:
    choice:
      - a100-80gb
      - v100-32gb
      - h100-80gb
  dimensions:
    - {topology: switch, size: 4, bandwidth: {choice: [100 GB/s, 200 GB/s]}, latency: 700 ns, tier: node}
    - topology: switch
      size: 2
      bandwidth: 25 GB/s
      latency: 1.7 us
      tier: pod
system:
  collective: [ring, ring]
  chunks: 4
cost: libra
objectives:
  minimize: [iteration_time, cost.total]
constraints: [fits]
study: {sampler: auto, trials: 40, seed: 0, batch: 8}
"""
"""120 combinations, each simulated in a millisecond; one key a line, so that a problem's line says which."""


def tiny(**changes: Any) -> dict[str, Any]:
    """The document of `TINY` with top-level keys replaced; a key set to None is left out."""
    document: dict[str, Any] = yaml.safe_load(TINY)
    document |= copy.deepcopy(changes)
    return {key: value for key, value in document.items() if value is not None}


def space(document: Mapping[str, Any] | None = None, **changes: Any) -> Space:
    return space_from(parse_document(yaml.safe_dump(document or tiny(**changes), sort_keys=False)), "tiny")


def cheap(design: Design) -> Result:
    """An engine in closed form: more degrees of tensor and pipeline are slower, more bandwidth is faster."""
    p = design.parallelism
    inner = design.cluster.dimensions[0].bandwidth
    peak = max(design.cluster.npu.peak.values())
    seconds = 1e12 / peak + (p.tensor - 1) * 1e11 / inner + (p.pipeline - 1) * 0.3 + 0.01 * p.zero
    cost = cluster_cost(design)
    return Result(
        iteration_time_s=seconds,
        throughput_tokens_per_s=1.0 / seconds,
        mfu=0.5,
        compute_s=seconds,
        exposed_communication_s=ExposedCommunication(),
        bubble_s=0.0,
        optimizer_s=0.0,
        other_s=0.0,
        memory_bytes=Memory(1.0, 1.0, 1.0, 1.0, 4.0),
        memory_capacity_bytes=design.cluster.npu.memory.capacity,
        fits=True,
        network=(),
        network_utilization=0.5,
        cost=cost,
        power_w=1.0,
        energy_j=seconds,
        perf_per_cost=1.0 / seconds / cost.total,
        engine="cheap",
        npus=design.cluster.npus,
    )


def broken_for_tensor_2(design: Design) -> Result:
    if design.parallelism.tensor == 2:
        raise RuntimeError("the engine has no answer for tensor 2")
    return cheap(design)


def always_broken(design: Design) -> Result:
    raise ZeroDivisionError("no answer for anything")


def simulated_with_a_pipeline(design: Design, engine: str = "fast") -> Result:
    """In place of `dse.evaluate.evaluate.simulate`: fails without a pipeline."""
    if design.parallelism.pipeline == 1:
        raise RuntimeError("no answer without a pipeline")
    return simulate(design, engine)


def slow_result(design: Design) -> Result:
    """Breaks `bubble <= 0.1` where there is a pipeline."""
    return replace(cheap(design), bubble_s=0.5 * (design.parallelism.pipeline - 1))


def search(
    given: Space,
    folder: Path,
    sampler: str,
    trials: int,
    seed: int = 0,
    engine: Callable[[Design], Result] | str = cheap,
    jobs: int = 1,
    known: Mapping[str, Outcome] | None = None,
) -> tuple[str, list[Outcome]]:
    """Why a study over `given` ended, and its outcomes in order."""
    folder.mkdir(parents=True, exist_ok=True)
    executor = make_executor(Evaluator(given.objectives, given.constraints, engine), jobs)
    outcomes: list[Outcome] = []
    journal = Journal(folder, given.name, given.objectives)
    ledger = OneDriver(journal, known)
    study = Study(
        given, make_sampler(sampler, given, seed), ledger, lambda number, params, outcome: outcomes.append(outcome)
    )
    try:
        return study.run(Limits(trials), executor), outcomes
    finally:
        executor.close()
        journal.close()


class _TooLongError(BaseException):
    pass


@contextlib.contextmanager
def at_most(seconds: int) -> Iterator[None]:
    """Fails a test that would otherwise hang the suite; far above what the code needs."""

    def stop(number: int, frame: object) -> None:
        raise _TooLongError

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    late = False
    try:
        yield
    except _TooLongError:
        late = True
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
    if late:
        pytest.fail(f"not done after {seconds} s", pytrace=False)
