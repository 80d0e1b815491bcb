"""What the simulator answers for one design: time and where it went, memory, dollars, watts.

`simcore.metrics` has the names by which objectives, constraints and columns speak of a result.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from simcore.network.traffic import Traffic
from simcore.result.job import JobResult


@dataclass(frozen=True, slots=True)
class ExposedCommunication:
    """Time an NPU waits for communication, by parallel group [s]."""

    tensor: float = 0.0
    data: float = 0.0
    pipeline: float = 0.0
    expert: float = 0.0
    context: float = 0.0
    ungrouped: float = 0.0
    """Communication of a trace, whose groups do not say what they are for."""

    @property
    def total(self) -> float:
        """All groups [s]."""
        return self.tensor + self.data + self.pipeline + self.expert + self.context + self.ungrouped


@dataclass(frozen=True, slots=True)
class Memory:
    """Memory of the fullest pipeline stage, per NPU [B].

    `peak` is what is allocated at most, their sum with working space; `reserved` what must be free for it.
    """

    weights: float
    gradients: float
    optimizer: float
    activations: float
    peak: float
    reserved: float = 0.0
    kv_cache: float | None = None
    """Keys and values of the requests, where a model is served."""
    expanded: float | None = None
    """What of `reserved` lies in the expanded memory, where there is one."""
    own: float | None = None
    """What the NPU's own memory can hold, where there is an expanded one beside it."""


@dataclass(frozen=True, slots=True)
class Staleness:
    """How old the weights are that gradients are computed with: what a time of iterations does not show."""

    updates: int
    """Most updates between the weights that a gradient was computed with and those that it is applied to."""
    batch: int
    """Sequences (or samples) whose gradients one update has."""
    versions: int
    """Versions of its weights that the NPU keeps that keeps most."""


@dataclass(frozen=True, slots=True)
class Crossing:
    """What passes between the workers of a pruned network in an iteration, of one replica [B]."""

    given: float
    """With the neurons in the order in which they are."""
    assigned: float
    """As the design assigns them."""


@dataclass(frozen=True, slots=True)
class DimensionUse:
    """Use of one network dimension by an NPU of the stage that finishes last, over the iteration.

    `busy_s` is the time its queue serves a phase; `utilization` is bytes sent / (bandwidth x iteration time).
    """

    dimension: str
    bytes_per_npu: float
    busy_s: float
    utilization: float


@dataclass(frozen=True, slots=True)
class Cost:
    """Price of the cluster [$]."""

    network: float
    npu: float
    memory: float
    total: float
    storage: float = 0.0
    other: float = 0.0
    """Racks, power distribution and management."""

    @property
    def capital(self) -> float:
        """What is bought: the total without electricity."""
        return self.network + self.npu + self.memory + self.storage + self.other


@dataclass(frozen=True, slots=True)
class Activity:
    """Time of an NPU in an iteration by what it draws power for [s]."""

    tensor: float = 0.0
    """In operators that arithmetic bounds: matrix products, fused attention."""
    memory: float = 0.0
    """In operators that the memory's bandwidth bounds, the optimizer among them."""
    wait: float = 0.0
    """Waiting for collectives."""
    idle: float = 0.0
    """In a bubble."""

    @property
    def seconds(self) -> float:
        """All of it [s]."""
        return self.tensor + self.memory + self.wait + self.idle


@dataclass(frozen=True, slots=True)
class Draw:
    """What a cluster draws [W]; cooling and losses of the building (PUE) are in all but `rack`."""

    mean: float
    """While the job runs."""
    peak: float
    """Every part at its maximum, NPUs at their cap."""
    rack: float
    """A rack full of nodes at its maximum."""
    npus: float
    """Mean power of the NPUs."""
    rest: float
    """Mean power of all else: hosts, NICs, switches, optics, storage."""
    activity: Activity
    """What an NPU does on average."""


