"""Training loops: every member of the family plays a text workload to its end and spans dimensions that there are."""

from __future__ import annotations

from pathlib import Path

import pytest

from simcore import astra
from simcore.astra.files.text_workload import load_text_workload
from simcore.astra.loops import LOOPS
from simcore.astra.loops.base import PartKind
from simcore.astra.loops.dimensions import involved_dimensions

NETWORK = """{"dimensions-count": 2, "topologies-per-dim": ["Ring", "Switch"], "units-count": [4, 4],
"links-count": [2, 1], "link-latency": [500, 500], "link-bandwidth": [50, 25]}"""
SYSTEM = """scheduling-policy: LIFO
endpoint-delay: 10
active-chunks-per-dimension: 1
preferred-dataset-splits: 4
boost-mode: 1
all-reduce-implementation: ring_halvingDoubling
all-gather-implementation: ring_halvingDoubling
reduce-scatter-implementation: ring_halvingDoubling
all-to-all-implementation: direct_direct
collective-optimization: localBWAware
"""
FORWARD_NS, INPUT_NS, WEIGHT_NS = 2_000, 3_000, 5_000
LAYERS = 3


def text(name: str) -> str:
    """A workload of three equal layers for a loop."""
    loop = LOOPS[name]
    head = name
    head += " model_parallel_NPU_group: 4" if loop.has_group else ""
    head += " checkpoints: 1 0 checkpoint_initiates: 1 2" if loop.has_checkpoints else ""
    head += " 1" if loop.has_bottom else ""
    tail = " DATA" if loop.has_layer_loops else ""
    row = f"-1 {FORWARD_NS} ALLREDUCE 65536 {INPUT_NS} ALLREDUCE 65536 {WEIGHT_NS} ALLREDUCE 1048576 1{tail}"
    return "\n".join([head, str(LAYERS), *(f"layer{place} {row}" for place in range(LAYERS))]) + "\n"


def run(folder: Path, name: str, passes: int) -> astra.AstraResult:
    for file, content in {"net.json": NETWORK, "sys.txt": SYSTEM, "work.txt": text(name)}.items():
        (folder / file).write_text(content)
    return astra.run(folder / "net.json", folder / "sys.txt", folder / "work.txt", num_passes=passes)


@pytest.mark.parametrize("name", LOOPS)
def test_a_loop_ends_and_each_pass_computes_as_much_as_the_first(name: str, tmp_path: Path) -> None:
    one, three = (run(tmp_path, name, passes) for passes in (1, 3))
    assert 0 < one.finish_ns < three.finish_ns
    assert three.compute_ns == 3 * one.compute_ns <= three.finish_ns
    if LOOPS[name].has_checkpoints:
        assert one.compute_ns == LAYERS * (FORWARD_NS + INPUT_NS + WEIGHT_NS) + 2 * FORWARD_NS


@pytest.mark.parametrize("name", LOOPS)
def test_a_loop_says_of_every_dimension_whether_a_collective_spans_it(name: str, tmp_path: Path) -> None:
    (tmp_path / "work.txt").write_text(text(name))
    layer = load_text_workload(tmp_path / "work.txt").layers[-1]
    for count in (1, 2, 3, 4):
        for model in range(count + 1) if LOOPS[name].has_group else (0,):
            spans = [involved_dimensions(layer, part, count, model) for part in PartKind]
            assert all(len(each) == count for each in spans)
            assert any(map(any, spans))
