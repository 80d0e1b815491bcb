"""A lone job on a part of a dimension whose NPUs pass messages on: the idle ones pass them, and are paid for."""

from __future__ import annotations

from typing import Any

import pytest

from simcore.check.load import load_design
from simcore.design.design import Design
from simcore.design.jobs import job_designs
from simcore.document.problem import InputError
from simcore.simulate import simulate

GRID: dict[str, Any] = {"bandwidth": "100 GB/s", "latency": "1 us", "size": 20}
MESH = {"topology": "torus", "sides": [4, 5], "wrap": [False, False], "routing": "dimension_ordered", **GRID}
MODEL = {"hidden": 576, "layers": 4, "heads": 12, "vocabulary": 1152, "sequence_length": 128}


def link(a: int | str, b: int | str) -> dict[str, Any]:
    return {"between": [a, b], "bandwidth": "25 GB/s"}


def grid_links(relay: bool = False) -> list[dict[str, Any]]:
    """The links of the mesh; `relay`: its last two NPUs are switches, a step away."""
    ends = [(n, n + 1) for n in range(20) if n % 4 < 3] + [(n, n + 4) for n in range(16)]
    if not relay:
        return [link(a, b) for a, b in ends]
    named = [(a, b if b < 18 else f"r{b}") if a < 18 else (f"r{a}", f"r{b}") for a, b in ends]
    return [link(a, b) if isinstance(b, int) else {**link(a, b), "latency": "1 us"} for a, b in named]


def design(dimension: dict[str, Any], *npus: int, **job: Any) -> Design:
    job = job or {"workload": {"collective": "all_reduce", "size": "1 MB"}}
    cluster = {"npu": "h100-80gb", "dimensions": [dimension]}
    if not npus:
        return load_design({**job, "cluster": cluster})
    return load_design({"jobs": [{**job, "npus": each} for each in npus], "cluster": cluster})


def test_idle_npus_of_a_graph_are_switches_to_the_job() -> None:
    idle = simulate(design({"topology": "graph", "graph": {"links": grid_links()}, **GRID}, 18))
    told = {"topology": "graph", "graph": {"switches": ["r18", "r19"], "links": grid_links(relay=True)}, **GRID}
    assert idle.iteration_time_s == simulate(design({**told, "size": 18})).iteration_time_s


def test_a_ring_of_18_on_a_mesh_of_20_takes_one_message_a_link_and_step() -> None:
    # It goes along rows; from the end of one to the beginning of the next a message goes back along the row, and up the
    # first column; the last one comes down that column. Each direction of each link so carries one message a step.
    found = simulate(design({**MESH, "latency": "0 s"}, 18)).iteration_time_s
    assert found == pytest.approx(2 * 17 / 18 * 1e6 / 25e9, rel=1e-6)


def test_strategies_that_do_not_divide_the_mesh_use_part_of_it_and_pay_for_all() -> None:
    training = {
        "workload": {"model": MODEL, "global_batch": 6},
        "parallelism": {"tensor": 3, "data": 3, "pipeline": 2},
    }
    found, whole = simulate(design(MESH, 18, **training)), simulate(design(MESH))
    assert found.npus == whole.npus == 20
    assert (found.cost.npu, found.cost.network) == (whole.cost.npu, whole.cost.network)
    ((alone, its),) = job_designs(design(MESH, 18, **training))
    assert (alone.cluster.npus, its) == (18, tuple(range(18)))
    assert simulate(design(MESH, 18, **training), "flow").iteration_time_s == pytest.approx(
        simulate(design(MESH, 18, **training), "fast").iteration_time_s, rel=0.2
    )


def test_a_job_beside_others_still_has_the_whole_of_it() -> None:
    with pytest.raises(InputError, match="messages pass through NPUs"):
        design(MESH, 12, 4)


def test_sides_of_a_design_of_one_job_fit_its_size() -> None:
    with pytest.raises(InputError, match="sides whose product is the size of the dimension, 18"):
        design({**MESH, "size": 18})
