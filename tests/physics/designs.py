"""Designs to test with: plain builders of documents, and Hypothesis strategies that draw valid designs only.

A drawn design is small (at most 256 NPUs, 16 layers, 8 chunks), so that thousands are simulated in seconds, but uses
every topology, algorithm, policy, degree, ZeRO stage, schedule and recomputation that the design document knows.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as st

from simcore.check.check import check
from simcore.check.load import design_from, parse_design
from simcore.design.design import Design
from simcore.design.dimension import Graph
from simcore.design.library import Library
from simcore.engine.flow.links import find_sharing
from simcore.metrics import METRICS
from simcore.schedule import SCHEDULES
from simcore.system.interference import slowdowns
from simcore.system.placement import place
from simcore.workload.transformer.document import TransformerWorkload

Document = dict[str, Any]

UNFUSED = {"flash_attention": False, "cross_entropy_fusion": False}
"""Attention product by product and the loss on fp32 logits, as the published closed forms have them."""

ALGORITHMS = ("ring", "direct", "halving_doubling", "double_binary_tree")
BY_SIZE = {"1 KB": 0.1, "64 KB": 0.5, "4 MB": 0.9}
LIBRARY = {
    "rings": True,
    "all_reduce": {"launch": "5 us", "memory": "400 GB/s", "piece": "3 us"},
    "all_to_all": {"launch": "7 us"},
}
_OF_SWITCHES = (
    {},
    {},
    {"in_network": True},
    {"in_network": True, "trees": 2},
    {"oversubscription": 2.0},
    {"efficiency": 0.7},
    {"efficiency": BY_SIZE},
    {"library": LIBRARY},
)
POLICIES = ["fifo", "lifo", "scf", "priority", "preemptive"]
COLLECTIVES = ("all_reduce", "reduce_scatter", "all_gather", "all_to_all")


# Builders


def dimension(
    topology: str = "switch",
    size: int = 8,
    bandwidth: str = "100 GB/s",
    latency: str = "1 us",
    **more: Any,
) -> Document:
    """One network dimension of a document."""
    return {"topology": topology, "size": size, "bandwidth": bandwidth, "latency": latency, **more}


def npu(**more: Any) -> Document:
    """An NPU in round numbers: 100 TFLOP/s at any size of product, 1 TB/s, no overhead in time or memory."""
    return {
        "name": "round",
        "peak": {"fp16": "100 TFLOP/s"},
        "memory": {"capacity": "80 GB", "bandwidth": "1 TB/s", "efficiency": 1.0},
        "gemm": {"limit": 1.0, "half": "0 FLOP"},
        "overhead": "0 s",
        "power": {"max": "400 W", "idle": "100 W"},
        "price": "1000 $",
        **more,
    }


def software(**more: Any) -> Document:
    """A stack that costs nothing, in time or memory, and overlaps all it can; gradients of 16 bits."""
    return {
        "launch": {"eager": "0 s", "compiled": "0 s", "graph": "0 s"},
        "gradient_precision": "fp16",
        "memory": {"slack": 1.0, "context": "0 B", "communicator": "0 B"},
        **more,
    }


def model(**more: Any) -> Document:
    """A small transformer."""
    return {"hidden": 512, "layers": 8, "heads": 8, "vocabulary": 1024, "sequence_length": 128, **more}


def collective(kind: str, size: str, dimensions: list[Document], **system: Any) -> Design:
    """A design of one collective over all NPUs."""
    return design_from(
        {
            "workload": {"collective": kind, "size": size},
            "cluster": {"npu": npu(), "dimensions": dimensions},
            "system": system,
            "software": software(),
        }
    )


def training(
    parallelism: Mapping[str, Any],
    dimensions: list[Document],
    *,
    workload: Mapping[str, Any] | None = None,
    system: Mapping[str, Any] | None = None,
    accelerator: Any = None,
    stack: Any = None,
    cost: Any = "libra",
) -> Document:
    """A document of a training iteration: 64 sequences of the small transformer unless `workload` says otherwise."""
    return {
        "workload": {"model": model(), "global_batch": 64, **(workload or {})},
        "parallelism": dict(parallelism),
        "cluster": {"npu": npu() if accelerator is None else accelerator, "dimensions": dimensions},
        "system": dict(system or {}),
        "software": software() if stack is None else stack,
        "cost": cost,
    }


def _changed_library(library: Library | None, change: Mapping[str, float | None]) -> Library | None:
    """A library whose rates and times follow those of its dimension."""
    rate, time = change.get("bandwidth") or 1.0, change.get("latency")
    scaled = {}
    for kind in COLLECTIVES:
        kernel = getattr(library, kind, None)
        if kernel is not None:
            memory = None if kernel.memory is None else kernel.memory * rate
            times = {name: getattr(kernel, name) * (1.0 if time is None else time) for name in ("launch", "piece")}
            scaled[kind] = kernel.model_copy(update={"memory": memory, **times})
    return None if library is None else library.model_copy(update=scaled)


def _changed_graph(graph: Graph, change: Mapping[str, float | None]) -> Graph:
    """The graph with the bandwidths of its links multiplied; they have none but the dimension's latency."""
    faster = change.get("bandwidth") or 1.0
    links = [link.model_copy(update={"bandwidth": link.bandwidth * faster}) for link in graph.links]
    return graph.model_copy(update={"links": tuple(links)})


