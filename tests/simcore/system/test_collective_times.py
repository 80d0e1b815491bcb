"""One collective over all NPUs against the alpha-beta closed forms, and its bytes against LIBRA's."""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from designs import ALGORITHMS, collective, collectives, dimension
from hypothesis import assume, given
from hypothesis import strategies as st

from simcore.design.design import Design
from simcore.result import Result
from simcore.simulate import simulate
from simcore.workload.collective.document import CollectiveWorkload

B = 100e9
LATENCY = 1e-6
SIZE = 2.0**20
TIERS = {"ring": "node", "fully_connected": "node", "switch": "node"}


def one(kind: str, algorithm: str, topology: str, n: int, size: str = "1 MiB", chunks: int = 1, **more: Any) -> Result:
    network = [dimension(topology, n, "100 GB/s", "1 us", tier=TIERS[topology], **more)]
    return simulate(collective(kind, size, network, collective=[algorithm], chunks=chunks))


Form = Callable[[int, float], tuple[float, float]]
"""Of n NPUs and S bytes: steps of latency, and seconds x bandwidth."""

# Reduce-scatter, or all-gather of the same buffer (DOMAIN: alpha-beta per dimension). On a fully connected block an
# algorithm that talks to one peer at a time has one link of B / (n - 1); a ring of links has B / 2 each way.
ONE_WAY: dict[tuple[str, str], Form] = {
    ("ring", "switch"): lambda n, s: (n - 1, (n - 1) * s / n),
    ("ring", "ring"): lambda n, s: (n - 1, (n - 1) * s / n),
    ("ring", "fully_connected"): lambda n, s: (n - 1, (n - 1) ** 2 * s / n),
    ("direct", "switch"): lambda n, s: (1, (n - 1) * s / n),
    ("direct", "fully_connected"): lambda n, s: (1, (n - 1) * s / n),
    ("direct", "ring"): lambda n, s: (n // 2, 2 * (n * n // 8 if n % 2 else n * n / 8) * s / n),
    ("halving_doubling", "switch"): lambda n, s: (math.log2(n), (n - 1) * s / n),
    ("halving_doubling", "fully_connected"): lambda n, s: (math.log2(n), (n - 1) ** 2 * s / n),
    ("halving_doubling", "ring"): lambda n, s: (n - 1, (math.log2(n) - 0.5) * s),
}
TREE: dict[str, Callable[[int, float, int], tuple[float, float]]] = {
    "switch": lambda n, s, depth: (2 * depth, 2 * s),
    "fully_connected": lambda n, s, depth: (2 * depth, 2 * (n - 1) * s),
    "ring": lambda n, s, depth: (2 * (n - 1), 2 * depth * s),
}
CASES = [
    (algorithm, topology, n)
    for (algorithm, topology), n in product(ONE_WAY, (2, 3, 4, 5, 8, 16, 64))
    if algorithm != "halving_doubling" or n & (n - 1) == 0
]


def seconds(form: Form, n: int, size: float, times: int = 1) -> float:
    steps, load = form(n, size)
    return times * (steps * LATENCY + load / B)


@pytest.mark.parametrize(("algorithm", "topology", "n"), CASES)
def test_reduce_scatter_all_gather_and_all_reduce_take_their_closed_forms(
    algorithm: str, topology: str, n: int
) -> None:
    form = ONE_WAY[(algorithm, topology)]
    once = seconds(form, n, SIZE)
    assert one("reduce_scatter", algorithm, topology, n).iteration_time_s == pytest.approx(once, rel=1e-9)
    assert one("all_reduce", algorithm, topology, n).iteration_time_s == pytest.approx(2 * once, rel=1e-9)
    gathered = seconds(form, n, SIZE * n)  # the size of an all-gather is each NPU's share
    assert one("all_gather", algorithm, topology, n).iteration_time_s == pytest.approx(gathered, rel=1e-9)


@pytest.mark.parametrize("topology", TREE)
@pytest.mark.parametrize("n", [2, 3, 4, 5, 8, 16, 100])
def test_a_double_binary_tree_takes_its_closed_form(topology: str, n: int) -> None:
    # Between powers of two log2(n) is no depth of a tree: then between the two whole numbers beside it.
    low, high = (
        steps * LATENCY + load / B
        for steps, load in (TREE[topology](n, SIZE, depth(math.log2(n))) for depth in (math.floor, math.ceil))
    )
    if topology == "ring":
        # What a tree loads a ring's busiest link with has no closed form (`simcore.network.tree` counts it): at most
        # one edge of each level, at least what each NPU must send in any all-reduce.
        low = 2 * SIZE * (n - 1) / n / B
    found = one("all_reduce", "double_binary_tree", topology, n).iteration_time_s
    assert low * (1 - 1e-9) <= found <= high * (1 + 1e-9)


@pytest.mark.parametrize(("algorithm", "n"), [(a, n) for a in ALGORITHMS for n in (2, 4, 8)])
@pytest.mark.parametrize("topology", TREE)
def test_all_to_all_goes_direct_whatever_the_algorithm(algorithm: str, topology: str, n: int) -> None:
    expected = seconds(ONE_WAY[("direct", topology)], n, SIZE)
    assert one("all_to_all", algorithm, topology, n).iteration_time_s == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(
    ("topology", "stand_in"), [("switch", "direct"), ("fully_connected", "direct"), ("ring", "ring")]
)
def test_what_a_tree_lacks_is_done_direct_or_on_a_ring_by_a_ring(topology: str, stand_in: str) -> None:
    for kind in ("reduce_scatter", "all_gather"):
        tree = one(kind, "double_binary_tree", topology, 8)
        assert tree.iteration_time_s == one(kind, stand_in, topology, 8).iteration_time_s


def test_reduction_in_the_switch_sends_the_buffer_once() -> None:
    result = one("all_reduce", "halving_doubling", "switch", 8, in_network=True)
    assert result.network[0].bytes_per_npu == SIZE
    assert result.iteration_time_s == pytest.approx(2 * LATENCY + SIZE / B, rel=1e-9)
    plain = one("all_reduce", "halving_doubling", "switch", 8)
    assert result.network[0].bytes_per_npu / plain.network[0].bytes_per_npu == 8 / (2 * 7)  # FRED: N / (2 (N - 1))


def test_oversubscription_and_efficiency_divide_the_bandwidth() -> None:
    def served(**more: Any) -> float:
        return one("reduce_scatter", "direct", "switch", 8, **more).iteration_time_s - LATENCY

    plain, over, lossy = served(), served(oversubscription=4.0), served(efficiency=0.25)
    assert over == pytest.approx(4 * plain, rel=1e-6)
    assert lossy == pytest.approx(4 * plain, rel=1e-6)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("n", [2, 4, 16])
def test_each_npu_sends_the_bytes_of_the_optimum(algorithm: str, n: int) -> None:
    sent = {kind: one(kind, algorithm, "switch", n).network[0].bytes_per_npu for kind in ("all_reduce", "all_to_all")}
    assert sent["all_reduce"] == pytest.approx(2 * (n - 1) / n * SIZE)
    assert sent["all_to_all"] == pytest.approx((n - 1) / n * SIZE)
    assert one("reduce_scatter", algorithm, "switch", n).network[0].bytes_per_npu == pytest.approx((n - 1) / n * SIZE)
    assert one("all_gather", algorithm, "switch", n).network[0].bytes_per_npu == pytest.approx((n - 1) * SIZE)


# Several dimensions


def libra_bytes(kind: str, size: float, sizes: list[int]) -> list[float]:
    """Bytes each NPU sends per dimension (LIBRA, ISPASS 2024)."""
    if kind == "all_to_all":
        return [size * (n - 1) / n for n in sizes]
    moved: list[float] = []
    if kind == "all_gather":
        for n in reversed(sizes):
            moved.insert(0, size * (n - 1))
            size *= n
        return moved
    for n in sizes:
        moved.append((2 if kind == "all_reduce" else 1) * size * (n - 1) / n)
        size /= n
    return moved


def workload(design: Design) -> CollectiveWorkload:
    assert isinstance(design.workload, CollectiveWorkload)
    return design.workload


@given(collectives(plain=True))
def test_bytes_shrink_from_dimension_to_dimension_as_libra_counts_them(design: Design) -> None:
    what, dimensions = workload(design), design.cluster.dimensions
    expected = libra_bytes(what.collective, what.size, [d.size for d in dimensions])
    reducing = [d.in_network for d in dimensions]
    assume(not any(reducing) or (design.system.reduction == "scatter" and dimensions[-1].topology == "switch"))
    assume(not any(d.in_network and d.topology == "fat_tree" for d in dimensions))
    if what.collective == "all_reduce" and reducing[-1]:
        expected[-1] *= dimensions[-1].size / (2 * (dimensions[-1].size - 1))
    assert [use.bytes_per_npu for use in simulate(design).network] == pytest.approx(expected)


@given(collectives())
def test_no_order_of_dimensions_sends_less_in_all(design: Design) -> None:
    what, dimensions = workload(design), design.cluster.dimensions
    if what.collective == "all_to_all" or any(d.in_network for d in dimensions):
        return
    n = design.cluster.npus
    whole = what.size * (n if what.collective == "all_gather" else 1)
    times = 2 if what.collective == "all_reduce" else 1
    assert sum(use.bytes_per_npu for use in simulate(design).network) == pytest.approx(times * whole * (n - 1) / n)


NETWORK = [("ring", 4, 200), ("fully_connected", 8, 100), ("switch", 16, 50)]
NATURAL = {"ring": "ring", "fully_connected": "direct", "switch": "halving_doubling"}


def on_three(kind: str, size: str, chunks: int, latency: str = "1 us", **system: Any) -> Result:
    network = [dimension(topology, n, f"{rate} GB/s", latency, tier="node") for topology, n, rate in NETWORK]
    return simulate(collective(kind, size, network, chunks=chunks, **system))


def test_one_chunk_passes_the_dimensions_one_after_the_other() -> None:
    size, total = SIZE, 0.0
    for topology, n, rate in NETWORK:
        steps, load = ONE_WAY[(NATURAL[topology], topology)](n, size)
        total += steps * LATENCY + load / (rate * 1e9)
        size /= n
    assert on_three("reduce_scatter", "1 MiB", 1).iteration_time_s == pytest.approx(total, rel=1e-9)
    assert on_three("all_reduce", "1 MiB", 1).iteration_time_s == pytest.approx(2 * total, rel=1e-9)
    gathered = on_three("all_gather", f"{2**20 // 512} B", 1)
    assert gathered.iteration_time_s == pytest.approx(total, rel=1e-9)
    exchanged = sum(
        ONE_WAY[("direct", topology)](n, SIZE)[0] * LATENCY + ONE_WAY[("direct", topology)](n, SIZE)[1] / (rate * 1e9)
        for topology, n, rate in NETWORK
    )
    assert on_three("all_to_all", "1 MiB", 1).iteration_time_s == pytest.approx(exchanged, rel=1e-9)


@pytest.mark.parametrize("kind", ["reduce_scatter", "all_gather", "all_reduce", "all_to_all"])
def test_many_chunks_approach_the_time_of_the_busiest_dimension(kind: str) -> None:
    loads = libra_bytes(kind, 2.0**30, [n for _, n, _ in NETWORK])
    if kind == "all_to_all":  # relayed along the ring: S n / 4 / B of 4 NPUs, and not (n - 1) / n
        loads[0] = 2.0**30
    limit = max(load / (rate * 1e9) for load, (_, _, rate) in zip(loads, NETWORK, strict=True))
    times = [on_three(kind, "1 GiB", chunks, "0 s").iteration_time_s for chunks in (1, 8, 64, 4096)]
    assert times == sorted(times, reverse=True)
    assert times[-1] >= limit * (1 - 1e-6)
    assert times[-1] == pytest.approx(limit, rel=2e-3)


@pytest.mark.parametrize("chunks", [1, 2, 64, 1000])
def test_on_one_dimension_latencies_of_chunks_overlap(chunks: int) -> None:
    expected = seconds(ONE_WAY[("direct", "switch")], 8, SIZE)
    found = one("reduce_scatter", "direct", "switch", 8, chunks=chunks).iteration_time_s
    assert found == pytest.approx(expected, abs=chunks * 0.5e-12)  # each chunk is rounded once


def test_a_slot_that_is_held_until_the_chunk_leaves_pays_each_latency() -> None:
    def time(slots: Any) -> float:
        design = collective(
            "reduce_scatter", "1 MiB", [dimension(size=8)], collective=["direct"], chunks=4, active_chunks=slots
        )
        return simulate(design).iteration_time_s

    serial = 7 / 8 * SIZE / 4 / B  # 2.29 us a chunk, and 1 us of latency
    assert time(1) == pytest.approx(4 * (serial + LATENCY), rel=1e-6)
    assert time(2) == time("overlap") == pytest.approx(4 * serial + LATENCY, rel=1e-6)


@given(collectives(plain=True), st.integers(1, 4))
def test_twice_the_bytes_take_at_most_twice_as_long(design: Design, times: int) -> None:
    larger = workload(design).model_copy(update={"size": workload(design).size * times})
    small, large = simulate(design), simulate(design.model_copy(update={"workload": larger}))
    assert large.iteration_time_s <= times * small.iteration_time_s * (1 + 1e-4)


def test_one_npu_alone_has_nothing_to_send() -> None:
    # Alone in a process: what a compiled kernel reads beyond its arrays ends in anything.
    script = """
from designs import collective, dimension
from simcore.document.problem import InputError
from simcore.simulate import simulate
try:
    result = simulate(collective("all_reduce", "1 MiB", [dimension(size=1)]))
    print(result.network[0].bytes_per_npu, result.iteration_time_s < 1e-9)
except InputError as error:
    print("refused")
"""
    root = Path(__file__).parents[3]
    code = f"import sys; sys.path[:0] = [{str(root)!r}, {str(root / 'tests' / 'physics')!r}]\n{script}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr.splitlines()[-1:]
    assert done.stdout.strip() in ("0.0 True", "refused")


@pytest.mark.parametrize("kind", ["all_reduce", "reduce_scatter", "all_gather"])
def test_rings_of_a_library_with_channels_use_all_links_of_a_fully_connected_board(kind: str) -> None:
    def seconds(topology: str, **more: Any) -> float:
        return one(kind, "ring", topology, 4, "1 GiB", **more).iteration_time_s

    library = {"library": "nccl-ampere"}
    assert seconds("fully_connected", **library) == seconds("switch", **library)
    assert seconds("fully_connected", library={"algorithm": "ring"}) > 2 * seconds("fully_connected", **library)
