"""The queue kernel: waiting orders, and the same integers with and without numba."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import astra_cases as cases
import pytest

from simcore import astra
from simcore.astra.algorithms.collective import Level, QueuedPhase, QueueTurns
from simcore.astra.algorithms.double_binary_tree import build_tree
from simcore.astra.engine.packets import PhaseTime
from simcore.astra.engine.queue import FlowShop
from simcore.astra.files.chakra import CommType
from simcore.astra.files.system import AlgorithmFamily, Collective, DimensionAlgorithm

RING = DimensionAlgorithm(AlgorithmFamily.RING)
SCATTER, GATHER = Collective.REDUCE_SCATTER, Collective.ALL_GATHER


def phase(queue: int, size: int, kind: Collective = SCATTER) -> QueuedPhase:
    return QueuedPhase(kind, RING, Level(2, 1), size, queue)


def duration(found: QueuedPhase) -> PhaseTime:
    """Return as many nanoseconds as bytes."""
    return PhaseTime(found.size, (1, 0, 0))


def order_of_completion(rule: str, priorities: list[int], sizes: list[int]) -> list[int]:
    """Issue one-chunk collectives at once, each with a second phase, and return how they complete."""
    shop = FlowShop(2, 1, rule)
    for priority, size in zip(priorities, sizes, strict=True):
        shop.issue(0, [(phase(0, size), phase(1, 1))], duration, priority)
    return [shop.advance() for _ in sizes]


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("FIFO", [0, 3, 1, 2]),  # the first one runs; then priority, then arrival
        ("SCF", [0, 2, 1, 3]),  # smallest first
        ("SCF-release", [0, 1, 2, 3]),  # with one phase to go after this one: last
        ("lessRemainingPhaseFirst", [0, 3, 2, 1]),  # equals go to the front
    ],
)
def test_waiting_orders(rule: str, expected: list[int]) -> None:
    assert order_of_completion(rule, [0, 5, 5, 9], [10, 30, 20, 40]) == expected


def test_gathers_and_scatters_take_turns_in_pairs() -> None:
    shop = FlowShop(2, 1, "RG")
    for kind in (SCATTER, SCATTER, GATHER, GATHER):
        shop.issue(0, [(phase(0, 10, kind), phase(1, 1, kind))], duration, 0)
    assert sorted(shop.advance() for _ in range(4)) == [0, 1, 2, 3]


def test_two_dimensions_pipeline() -> None:
    shop = FlowShop(2, 1)
    shop.issue(0, [(phase(0, 10), phase(1, 4))] * 3, duration, 0)
    assert shop.advance() == 0
    assert shop.now == 3 * 10 + 4


def test_running_until_a_time_leaves_later_phases_alone() -> None:
    shop = FlowShop(1, 1)
    shop.issue(0, [(phase(0, 10),)] * 2, duration, 0)
    assert shop.advance(until=15) == -1
    assert shop.now == 10
    assert shop.advance() == 0
    assert shop.now == 20


def test_many_chunks_outgrow_the_first_arrays() -> None:
    shop = FlowShop(1, 3, capacity=1)
    for size in range(1, 200):
        shop.issue(0, [(phase(0, size),)], duration, 0)
    assert [shop.advance() for _ in range(199)][-1] == 198


@pytest.mark.parametrize(
    ("count", "part", "expected"),
    [
        (1, "all", [(0, True), (0, True)]),
        (1, "low", [(0, True), (0, True)]),
        (1, "high", [(0, False), (0, False)]),
        (2, "all", [(0, True), (1, False), (0, True)]),
        (4, "low", [(0, True), (1, True), (0, True)]),
        (4, "high", [(2, False), (3, False), (2, False)]),
        (3, "high", [(1, False), (2, False), (1, False)]),
    ],
)
def test_queues_are_dealt_out_in_turns(count: int, part: str, expected: list[tuple[int, bool]]) -> None:
    turns = QueueTurns(0, count)
    assert [turns.take(part) for _ in expected] == expected


def test_a_tree_over_eight_is_numbered_in_order() -> None:
    last, first = build_tree(8, root_first=False), build_tree(8, root_first=True)
    assert (last[7].parent, last[7].children, last[3].children, last[1].children) == (-1, (3,), (1, 5), (0, 2))
    assert (first[0].parent, first[0].children, first[4].children, first[2].children) == (-1, (4,), (2, 6), (1, 3))


WITHOUT_NUMBA = """
import sys
sys.modules["numba"] = None
from simcore import astra
from simcore.astra.engine import compiled
assert not compiled.HAVE_NUMBA
for backend in ("unaware", "aware"):
    print(astra.run(*sys.argv[1:4], backend=backend).finish_ns)
print(astra.run(*sys.argv[4:7]).finish_ns)
"""


def test_the_nanoseconds_are_the_same_without_numba(tmp_path: Path) -> None:
    network = cases.network(tmp_path, ["Ring", "FullyConnected", "Switch"], [2, 4, 4])
    system = cases.system(tmp_path, ["ring", "direct", "halvingDoubling"], preferred_dataset_splits=16)
    workload = cases.one_collective(tmp_path, CommType.ALL_REDUCE, 1 << 24)
    inputs = cases.unpack(tmp_path / "inputs")
    one = cases.arguments(next(case for case in cases.GOLDEN if case["id"].startswith("S1_Resnet50")), inputs)
    one.pop("num_passes")
    expected = [astra.run(network, system, workload, backend=backend).finish_ns for backend in ("unaware", "aware")]
    expected.append(astra.run(**one).finish_ns)
    command = [sys.executable, "-c", WITHOUT_NUMBA, network, system, workload, *one.values()]
    root = Path(astra.__file__).parents[2]
    environment = {**os.environ, "PYTHONPATH": str(root)}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    assert [int(line) for line in done.stdout.split()] == expected


def test_importing_the_package_is_cheap() -> None:
    late = {
        "simcore.astra.engine.compiled",
        "simcore.astra.engine.queue",
        "simcore.astra.engine.machine",
        "google.protobuf",
    }
    code = f"import sys, simcore.astra; print({late} & set(sys.modules))"
    root = Path(astra.__file__).parents[2]
    environment = {**os.environ, "PYTHONPATH": str(root)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert done.stdout.strip() == "set()"
