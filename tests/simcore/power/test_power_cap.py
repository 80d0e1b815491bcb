"""A power cap lowers the clock by a measured curve: products follow it, memory hardly, messages not at all."""

from __future__ import annotations

from typing import Any

import pytest
from designs import dimension

from simcore.catalog.preset import preset
from simcore.check.load import design_from, load_design
from simcore.design.design import Design
from simcore.design.npu import Npu
from simcore.design.power_cap import capped, clock_share
from simcore.document.problem import InputError
from simcore.simulate import simulate

CLOCKS = {200: 625, 300: 1132, 400: 1501, 500: 1731, 600: 1889, 700: 1969}
DRAWN = {200: 199, 300: 298, 400: 395, 500: 493, 600: 591, 700: 647}
"""Cap -> clock [MHz] and draw [W] of an H100 of 700 W in matrix products (arXiv 2604.11391, figures 6b and 9b)."""
TOKENS = {200: 9699, 300: 17982, 400: 24853, 500: 27705, 600: 29250, 700: 30271}
"""Cap -> tokens/s of an H100 that trains Llama-3 8B (arXiv 2603.16164, table 4)."""
ARITHMETIC = 0.88
"""Share of that training's time that goes with the clock: what fits the table best, given the measured clocks."""
IDLE = 122.0
JOB: dict[str, Any] = {
    "workload": {"model": "llama3-8b", "global_batch": 64, "sequence_length": 4096, "precision": "bf16"},
    "parallelism": {"tensor": 2, "pipeline": 2, "zero": 1},
    "cluster": {"npu": "h100-80gb", "fabric": "dgx-h100", "npus": 16},
}


def h100() -> Npu:
    found: Npu = preset(Npu, "npus", "h100-80gb")
    return found


def under(cap: str | None) -> Design:
    cluster = JOB["cluster"] if cap is None else {**JOB["cluster"], "power_cap": cap}
    return design_from({**JOB, "cluster": cluster})


@pytest.mark.parametrize("cap", CLOCKS)
def test_the_clock_under_a_cap_is_that_of_an_h100(cap: int) -> None:
    assert clock_share(DRAWN[cap], IDLE, DRAWN[700]) == pytest.approx(CLOCKS[cap] / CLOCKS[700], abs=0.03)


@pytest.mark.parametrize("cap", TOKENS)
def test_training_under_a_cap_is_as_slow_as_that_of_an_h100(cap: int) -> None:
    clock = clock_share(DRAWN[cap], IDLE, DRAWN[700])
    assert 1 / (ARITHMETIC / clock + 1 - ARITHMETIC) == pytest.approx(TOKENS[cap] / TOKENS[700], abs=0.04)


def test_a_clock_falls_with_its_cap_and_what_draws_less_keeps_its_own_longer() -> None:
    for_products = [clock_share(cap, 122.0, 700.0) for cap in range(150, 701, 50)]
    for_memory = [clock_share(cap, 122.0, 420.0) for cap in range(150, 701, 50)]
    assert for_products == sorted(set(for_products))
    assert for_products[-1] == 1.0
    assert all(memory >= product for memory, product in zip(for_memory, for_products, strict=True))
    assert all(share == 1.0 for share in for_memory[-6:])  # 450 W and above


def test_a_capped_npu_draws_no_more_than_its_cap_whatever_it_does() -> None:
    npu = capped(h100(), 300.0)
    assert npu.power.max == npu.power.draws.tensor == npu.power.draws.memory == 300.0
    assert npu.power.draws.wait == h100().power.draws.wait
    assert npu.sustained < h100().sustained
    assert npu.memory.bandwidth < h100().memory.bandwidth
    assert capped(h100(), 500.0).memory.bandwidth == h100().memory.bandwidth
    assert capped(h100(), 700.0) is capped(h100(), 800.0) is preset(Npu, "npus", "h100-80gb")


def test_a_systolic_array_loses_its_clock() -> None:
    array = {"systolic": {"rows": 128, "columns": 128, "clock": "1 GHz"}}
    power = {"max": "200 W", "idle": "50 W"}
    cluster = {
        "npu": {"peak": {"bf16": "100 TFLOP/s"}, "memory": {"capacity": "80 GB", "bandwidth": "1 TB/s"}, "power": power}
        | {"compute": array, "price": "1000 $"},
        "dimensions": [dimension(size=4, tier="node")],
    }
    parallelism = {"tensor": 4}
    whole = design_from({**JOB, "parallelism": parallelism, "cluster": cluster})
    slow = design_from({**JOB, "parallelism": parallelism, "cluster": {**cluster, "power_cap": "100 W"}})
    assert simulate(slow).compute_s > 1.1 * simulate(whole).compute_s


def test_a_lower_cap_takes_longer_and_draws_less() -> None:
    results = [simulate(under(cap)) for cap in (None, "600 W", "450 W", "300 W")]
    times, powers = [r.iteration_time_s for r in results], [r.power_w for r in results]
    assert times == sorted(set(times))
    assert powers == sorted(set(powers), reverse=True)
    exposed = {r.exposed_communication_s.tensor for r in results}
    assert max(exposed) == pytest.approx(min(exposed), rel=1e-3)  # collectives keep their speed


def test_there_is_a_cap_at_which_a_job_takes_least_energy() -> None:
    joules = [simulate(under(cap)).energy_j for cap in ("250 W", "500 W", "700 W")]
    assert joules[1] < min(joules[0], joules[2])


def test_a_cap_at_the_maximum_changes_nothing() -> None:
    assert simulate(under("700 W")).iteration_time_s == simulate(under(None)).iteration_time_s


def test_a_capped_design_is_read_again_from_its_document() -> None:
    design = under("450 W")
    assert design.document()["cluster"]["power_cap"] == "450 W"
    again = load_design(design.document())
    assert (again.cluster, again.key) == (design.cluster, design.key)
    assert "power_cap" not in under(None).document()["cluster"]
    assert design.key != under(None).key


@pytest.mark.parametrize("cap", ["800 W", "122 W", "50 W"])
def test_a_cap_that_no_npu_can_have_is_a_problem_that_names_both_ends(cap: str) -> None:
    with pytest.raises(
        InputError, match="above the 122 W that h100-80gb draws at idle, and at most its maximum of 700"
    ):
        under(cap)


@pytest.mark.parametrize("cap", ["-1 W", "0 W", "500", "500 J"])
def test_a_cap_that_is_no_power_is_a_problem_at_its_key(cap: str) -> None:
    with pytest.raises(InputError, match=r"cluster\.power_cap"):
        under(cap)


def test_measured_products_have_no_cap() -> None:
    rows = [{"m": m, "n": n, "k": k, "time": "1 ms"} for m in (1, 65536) for n in (1, 65536) for k in (1, 65536)]
    npu = {"base": "h100-80gb", "compute": {"table": rows, "beyond": "roofline"}}
    with pytest.raises(InputError, match="no cap on an NPU of measured products"):
        design_from({**JOB, "cluster": {**JOB["cluster"], "npu": npu, "power_cap": "500 W"}})