@dataclass(frozen=True, slots=True)
class Result:
    """One simulated design. `None` marks what does not apply (memory of a single collective, say).

    Of several `jobs` the iteration is that of the slowest one; throughput and MFU are of the whole cluster, the memory
    is that of the fullest NPU.

    The breakdown (`compute_s`, `exposed_communication_s`, `bubble_s`, `optimizer_s`, `other_s`) is that of an NPU of
    the pipeline stage that finishes last, and sums to `iteration_time_s`.
    """

    iteration_time_s: float
    throughput_tokens_per_s: float | None
    mfu: float | None
    compute_s: float
    exposed_communication_s: ExposedCommunication
    bubble_s: float
    optimizer_s: float
    other_s: float
    memory_bytes: Memory | None
    memory_capacity_bytes: float
    fits: bool | None
    """Whether memory holds it; None of a trace, which does not say what it needs."""
    network: tuple[DimensionUse, ...]
    network_utilization: float
    cost: Cost
    power_w: float
    energy_j: float
    perf_per_cost: float | None
    engine: str
    """The engine that ran."""
    npus: int
    racks: int = 1
    electricity_cost: float = 0.0
    """Over the lifetime [$]; in `cost.total` where the price list has `electricity_in_total`."""
    yearly_cost: float | None = None
    """Electricity, building, support and staff [$ a year] (`simcore.cost.ownership`)."""
    ownership_cost: float | None = None
    """Total cost of ownership over the lifetime [$] (`simcore.cost.ownership`)."""
    energy_per_token_j: float | None = None
    cost_per_token: float | None = None
    """Total cost of ownership over the tokens, electricity by this design's energy [$ per token]."""
    goodput: float | None = None
    """Share of the time in which work is done that lasts; None where nothing is trained."""
    mtbf_s: float | None = None
    """Mean time between failures that stop a job on all NPUs; None where nothing fails."""
    checkpoint_interval_s: float | None = None
    """Work between two checkpoints; None where nothing is saved."""
    time_to_train_s: float | None = None
    """Time for the tokens that the workload needs at its batch, with what failures take; None where none are given."""
    cost_to_train: float | None = None
    """[$]."""
    tokens_to_train: float | None = None
    """Tokens that the workload needs at its batch; None where `training_tokens` are not given."""
    tokens_to_train_interval: tuple[float, float] | None = None
    """Between which they lie, where they depend on the batch (`workload.critical_batch`)."""
    iteration_time_interval_s: tuple[float, float] | None = None
    """Where nine of ten measured iterations lay that the NPU's curve was asked about unseen; None without such."""
    time_to_first_token_s: float | None = None
    """Until a request has its first token, of a static batch every one, where a model is served."""
    time_per_output_token_s: float | None = None
    """Mean time between two tokens of a request after its first."""
    throughput_counts: str = "tokens"
    """What `throughput_tokens_per_s` counts: tokens, or samples where a model has no tokens."""
    power: Draw | None = None
    """What is behind `power_w`, which is its mean; None of an engine of another package that does not say."""
    provenance: Mapping[str, str] = field(default_factory=dict)
    """Where the numbers behind each part of the prediction come from (`simcore.provenance`)."""
    not_modelled: tuple[str, ...] = ()
    """What the design does that is known to cost tokens or loss, and is not counted (`simcore.workload.penalties`)."""
    fallbacks: tuple[str, ...] = ()
    """Which groups go by an algorithm because no tree is left in switches that reduce (`simcore.system.trees`)."""
    orderable: bool | None = None
    """Whether the cluster can be bought (`simcore.cost.orderable`); None where that was not checked."""
    order_notes: tuple[str, ...] = ()
    """What of it nobody sells, or why that was not checked."""
    library_notes: tuple[str, ...] = ()
    """What of it libraries of collectives do not have (`simcore.design.lacked`)."""
    staleness: Staleness | None = None
    """How old the weights are that gradients are computed with; None where all are those of the update before."""
    crossing: Crossing | None = None
    """What passes between the workers of a pruned network; None of other workloads."""
    traffic: Traffic | None = None
    """What packets went through, where engine `packets` played them."""
    jobs: tuple[JobResult, ...] = ()
    """Each of the jobs, on a cluster that runs several."""
    engine_reason: str | None = None
    """Why it was that engine, where `auto` chose it."""
    stage: int | None = None
    """The pipeline stage that finishes last, whose NPU the breakdown tells of; None where there are no stages."""
    solved: Mapping[str, Any] = field(default_factory=dict)
    """Keys of `parallelism` with the numbers that were solved for the design, as its document would give them."""
    metrics: Mapping[str, float | None] = field(default_factory=dict)
    """Metrics of installed packages, by name (see `simcore.metrics`)."""

    def document(self) -> dict[str, Any]:
        """The JSON form of the contract; what only some workloads and memories have is left out where they lack it."""
        document = asdict(self)
        for key in ("network", "not_modelled"):
            document[key] = list(document[key])
        if self.jobs:
            told = zip(document["jobs"], self.jobs, strict=True)
            document["jobs"] = [{**each, "nodes": list(job.nodes), "slowdown": job.slowdown} for each, job in told]
        else:
            del document["jobs"]
        for key in ("metrics", "order_notes", "library_notes", "fallbacks", "solved"):
            if not document[key]:
                del document[key]
        if not document["exposed_communication_s"]["ungrouped"]:
            del document["exposed_communication_s"]["ungrouped"]
        for holder in (document, document["memory_bytes"] or {}):
            for key in _OF_SOME.intersection(holder):
                if holder[key] is None:
                    del holder[key]
        return document

    def _repr_html_(self) -> str:
        """For notebooks: where the time goes, as a table."""
        parts = {
            "compute": self.compute_s,
            **{f"exposed {group}": seconds for group, seconds in asdict(self.exposed_communication_s).items()},
            "bubble": self.bubble_s,
            "optimizer": self.optimizer_s,
            "other": self.other_s,
        }
        rows = {name: seconds for name, seconds in parts.items() if seconds} | {"iteration": self.iteration_time_s}
        cells = "".join(
            f"<tr><td>{name}</td><td>{seconds:.6g} s</td><td>{seconds / self.iteration_time_s:.1%}</td></tr>"
            for name, seconds in rows.items()
        )
        return f"<table>{cells}</table>"


_OF_SOME = {
    "staleness",
    "crossing",
    "traffic",
    "engine_reason",
    "stage",
    "kv_cache",
    "expanded",
    "own",
    "tokens_to_train",
    "tokens_to_train_interval",
    "time_to_first_token_s",
    "time_per_output_token_s",
}