def changed(design: Design, change: Mapping[str, float | None], *, at: int | None = None) -> Design:
    """The design with numbers multiplied: of dimensions (`bandwidth`, `latency`) and of the NPU (`peak`, `memory`).

    `at` restricts the change of dimensions to one of them.
    """
    cluster = design.cluster
    dimensions = tuple(
        d
        if at is not None and at != index
        else d.model_copy(
            update={
                "bandwidth": d.bandwidth * (change.get("bandwidth") or 1.0),
                "latency": d.latency * (1.0 if change.get("latency") is None else change["latency"] or 0.0),
                "library": _changed_library(design.library_of(d), change),
                "graph": d.graph and _changed_graph(d.graph, change),
            }
        )
        for index, d in enumerate(cluster.dimensions)
    )
    old = cluster.npu
    new = old.model_copy(
        update={
            "peak": {precision: rate * (change.get("peak") or 1.0) for precision, rate in old.peak.items()},
            "memory": old.memory.model_copy(
                update={"bandwidth": old.memory.bandwidth * (change.get("memory") or 1.0)},
            ),
            "overhead": old.overhead * (1.0 if change.get("overhead") is None else change["overhead"] or 0.0),
        }
    )
    return design.model_copy(update={"cluster": cluster.model_copy(update={"dimensions": dimensions, "npu": new})})


# Strategies

_BANDWIDTHS = st.integers(1, 400).map(lambda n: f"{n} GB/s")
_LATENCIES = st.sampled_from(["0 s", "20 ns", "700 ns", "1.7 us", "10 us"])
_TIERS = {"ring": "chiplet", "mesh": "chiplet", "fully_connected": "package", "switch": "node", "fat_tree": "pod"}
_ROUTINGS = ["adaptive", "ecmp", "shortest"]
_SLOWER = st.sampled_from([0.0, 0.001, 0.1, 0.333])


def _star_of_links(size: int) -> Document:
    """Two switches of which one has NPU 0 alone."""
    ends = [[npu, "a" if npu == 0 else "b"] for npu in range(size)] + [["a", "b"]]
    return {"switches": ["a", "b"], "links": [{"between": pair, "bandwidth": "60 GB/s"} for pair in ends]}


