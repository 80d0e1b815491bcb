"""Hypothesis strategies for small valid designs: every topology, algorithm, policy, parallelism and schedule.

Sizes are such that the reference engine takes milliseconds; rates, latencies and sizes are uneven, so that events
meet at the same picosecond both by accident and by design.
"""

from __future__ import annotations

from typing import Any

from hypothesis import assume
from hypothesis import strategies as st

from simcore.check.check import check
from simcore.design.design import Design
from simcore.engine.reference import estimate_events
from simcore.schedule import SCHEDULES, PipelineSchedule

MOST_EVENTS = 20_000
"""Of a drawn design on the reference engine: about a tenth of a second."""

Document = dict[str, Any]

ALGORITHMS = ["ring", "direct", "direct[2]", "halving_doubling", "double_binary_tree"]
KINDS = ["all_reduce", "reduce_scatter", "all_gather", "all_to_all", "broadcast", "send_recv"]
BANDWIDTHS = ["1 GB/s", "7 GB/s", "25 GB/s", "333 MB/s", "100 GB/s"]
BY_SIZE = {"100 B": 0.05, "3 KB": 0.4, "50 KB": 0.35, "1 MB": 0.9}
LIBRARY = {
    "rings": True,
    "all_reduce": {"launch": "5 us", "memory": "40 GB/s", "piece": "3 us"},
    "all_to_all": {"launch": "7 us"},
}
"""Shares of the bandwidth by message size, with a dip as where a protocol changes."""
LATENCIES = ["0 ns", "1 ns", "700 ns", "13.37 us"]


def npu(overhead: str) -> Document:
    """An NPU whose kernels take `overhead` and little else."""
    return {
        "peak": {"fp16": "312 TFLOP/s", "fp32": "19.5 TFLOP/s"},
        "memory": {"capacity": "80 GB", "bandwidth": "2 TB/s"},
        "overhead": overhead,
        "power": {"max": "400 W", "idle": "80 W"},
        "price": "15000 $",
    }


