"""Synthetic studies for the tests of reports: every state of a trial, any number of objectives, hostile names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dse.evaluate.record import StudyRecord, TrialRecord
from dse.space.objective import Objective
from simcore.metrics import METRICS, metrics
from simcore.result import Cost, DimensionUse, ExposedCommunication, Memory, Result

HOSTILE = "</script><script>alert(1)</script> \"a\", 'b' & $x$ <img src=http://evil.example/x>\n\x1b[31m=1+1"
NAMES = ("iteration_time", "cost.total", "energy", "throughput")


def objective(name: str) -> Objective:
    metric = METRICS[name]
    return Objective(name, metric.direction, metric.unit)


def design(tensor: int = 8, outer: int = 25, zero: int = 0, **system: Any) -> dict[str, Any]:
    return {
        "workload": {
            "model": "transformer-1t",
            "global_batch": 1024,
            "sequence_length": 2048,
            "precision": "fp16",
            "gradient_precision": "fp16",
        },
        "parallelism": {
            "tensor": tensor,
            "pipeline": 16,
            "data": 64 // tensor,
            "context": 1,
            "expert": 1,
            "zero": zero,
            "microbatch": 1,
            "schedule": "1f1b",
            "interleave": 1,
            "recompute": "none",
            "sequence_parallel": False,
            "bucket": "25 MB",
        },
        "cluster": {
            "npu": "a100-80gb",
            "dimensions": [
                _dimension("switch", 8, "300 GB/s", "700 ns", "node"),
                _dimension("switch", 128, f"{outer} GB/s", "1.7 us", "pod"),
            ],
            "placement": ["tensor", "context", "data", "pipeline"],
        },
        "system": {
            "collective": ["halving_doubling", "halving_doubling"],
            "chunks": 64,
            "intra_dimension": "fifo",
            "inter_dimension": "baseline",
            "active_chunks": "overlap",
        }
        | system,
        "cost": "libra",
    }


def _dimension(topology: str, size: int, bandwidth: str, latency: str, tier: str) -> dict[str, Any]:
    return {
        "topology": topology,
        "size": size,
        "bandwidth": bandwidth,
        "latency": latency,
        "tier": tier,
        "oversubscription": 1.0,
        "in_network": False,
        "efficiency": 1.0,
    }


def outcome(time: float, cost: float, peak: float = 61.2 * 2**30) -> Result:
    network = cost * 0.3
    return Result(
        iteration_time_s=time,
        throughput_tokens_per_s=1024 * 2048 / time,
        mfu=0.42,
        compute_s=0.6 * time,
        exposed_communication_s=ExposedCommunication(tensor=0.15 * time, data=0.08 * time, pipeline=0.01 * time),
        bubble_s=0.12 * time,
        optimizer_s=0.03 * time,
        other_s=0.01 * time,
        memory_bytes=Memory(0.2 * peak, 0.2 * peak, 0.4 * peak, 0.2 * peak, peak, peak),
        memory_capacity_bytes=80 * 2**30,
        fits=peak <= 80 * 2**30,
        network=(
            DimensionUse("1 switch 8", 4e11, 0.5 * time, 0.46),
            DimensionUse("2 switch 128", 3e10, 0.3 * time, 0.21),
        ),
        network_utilization=0.33,
        cost=Cost(network, cost - network, 0.0, cost),
        power_w=4.1e5,
        energy_j=4.1e5 * time,
        perf_per_cost=1024 * 2048 / time / cost,
        engine="fast",
        npus=1024,
    )


def collective_outcome(time: float, cost: float) -> Result:
    """A single collective: what does not apply is None."""
    return Result(
        iteration_time_s=time,
        throughput_tokens_per_s=None,
        mfu=None,
        compute_s=0.0,
        exposed_communication_s=ExposedCommunication(data=time),
        bubble_s=0.0,
        optimizer_s=0.0,
        other_s=0.0,
        memory_bytes=None,
        memory_capacity_bytes=80 * 2**30,
        fits=True,
        network=(DimensionUse("1 ring 4", 4e8, time, 0.9),),
        network_utilization=0.9,
        cost=Cost(cost, 0.0, 0.0, cost),
        power_w=1e3,
        energy_j=1e3 * time,
        perf_per_cost=None,
        engine="fast",
        npus=4,
    )


def simulated(
    number: int,
    time: float,
    cost: float,
    names: tuple[str, ...] = NAMES[:2],
    violations: Mapping[str, float] | None = None,
    document: Mapping[str, Any] | None = None,
    params: Mapping[str, Any] | None = None,
) -> TrialRecord:
    missed = {"fits": -0.2, "cost.total <= 40e6": (cost - 40e6) / 40e6} if violations is None else violations
    result = outcome(time, cost)
    values = {name: metrics(result)[name] for name in names}
    return TrialRecord(
        number=number,
        state="infeasible" if any(value > 0 for value in missed.values()) else "feasible",
        values={name: value for name, value in values.items() if value is not None},
        params={"parallelism.tensor": 8, "system.chunks": 64} if params is None else params,
        violations=missed,
        design=design() if document is None else document,
        metrics=result.document(),
    )


def cut(number: int, time: float, cost: float, names: tuple[str, ...] = NAMES[:2], rule: str = "memory") -> TrialRecord:
    bounds = {"iteration_time": time, "cost.total": cost, "energy": 4.1e5 * time, "throughput": 1024 * 2048 / time}
    return TrialRecord(
        number=number,
        state="cut",
        values={name: bounds[name] for name in names},
        params={"parallelism.tensor": 1, "parallelism.zero": 3},
        violations={"fits": 0.8},
        design=design(tensor=1, zero=3),
        cut_by=rule,
    )


def failed(number: int, error: str = "ZeroDivisionError: division by zero") -> TrialRecord:
    return TrialRecord(number, "failed", {}, {"parallelism.tensor": 64}, {}, error=error)


def record(trials: list[TrialRecord], names: tuple[str, ...] = NAMES[:2], **changes: Any) -> StudyRecord:
    given: dict[str, Any] = {
        "space": "transformer1t",
        "objectives": tuple(objective(name) for name in names),
        "trials": tuple(trials),
        "bounds": {names[0]: 2.9, **dict.fromkeys(names[1:])},
        "sampler": "nsga2",
        "seed": 7,
        "prices": {
            "network": "LIBRA (Won et al., ISPASS 2024), table 4",
            "npu.a100-80gb": "assumed",
            "memory": "assumed",
        },
    }
    return StudyRecord(**{**given, **changes})


def mixed(count: int = 120, names: tuple[str, ...] = NAMES[:2], seed: int = 3, **changes: Any) -> StudyRecord:
    """A study with a front of a dozen designs or so, and trials of every state."""
    draw = np.random.default_rng(seed)
    trials: list[TrialRecord] = []
    for number in range(count):
        tensor, outer = int(draw.choice([2, 4, 8, 16])), int(draw.choice([25, 50, 100, 200]))
        zero, chunks = int(draw.integers(0, 4)), int(draw.choice([16, 64]))
        cost = 14e6 + 9e4 * outer * float(draw.uniform(0.9, 1.1)) + 5e5 * zero
        time = 3.2 + 60.0 / outer * (16 / tensor) ** 0.3 * float(draw.uniform(0.8, 2.0)) + 0.02 * chunks
        kind = draw.uniform()
        params = {"parallelism.tensor": tensor, "cluster.bandwidth": outer, "parallelism.zero": zero}
        params |= {"system.chunks": chunks, "system.inter_dimension": "themis" if number % 2 else "baseline"}
        document = design(tensor, outer, zero, chunks=chunks, inter_dimension="themis" if number % 2 else "baseline")
        if kind < 0.12:
            trials.append(cut(number, 0.4 * time, cost * 1.1, names, rule="memory" if kind < 0.08 else "batch"))
        elif kind < 0.14:
            trials.append(failed(number))
        elif kind < 0.3:
            missed = {"fits": -0.2, "cost.total <= 40e6": float(draw.uniform(0.05, 0.6))}
            trials.append(simulated(number, time * 0.8, cost * 2.2, names, missed, document, params))
        else:
            trials.append(simulated(number, time, cost, names, None, document, params))
    return record(trials, names, **changes)


def infeasible_only() -> StudyRecord:
    document = design(tensor=4)
    over = {"fits": 0.25, "cost.total <= 40e6": 0.5}
    trials = [cut(0, 3.0, 2e7), simulated(1, 5.0, 4.4e7, violations=over)]
    near = {"fits": -0.1, "cost.total <= 40e6": 0.03}
    return record([*trials, simulated(2, 5.0, 4.12e7, violations=near, document=document), cut(3, 2.0, 3e7), failed(4)])


def hostile() -> StudyRecord:
    """Names from a stranger in every place that takes one."""
    document = design()
    document["workload"] = {**document["workload"], "model": HOSTILE, HOSTILE: HOSTILE}
    other = design(tensor=4)
    params = {HOSTILE: HOSTILE, "number": 3, "a,b": [1, 2], "c": {"x": HOSTILE}}
    names = ("iteration_time", "cost.total")
    trials = [
        simulated(0, 5.0, 2e7, violations={HOSTILE: -1.0}, document=document, params=params),
        simulated(1, 4.0, 3e7, violations={HOSTILE: -1.0}, document=other, params={HOSTILE: "other"}),
        simulated(2, 4.4, 2.2e7, violations={HOSTILE: -1.0}, document=document, params=params),
        simulated(3, 3.0, 3e7, violations={HOSTILE: 1.0}, document=document, params=params),
        TrialRecord(4, "cut", {}, {}, {HOSTILE: 2.0}, cut_by=HOSTILE),
        TrialRecord(5, "failed", {}, {}, {}, error=HOSTILE),
    ]
    return record(trials, names, space=HOSTILE, sampler=HOSTILE, prices={HOSTILE: HOSTILE})