@st.composite
def networks(draw: st.DrawFn, sizes: list[int], *, plain: bool = False) -> tuple[list[Document], list[str]]:
    """Dimensions of the given sizes, and an algorithm that each of them allows; chunks take `plain` ones in order."""
    dimensions, algorithms = [], []
    for size in sizes:
        topology = draw(st.sampled_from([*_TIERS, "clos", "graph", *(["hypercube"] if size & (size - 1) == 0 else [])]))
        allowed = [a for a in ALGORITHMS if a != "halving_doubling" or size & (size - 1) == 0]
        algorithms.append(draw(st.sampled_from(allowed)))
        one = dimension(topology, size, draw(_BANDWIDTHS), draw(_LATENCIES), tier=_TIERS.get(topology, "node"))
        if topology == "switch":
            one |= draw(st.sampled_from(_OF_SWITCHES))
        if topology == "clos":
            one["routing"] = draw(st.sampled_from(_ROUTINGS))
        if topology == "graph":
            one |= {"bandwidth": "100 GB/s", "graph": _star_of_links(size)}
        if topology in ("fat_tree", "clos"):
            one["leaf"] = draw(st.sampled_from([f for f in range(1, size + 1) if size % f == 0]))
            one["oversubscription"] = draw(st.sampled_from([1.0, 2.0]))
            one["in_network"] = draw(st.booleans())
        one["at_once"] = not plain and draw(st.booleans())
        dimensions.append(one)
    return dimensions, algorithms


@st.composite
def systems(draw: st.DrawFn, algorithms: list[str], *, plain: bool = False) -> Document:
    """A `system` section; `plain` keeps to baseline and fifo."""
    return {
        "collective": algorithms,
        "chunks": draw(st.sampled_from([1, 2, 3, 8])),
        "intra_dimension": "fifo"
        if plain
        else draw(st.sampled_from(["fifo", "lifo", "scf", "priority", "preemptive"])),
        "inter_dimension": "baseline" if plain else draw(st.sampled_from(["baseline", "themis"])),
        "active_chunks": draw(st.sampled_from(["overlap", "overlap", 1, 2])),
        "reduction": draw(st.sampled_from(["tree", "tree", "scatter"])),
    }


@st.composite
def collectives(draw: st.DrawFn, *, plain: bool = False, kinds: tuple[str, ...] = COLLECTIVES) -> Design:
    """Designs of one collective on one to four dimensions."""
    sizes = draw(st.lists(st.sampled_from([2, 3, 4, 5, 8]), min_size=1, max_size=4))
    dimensions, algorithms = draw(networks(sizes, plain=plain))
    return design_from(
        {
            "workload": {
                "collective": draw(st.sampled_from(kinds)),
                "size": draw(st.sampled_from(["64 KiB", "1 MiB", "37 MB", "1 GiB"])),
            },
            "cluster": {"npu": npu(), "dimensions": dimensions},
            "system": draw(systems(algorithms, plain=plain)),
        }
    )


SCHEDULES_OF = {
    1: ["1f1b", "gpipe", "zero_bubble"],
    2: ["1f1b", "1f1b", "gpipe", "zbv", "v-half", "v-min", "dualpipe-v"],
}
"""By the chunks of a stage."""


def sharding(draw: st.DrawFn, zero: int, pipeline: int, copies: int, expert: int) -> Document:
    """ZeRO's stage with what it leaves to choose."""
    found: Document = {"zero": 1 if zero == 2 and pipeline > 1 else zero}
    if zero >= 2 and pipeline == 1:
        found["accumulate"] = draw(st.sampled_from(["sharded", "sharded", "local"]))
    if zero == 3 and pipeline == 1:
        found["gather"] = draw(st.sampled_from(["twice", "twice", "microbatch", "once"]))
    groups = [n for n in (2, 4, 8) if n < copies and copies % n == 0 == n % expert]
    if zero and groups and draw(st.booleans()):
        found["shard_group"] = draw(st.sampled_from(groups))
    return found


WINDOWS = ({}, {}, {"tokens": 48, "full_every": 2}, {"tokens": 32, "chunked": True}, {"tokens": 80, "full_first": 3})


def parts_of_layers(draw: st.DrawFn, context: int) -> Document:
    """What layers have beside the plain ones: windows (which a ring of contexts lacks), norms, biases, a tied head."""
    window = draw(st.sampled_from(WINDOWS)) if context == 1 else {}
    return {
        **({"window": window} if window else {}),
        "layer_norms": draw(st.sampled_from([2, 2, 1, 4])),
        "qk_norm": draw(st.sampled_from(["none", "none", "head", "width"])),
        "tied": draw(st.sampled_from([None, False, True])),
        "biases": draw(st.sampled_from([[], ["qkv", "router", "experts"], ["mlp", "norms", "head"]])),
    }


