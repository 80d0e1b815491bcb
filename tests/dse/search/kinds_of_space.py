"""A small space of each kind that `exact` takes, drawn: what is searched, what is wanted, what must hold."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from math import inf
from random import Random
from typing import Any

from tiny_spaces import space, tiny

from dse.space.space import Space

Document = dict[str, Any]
SWITCH = {"topology": "switch", "latency": "1 us"}
NODE = {**SWITCH, "size": 4, "tier": "node"}
POD = {**SWITCH, "size": 2, "tier": "pod"}
MODEL = {"name": "tiny", "hidden": 256, "layers": 8, "heads": 8, "vocabulary": 1000, "sequence_length": 128}
EXPERTS = {**MODEL, "mixture_of_experts": {"experts": 8, "top_k": 2, "feed_forward": 256}}
ROWS = [{"m": 4, "n": 64, "k": 128}, {"kind": "memory", "elements": 1000, "output": 8}, {"m": 1, "n": 256, "k": 64}]
RECOMMENDER = {"dense_features": 13, "bottom": [64, 16], "top": [128, 1], "tables": 8, "rows": 1000, "embedding": 16}
DEGREES = {"product": 8, "of": ["tensor", "pipeline", "data"]}
_STACK = {"base": "megatron-core", "transformers_alone": False}
STACKS = [{**_STACK, "overlap": {"node": share, "nodes": 2 * share}} for share in (0.0, 0.3)]
FAST, SLOW = {"choice": ["100 GB/s", "300 GB/s"]}, {"choice": ["10 GB/s", "50 GB/s"]}

WANTED: dict[str, list[dict[str, list[str]]]] = {
    "two": [
        {"minimize": ["iteration_time", "cost.total"]},
        {"minimize": ["energy", "cost.network"]},
        {"maximize": ["throughput", "perf_per_cost"]},
    ],
    "three": [
        {"minimize": ["iteration_time", "cost.total", "energy"]},
        {"minimize": ["cost.total", "energy"], "maximize": ["mfu"]},
    ],
    "four": [
        {"minimize": ["iteration_time", "cost.total", "energy", "memory.peak"]},
        {"minimize": ["energy", "cost.network", "bubble"], "maximize": ["throughput"]},
    ],
    "expressions": [
        {"minimize": ["iteration_time * cost.total", "energy"]},
        {"minimize": ["max(iteration_time, 0.001) / npus", "cost.total - cost.npu", "-cost.total"]},
        {"minimize": ["energy / 1000 + iteration_time", "cost.total * system.chunks"]},
    ],
}
LATE = [[], ["power <= 4600"], ["cost.total / npus <= 20000 and mfu <= 0.9"]]

Draw = Callable[[list[Any]], Any]
Path = tuple[str | int, ...]
RINGS = {"choice": ["ring", "halving_doubling"]}
WIDER: list[tuple[Path, Any]] = [
    (("cluster", "npu"), {"choice": ["a100-80gb", "h100-80gb"]}),
    (("cluster", "dimensions", 0, "bandwidth"), {"choice": ["50 GB/s", "100 GB/s", "200 GB/s", "300 GB/s"]}),
    (("cluster", "dimensions", 1, "bandwidth"), {"choice": ["5 GB/s", "10 GB/s", "25 GB/s", "50 GB/s"]}),
    (("cluster", "dimensions", 0, "topology"), {"choice": ["switch", "ring", "fully_connected"]}),
    (("cluster", "dimensions", 1, "latency"), {"choice": ["500 ns", "1 us", "5 us"]}),
    (("system", "collective"), [RINGS, RINGS]),
    (("system", "chunks"), {"choice": [1, 2, 4, 8, 16]}),
    (("system", "intra_dimension"), {"choice": ["fifo", "scf"]}),
    (("system", "inter_dimension"), {"choice": ["baseline", "themis"]}),
    (("parallelism", "microbatch"), {"choice": [1, 2]}),
    (("parallelism", "recompute"), {"choice": ["none", "selective", "full"]}),
    (("parallelism", "zero"), {"choice": [0, 1, 2, 3]}),
]
"""What makes a space wider: where it stands, and what is chosen there."""


def _training(draw: Draw, model: Mapping[str, Any] = MODEL, **parallelism: Any) -> Document:
    more = draw([{"zero": {"choice": [0, 1, 3]}}, {"recompute": {"choice": ["none", "full"]}}])
    return tiny(
        workload={"model": dict(model), "global_batch": 16, "precision": "fp16"},
        parallelism={"degrees": DEGREES, **more, **parallelism},
        cluster=_cluster(draw),
        system=_system(draw),
    )


def _cluster(draw: Draw) -> Document:
    inner = {**NODE, "topology": draw(["switch", "ring"]), "bandwidth": FAST}
    return {"npu": "a100-80gb", "dimensions": [inner, {**POD, "bandwidth": SLOW}]}


def _system(draw: Draw) -> Document:
    chunks: Document = {"chunks": {"choice": [2, 8]}}
    policies = draw([{"inter_dimension": {"choice": ["baseline", "themis"]}}, {}])
    order = draw([{"intra_dimension": {"choice": ["fifo", "scf"]}}, {}])
    return {**chunks, **policies, **order}


def _experts(draw: Draw) -> Document:
    software = draw([None, {"choice": STACKS}])
    return _training(draw, EXPERTS, expert={"choice": [1, 2, 4]}) | ({"software": software} if software else {})


def _context(draw: Draw) -> Document:
    return _training(draw, degrees={"product": 8, "of": ["tensor", "context", "data"]})


def _served(draw: Draw) -> Document:
    model = draw([MODEL, EXPERTS])
    document = _training(draw, {**model, "position": "rotary"})
    document["workload"] = {
        "model": {**model, "position": "rotary"},
        "global_batch": {"choice": [8, 32]},
        "prompt_length": 1024,
        "batching": {"choice": ["continuous", "static"]},
        "output_length": draw([1, 3, 9]),
        "precision": "fp16",
    }
    limits = {"tensor": [1, 4], "pipeline": [1, 4]}
    document["parallelism"] = {"degrees": {**DEGREES, "limits": limits}, "microbatch": {"choice": [1, 4]}}
    return document


def _layers(draw: Draw) -> Document:
    document = _training(draw)
    document["workload"] = {"layers": ROWS, "global_batch": 64, "precision": "fp16"}
    document["parallelism"] = {"degrees": DEGREES, "zero": {"choice": [0, 1, 3]}}
    return document


def _recommender(draw: Draw) -> Document:
    document = _training(draw)
    document["workload"] = {"model": RECOMMENDER, "global_batch": {"choice": [1024, 8192]}, "precision": "fp16"}
    document["parallelism"] = {"zero": {"choice": [0, 1]}, "bucket": {"choice": ["1 kB", "25 MB"]}}
    return document


def _pruned(draw: Draw) -> Document:
    document = _training(draw)
    document["workload"] = {"widths": [64, 64, 32], "density": 0.1, "partition": "repurpose", "global_batch": 8}
    document["parallelism"] = {"degrees": {"product": 8, "of": ["tensor", "data"]}}
    return document


def _solved(draw: Draw) -> Document:
    document = _training(draw, zero={"choice": [0, 1]})
    shares = {"split": {"choice": ["100 GB/s", "200 GB/s"]}, "step": "25 GB/s", "solve": True}
    document["cluster"] = {"npu": "a100-80gb", "bandwidth": shares, "dimensions": [NODE, POD]}
    document["system"] = {"chunks": 4}
    return document


def _sizes(draw: Draw) -> Document:
    document = _training(draw)
    document["parallelism"]["degrees"] = {"product": "npus", "of": ["tensor", "pipeline", "data"]}
    document["cluster"]["dimensions"][1] = {**POD, "size": {"choice": [1, 2, 4]}, "bandwidth": SLOW}
    return document


KINDS: dict[str, Callable[[Draw], Document]] = {
    "dense": _training,
    "experts": _experts,
    "context": _context,
    "served": _served,
    "layers": _layers,
    "recommender": _recommender,
    "pruned": _pruned,
    "solved": _solved,
    "sizes": _sizes,
}


def drawn_space(kind: str, wanted: str, seed: int, *limits: str) -> Space:
    """A space of a kind, with a number of objectives or expressions as `WANTED` has them, and with more `limits`."""
    draw = Random(seed).choice
    document = KINDS[kind](draw) | {"hypothetical": True, "objectives": draw(WANTED[wanted])}
    return space({**document, "constraints": ["fits", *draw(LATE), *limits]})


def wide_space(kind: str, wanted: str, seed: int, most: int, *limits: str) -> Space:
    """`drawn_space` with more parameters, drawn from `WIDER`: as many as leave it at most `most` combinations."""
    document = dict(drawn_space(kind, wanted, seed, *limits).source)
    found = space(document)
    for path, choices in Random(seed).sample(WIDER, len(WIDER)):
        wider = copy.deepcopy(document)
        at: Any = wider
        for key in path[:-1]:
            at = at[key]
        if path[-1] in ("bandwidth", "microbatch", "recompute", "zero") and path[-1] not in at:
            continue  # a kind of workload that has none, or a bandwidth that is a share of a budget
        at[path[-1]] = choices
        if space(wider).count() <= most:
            document, found = wider, space(wider)
    return found


def drawn_limit(given: Space, rows: Sequence[Sequence[float]], seed: int) -> tuple[str, int, float]:
    """A constraint on an objective that a third of the feasible designs meet, its place, and the most it lets be lost.

    `rows` are the objectives of all feasible designs, to be minimised. Empty where an objective has too few values.
    """
    places = [place for place, objective in enumerate(given.objectives) if objective.expression is None]
    place = Random(seed).choice(places) if places else 0
    values = sorted({row[place] for row in rows})
    if not places or len(values) < 3:
        return "", 0, inf
    most = (values[len(values) // 3 - 1] + values[len(values) // 3]) / 2
    objective = given.objectives[place]
    text = f"{objective.name} {'<=' if objective.sign > 0 else '>='} {objective.sign * most!r}"
    return text, place, most
