"""The section of `docs/accuracy-details.md` on dispatch by node: what the model says of the kernels' own times.

The rows are aiconfigurator's (ai-dynamo/aiconfigurator 095f58a51, Apache 2.0, `wideep_deepep_normal`, sglang 0.5.12 and
0.5.6): nodes of 8 GPUs, tokens in 8 bits with a scale of 4 bytes a 128 numbers to their experts, in 16 bits back. Among
nodes DeepEP's benchmark keeps a token to 4 of them. Those of Hybrid-EP are its own (DeepEP, branch hybrid-ep,
docs/README_Hybrid-EP.md, MIT), kernels alone: GB/s of all copies, an NPU's own among them.
"""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from changed import changed

from simcore.check.load import design_from
from simcore.collective import routed
from simcore.collective.routed import Routing, Way
from simcore.system.chunks import Chunker
from simcore.system.placement import GroupSlice, place

ROWS, HYBRID_ROWS = (Path(__file__).parent / "data" / f"all_to_all_{name}.csv" for name in ("deepep", "hybrid_ep"))
FABRICS = {"h100-80gb": "dgx-h100", "b200": "dgx-b200"}
CHUNKS = 16
BYTES: tuple[tuple[Way, float], ...] = (("dispatch", 1 + 4 / 128), ("combine", 2.0))
MOST_NODES = 4
WHAT = """\
What the model says of `dispatch: node` against DeepEP's normal kernels (aiconfigurator's table): 512 to 131,072
tokens an NPU, of 2,048 to 7,168 numbers, 1 to 22 of 8 to 512 experts a token; to experts in 8 bits, back in 16. Here
the kernels have the multiprocessors of each row (in a design 20, Megatron-core's default). Mean error in percent, in
brackets its mean size; *links* is what the network alone would take.
"""
WHY = """
**Fitted** are two numbers a direction (bytes that a multiprocessor reads, and copies, in a second), what a copied
row costs beside its bytes (as long as 5.5 KB take) and a latency of 50 us, on the rows of one node. Nothing of them
depends on the device. **Between nodes** nothing is fitted: 4 nodes reach 44 to 48 GB/s of a NIC of 50, counted as
here, where the fabric has what NCCL's all-reduces reach (0.74). 8 nodes reach 15, and their rows spend milliseconds
in the kernel that announces counts: that network was another one. With 8 to 16 multiprocessors kernels are slower
between nodes too; in the model they take time inside a node alone. Low-latency kernels are not modelled.
"""
HYBRID = """\
The same of Hybrid-EP (NVIDIA's table for GB200 NVL72; kernels alone, 4,096 tokens an NPU of 7,168 numbers, 8 experts a
token, 8 experts an NPU):

| NPUs | multiprocessors | dispatch, 8 bits | dispatch, 16 bits | combine, 16 bits |
|--:|--:|--:|--:|--:|"""
HYBRID_WHY = """
**Fitted** are the rate of copies each way and what a row costs (2.1 KB), without the rows of 8 bits, 16 multiprocessors
and 24 or more NPUs, which are slower than those of 16 bits. The 50 us are DeepEP's.
"""
HYBRID_TOKENS, LOCAL, TOP = 4096, 8, 8


def _network(device: str, nodes: int) -> tuple[Chunker, tuple[GroupSlice, ...]]:
    return _network_of(device, FABRICS[device], 8 * nodes)


def _network_of(device: str, fabric: str, npus: int) -> tuple[Chunker, tuple[GroupSlice, ...]]:
    document: dict[str, Any] = {
        "workload": {"collective": "all_to_all", "size": "1 MB"},
        "cluster": {"npu": device, "fabric": fabric, "npus": npus},
        "system": {"chunks": CHUNKS},
    }
    design = design_from(document)
    return Chunker(design), next(slices for slices in place(design)[0].values() if slices)