@st.composite
def trainings(
    draw: st.DrawFn, *, plain: bool = False, zero: tuple[int, ...] = (0, 1, 2, 3), parts: bool = False
) -> Design:
    """Designs of a training iteration whose degrees are powers of two, so that any placement divides.

    With `parts` layers have what plain ones lack: windows, norms, biases.
    """
    sizes = draw(st.lists(st.sampled_from([2, 4, 8]), min_size=1, max_size=3))
    npus = math.prod(sizes)
    tensor = draw(st.sampled_from([d for d in (1, 2, 4, 8) if npus % d == 0]))
    pipeline = draw(st.sampled_from([d for d in (1, 2, 4, 8) if npus // tensor % d == 0]))
    context = draw(st.sampled_from([d for d in (1, 1, 2, 4) if npus // (tensor * pipeline) % d == 0]))
    data = npus // (tensor * pipeline * context)
    interleave = draw(st.sampled_from([1, 2])) if 1 < pipeline <= 4 else 1
    schedule = draw(st.sampled_from(SCHEDULES_OF[interleave]))
    microbatch = draw(st.sampled_from([1, 2]))
    rounds = draw(st.integers(1, 3))
    microbatches = rounds * pipeline if interleave > 1 else draw(st.integers(1, 8))
    microbatches = max(microbatches, SCHEDULES[schedule].least(pipeline))
    layers = draw(st.sampled_from([8, 16]))
    ends = {}
    if interleave > 1 and draw(st.booleans()):  # the embedding and the loss count as layers
        ends = {"first_stage_layers": layers // pipeline - 1, "last_stage_layers": layers // pipeline - 1}
        layers -= 2
    elif pipeline > 1 and draw(st.integers(0, 3)) == 0:
        each = layers // (pipeline * interleave)
        ends = {"stages": [each - 1, *[each] * (pipeline * interleave - 2), each + 1]}
        ways = draw(st.permutations(["none", "selective", "full"]))
        ends["layers"] = [
            {"layers": f"0, 5-{layers - 1}", "recompute": ways[0]},
            {"layers": "1-4", "recompute": ways[1]},
        ]
    dimensions, algorithms = draw(networks(sizes, plain=plain))
    gated, experts, sequence_parallel = draw(st.booleans()), draw(st.booleans()), draw(st.booleans())
    placement = list(draw(st.permutations(["tensor", "data", "pipeline"])))
    placement.insert(placement.index("data"), "context")
    degrees = [e for e in (1, 2, 4, 8) if data * context % e == 0] if experts else [1]
    expert = draw(st.sampled_from(degrees))
    moe = {
        "experts": 16, "top_k": 2, "feed_forward": 256, "shared_feed_forward": 128, "dense_layers": 1,
        "every": draw(st.sampled_from([1, 1, 2])), "groups": 4, "top_groups": 2,
    }  # fmt: skip
    dispatch = {"dispatch": draw(st.sampled_from(["node", "rank"]))} if experts else {}
    parted = parts_of_layers(draw, context) if parts else {}
    split = context == 1 and parted.get("qk_norm", "none") == "none" and draw(st.sampled_from([False, False, True]))
    heads = draw(st.sampled_from([2, 4])) if split else 16
    return design_from(
        {
            "workload": {
                "model": {
                    **({"mixture_of_experts": moe} if experts else {}),
                    **model(layers=layers, heads=heads),
                    "multi_token_prediction": draw(st.sampled_from([0, 0, 1])),
                    "gated": gated,
                    "bias": not gated,
                    "position": "rotary" if gated else "learned",
                    "kv_heads": heads if split else draw(st.sampled_from([8, 16])),
                    **parted,
                },
                "global_batch": data * microbatch * microbatches,
                "precision": "fp16",
                "gradient_precision": draw(st.sampled_from(["fp16", "fp32"])),
            },
            "parallelism": {
                "tensor": tensor,
                "attention_split": "queries" if split else "heads",
                "pipeline": pipeline,
                "data": data,
                "context": context,
                "expert": expert,
                **dispatch,
                "flash_attention": draw(st.booleans()),
                "context_overlap": draw(st.booleans()),
                "tensor_overlap": sequence_parallel and draw(st.booleans()),
                "data_overlap": draw(st.sampled_from([True, True, False])),
                **sharding(draw, draw(st.sampled_from(zero)), pipeline, data * context, expert),
                "microbatch": microbatch,
                "schedule": schedule,
                "interleave": interleave,
                **ends,
                "recompute": draw(st.sampled_from(["none", "selective", "full"])),
                "sequence_parallel": sequence_parallel,
                "bucket": draw(st.sampled_from(["1 kB", "5 MB", "25 MB"])),
            },
            "cluster": {
                "npu": npu(
                    gemm={"limit": 0.8, "half": "0.1 GFLOP"},
                    overhead=draw(st.sampled_from(["0 s", "1 us", "4 us"])),
                ),
                "dimensions": dimensions,
                "placement": placement,
            },
            "system": draw(systems(algorithms, plain=plain)),
            "software": software(overlap={} if plain else {"node": draw(_SLOWER), "nodes": draw(_SLOWER)}),
            "cost": "libra",
        }
    )


def designs(*, plain: bool = False) -> st.SearchStrategy[Design]:
    """Any valid design: mostly training iterations."""
    return st.one_of(trainings(plain=plain), trainings(plain=plain), collectives(plain=plain))


# What the model promises


def serves_in_order(design: Design) -> bool:
    """Whether a faster machine is promised to be never slower: the order of service does not depend on the speeds.

    Then each time is a maximum of sums of durations. It needs baseline and fifo, and no collectives that compete:

    - A single collective, and one that blocks its stage, is alone. (From three dimensions on, an all-reduce meets its
      own chunks on their way back; thousands of drawn designs have shown no anomaly from that.)
    - Gradients, and the parameters that ZeRO-3 gathers ahead, are under way while the stage goes on. They stay in the
      order of issue where they have one dimension, and every other group on it has that one only; or where they
      only scatter (ZeRO-1 and 2) over dimensions that no other group uses.
    - A collective that is served earlier slows other computation, whose end may start what is waited for; and one that
      begins earlier takes from others where phases share links.
    """
    system = design.system
    if find_sharing(design):
        return False
    if system.inter_dimension != "baseline" or system.intra_dimension != "fifo" or any(slowdowns(design)):
        return False
    if not isinstance(design.workload, TransformerWorkload):
        return True
    placement, _ = place(design)
    taken = {group: {where.dimension for where in slices} for group, slices in placement.items()}
    data = taken["data"] | taken["context"]  # gradients are reduced over both, experts' over some of them
    others = [dimensions for group, dimensions in taken.items() if group not in ("data", "data_context", "expert_data")]
    if design.parallelism.context == design.parallelism.expert == 1:
        others.remove(taken["context"])
    if len(data) <= 1:
        return all(len(other) <= 1 or not other & data for other in others)
    return design.parallelism.zero in (1, 2) and not any(other & data for other in others)


def checked(document: Document) -> list[str]:
    """Every problem of a document, as text; empty where it is valid."""
    design, problems = parse_design(copy.deepcopy(document))
    return [str(problem) for problem in (problems if design is None else check(design))]


ROUNDING = 1e-9  # durations are rounded to picoseconds, energies and rates are sums of floats


def assert_not_beaten(proven: Mapping[str, float | None], found: Mapping[str, float | None]) -> None:
    """No metric of a result is better than its bound."""
    for name, best in proven.items():
        value = found[name]
        if best is None or value is None:
            continue
        if METRICS[name].better == "less":
            assert value >= best * (1 - ROUNDING), name
        else:
            assert value <= best * (1 + ROUNDING), name
