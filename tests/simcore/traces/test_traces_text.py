"""ASTRA-sim 1.0's text workloads as traces, against the text run itself on networks that mean the same."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from recorded_run import play

from simcore import astra
from simcore.document.problem import InputError
from simcore.traces.base import Request, TraceSet, kind_of
from simcore.traces.text import TextSource

WORKLOADS = Path(__file__).parents[1] / "astra" / "data" / "text_workloads"


def convert(name: str, sizes: tuple[int, ...], passes: int = 1) -> TraceSet:
    return TextSource().read(Request(str(WORKLOADS / f"{name}.txt"), dimensions=sizes, passes=passes))


def play_text(name: str, folder: Path, sizes: tuple[int, ...], passes: int = 1) -> int:
    """The text run: a 1.0 ring of two links of 25 GB/s is a 2.x ring of 50 GB/s."""
    count, rings = len(sizes), "_".join(["ring"] * len(sizes))
    network = {"topology-name": "Hierarchical", "topologies-per-dim": ["Ring"] * count, "dimensions-count": count}
    network |= {"dimension-type": ["N"] * count, "units-count": list(sizes), "links-count": [2] * count}
    network |= {"link-latency": [500] * count, "link-bandwidth": [25.0] * count, "hbm-bandwidth": [1] * count}
    network |= {key: [0] * count for key in ("nic-latency", "router-latency", "hbm-latency", "hbm-scale")}
    (folder / "net.json").write_text(json.dumps(network))
    lines = ["scheduling-policy: FIFO", "endpoint-delay: 10", "active-chunks-per-dimension: 1", "boost-mode: 0"]
    lines += ["preferred-dataset-splits: 1", "collective-optimization: localBWAware"]
    lines += [f"all-{kind}-implementation: {rings}" for kind in ("reduce", "gather", "to-all")]
    (folder / "sys.txt").write_text("\n".join([*lines, f"reduce-scatter-implementation: {rings}"]))
    text = WORKLOADS / f"{name}.txt"
    return astra.run(folder / "net.json", folder / "sys.txt", text, num_passes=passes).finish_ns


@pytest.mark.parametrize("name", ["all_reduce", "microAllReduce", "microAllToAll"])
@pytest.mark.parametrize("sizes", [(8,), (4, 2)])
def test_a_single_collective_takes_the_same_time_to_the_nanosecond(
    name: str, sizes: tuple[int, ...], tmp_path: Path
) -> None:
    assert play(convert(name, sizes), tmp_path, sizes).finish_ns == play_text(name, tmp_path, sizes)


@pytest.mark.parametrize(
    ("name", "sizes"),
    [("gpt3", (8,)), ("vgg16", (8,)), ("Resnet50_DataParallel", (8,)), ("Transformer_HybridParallel", (4, 2))],
)
def test_a_training_loop_differs_by_its_steps_and_updates_alone(
    name: str, sizes: tuple[int, ...], tmp_path: Path
) -> None:
    traces = convert(name, sizes)
    layers = int((WORKLOADS / f"{name}.txt").read_text().split("\n")[1])
    difference = abs(play(traces, tmp_path, sizes).finish_ns - play_text(name, tmp_path, sizes))
    assert 0 < difference <= 5 * layers
    assert "1 ns for each change" in traces.notes[1]


def test_overlapping_collectives_on_two_dimensions_are_said_to_differ_and_are_slower(tmp_path: Path) -> None:
    traces = convert("vgg16", (4, 2))
    assert any("overlap" in note for note in traces.notes)
    assert play(traces, tmp_path, (4, 2)).finish_ns > 1.1 * play_text("vgg16", tmp_path, (4, 2))


def test_two_passes_write_each_operator_twice_and_wait_for_the_gradients_between(tmp_path: Path) -> None:
    one, two = convert("Resnet50_DataParallel", (8,)), convert("Resnet50_DataParallel", (8,), passes=2)
    assert len(two.ranks[0]) == 2 * len(one.ranks[0])
    half = len(one.ranks[0])
    assert any(id < half for node in two.ranks[0][half:] for id in node.data_deps)
    assert {kind_of(node) for node in two.ranks[0]} == {"compute", "all_reduce"}


@pytest.mark.parametrize(
    ("name", "sizes", "message"),
    [
        ("gpt3", (), "expected the sizes of the network, got none"),
        ("Transformer_HybridParallel", (8,), "expected model-parallel groups of whole dimensions, got 4 NPUs"),
    ],
)
def test_what_a_trace_cannot_say_is_refused(name: str, sizes: tuple[int, ...], message: str) -> None:
    with pytest.raises(InputError, match=message):
        convert(name, sizes)