def predicted(row: dict[str, str], way: Way, width: float, kernels: bool = True) -> float:
    """Seconds of a dispatch or a combine of a row; without `kernels` what the links alone take."""
    nodes, tokens, hidden = int(row["nodes"]), int(row["tokens"]), int(row["hidden"])
    routing = Routing(int(row["experts"]), int(row["top_k"]), nodes, min(nodes, MOST_NODES))
    size = int(hidden * width)
    own = routed.KERNELS["deepep"]._replace(multiprocessors=int(row["multiprocessors"]))
    with changed(routed, "KERNELS", {"deepep": own}):
        chunker, group = _network(row["device"], nodes)
        return _seconds(chunker, group, routing.kind(way, size if kernels else 0), tokens * size)


def _seconds(chunker: Chunker, group: tuple[GroupSlice, ...], kind: str, size: float) -> float:
    (path,) = chunker.split_collective(kind, group, size).paths
    once = [phase.serialization for phase in path]  # the slowest phase serves every chunk, the others its first or last
    return (sum(once) + (CHUNKS - 1) * max(once) + sum(phase.latency for phase in path)) / 1e12


def hybrid_error(row: dict[str, str]) -> float:
    """Predicted over measured, less 1, of a row of Hybrid-EP's, whose kernels have no latency of a call."""
    npus, size, way = int(row["ranks"]), int(row["row"]), row["way"]
    assert way in ("dispatch", "combine")
    routing = Routing(LOCAL * npus, TOP)
    chunker, group = _network_of("gb200", "gb200-nvl72", npus)
    bytes_read = HYBRID_TOKENS * size
    found = _seconds(chunker, group, routing.kind(way, size, "hybridep"), bytes_read) - routed.LATENCY
    return found / (bytes_read * routing.copies(npus) / (1e9 * float(row["gb_s"]))) - 1.0


def read_rows(path: Path = ROWS) -> list[dict[str, str]]:
    """Measured rows."""
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def errors(kernels: bool = True) -> dict[tuple[str, int, str], dict[Way, list[float]]]:
    """Predicted over measured, less 1, by device, nodes and multiprocessors, and by way."""
    found: dict[tuple[str, int, str], dict[Way, list[float]]] = defaultdict(lambda: defaultdict(list))
    for row in read_rows():
        which = "20 or 24" if int(row["multiprocessors"]) >= 20 else "8 to 16"
        for way, width in BYTES:
            measured = float(row[f"{way}_us"]) / 1e6
            found[row["device"], int(row["nodes"]), which][way].append(
                predicted(row, way, width, kernels) / measured - 1
            )
    return found


def _mean(values: list[float]) -> str:
    return f"{100 * sum(values) / len(values):+.0f} (\u00b1{100 * sum(map(abs, values)) / len(values):.0f})"


def dispatch_section() -> Iterator[str]:
    """Times of DeepEP's kernels, and the model's."""
    found, bare = errors(), errors(kernels=False)
    yield "## All-to-alls of DeepEP\n"
    yield WHAT
    yield "| fabric | nodes | multiprocessors | rows | dispatch | combine | dispatch, links | combine, links |"
    yield "|---|--:|---|--:|--:|--:|--:|--:|"
    for key, by_way in sorted(found.items()):
        device, nodes, which = key
        cells = [_mean(by_way[way]) for way, _ in BYTES] + [_mean(bare[key][way]) for way, _ in BYTES]
        rows = len(by_way["dispatch"])
        yield f"| `{FABRICS[device]}` | {nodes} | {which} | {rows} | {' | '.join(cells)} |"
    yield WHY
    yield HYBRID
    by_size: dict[tuple[str, str], list[str]] = defaultdict(list)
    for row in read_rows(HYBRID_ROWS):
        by_size[row["ranks"], row["multiprocessors"]].append(f"{100 * hybrid_error(row):+.0f}")
    for which, told in by_size.items():
        yield f"| {' | '.join((*which, *told))} |"
    yield HYBRID_WHY
