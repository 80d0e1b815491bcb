"""Messages and collectives of 0 B in ASTRA-sim 1.0: closed forms, and finish times measured with ASTRA-sim itself."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import astra_cases as cases
import pytest

from simcore import astra
from simcore.astra.files.chakra import CommType

LINKS = {"Ring": 2, "Switch": 1}
MIX = ("Ring", "FullyConnected", "Switch")
MIXED = "ring_direct_halvingDoubling"
RESNET_LAYERS = (
    "DATA\n3\nconv1 -1 13003 NONE 0 12864 NONE 0 32291 ALLREDUCE 37632 3229\n"
    "conv2 -1 3456 NONE 0 3648 NONE 0 7488 ALLREDUCE 65536 749\n"
    "conv3 -1 3456 NONE 0 3456 NONE 0 7488 ALLREDUCE 16384 749\n"
)


def finish(
    folder: Path,
    text: str,
    blocks: Sequence[str] = ("Ring",),
    sizes: Sequence[int] = (8,),
    algorithm: str = "ring",
    bandwidths: Sequence[float] = (50, 50, 50),
    latency: int = 500,
    passes: int = 1,
    **keys: object,
) -> int:
    """Return the finish time of a text workload under the rules of the tutorials [ns]."""
    network = {
        "topologies-per-dim": list(blocks),
        "dimensions-count": len(sizes),
        "units-count": list(sizes),
        "links-count": [LINKS.get(block, size - 1) for block, size in zip(blocks, sizes, strict=True)],
        "link-latency": [latency] * len(sizes),
        "link-bandwidth": list(bandwidths)[: len(sizes)],
    }
    system = {
        "scheduling-policy": "LIFO", "endpoint-delay": 10, "preferred-dataset-splits": 4, "boost-mode": 1,
        "collective-optimization": "localBWAware", "all-reduce-implementation": algorithm,
        "all-gather-implementation": algorithm, "reduce-scatter-implementation": algorithm,
        "all-to-all-implementation": algorithm.replace("halvingDoubling", "direct"),
    }  # fmt: skip
    (folder / "n.json").write_text(json.dumps(network))
    settings = {**system, **{key.replace("_", "-"): value for key, value in keys.items()}}
    (folder / "s.txt").write_text("".join(f"{key}: {value}\n" for key, value in settings.items()))
    (folder / "w.txt").write_text(text)
    return astra.run(folder / "n.json", folder / "s.txt", folder / "w.txt", num_passes=passes).finish_ns


def alone(size: int, kind: str = "ALLREDUCE") -> str:
    """Return a workload of one collective, with an update of 1 ns."""
    return f"MICRO\n1\nonly -1 1 NONE 0 1 NONE 0 1 {kind} {size} 1\n"


def two_layers(loop: str, size: int) -> str:
    """Return two layers whose six collectives are all of one size."""
    layer = f"-1 100 ALLREDUCE {size} 100 ALLREDUCE {size} 100 ALLREDUCE {size} 1"
    return f"{loop}\n2\nfirst {layer}\nsecond {layer}\n"


@pytest.mark.parametrize(("size", "chunks"), [(4, 4), (5, 5), (7, 7), (8, 4), (31, 5), (32, 4), (33, 5)])
def test_a_message_of_no_bytes_costs_its_latency(tmp_path: Path, size: int, chunks: int) -> None:
    steps = 14 * (500 + 10)
    assert finish(tmp_path, alone(size)) == chunks * (10 + steps) + 1


def test_halving_doubling_of_fewer_bytes_than_npus_takes_all_its_steps(tmp_path: Path) -> None:
    steps = 6 * (2 * 500 + 10)
    assert finish(tmp_path, alone(20), ("Switch",), algorithm="halvingDoubling") == 4 * (10 + steps) + 1


def test_a_direct_exchange_of_fewer_bytes_than_npus_takes_both_its_turns(tmp_path: Path) -> None:
    assert finish(tmp_path, alone(20), ("FullyConnected",), algorithm="direct") == 4 * (30 + 2 * 500) + 1


@pytest.mark.parametrize(("algorithm", "expected"), [(MIXED, 1_585_555), ("ring_ring_ring", 5_866_075)])
def test_layers_of_resnet_on_1024_npus_in_64_chunks_as_measured(tmp_path: Path, algorithm: str, expected: int) -> None:
    found = finish(tmp_path, RESNET_LAYERS, MIX, (4, 16, 16), algorithm, (250, 200, 50), preferred_dataset_splits=64)
    assert found == expected


def test_dlrm_on_1024_npus_in_64_chunks_as_measured(tmp_path: Path) -> None:
    text = (cases.DATA / "text_workloads" / "DLRM_HybridParallel.txt").read_text()
    found = finish(
        tmp_path, text, MIX, (4, 16, 16), MIXED, (250, 200, 50),
        preferred_dataset_splits=64, all_to_all_implementation="ring_direct_direct",
    )  # fmt: skip
    assert found == 3_959_600


def test_nobody_waits_for_the_empty_collectives_of_the_last_pass(tmp_path: Path) -> None:
    assert finish(tmp_path, alone(0)) == 0
    assert finish(tmp_path, two_layers("DATA", 0)) == 5 * (100 + 1)


@pytest.mark.parametrize(
    ("loop", "passes", "match"),
    [
        ("DATA", 2, "layer first: all-reduce of 0 B in weight_grad: .* ASTRA-sim never ends it"),
        ("MODEL", 1, "layer first: all-reduce of 0 B in fwd: .* ASTRA-sim never ends it"),
    ],
)
def test_a_loop_that_waits_for_an_empty_collective_never_ends(
    tmp_path: Path, loop: str, passes: int, match: str
) -> None:
    with pytest.raises(astra.AstraInputError, match=match):
        finish(tmp_path, two_layers(loop, 0), passes=passes)


def test_fewer_bytes_than_chunks_never_end_unless_no_dimension_takes_part(tmp_path: Path) -> None:
    with pytest.raises(astra.AstraInputError, match=r"layer first: all-reduce of 3 B: .* lower the splits"):
        finish(tmp_path, two_layers("MODEL", 3))
    text = "HYBRID_DATA_MODEL\n1\na -1 100 ALLREDUCE 3 100 NONE 0 100 NONE 0 1\n"
    assert finish(tmp_path, text, ("Ring", "Ring"), (1, 8), "ring_ring") == 3 * (100 + 1)


def test_a_model_parallel_group_is_rounded_down_to_whole_parts(tmp_path: Path) -> None:
    def group(npus: int, sizes: Sequence[int], **keys: object) -> int:
        text = two_layers(f"HYBRID_TRANSFORMER model_parallel_NPU_group: {npus}", 3000)
        return finish(tmp_path, text, ["Switch"] * len(sizes), sizes, "_".join(["ring"] * len(sizes)), **keys)

    assert group(8, (5, 3)) == group(5, (5, 3))
    assert group(3, (8,)) == group(3, (6,))
    with pytest.raises(astra.AstraInputError, match="parts of 3 of its 8 NPUs; ASTRA-sim aborts"):
        group(3, (8,), boost_mode=0)


def test_themis_weighs_a_dimension_with_all_its_links_as_measured(tmp_path: Path) -> None:
    found = finish(
        tmp_path, alone(4_032_135, "ALLGATHER"), ("Ring", "FullyConnected", "FullyConnected"), (8, 2, 2),
        "direct_direct_direct", (16, 16, 16), latency=1, preferred_dataset_splits=2,
        inter_dimension_scheduling="themis", intra_dimension_scheduling="SCF",
    )  # fmt: skip
    assert found == 4_752_783


@pytest.mark.parametrize("size", [0, 1, 31])
def test_2_x_rounds_tiny_collectives_up_to_one_byte_a_message(tmp_path: Path, size: int) -> None:
    workload = cases.one_collective(tmp_path, CommType.ALL_REDUCE, size)
    result = astra.run(cases.network(tmp_path, ["Ring"], [8]), cases.system(tmp_path), workload)
    assert result.finish_ns == 4 * (10 + 14 * (500 + 10))
