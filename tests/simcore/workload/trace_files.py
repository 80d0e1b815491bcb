"""Traces that tests write, and designs of them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from simcore.astra.files.chakra import (
    CommType,
    NodeType,
    TraceNode,
    bool_attribute,
    collective_node,
    int_attribute,
    write_trace,
)
from simcore.check.load import load_design
from simcore.design.design import Design

GPU = bool_attribute("is_cpu_op", False)


def compute(id: int, flops: int, size: int, deps: Sequence[int] = ()) -> TraceNode:
    """A node that computes."""
    attributes = (GPU, int_attribute("num_ops", flops), int_attribute("tensor_size", size))
    return TraceNode(id, f"compute {id}", NodeType.COMP, data_deps=tuple(deps), attributes=attributes)


def host(id: int, micros: int, deps: Sequence[int] = ()) -> TraceNode:
    """A node of the host."""
    attributes = (bool_attribute("is_cpu_op", True),)
    return TraceNode(id, "host", NodeType.COMP, ctrl_deps=tuple(deps), duration_us=micros, attributes=attributes)


def message(id: int, sends: bool, peer: int, size: int, deps: Sequence[int] = (), tag: int = 0) -> TraceNode:
    """A node that sends to another rank, or receives from it."""
    kind, key = (NodeType.COMM_SEND, "comm_dst") if sends else (NodeType.COMM_RECV, "comm_src")
    attributes = (GPU, int_attribute("comm_size", size), int_attribute(key, peer), int_attribute("comm_tag", tag))
    return TraceNode(id, f"message {id}", kind, data_deps=tuple(deps), attributes=attributes)


def write_ranks(folder: Path, ranks: Sequence[Sequence[TraceNode]], name: str = "t") -> str:
    """The prefix of a trace with a file for each rank."""
    for rank, nodes in enumerate(ranks):
        write_trace(folder / f"{name}.{rank}.et", nodes)
    return name


def document(workload: dict[str, Any], sizes: Sequence[int], **sections: Any) -> dict[str, Any]:
    """A design on switches of these sizes, innermost first."""
    dimensions = [
        {
            "topology": "switch",
            "size": size,
            "bandwidth": f"{400 / 4**place} GB/s",
            "latency": f"{700 * (place + 1)} ns",
        }
        for place, size in enumerate(sizes)
    ]
    return {"workload": workload, "cluster": {"npu": "a100-80gb", "dimensions": dimensions}, **sections}


def load(folder: Path, data: dict[str, Any]) -> Design:
    """A design from its file in a folder, where the trace is as well."""
    path = folder / "design.yaml"
    path.write_text(yaml.safe_dump(data))
    return load_design(path)


def example() -> list[TraceNode]:
    """The trace that is shipped: four layers of a transformer, one microbatch of 2,048 tokens.

    Each layer is cut over the eight NPUs of the first dimension; gradients are reduced over the second one.
    """
    hidden, tokens, tensor, layers = 8192, 2048, 8, 4
    rows = tokens * hidden * 2
    parts = {"attention": 4 * hidden**2 // tensor, "feed-forward": 8 * hidden**2 // tensor}
    nodes: list[TraceNode] = []

    def add(name: str, parameters: int, passes: int) -> None:
        deps = (len(nodes) - 1,) if nodes else ()
        its = compute(len(nodes), passes * 2 * tokens * parameters, passes * (2 * parameters + 2 * rows), deps)
        nodes.append(replace(its, name=name))
        after = (len(nodes) - 1,)
        nodes.append(collective_node(len(nodes), CommType.ALL_REDUCE, rows, after, (True, False)))

    for layer in range(layers):
        for part, parameters in parts.items():
            add(f"layer {layer} {part} forward", parameters, 1)
    reduced = []
    for layer in reversed(range(layers)):
        for part, parameters in reversed(parts.items()):
            waited = nodes[-1].id if nodes[-1].id not in reduced else nodes[-2].id
            add(f"layer {layer} {part} backward", parameters, 2)
            nodes[-2] = replace(nodes[-2], data_deps=(waited,))
        size, after = 2 * sum(parts.values()), (nodes[-2].id,)
        gradients = collective_node(len(nodes), CommType.ALL_REDUCE, size, after, (False, True))
        reduced.append(gradients.id)
        nodes.append(gradients)
    step = compute(len(nodes), 0, 18 * layers * sum(parts.values()), [*reduced, nodes[-2].id])
    return [*nodes, replace(step, name="optimizer step")]


def drawn_ranks(draw: random.Random, sizes: tuple[int, int], stages: bool) -> list[list[TraceNode]]:
    """Ranks of two dimensions: graphs that are alike, or (`stages`) those of a pipeline along the outer dimension."""
    inner, outer = sizes
    shapes = [_drawn_shape(draw, stages) for _ in range(outer if stages else 1)]
    handed = draw.randrange(10**4, 10**7)
    ranks = []
    for rank in range(inner * outer):
        stage = rank // inner
        nodes = list(shapes[stage if stages else 0])
        if stages:
            ids = len(nodes)
            cut = ids // 2
            if stage > 0:
                nodes[cut] = message(cut, False, rank - inner, handed, nodes[cut].data_deps)
            if stage < outer - 1:
                nodes.append(message(ids, True, rank + inner, handed, (ids - 1,)))
        ranks.append(nodes)
    return ranks


def _drawn_shape(draw: random.Random, stages: bool) -> list[TraceNode]:
    nodes: list[TraceNode] = []
    kinds = (CommType.ALL_REDUCE, CommType.ALL_GATHER, CommType.REDUCE_SCATTER, CommType.ALL_TO_ALL)
    for id in range(draw.randrange(4, 14)):
        deps = [dep for dep in range(id) if draw.random() < 0.25]
        what = draw.random()
        if what < 0.45:
            nodes.append(compute(id, draw.randrange(10**6, 10**11), draw.randrange(10**3, 10**8), deps))
        elif what < 0.55:
            nodes.append(host(id, draw.randrange(0, 60), deps))
        elif what < 0.6:
            nodes.append(TraceNode(id, "nothing", NodeType.METADATA, data_deps=tuple(deps)))
        else:
            involved = (True, False) if stages else draw.choice([(True, False), (False, True), (True, True)])
            nodes.append(collective_node(id, draw.choice(kinds), draw.randrange(10**3, 10**8), deps, involved))
    return nodes