def factorizations(number: int, most: int) -> list[tuple[int, ...]]:
    """Ordered ways to write `number` as a product of at most `most` factors above 1."""
    if number == 1:
        return [()]
    if most == 0:
        return []
    factors = [f for f in range(2, number + 1) if number % f == 0]
    return [(f, *rest) for f in factors for rest in factorizations(number // f, most - 1)]


@st.composite
def dimensions(draw: st.DrawFn, npus: int) -> list[Document]:
    """A network of one to three dimensions with `npus` NPUs."""
    sizes = draw(st.sampled_from(factorizations(npus, 3) or [(1,)])) or (1,)
    return [draw(dimension(size)) for size in sizes]


@st.composite
def dimension(draw: st.DrawFn, size: int) -> Document:
    """A dimension of `size` NPUs."""
    topology = draw(st.sampled_from(["ring", "mesh", "fully_connected", "switch", "fat_tree"]))
    document: Document = {
        "topology": topology,
        "size": size,
        "bandwidth": draw(st.sampled_from(BANDWIDTHS)),
        "latency": draw(st.sampled_from(LATENCIES)),
    }
    if topology == "fat_tree":
        document["leaf"] = draw(st.sampled_from([f for f in range(1, size + 1) if size % f == 0]))
    if topology in ("switch", "fat_tree"):
        document["oversubscription"] = draw(st.sampled_from([1.0, 2.0]))
        document["in_network"] = draw(st.booleans())
        if document["in_network"] and draw(st.booleans()):
            document["trees"] = draw(st.integers(1, 4))
    document |= draw(st.sampled_from([{}, {}, {"efficiency": 0.7}, {"efficiency": BY_SIZE}, {"library": LIBRARY}]))
    usable = [name for name in ALGORITHMS if name != "halving_doubling" or size & (size - 1) == 0]
    if topology in ("ring", "mesh"):
        usable.remove("direct[2]")
    document["collective"] = draw(st.sampled_from(usable))
    document["tier"] = draw(st.sampled_from(["node", "pod"]))
    document["at_once"] = draw(st.booleans())
    return document


@st.composite
def systems(draw: st.DrawFn, most_chunks: int) -> Document:
    """Policies and chunks."""
    groups = ["tensor", "context", "expert", "pipeline", "data"]
    return {
        "chunks": draw(st.integers(1, most_chunks)),
        "intra_dimension": draw(st.sampled_from(["fifo", "lifo", "scf", "priority", "preemptive"])),
        "inter_dimension": draw(st.sampled_from(["baseline", "themis", "bandwidth_aware"])),
        "active_chunks": draw(st.sampled_from(["overlap", "overlap", 1, 2, 3])),
        "priority": draw(st.permutations(groups)),
        "reduction": draw(st.sampled_from(["tree", "scatter"])),
    }


@st.composite
def stacks(draw: st.DrawFn) -> Document:
    """A software stack, of which collectives beside computation may slow it."""
    slower = st.sampled_from([0.0, 0.001, 0.037, 0.2, 0.333, 1.5, 10.0])
    free = {"node": 0.0, "nodes": 0.0}
    return {
        "base": "megatron-core",
        "launch": {"eager": draw(st.sampled_from(["0 s", "100 ns", "56.4 us"]))},
        "overlap": draw(st.sampled_from([{"node": draw(slower), "nodes": draw(slower)}] * 3 + [free])),
    }


@st.composite
def collectives(draw: st.DrawFn) -> Design:
    """One collective over 2 to 24 NPUs."""
    npus = draw(st.sampled_from([2, 3, 4, 6, 8, 12, 16, 24]))
    return design(
        flattened(
            {
                "workload": {
                    "collective": draw(st.sampled_from(KINDS)),
                    "size": f"{draw(st.sampled_from([1, 1000, 4097, 1_000_000, 33_333_333]))} B",
                },
                "cluster": {"npu": npu("4 us"), "dimensions": draw(dimensions(npus))},
                "system": draw(systems(12)),
            },
            draw(st.integers(0, 7)) == 7,
        )
    )


@st.composite
def shapes_of_models(draw: st.DrawFn, layers: int) -> Document:
    """What a model may have beyond the plain GPT layer: grouped queries, gates, latent attention, experts."""
    shape: Document = {}
    if draw(st.booleans()):
        shape |= {"gated": True, "bias": False, "position": "rotary"}
    attention = draw(st.sampled_from(["plain", "plain", "grouped", "latent"]))
    if attention == "grouped":
        shape["kv_heads"] = 4
    if attention == "latent":
        ranks = {"kv_lora_rank": 24, "qk_nope_head_dim": 16, "qk_rope_head_dim": 8, "v_head_dim": 16}
        shape["latent_attention"] = ranks | draw(st.sampled_from([{}, {"q_lora_rank": 40}]))
    if draw(st.booleans()):
        shape["mixture_of_experts"] = {
            "experts": draw(st.sampled_from([4, 8, 12])),
            "top_k": draw(st.integers(1, 3)),
            "feed_forward": 32,
            "shared_feed_forward": draw(st.sampled_from([0, 64])),
            "dense_layers": draw(st.integers(0, min(2, layers))),
            "capacity_factor": draw(st.sampled_from([0.5, 1.0, 1.25])),
            "every": draw(st.sampled_from([1, 1, 2, 3])),
            **draw(st.sampled_from([{}, {"groups": 4, "top_groups": 3}])),
        }
    shape["multi_token_prediction"] = draw(st.sampled_from([0, 0, 1, 2]))
    return shape


def switches(draw: st.DrawFn, sequence_parallel: bool, recompute: str) -> Document:
    """The switches of a design's execution."""
    return {
        "flash_attention": draw(st.booleans()),
        "cross_entropy_fusion": draw(st.booleans()),
        "context_communication": draw(st.sampled_from(["ring", "all_to_all"])),
        "context_overlap": draw(st.booleans()),
        "tensor_overlap": sequence_parallel and draw(st.booleans()),
        "data_overlap": draw(st.sampled_from([True, True, False])),
        **({"recompute_layers": draw(st.integers(1, 3))} if recompute == "full" and draw(st.booleans()) else {}),
    }


def experts_over(draw: st.DrawFn, tensor: int, copies: int, sequence_parallel: bool) -> Document:
    """How experts are spread over `tensor` x `copies` NPUs, and how tokens get there."""
    found: Document = {"dispatch": draw(st.sampled_from(["node", "rank"]))}
    folds = draw(st.sampled_from([n for n in (1, 2, 4) if tensor % n == 0])) if sequence_parallel else tensor
    whole = copies * tensor // folds
    return found | {
        "expert_tensor": folds,
        "expert": draw(st.sampled_from([e for e in range(1, whole + 1) if whole % e == 0])),
    }


def sharding(draw: st.DrawFn, zero: int, pipeline: int, copies: int) -> Document:
    """ZeRO's stage with what it leaves to choose."""
    found: Document = {"zero": 1 if zero == 2 and pipeline > 1 else zero}
    if zero >= 2 and pipeline == 1:
        found["accumulate"] = draw(st.sampled_from(["sharded", "sharded", "local"]))
    if zero == 3 and pipeline == 1:
        found["gather"] = draw(st.sampled_from(["twice", "twice", "microbatch", "once"]))
    groups = [n for n in range(2, copies) if copies % n == 0]
    if zero and groups and draw(st.booleans()):
        found["shard_group"] = draw(st.sampled_from(groups))
    return found


def uneven_stages(draw: st.DrawFn, pipeline: int, interleave: int) -> Document:
    """Numbers of layers of the first and the last stage."""
    if pipeline == 1 or draw(st.integers(0, 2)):
        return {}
    chosen = draw(st.sampled_from([["first"], ["last"], ["first", "last"]]))
    return {f"{which}_stage_layers": interleave * draw(st.integers(1, 2)) for which in chosen}


def ends_as_layers(draw: st.DrawFn, stage: int) -> Document:
    """Numbers of layers of the first and the last of interleaved stages of `stage`: the embedding, the loss count."""
    chosen = draw(st.sampled_from([["first"], ["last"], ["first", "last"]]))
    return {f"{which}_stage_layers": stage - 1 for which in chosen}


def differing_layers(draw: st.DrawFn, layers: int, stages: int, recompute: str, tensor: int) -> Document:
    """Stages of any numbers of layers, or solved ones, and layers some of which recompute, or are cut over more NPUs.

    Mostly neither.
    """
    found: Document = {}
    which = draw(st.sampled_from([None, None, None, "given", "solved"]))
    if which == "given" and stages > 1:
        middle = layers - (stages - 2)
        first = draw(st.integers(0, middle))
        found["stages"] = [first, *[1] * (stages - 2), middle - first]
    elif which == "solved":
        found["stages"] = {"solve": True}
    if draw(st.integers(0, 3)) == 0:
        cut = draw(st.integers(1, layers))
        ways = draw(st.permutations(["none", "selective", "full"]))
        found["layers"] = [{"layers": f"0-{cut - 1}", "recompute": ways[0]}]
        found["layers"] += [{"layers": f"{cut}-{layers - 1}", "recompute": ways[1]}] if cut < layers else []
        if which != "solved" and draw(st.booleans()):
            found["layers"][draw(st.integers(0, len(found["layers"]) - 1))]["tensor"] = 2 * tensor
    elif found and recompute != "selective":
        found["recompute"] = draw(st.sampled_from([recompute, "solve"]))
    return found


@st.composite
def trainings(
    draw: st.DrawFn, tensor: int = 4, pipeline: int = 4, data: int = 4, zero: int = 3, context: int = 1
) -> Design:
    """A training iteration with degrees up to those given."""
    t = draw(st.sampled_from([degree for degree in (1, 2, 4) if degree <= tensor]))
    p = draw(st.integers(1, pipeline))
    d = draw(st.integers(1, data))
    c = draw(st.sampled_from([degree for degree in (1, 2, 4) if degree <= context]))
    interleave = draw(st.sampled_from([1, 1, 2, 2, 3])) if p > 1 else 1
    schedule = draw(st.sampled_from([name for name, one in SCHEDULES.items() if _suits(one, interleave)]))
    microbatches = max(draw(st.sampled_from([1, 2, 3, 4, 7, 16])), SCHEDULES[schedule].least(p))
    if (whole := SCHEDULES[schedule].round(p, interleave)) > 1:
        microbatches = whole * draw(st.integers(1, 4))
    layers = p * interleave * draw(st.sampled_from([1, 2, 3, 9]))
    if interleave == 1:
        layers += draw(st.integers(0, 2))
    ends = uneven_stages(draw, p, interleave)
    if interleave > 1 and not ends and draw(st.booleans()):
        ends = ends_as_layers(draw, layers // p)
        layers -= len(ends)
    sequence_parallel, recompute = draw(st.booleans()), draw(st.sampled_from(["none", "selective", "full"]))
    shape = draw(shapes_of_models(layers))
    spread = experts_over(draw, t, c * d, sequence_parallel) if "mixture_of_experts" in shape else {}
    modules = ["core_attn", "layernorm", *(["moe", "moe_act"] if "mixture_of_experts" in shape else ["mlp"])]
    if recompute == "selective" and draw(st.booleans()):
        spread["recompute_modules"] = draw(st.lists(st.sampled_from(modules), min_size=1, max_size=3))
    whole = c > 1 or {"latent_attention", "kv_heads"} & shape.keys() or draw(st.booleans())
    heads = 8 if whole else draw(st.sampled_from([1, 2]))
    parallelism = {
        "tensor": t,
        "attention_split": "heads" if whole else "queries",
        "pipeline": p,
        "data": d,
        "context": c,
        **spread,
        **sharding(draw, draw(st.integers(0, zero)), p, c * d),
        "schedule": schedule,
        "interleave": interleave,
        "recompute": recompute,
        "sequence_parallel": sequence_parallel,
        "bucket": draw(st.sampled_from(["1 B", "50 KB", "200 KB", "25 MB"])),
        **switches(draw, sequence_parallel, recompute),
        **ends,
    }
    if differing := differing_layers(draw, layers, p * interleave, recompute, t):
        for key in (*ends, "recompute_layers"):
            parallelism.pop(key, None)
        parallelism |= differing
    turns = SCHEDULES[parallelism["schedule"]].pairs is not None
    pairs = turns and (p == 1 or interleave > 1) and recompute != "full"
    if pairs and spread.get("expert", 1) > 1:
        parallelism["expert_overlap"] = draw(st.booleans())
    model = {"hidden": 32 * draw(st.integers(1, 6)), "layers": layers, "heads": heads, "vocabulary": 500, **shape}
    return design(
        flattened(
            {
                "workload": {
                    "model": {**model, "sequence_length": draw(st.sampled_from([16, 64]))},
                    "global_batch": d * microbatches,
                    "gradient_precision": draw(st.sampled_from(["fp16", "fp32"])),
                },
                "parallelism": parallelism,
                "cluster": {
                    "npu": npu(draw(st.sampled_from(["0 s", "100 ns", "4 us"]))),
                    "dimensions": draw(dimensions(t * c * p * d)),
                    "placement": draw(st.permutations(["tensor", "context", "data", "pipeline"])),
                },
                "system": draw(systems(4)),
                "software": draw(stacks()),
            },
            draw(st.integers(0, 7)) == 7,
        )
    )


def _suits(schedule: PipelineSchedule, chunks: int) -> bool:
    return schedule.flushes and schedule.chunks in (None, chunks) and (chunks == 1 or schedule.interleaves)


def flattened(document: Document, flat: bool) -> Document:
    """The document, if `flat` with one ring over all dimensions."""
    if flat:
        for its in document["cluster"]["dimensions"]:
            its["collective"] = "flat_ring"
        document["system"]["inter_dimension"] = "baseline"
    return document


def design(document: Document) -> Design:
    """The design of a document; one that breaks a rule is not drawn."""
    parsed = Design.model_validate(document)
    assume(not check(parsed))
    assume(estimate_events(parsed) <= MOST_EVENTS)
    return parsed


FAMILIES = {
    "one collective": collectives(),
    "data parallel": trainings(tensor=1, pipeline=1, data=6),
    "tensor and data parallel": trainings(tensor=4, pipeline=1, data=4),
    "pipeline": trainings(tensor=1, pipeline=4, data=2),
    "context and expert parallel": trainings(tensor=2, pipeline=2, data=4, context=4),
    "everything": trainings(context=2),
}
